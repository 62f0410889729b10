"""A folder for sockets: their paths must be short, and those of the tests' own folders are not."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LONGEST = 60


@contextmanager
def short_folder() -> Iterator[Path]:
    """A private folder in the temporary folder, which is gone afterwards."""
    temporary = tempfile.gettempdir()
    folder = Path(
        tempfile.mkdtemp(prefix="bl-", dir=temporary if len(temporary) < _LONGEST else "/tmp")
    )
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
