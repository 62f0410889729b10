"""The process that indexes, so that the daemon goes on answering while it works.

It reads requests on stdin, a JSON line each, and reports on stdout, a JSON line each:

    {"number", "roots": [[path, flat], …]}   take in what is new in these session folders
    {"number", "files": [path, …]}           take in what is new in these files; goes first

    {"sessions", "ofSessions", "bytes", "ofBytes", "described": [path, …]}   so far
    {"finished": number}                     all up to this request is done
    {"failed": "OSError"}                    the last line of a worker that cannot go on

It runs at the lowest priority, and ends when its stdin does: with the daemon, however that ends.
"""

import os
import sys
import time
from pathlib import Path
from threading import Condition, Thread
from typing import Any, Final

from branchline import codec
from branchline.catalogue.database import CatalogueDamaged, Database
from branchline.catalogue.indexing import Indexer, IndexingLock, Progress
from branchline.errors import place_of
from branchline.log.saved_index import SavedIndexes
from branchline.settings import SessionsRoot

_REPORT_SECONDS: Final = 0.25
_NICE: Final = 19
COMMAND: Final = (sys.executable, "-P", "-m", "branchline.catalogue.worker")
"""How it is started; the folders of the catalogue and of the saved indexes follow."""


class _Requests:
    """What is still to be done, as it comes in on stdin."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._roots: dict[str, bool] = {}
        self._files: dict[str, None] = {}
        self._ended = False
        self.last = 0

    def read(self) -> None:
        """Take requests in, to the end of stdin."""
        for line in sys.stdin.buffer:
            request: Any = codec.decode(line)
            with self._changed:
                self.last = request["number"]
                for path, flat in request.get("roots", ()):
                    self._roots[from_text(path)] = flat
                for path in request.get("files", ()):
                    self._files[from_text(path)] = None
                self._changed.notify()
        with self._changed:
            self._ended = True
            self._changed.notify()

    def wait(self) -> bool:
        """Wait for something to do; False if nothing will come any more."""
        with self._changed:
            while not (self._ended or self._roots or self._files):
                self._changed.wait()
            return not self._ended

    @property
    def ended(self) -> bool:
        """Whether it is time to go."""
        return self._ended

    def take_files(self) -> list[str]:
        """The files that are to be looked at; from now on none are."""
        with self._changed:
            files, self._files = list(self._files), {}
            return files

    def take_roots(self) -> list[SessionsRoot]:
        """The folders that are to be looked at; from now on none are."""
        with self._changed:
            roots, self._roots = self._roots, {}
            return [SessionsRoot(Path(path), flat) for path, flat in roots.items()]


class _Worker:
    def __init__(self, database: Database, indexes: SavedIndexes) -> None:
        self._requests = _Requests()
        self._database = database
        self._lock = IndexingLock(database.path)
        self._indexer = Indexer(
            database,
            indexes,
            report=self._report,
            pause=self._end_if_asked,
            urgent=self._requests.take_files,
        )
        self._roots: dict[SessionsRoot, None] = {}
        self._described: list[str] = []
        self._reported = 0.0
        self._checked = False

    def run(self) -> None:
        """Work until stdin ends."""
        Thread(target=self._requests.read, daemon=True).start()
        while self._requests.wait():
            number = self._requests.last
            try:
                with self._lock.held():
                    self._work()
                    say({"finished": number})
                    self._check_once()
            except Exception as error:  # the last word: what it is and where, never its text
                say({"failed": f"{type(error).__name__} at {place_of(error)}"})
                return

    def _work(self) -> None:
        new = self._requests.take_roots()
        self._roots |= dict.fromkeys(new)
        try:
            self._indexer.take_in_files(self._requests.take_files())
            self._indexer.take_in_folders(new)
        except CatalogueDamaged:
            self._indexer.take_in_folders(self._roots.keys())  # into a new one

    def _check_once(self) -> None:
        """Look once in this process's life whether the database is sound; begin it anew if not."""
        if self._checked:
            return
        self._checked = True
        self._database.delete_old_versions()
        try:
            self._database.check()
        except CatalogueDamaged:
            self._indexer.take_in_folders(self._roots.keys())

    def _end_if_asked(self) -> None:
        if self._requests.ended:
            raise SystemExit

    def _report(self, progress: Progress) -> None:
        self._described += progress.described
        progress.described.clear()
        is_last = progress.sessions == progress.of_sessions
        if is_last or time.monotonic() - self._reported >= _REPORT_SECONDS:
            self._reported = time.monotonic()
            say(
                {
                    "sessions": progress.sessions,
                    "ofSessions": progress.of_sessions,
                    "bytes": progress.size,
                    "ofBytes": progress.of_size,
                    "described": [as_text(path) for path in self._described],
                }
            )
            self._described.clear()


def say(report: dict[str, Any]) -> None:
    """Write one report."""
    sys.stdout.buffer.write(codec.encode(report) + b"\n")
    sys.stdout.buffer.flush()


def as_text(path: str) -> str:
    """A path as JSON can have it: a file's name need not be UTF-8."""
    return os.fsencode(path).decode("latin-1")


def from_text(sent: str) -> str:
    """The path that `as_text` was given."""
    return os.fsdecode(sent.encode("latin-1"))


def main() -> None:
    """Run: ``python -m branchline.catalogue.worker CATALOGUE INDEXES``."""
    os.nice(_NICE)
    catalogue, indexes = map(Path, sys.argv[1:3])
    _Worker(Database(catalogue), SavedIndexes(indexes)).run()


if __name__ == "__main__":
    main()
