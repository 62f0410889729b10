"""The indexes of large files, saved so that they open at once: a hint, and never more than that.

Each is a file of its own in a folder that is the user's alone, named after the session's path. It
counts only if its bytes are as they were written and the session file is still the one that was
read, or has only grown since. Whatever else is the case, the session is read anew. Nothing is lost
with an index, so what cannot be saved, or is in nobody's way, is passed over; the log says so once.
"""

import errno
import hashlib
import logging
import os
import secrets
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from branchline.entries import CURRENT_VERSION
from branchline.log.format import Header
from branchline.log.index_format import Covered, IndexedFile, SavedIndex, pack, unpack
from branchline.log.locations import make_private_folders
from branchline.log.scan import LineScanner
from branchline.tree.index import Tree

_LEAST_BYTES: Final = 1024 * 1024
"""Less of a session than this is read as quickly as its index."""
_SHARE: Final = 32
"""An index is made anew when the session has grown by this share of it, and by `_LEAST_BYTES`."""
_MOST_BYTES: Final = 256 * 1024 * 1024
"""All saved indexes together: about a sixtieth of their sessions. Those used last are kept."""
_EDGE_BYTES: Final = 4096
UNSETTLED_NS: Final = 2_000_000_000
"""A file that was written to so shortly ago could change again and keep its time."""
_ABANDONED_SECONDS: Final = 3600.0
_SUFFIX: Final = ".index"
_UNFINISHED: Final = ".part"

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reading:
    """A session file that was read from its beginning, every line of it parsed."""

    path: Path
    covered: Covered
    scanner: LineScanner


def edges(descriptor: int, end: int) -> tuple[bytes, bytes]:
    """The first and the last bytes of a file up to ``end``: an overwritten file differs in them."""
    last = min(end, _EDGE_BYTES)
    return os.pread(descriptor, last, 0), os.pread(descriptor, last, end - last)


def edges_after(known: tuple[bytes, bytes], data: bytes) -> tuple[bytes, bytes]:
    """The edges that a file has once ``data`` was appended to it."""
    first, last = known
    first, last = first + data[:_EDGE_BYTES], last + data[-_EDGE_BYTES:]
    return first[:_EDGE_BYTES], last[-_EDGE_BYTES:]


def covered(descriptor: int, status: os.stat_result, end: int) -> Covered:
    """What an index of the first ``end`` bytes covers. ``status`` was taken before the reading."""
    settled = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > UNSETTLED_NS
    modified_ns, changed_ns = (status.st_mtime_ns, status.st_ctime_ns) if settled else (0, 0)
    return Covered(
        status.st_dev,
        status.st_ino,
        status.st_size,
        modified_ns,
        changed_ns,
        end,
        _digest(descriptor, end),
    )


class SavedIndexes:
    """The folder of the saved indexes. Blocks: use it in a thread."""

    def __init__(
        self, folder: Path, *, least_bytes: int = _LEAST_BYTES, most_bytes: int = _MOST_BYTES
    ) -> None:
        """``least_bytes``: of a session; ``most_bytes``: what all indexes together may take."""
        self._folder = folder
        self._least_bytes = least_bytes
        self._most_bytes = most_bytes
        self._told = False

    def wanted(self, header: Header, size: int, indexed: int) -> bool:
        """Whether a session of ``size`` bytes, of which ``indexed`` are in an index, wants one."""
        least = max(self._least_bytes, indexed // _SHARE)
        return header.version == CURRENT_VERSION and size - indexed >= least

    def load(self, path: Path, descriptor: int, status: os.stat_result) -> SavedIndex | None:
        """The index of the session at ``path``, open at ``descriptor``, if it still holds."""
        if status.st_size < self._least_bytes:
            return None
        try:
            return (
                _read(self._file_of(path), _Session(descriptor, status))
                if self._is_ours()
                else None
            )
        except OSError as error:
            self._tell(f"read: {_name(error)}")
            return None

    def save(self, reading: Reading) -> None:
        """Keep the index of what was read, in place of an earlier one."""
        scanner = reading.scanner
        if scanner.header is None or not self.wanted(scanner.header, reading.covered.end, 0):
            return
        tree = Tree(scanner.columns)
        data = pack(reading.covered, scanner.state(), scanner.columns, scanner.places, tree.links())
        if len(data) > self._most_bytes:
            return
        try:
            make_private_folders(self._folder)
            if self._is_ours():
                _write(self._file_of(reading.path), data)
                self._prune()
        except OSError as error:
            self._tell(f"saved: {_name(error)}")

    def discard(self, path: Path) -> None:
        """Remove the index of a session, if there is one: it turned out to be wrong."""
        try:
            if self._is_ours():
                self._file_of(path).unlink(missing_ok=True)
        except OSError as error:
            self._tell(f"removed: {_name(error)}")

    def _file_of(self, path: Path) -> Path:
        return self._folder / (hashlib.sha256(os.fsencode(path)).hexdigest() + _SUFFIX)

    def _is_ours(self) -> bool:
        """Whether the folder is there, and nobody else can have put anything into it."""
        try:
            status = self._folder.lstat()
        except FileNotFoundError:
            return False
        ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
        if ours and not status.st_mode & 0o077:
            return True
        self._tell("used: their folder is not the user's alone")
        return False

    def _prune(self) -> None:
        """Remove those used longest ago while all are too much, and what killed writers left."""
        found: list[tuple[float, int, str]] = []
        with os.scandir(self._folder) as items:
            for item in items:
                status = item.stat(follow_symlinks=False)
                if item.name.endswith(_SUFFIX):
                    found.append((status.st_mtime, status.st_size, item.path))
                elif (
                    item.name.endswith(_UNFINISHED)
                    and time.time() - status.st_mtime > _ABANDONED_SECONDS
                ):
                    os.unlink(item.path)
        left = sum(size for _, size, _ in found)
        for _, size, name in sorted(found):
            if left <= self._most_bytes:
                break
            os.unlink(name)
            left -= size

    def _tell(self, what: str) -> None:
        if not self._told:
            self._told = True
            _logger.warning("Saved indexes cannot be %s", what)


def _read(file: Path, session: IndexedFile) -> SavedIndex | None:
    """An index that is the user's alone, marked as used now; None without one."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None  # none, or a link that somebody put there
    with open(descriptor, "rb", buffering=0) as opened:
        status = os.fstat(descriptor)
        ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        if not ours or status.st_mode & 0o077:
            return None
        os.utime(descriptor)
        return unpack(status.st_size, opened.readinto, session)


def _write(file: Path, data: bytes) -> None:
    """Put an index in its place, whole or not at all for whoever looks."""
    unfinished = file.with_name(f"{file.stem}-{secrets.token_hex(4)}{_UNFINISHED}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(unfinished, flags, 0o600)
    try:
        with open(descriptor, "wb", buffering=0) as opened:
            os.fchmod(descriptor, 0o600)  # whatever the umask
            rest = memoryview(data)
            while rest:
                rest = rest[opened.write(rest) :]
        os.replace(unfinished, file)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


class _Session:
    """A session file, open at a descriptor."""

    def __init__(self, descriptor: int, status: os.stat_result) -> None:
        self._descriptor = descriptor
        self._status = status

    def fits(self, covered: Covered) -> bool:
        """See `IndexedFile`."""
        status = self._status
        if (status.st_dev, status.st_ino) != (covered.device, covered.inode):
            return False
        times = (status.st_mtime_ns, status.st_ctime_ns)
        if status.st_size < covered.size or (
            status.st_size == covered.size and times != (covered.modified_ns, covered.changed_ns)
        ):
            return False
        return _digest(self._descriptor, covered.end) == covered.edges

    def read(self, offset: int, length: int) -> bytes:
        """See `IndexedFile`."""
        return os.pread(self._descriptor, length, offset)


def _digest(descriptor: int, end: int) -> bytes:
    return hashlib.sha256(b"".join(edges(descriptor, end))).digest()


def _name(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, "EIO")
