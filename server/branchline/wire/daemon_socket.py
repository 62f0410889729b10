"""Where the shared daemon listens: its place, who may use it, and who owns it.

One daemon per user, agent dir and version. Its files lie in one folder that is the user's alone:

    <folder>/<name>         the socket
    <folder>/<name>.owner   locked by the daemon as long as it lives
    <folder>/<name>.start   locked by whoever starts a daemon

The locks are ``flock``: a dead process holds none. So whoever has the owner lock may replace a
socket that lies there, and nobody else may touch it. Lock files are never removed.

Imports the standard library only, and little of it: the forwarder starts with every editor.
"""

import fcntl
import os
import socket
import stat
import zlib
from collections.abc import Mapping
from pathlib import Path

from branchline import __version__
from branchline.folders import agent_dir

POLL_SECONDS = 0.01
"""How often a lock that somebody else has is asked for."""

_LONGEST_PATH = 100
"""Bytes of a socket's path. The systems take 103 (macOS) or 107 (Linux)."""
_BACKLOG = 128
_OPEN_LOCK = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class UnsafePlace(Exception):
    """The place cannot be used, or not safely. The message, for a person, says why."""


class DaemonPlace:
    """The files of one daemon.

    Attributes:
        folder: where they lie.
        name: eight hexadecimal digits of the agent dir and our version.
        socket, owner_lock, start_lock: the files.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name
        self.socket = folder / name
        self.owner_lock = folder / f"{name}.owner"
        self.start_lock = folder / f"{name}.start"


def daemon_place(environment: Mapping[str, str]) -> DaemonPlace:
    """The place of the daemon that the environment leads to. Makes nothing."""
    key = os.fsencode(os.path.realpath(agent_dir(environment))) + b"\0" + __version__.encode()
    name = f"{zlib.crc32(key):08x}"
    own = f"branchline-{os.geteuid()}"
    folders = [Path(environment.get("TMPDIR", ""), own), Path("/tmp", own)]
    runtime = Path(environment.get("XDG_RUNTIME_DIR", ""))
    if runtime.is_dir():
        folders.insert(0, runtime / "branchline")
    for folder in folders:
        if folder.is_absolute() and len(os.fsencode(folder / name)) <= _LONGEST_PATH:
            break
    return DaemonPlace(folder, name)


def make_folder(folder: Path) -> None:
    """Make the folder of the socket, or see that it is the user's alone. Raises `UnsafePlace`."""
    try:
        try:
            folder.mkdir(mode=0o700)
            folder.chmod(0o700)  # whatever the umask
        except FileExistsError:
            pass  # the next lines say whether it is as it would be had we made it
        status = folder.lstat()
    except OSError as error:
        raise UnsafePlace(f"{folder} cannot be made: {error.strerror}") from error
    if stat.S_ISLNK(status.st_mode):
        raise UnsafePlace(f"{folder} is a symbolic link; it must be a folder of your own")
    if not stat.S_ISDIR(status.st_mode):
        raise UnsafePlace(f"{folder} is no folder")
    if status.st_uid != os.geteuid():
        raise UnsafePlace(f"{folder} belongs to another user")
    if status.st_mode & 0o077:
        mode = stat.S_IMODE(status.st_mode)
        raise UnsafePlace(f"{folder} is open to other users (mode {mode:04o}): chmod 700 it")


def take_lock(path: Path) -> int | None:
    """Take a lock of the place, until the descriptor is closed; None if somebody else has it.

    Raises `UnsafePlace`.
    """
    try:
        descriptor = os.open(path, _OPEN_LOCK, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
    except OSError as error:
        raise UnsafePlace(f"{path} cannot be locked: {error.strerror}") from error
    return descriptor


class DaemonSocket:
    """The socket that a daemon listens on. Only for the holder of the place's owner lock.

    Attributes:
        listening: the socket itself.
    """

    def __init__(self, place: DaemonPlace) -> None:
        """Listen, in place of a daemon that was killed. Raises `UnsafePlace`."""
        self._path = place.socket
        self.listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._path.unlink(missing_ok=True)
            self.listening.bind(os.fspath(self._path))
            self._inode = self._path.stat().st_ino
            self.listening.listen(_BACKLOG)
        except OSError as error:
            self.listening.close()
            raise UnsafePlace(f"{self._path} cannot be made: {error.strerror}") from error

    def close(self) -> None:
        """Hang up. The file goes too, unless the folder was emptied and it is another daemon's."""
        self.listening.close()
        try:
            if self._path.stat().st_ino == self._inode:
                self._path.unlink()
        except FileNotFoundError:
            return


def dial(place: DaemonPlace) -> socket.socket | None:
    """A connection to whoever listens at the place; None if nobody does. Raises `OSError`."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(os.fspath(place.socket))
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        return None
    return connection
