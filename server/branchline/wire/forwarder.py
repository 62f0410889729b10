"""``branchline connect``: carries bytes between an editor's stdio and the shared daemon.

It starts with every editor, so it imports the standard library only, and little of it. It
understands no frame, keeps nothing, and ends when either side does: with the exit code that the
daemon gives, or with 1 and a reason on stderr.
"""

import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping

from branchline.wire.daemon_socket import (
    POLL_SECONDS,
    DaemonPlace,
    UnsafePlace,
    daemon_place,
    make_folder,
    take_lock,
)
from branchline.wire.hello import GOODBYE, NoDaemon, call, without_keys

START_SECONDS = 20.0
"""How long a daemon may take to start; it takes less than one."""

_STARTS = 10
"""How often one is started: others may have come and gone before us, and it with them."""
_WATCH_SECONDS = 1.0
_CHUNK_BYTES = 256 * 1024


def main() -> None:
    """Forward until the end, then end this process."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a person needs no traceback
    _leave_with_the_editor()
    try:
        _need_stdio()
        place = daemon_place(os.environ)
        make_folder(place.folder)
        connection = _reach(place, os.environ)
    except (NoDaemon, UnsafePlace) as error:
        code, reason = 1, f"{error}. `branchline connect --no-daemon` serves one editor without it"
    else:
        code, reason = _forward(connection)
    if reason:
        print(f"branchline: {reason}", file=sys.stderr, flush=True)
    os._exit(code)  # not sys.exit: a thread waits in a read that may never end


def _need_stdio() -> None:
    """See that nothing else gets the numbers of stdin and stdout. Raises `NoDaemon`."""
    try:
        os.fstat(0)
        os.fstat(1)
    except OSError:
        raise NoDaemon(
            "An editor has to be on stdin and stdout, and one of them is closed"
        ) from None


def _leave_with_the_editor() -> None:
    """End this process when the one that started it has ended, whatever goes on here."""
    editor = os.getppid()

    def watch() -> None:
        while os.getppid() == editor:
            time.sleep(_WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _reach(place: DaemonPlace, environment: Mapping[str, str]) -> socket.socket:
    """A connection to the daemon, which is started if need be. Raises `NoDaemon`."""
    starting: int | None = None  # the start lock
    starts = 0
    try:
        while (called := call(place, "client", environment)) is None:
            if starting is None:
                # With the lock we look once more: whoever had it may have started the daemon.
                starting = take_lock(place.start_lock)
                if starting is None:
                    time.sleep(POLL_SECONDS)
            elif starts < _STARTS:
                starts += 1
                _start_daemon(environment)
            else:
                raise NoDaemon(f"The daemon ended as soon as it was started, {_STARTS} times")
    finally:
        if starting is not None:
            os.close(starting)
    return called[0]


def _start_daemon(environment: Mapping[str, str]) -> None:
    """Start a daemon that outlives us, and wait until it listens. Raises `NoDaemon`.

    It gets a session of its own and detaches itself, so that an editor that ends us together with
    our children does not end it. What goes wrong until it listens it says on our stderr.
    """
    import subprocess  # seldom needed

    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "branchline", "serve", "--detach"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd="/",
            env=without_keys(environment),
            start_new_session=True,
            timeout=START_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NoDaemon(f"The daemon was not ready in {START_SECONDS:.0f} seconds") from None
    except OSError as error:
        raise NoDaemon(f"{sys.executable} cannot be run: {error.strerror}") from error
    if done.returncode:
        raise NoDaemon("The daemon did not start")


def _forward(connection: socket.socket) -> tuple[int, str]:
    """Forward both ways until the daemon hangs up; give our exit code, and a reason or ""."""
    threading.Thread(target=_send, args=(connection,), daemon=True).start()
    goodbye = b""
    while data := _receive(connection):
        if goodbye:
            goodbye += data
            continue
        frames, nul, rest = data.partition(GOODBYE)
        goodbye = nul + rest
        try:
            _write(frames)
        except OSError:
            return 1, ""  # the editor does not listen any more, and needs no reason
    if not goodbye[1:2].isdigit():
        return 1, "The daemon ended, or dropped this editor because it did not read"
    return int(goodbye[1:2]), goodbye[2:].decode(errors="replace")


def _send(connection: socket.socket) -> None:
    """Pass on what the editor says; at its end tell the daemon, which then hangs up."""
    try:
        while data := _read():
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        return  # the daemon is gone: the other direction says so


def _receive(connection: socket.socket) -> bytes:
    try:
        return connection.recv(_CHUNK_BYTES)
    except ConnectionResetError:  # it died with something of ours unread
        return b""


def _read() -> bytes:
    while True:
        try:
            return os.read(0, _CHUNK_BYTES)
        except BlockingIOError:  # whoever shares the descriptor made it so
            select.select([0], [], [])
        except OSError:  # a terminal that hung up
            return b""


def _write(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(1, rest) :]
        except BlockingIOError:
            select.select([], [1], [])
