"""One session file: its records read where they stand, and records added at its end.

The order of an append is the whole promise of this product (`begin_append`, `finish_append`):

1. take the sidecar lock;
2. look whether the file is still the one that was opened, and read what others appended;
3. (the caller decides what to write, seeing that);
4. one `write` on an ``O_APPEND`` descriptor, beginning with LF if the last line has none;
5. flush to disk;
6. give the lock back, and only then is the append acknowledged.

Nothing is ever truncated or rewritten here: what a failed write left behind stays, and the next
append fences it with its LF. Opening changes no byte. All methods block: call them in a thread.
"""

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from branchline import codec
from branchline.entries import CURRENT_VERSION, Entry, Kind
from branchline.errors import FileChanged, InvalidSession, ReadOnly, StorageFailure
from branchline.log.fast_lines import Places
from branchline.log.format import Header, SessionWarning
from branchline.log.lock import SessionLock
from branchline.log.migrate import upgrade
from branchline.log.scan import VERIFIED_BYTES, LineScanner
from branchline.settings import Durability
from branchline.tree.index import Columns

NO_PERMISSION: Final = "there is no permission to write to it"
"""Why a file is read-only here."""

_CHUNK: Final = 1024 * 1024
_FINGERPRINT_BYTES: Final = 4096
_TRANSIENT: Final = frozenset({"torn-tail", "no-final-newline"})
"""Warnings about the end of the file, which the next look may take back."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What others appended since the last look."""

    columns: Columns
    places: Places
    warnings: list[SessionWarning]
    ended_torn: bool


class SessionFile:
    """An open session file.

    Attributes:
        path: the file's resolved path.
        header, header_record: its header, and the bytes it was read from.
        columns: what the scan found; handed over to the index at opening.
        places: where each entry stands, by ordinal.
        warnings: what is wrong with the bytes; the end of the file is looked at anew each time.
        size: bytes known, an unfinished last line included.
        verified: whether every line was parsed.
    """

    def __init__(self, path: Path, locks_dir: Path, *, verify_up_to: int = VERIFIED_BYTES) -> None:
        """Open and scan the file, parsing every line if it has at most ``verify_up_to`` bytes.

        Raises `InvalidSession` if it holds no session, `StorageFailure` if it cannot be read.
        """
        self.path = path
        self._lock = SessionLock(locks_dir, path)
        self._descriptor = _open(path, os.O_RDONLY, "read")
        try:
            status = os.fstat(self._descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise InvalidSession(path, "it is no regular file")
            self._identity = (status.st_dev, status.st_ino)
            self.verified = status.st_size <= verify_up_to
            self._scanner = LineScanner(verified=self.verified)
            self.size = 0
            self._settled = 0
            self._mid_line = False
            self._scan(self._scanner)
            if self._scanner.header is None:
                raise InvalidSession(path, "it has no session header near its beginning")
            self._scanner.add_placeholders(lambda _: False)
        except OSError as error:
            os.close(self._descriptor)
            raise StorageFailure(path, "read", error) from error
        except BaseException:
            os.close(self._descriptor)
            raise
        self.header: Header = self._scanner.header
        self.header_record = self._scanner.header_record
        self.columns = self._scanner.columns
        self.places = self._scanner.places
        self.warnings = self._scanner.warnings
        self._parent_ids = self.columns.parent_ids if self.header.version < 2 else []
        self._first_kept = self._scanner.first_kept
        self._remember()

    def close(self) -> None:
        """Give the descriptors back. The file cannot be used afterwards."""
        self._lock.close()
        os.close(self._descriptor)

    @property
    def needs_upgrade(self) -> bool:
        """Whether the file has to be rewritten as the current version before it can grow."""
        return self.header.version < CURRENT_VERSION

    @property
    def readable_by_others(self) -> bool:
        """Whether its mode lets the group or everybody read it."""
        return bool(os.fstat(self._descriptor).st_mode & 0o077)

    @property
    def modified_seconds(self) -> float:
        """When the file was last written to, in seconds since 1970."""
        return os.fstat(self._descriptor).st_mtime

    # --- reading -----------------------------------------------------------------------------

    def raw(self, ordinal: int) -> bytes:
        """The record's bytes as they stand in the file (versions 1 and 2: as upgraded).

        Raises `FileChanged` if there is no such record any more, `StorageFailure` on I/O errors.
        """
        if self.header.version < CURRENT_VERSION:
            return codec.encode_record(self.entry(ordinal))
        return self.stored(ordinal)

    def stored(self, ordinal: int) -> bytes:
        """The record's bytes as they stand in the file, whatever its version."""
        length = self.places.lengths[ordinal]
        try:
            raw = os.pread(self._descriptor, length, self.places.offsets[ordinal])
        except OSError as error:
            raise StorageFailure(self.path, "read", error) from error
        if len(raw) != length:
            raise FileChanged(self.path, "truncated")
        return raw

    def entry(self, ordinal: int) -> Entry:
        """The decoded entry; of a placeholder, what is known of it."""
        raw = self.stored(ordinal)
        if self.columns.kinds[ordinal] == Kind.PLACEHOLDER:
            return {"type": "placeholder", "id": self.columns.ids[ordinal]}
        try:
            entry: Entry = codec.decode(raw)
        except codec.DecodeError:
            if not self.verified:
                return {"type": "placeholder", "id": self.columns.ids[ordinal]}
            raise FileChanged(self.path, "overwritten") from None
        if self.header.version < CURRENT_VERSION:
            if ordinal < len(self._parent_ids):
                entry["id"] = self.columns.ids[ordinal]
                entry["parentId"] = self._parent_ids[ordinal]
            entry = upgrade(entry, self.header.version, self._first_kept.get(ordinal))
        return entry

    def verify(self, pause: Callable[[], None]) -> LineScanner:
        """Read the whole file again, parsing every line; ``pause`` is called now and then.

        For files that were opened by the fast way. The caller compares and takes over.
        """
        scanner = LineScanner(verified=True)
        try:
            self._scan_into(scanner, self._settled, pause)
        except OSError as error:
            raise StorageFailure(self.path, "read", error) from error
        scanner.add_placeholders(lambda _: False)
        return scanner

    # --- what others append ------------------------------------------------------------------

    def is_still_there(self) -> bool:
        """Whether the path still leads to the file that was opened."""
        status = self._status()
        return status is not None and status[0] == self._identity

    def has_changed(self) -> bool:
        """Whether the file differs from what was last seen, by its status alone."""
        return self._status() != self._seen

    def read_tail(self) -> Batch | None:
        """What was appended since the last look, or None.

        Raises `FileChanged` if the file was deleted, replaced, truncated or overwritten.
        """
        status = self._status()
        if status == self._seen:
            return None
        if status is None:
            raise FileChanged(self.path, "deleted or moved away")
        identity, size, _ = status
        if identity != self._identity:
            raise FileChanged(self.path, "replaced by another file")
        if size < self.size:
            raise FileChanged(self.path, "truncated")
        try:
            if self._fingerprint() != self._known_bytes:
                raise FileChanged(self.path, "overwritten")
            scanner = self._scanner
            scanner.begin_batch(mid_line=self._mid_line)
            self.warnings = [one for one in self.warnings if one.code not in _TRANSIENT]
            self._scan(scanner)
        except OSError as error:
            raise StorageFailure(self.path, "read", error) from error
        ids = set(self.columns.ids) if scanner.lost else set()
        scanner.add_placeholders(ids.__contains__)
        self.warnings.extend(scanner.warnings)
        for offset, length in zip(scanner.places.offsets, scanner.places.lengths, strict=True):
            self.places.add(offset, length)
        if self.header.version < 2:
            self._parent_ids.extend(scanner.columns.parent_ids)
        self._remember()
        torn = any(one.code == "torn-tail" for one in scanner.warnings)
        return Batch(scanner.columns, scanner.places, scanner.warnings, torn)

    # --- appending ---------------------------------------------------------------------------

    def begin_append(self) -> Batch | None:
        """Steps 1 and 2: take the lock and read what others appended.

        `finish_append` or `abandon_append` must follow. Raises `FileChanged`, `StorageFailure`;
        then the lock is free again.
        """
        self._lock.acquire()
        try:
            return self.read_tail()
        except BaseException:
            self._lock.release()
            raise

    def abandon_append(self) -> None:
        """Give the lock back without writing."""
        self._lock.release()

    def finish_append(self, lines: list[bytes], durability: Durability) -> bool:
        """Steps 4 to 6: write the lines (each ends with LF) and add their places.

        Gives False if somebody who takes no lock wrote at the same moment: the lines are in the
        file, and `read_tail` will find them beside the other's.

        Raises `StorageFailure` (nothing was added: what a failed write left is a bad line, fenced
        by the next append) or `FileChanged`.
        """
        try:
            return self._write(lines, durability)
        finally:
            self._lock.release()

    def _write(self, lines: list[bytes], durability: Durability) -> bool:
        data = b"".join(lines)
        descriptor = _open(self.path, os.O_RDWR | os.O_APPEND, "write to")
        try:
            status = os.fstat(descriptor)
            if (status.st_dev, status.st_ino) != self._identity:
                raise FileChanged(self.path, "replaced by another file")
            fenced = status.st_size > 0 and os.pread(descriptor, 1, status.st_size - 1) != b"\n"
            data = b"\n" + data if fenced else data
            written = os.write(descriptor, data)
            # On an O_APPEND descriptor this is where our bytes really ended, whoever else wrote.
            end = os.lseek(descriptor, 0, os.SEEK_CUR)
            if written != len(data):
                end = _write_rest(descriptor, data[written:], end)
            if durability == "fsync":
                os.fdatasync(descriptor)
        except OSError as error:
            raise StorageFailure(self.path, "append to", error) from error
        finally:
            os.close(descriptor)
        start = end - sum(map(len, lines))
        if start - fenced != self.size:
            return False
        self._settle_end(start)
        for line in lines:
            self.places.add(start, len(line) - 1)
            start += len(line)
        self._scanner.lines += len(lines)
        self._settled = self.size = end
        self._remember()
        return True

    def _settle_end(self, end: int) -> None:
        """Read the unfinished line that our LF has just ended: it is a line of its own now."""
        rest = bytearray(os.pread(self._descriptor, end - self._settled, self._settled))
        scanner = self._scanner
        scanner.begin_batch(mid_line=self._mid_line)
        scanner.feed(rest, len(rest), self._settled)
        self._mid_line = False
        self.warnings = [one for one in self.warnings if one.code not in _TRANSIENT]
        self.warnings.extend(scanner.warnings)

    # --- inside ------------------------------------------------------------------------------

    def _scan(self, scanner: LineScanner) -> None:
        """Feed the scanner from where the last look ended, and settle where the next begins."""
        settled, rest = self._scan_into(scanner, None, None)
        self.size = settled + len(rest)
        taken = scanner.finish(rest, settled)
        self._settled = settled + taken
        self._mid_line = taken > 0

    def _scan_into(
        self, scanner: LineScanner, end: int | None, pause: Callable[[], None] | None
    ) -> tuple[int, bytes]:
        """Feed whole lines from the settled point (or, with ``end``, from 0 to there)."""
        position = self._settled if end is None else 0
        buffer = bytearray(_CHUNK)
        filled = 0
        while not scanner.hopeless:
            if filled == len(buffer):
                buffer.extend(bytes(len(buffer)))  # one line is longer than the buffer
            want = len(buffer) - filled
            if end is not None:
                want = min(want, end - position - filled)
            with memoryview(buffer) as view:
                got = os.preadv(self._descriptor, [view[filled : filled + want]], position + filled)
            if got == 0:
                break
            filled += got
            used = scanner.feed(buffer, filled, position)
            if used:
                buffer[: filled - used] = buffer[used:filled]
                filled -= used
                position += used
            if pause is not None:
                pause()
        return position, bytes(buffer[:filled])

    def _status(self) -> tuple[tuple[int, int], int, int] | None:
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageFailure(self.path, "read", error) from error
        return (status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns

    def _remember(self) -> None:
        """Keep what the next look compares with.

        The status is made from the size that was read, so that what came since is seen as new.
        """
        status = os.fstat(self._descriptor)
        self._seen = (self._identity, self.size, status.st_mtime_ns)
        self._known_bytes = self._fingerprint()

    def _fingerprint(self) -> tuple[bytes, bytes]:
        """The first and last bytes of what was read: an overwritten file differs in them."""
        last = min(self.size, _FINGERPRINT_BYTES)
        return (
            os.pread(self._descriptor, min(self.size, _FINGERPRINT_BYTES), 0),
            os.pread(self._descriptor, last, self.size - last),
        )


def _write_rest(descriptor: int, rest: bytes, end: int) -> int:
    """Go on with a write that was cut short; give where it ends now.

    Nearly always this raises and so says why: disk full, size limit. Room may have come, though;
    then the write is whole unless somebody else's bytes came between.
    """
    os.write(descriptor, rest)
    new_end = os.lseek(descriptor, 0, os.SEEK_CUR)
    if new_end != end + len(rest):
        raise OSError(errno.EIO, "the write was cut short")
    return new_end


def _open(path: Path, flags: int, doing: str) -> int:
    try:
        return os.open(path, flags | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError as error:
        if doing != "read" and error.errno == errno.ENOENT:
            raise FileChanged(path, "deleted or moved away") from error
        if doing != "read" and error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise ReadOnly(path, NO_PERMISSION) from error
        raise StorageFailure(path, doing, error) from error
