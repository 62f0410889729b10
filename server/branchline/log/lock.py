"""The sidecar lock that the writers of one session file take in turn.

Never on the session file itself: other programs open and replace that. The lock's name is the hash
of the file's resolved path, so a symlink and a relative path lead to the same lock. A lock whose
holder died is free at once: the system releases it.

This is ``flock`` on a descriptor that stays open, which costs two system calls a write; a lock
library costs more than the rest of an append.
"""

import errno
import fcntl
import hashlib
import os
import time
from pathlib import Path
from typing import Final

from branchline.errors import StorageFailure
from branchline.log.locations import make_private_folders

WAIT_SECONDS: Final = 10.0
"""How long one write waits for another program's; a write takes milliseconds."""

_FIRST_PAUSE: Final = 0.0005
_LONGEST_PAUSE: Final = 0.02


class SessionLock:
    """A lock on one session file, held for a single write. Blocks: use it in a thread."""

    def __init__(self, locks_dir: Path, session_file: Path) -> None:
        self._session_file = session_file
        name = hashlib.sha256(os.fsencode(session_file)).hexdigest()
        self._path = locks_dir / name
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Take the lock. Raises `StorageFailure` if it cannot be made or had in time."""
        try:
            self._take()
        except OSError as error:
            raise StorageFailure(self._path, "make the lock file", error) from error

    def release(self) -> None:
        """Give the lock back; nothing happens if it is not held."""
        if self._descriptor is not None:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give the descriptor back, and with it the lock."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _take(self) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        pause = _FIRST_PAUSE
        while True:
            if self._descriptor is None:
                self._descriptor = self._open()
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    what = f"another program has held it for {WAIT_SECONDS:.0f} s"
                    waited = OSError(errno.EAGAIN, what)
                    doing = "get the write lock of"
                    raise StorageFailure(self._session_file, doing, waited) from None
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
                continue
            if os.fstat(self._descriptor).st_nlink > 0:
                return
            self.close()  # somebody removed the file: others will lock a new one

    def _open(self) -> int:
        make_private_folders(self._path.parent)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        return os.open(self._path, flags, 0o600)
