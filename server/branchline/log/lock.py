"""The sidecar lock that the writers of one session file take in turn.

Never on the session file itself: other programs open and replace that. The lock's name is the hash
of the file's resolved path, so a symlink and a relative path lead to the same lock. A lock whose
holder died is free at once (the system releases it).
"""

import errno
import hashlib
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from branchline.errors import StorageFailure
from branchline.log.locations import make_private_folders

WAIT_SECONDS: Final = 10.0
"""How long one write waits for another program's; a write takes milliseconds."""


class SessionLock:
    """A lock on one session file, held for a single write."""

    def __init__(self, locks_dir: Path, session_file: Path) -> None:
        self._session_file = session_file
        name = hashlib.sha256(str(session_file).encode("utf-8", "surrogateescape")).hexdigest()
        self._path = locks_dir / name
        # Taken in one worker thread and released in another, so it may not be bound to a thread.
        self._lock = FileLock(self._path, timeout=WAIT_SECONDS, thread_local=False, mode=0o600)

    def acquire(self) -> None:
        """Take the lock. Raises `StorageFailure` if it cannot be made or had in time."""
        try:
            make_private_folders(self._path.parent)
            self._lock.acquire()
        except Timeout as error:
            waited = OSError(errno.EAGAIN, f"another program has held it for {WAIT_SECONDS:.0f} s")
            raise StorageFailure(self._session_file, "get the write lock of", waited) from error
        except OSError as error:
            raise StorageFailure(self._path, "make the lock file", error) from error

    def release(self) -> None:
        """Give the lock back; nothing happens if it is not held."""
        self._lock.release()
