"""Where session files live: their folders, their names, and how a new one is made.

    <agent dir>/sessions/--<cwd with / \\ : as ->--/<timestamp with : and . as ->_<id>.jsonl

An overridden sessions directory is flat. Two folders can share one encoded name, so a file belongs
to the folder that its *header* names (`same_folder`), never to the one it lies in.
"""

import errno
import os
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from branchline.errors import StorageFailure
from branchline.settings import SessionsRoot


def session_files(root: SessionsRoot) -> Iterator[str]:
    """The paths of the session files below a sessions directory, in no order.

    As texts, for there may be thousands. Folders that cannot be read are skipped.
    """
    return (path for path, _ in session_entries(root))


def session_entries(root: SessionsRoot) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
    """The same, each with its entry in the folder: while it is the turn, ``stat`` is quicker."""
    folders = [root.path] if root.flat else _subfolders(root.path)
    for folder in folders:
        try:
            with _opened(folder) as descriptor, os.scandir(descriptor) as items:
                beginning = os.path.join(folder, "")
                for item in items:
                    if item.name.endswith(".jsonl") and not item.name.startswith("."):
                        yield beginning + item.name, item
        except OSError:
            continue  # gone or not ours: there is nothing in it that could be listed


def beginnings(roots: Iterable[SessionsRoot]) -> tuple[str, ...]:
    """What each path begins with that `session_files` gives of these, for `str.startswith`."""
    return tuple(f"{root.path}/" for root in roots)


def new_session_path(root: SessionsRoot, cwd: Path, session_id: str, timestamp: str) -> Path:
    """Where a new session of the folder ``cwd`` goes."""
    name = f"{timestamp.replace(':', '-').replace('.', '-')}_{session_id}.jsonl"
    return (root.path if root.flat else root.path / folder_name(cwd)) / name


def folder_name(cwd: Path) -> str:
    """The folder of the sessions of ``cwd``, as Pi names it."""
    text = str(cwd)
    text = text[1:] if text[:1] in ("/", "\\") else text
    for separator in "/\\:":
        text = text.replace(separator, "-")
    return f"--{text}--"


def id_in_name(path: Path) -> str:
    """The session id that a file's name shows; the bare name if it shows none."""
    return path.stem.partition("_")[2] or path.stem


def create_session_file(path: Path, content: bytes) -> None:
    """Make a new session file with its first lines, in one write, for the owner's eyes only.

    An empty file that is there already is filled; any other is never touched. Raises
    `StorageFailure`; then there is no file, or the empty one.
    """
    try:
        make_private_folders(path.parent)
        descriptor, is_new = _create_or_open_empty(path)
        written = 0
        try:
            written = os.write(descriptor, content)
            if written != len(content):
                os.write(descriptor, content[written:])  # says why: disk full, size limit
                raise OSError(errno.EIO, "the write was cut short")
            os.fsync(descriptor)
        except OSError:
            # There is no session in it yet that anybody could have appended to.
            if is_new:
                os.unlink(path)
            elif os.fstat(descriptor).st_size == written:
                os.ftruncate(descriptor, 0)  # only our own half of a header
            raise
        finally:
            os.close(descriptor)
    except ValueError as error:  # the folder comes from a header: it may hold a NUL
        raise StorageFailure(path, "create", OSError(errno.EINVAL, "not a path")) from error
    except OSError as error:
        raise StorageFailure(path, "create", error) from error


def _create_or_open_empty(path: Path) -> tuple[int, bool]:
    """A descriptor of a file without a byte, and whether it was made just now."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        descriptor = os.open(path, flags)
        if os.fstat(descriptor).st_size > 0:
            os.close(descriptor)
            raise
        return descriptor, False
    os.fchmod(descriptor, 0o600)  # whatever the umask
    return descriptor, True


def same_folder(path: str) -> str:
    """A folder's path in the form in which two names of one folder are equal."""
    try:
        path = os.path.realpath(path)
    except ValueError:
        return path  # it holds a NUL or half of a surrogate pair: no folder can be named so
    return unicodedata.normalize("NFC", path)


def lies_in(folder: str, parents: list[str]) -> bool:
    """Whether a folder is one of ``parents`` or below one; all as `same_folder` gives them."""
    return any(
        folder == parent or folder.startswith(parent.rstrip("/") + "/") for parent in parents
    )


def make_private_folders(folder: Path) -> None:
    """Make the missing folders with mode 0700, whatever the umask."""
    missing: list[Path] = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for new in reversed(missing):
        new.mkdir(mode=0o700, exist_ok=True)
        new.chmod(0o700)


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as items:
            return [Path(item.path) for item in items if os.path.isdir(item.path)]
    except OSError:
        return []
