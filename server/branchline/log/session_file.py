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

    def close(self) -> None:
        """Give the descriptors back. The file cannot be used afterwards."""
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
        descriptor = open_file(self.path, os.O_RDWR | os.O_APPEND, "write to")
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
