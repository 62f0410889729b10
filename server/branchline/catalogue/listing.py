"""SessionInfos of files, each read once until its file changes, by whichever process.

What is known is taken from memory, else from the catalogue, else read from the file. Of a large
file that the catalogue does not know yet only head and tail are read, so that a list is quick:
its counts come when somebody looks at it (`Listing.counted`) or when it has been indexed
(`Listing.take_over`). One bad file never hides the others.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import Connection, Error
from threading import Lock
from typing import Final

from branchline.catalogue.database import (
    CatalogueDamaged,
    Database,
    SessionRow,
    Status,
    all_sessions,
    session_of,
)
from branchline.catalogue.indexing import status_key, statuses_in, statuses_of
from branchline.log.info import SessionInfo, read_info, read_session_id
from branchline.settings import SessionsRoot

_SELDOM: Final = 8
"""Files not in memory up to which each is read: to ask the catalogue costs more."""


@dataclass(frozen=True, slots=True)
class _Seen:
    status: Status
    info: SessionInfo | None


class Listing:
    """The infos of session files. Blocks: use it in a thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._seen: dict[str, _Seen] = {}
        self._turn = Lock()

    def infos_in(self, roots: Iterable[SessionsRoot]) -> list[SessionInfo]:
        """The infos of the files in session folders that hold a session or cannot be read."""
        return self._infos(statuses_in(roots))

    def infos(self, paths: Iterable[str]) -> list[SessionInfo]:
        """The same of some files."""
        return self._infos(statuses_of(paths))

    def _infos(self, found: Mapping[str, Status]) -> list[SessionInfo]:
        with self._turn:
            unknown = sum(not self._is_known(path, status) for path, status in found.items())
            if unknown > _SELDOM:
                self._load(all_sessions)
            infos = [self._info(path, status) for path, status in found.items()]
            return [info for info in infos if info is not None]

    def info(self, path: str) -> SessionInfo | None:
        """The info of one file; None if it is not a session."""
        return next(iter(self.infos([path])), None)

    def session_id(self, path: str) -> str | None:
        """The id in the header of a file; None if it has none or cannot be read."""
        seen = self._seen.get(path)
        if seen is not None and seen.info is not None:
            try:
                if status_key(os.stat(path)) == seen.status:
                    return str(seen.info["id"])
            except OSError:
                return None
        return read_session_id(Path(path))

    def counted(self, infos: Iterable[SessionInfo], most_bytes: int) -> list[SessionInfo]:
        """The same infos; the first, of files that have ``most_bytes`` together, with counts."""
        counted = list(infos)
        for at, info in enumerate(counted):
            most_bytes -= info["sizeBytes"]
            if most_bytes < 0:
                break
            if info["readable"] and info["entryCount"] is None:
                counted[at] = self._counted(info["path"]) or info
        return counted

    def take_over(self, paths: Iterable[str]) -> list[SessionInfo]:
        """Take over what the catalogue knows of files now; give the infos that say more by that."""
        with self._turn:
            before = {path: self._seen.get(path) for path in paths}
            self._load(lambda connection: _rows(connection, before))
            return [
                now.info
                for path, seen in before.items()
                if seen is not None and (now := self._seen[path]).info and now.info != seen.info
            ]

    # --- inside ------------------------------------------------------------------------------

    def _is_known(self, path: str, status: Status) -> bool:
        seen = self._seen.get(path)
        return seen is not None and seen.status == status

    def _load(self, rows: Callable[[Connection], Iterable[SessionRow]]) -> None:
        """Take over what the catalogue knows of sessions."""
        if not self._database.path.exists():
            return
        try:
            with self._database.use() as connection:
                for row in rows(connection):
                    self._seen[row.path] = _Seen(row.status, row.info)
        except (CatalogueDamaged, Error, OSError):
            return  # it will be made anew; the files are there

    def _counted(self, path: str) -> SessionInfo | None:
        with self._turn:
            try:
                status = os.stat(path)
            except OSError:
                return None
            info = read_info(Path(path), status, whole_up_to=status.st_size)
            self._seen[path] = _Seen(status_key(status), info)
            return info

    def _info(self, path: str, status: Status) -> SessionInfo | None:
        seen = self._seen.get(path)
        if seen is None or seen.status != status:
            try:
                now = os.stat(path)
            except OSError:
                return None  # deleted since it was looked at
            seen = self._seen[path] = _Seen(status_key(now), read_info(Path(path), now))
        return seen.info


def _rows(connection: Connection, paths: Iterable[str]) -> Iterator[SessionRow]:
    found = (session_of(connection, path) for path in paths)
    return (row for row in found if row is not None)
