"""A session file that grows: records added at its end.

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
from pathlib import Path

from branchline.errors import FileChanged, StorageFailure
from branchline.log.lock import SessionLock
from branchline.log.saved_index import SavedIndexes
from branchline.log.scan import VERIFIED_BYTES
from branchline.log.session_reader import TRANSIENT, Batch, SessionReader, open_file
from branchline.settings import Durability


class SessionFile(SessionReader):
    """An open session file that can grow. Its attributes are those of `SessionReader`."""

    def __init__(
        self,
        path: Path,
        locks_dir: Path,
        *,
        verify_up_to: int = VERIFIED_BYTES,
        indexes: SavedIndexes | None = None,
    ) -> None:
        """Open the file and read it; see `SessionReader`."""
        super().__init__(path, verify_up_to, indexes)
        self._lock = SessionLock(locks_dir, path)
        self._appending = -1
        self._rights = (0, 0, 0)

    def close(self) -> None:
        """Give the descriptors back. The file cannot be used afterwards."""
        self._stop_appending()
        self._lock.close()
        super().close()

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
        try:
            status = self._ready_to_write()
            fenced = self._ends_unfinished(status.st_size)
            data = b"\n" + data if fenced else data
            written = os.write(self._appending, data)
            # On an O_APPEND descriptor this is where our bytes really ended, whoever else wrote.
            end = os.lseek(self._appending, 0, os.SEEK_CUR)
            if written != len(data):
                end = _write_rest(self._appending, data[written:], end)
            if durability == "fsync":
                os.fdatasync(self._appending)
        except OSError as error:
            raise StorageFailure(self.path, "append to", error) from error
        start = end - sum(map(len, lines))
        if start - fenced != self.size:
            return False
        if start != self._settled or self._mid_line:
            self._settle_end(start)
        for line in lines:
            self.places.add(start, len(line) - 1)
            start += len(line)
        self._scanner.lines += len(lines)
        self._settled = self.size = end
        self._remember(data)
        return True

    def _ready_to_write(self) -> os.stat_result:
        """Have the file open for appending; give its status. Raises `FileChanged`, `ReadOnly`.

        It stays open, but is opened again when somebody has changed who may write to it.
        """
        try:
            status = os.stat(self.path)
        except FileNotFoundError as error:
            raise FileChanged(self.path, "deleted or moved away") from error
        self._expect_same(status)
        rights = (status.st_mode, status.st_uid, status.st_gid)
        if self._appending < 0 or rights != self._rights:
            self._stop_appending()
            descriptor = open_file(self.path, os.O_WRONLY | os.O_APPEND, "write to")
            try:
                status = os.fstat(descriptor)
                self._expect_same(status)
            except BaseException:
                os.close(descriptor)
                raise
            self._appending, self._rights = descriptor, rights
        return status

    def _expect_same(self, status: os.stat_result) -> None:
        if (status.st_dev, status.st_ino) != self._identity:
            raise FileChanged(self.path, "replaced by another file")

    def _ends_unfinished(self, size: int) -> bool:
        """Whether the last of ``size`` bytes is no LF."""
        if size == self.size:
            return not self._known_bytes[1].endswith(b"\n")
        return size > 0 and os.pread(self._descriptor, 1, size - 1) != b"\n"

    def _stop_appending(self) -> None:
        if self._appending >= 0:
            os.close(self._appending)
            self._appending = -1

    def _settle_end(self, end: int) -> None:
        """Read the unfinished line that our LF has just ended: it is a line of its own now."""
        rest = bytearray(os.pread(self._descriptor, end - self._settled, self._settled))
        scanner = self._scanner
        scanner.begin_batch(mid_line=self._mid_line)
        scanner.feed(rest, len(rest), self._settled)
        self._mid_line = False
        self.warnings = [one for one in self.warnings if one.code not in TRANSIENT]
        self.warnings.extend(scanner.warnings)


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
