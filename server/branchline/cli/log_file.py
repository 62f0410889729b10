"""The shared daemon's log: a few files of limited size that only the user can read."""

import logging
import os
import sys
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

_BYTES: Final = 1_000_000
_OLDER_KEPT: Final = 2
_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class LogFile(RotatingFileHandler):
    """Writes to a file, and starts a new one when that is full."""

    _has_stdio = False

    def __init__(self, path: Path) -> None:
        """Begin or go on with a log. Raises `OSError`."""
        super().__init__(path, maxBytes=_BYTES, backupCount=_OLDER_KEPT, encoding="utf-8")
        self.setFormatter(logging.Formatter(_FORMAT))

    def take_stdio(self) -> None:
        """From now on what this process writes to stdout and stderr goes into the log, too."""
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        self._has_stdio = True
        before, self.stream = self.stream, self._open()
        if before is not None:
            before.close()

    def _open(self) -> TextIOWrapper:
        stream = open(  # noqa: SIM115 - the handler closes it
            self.baseFilename, "a", encoding="utf-8", errors="backslashreplace", opener=_private
        )
        if self._has_stdio:
            os.dup2(stream.fileno(), 1)
            os.dup2(stream.fileno(), 2)
        return stream


def open_log(path: Path, level: str) -> LogFile:
    """Send all that is logged to a file; where none can be written, nowhere."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        log = LogFile(path)
    except OSError as error:
        print(f"branchline: no log in {path.parent}: {error.strerror}", file=sys.stderr)
        log = LogFile(Path(os.devnull))
    logging.raiseExceptions = False  # a full disk is no reason to write about it to the log
    logging.basicConfig(level=level.upper(), handlers=[log])
    return log


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)
