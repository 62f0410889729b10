"""A file that appears whole at its path or not at all, and takes nobody's place.

It is written under another name beside its place, flushed, and then given its name by a hard link,
which fails if somebody has the name already.
"""

import errno
import os
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Final

from branchline.errors import StorageFailure

_TAKEN: Final = "it is there already, and is never overwritten"


class NewFile:
    """A file being written, for the owner's eyes only (0600). Blocks: use it in a thread.

    To be used in a ``with``: what is not finished when that ends is gone. Every method raises
    `StorageFailure`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._temporary: Path | None = None
        try:
            if os.path.lexists(path):
                raise FileExistsError(errno.EEXIST, _TAKEN)
            self._descriptor, name = tempfile.mkstemp(
                prefix=f".{path.name[:100]}.", suffix=".tmp", dir=path.parent
            )
            self._temporary = Path(name)
        except OSError as error:
            raise StorageFailure(path, "create", error) from error

    def __enter__(self) -> "NewFile":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._descriptor)
        if self._temporary is not None:
            self._temporary.unlink(missing_ok=True)

    def write(self, data: bytes) -> None:
        """Add to it."""
        try:
            with memoryview(data) as rest:
                written = 0
                while written < len(rest):
                    written += os.write(self._descriptor, rest[written:])
        except OSError as error:
            raise StorageFailure(self._path, "write to", error) from error

    def finish(self) -> None:
        """Flush it to disk and give it its name."""
        assert self._temporary is not None
        try:
            os.fsync(self._descriptor)
            self._take_name(self._temporary)
        except FileExistsError:
            taken = FileExistsError(errno.EEXIST, _TAKEN)
            raise StorageFailure(self._path, "create", taken) from None
        except OSError as error:
            raise StorageFailure(self._path, "create", error) from error

    def _take_name(self, temporary: Path) -> None:
        try:
            os.link(temporary, self._path)
        except FileExistsError:
            raise
        except OSError:
            # No hard links here: hold the place with a file of our own, and put ours onto it.
            os.close(
                os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            )
            os.rename(temporary, self._path)
            self._temporary = None
