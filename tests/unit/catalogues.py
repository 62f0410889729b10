"""A catalogue of a test's own session files."""

from pathlib import Path
from typing import Any

from branchline.catalogue.database import Database, SessionRow, all_sessions
from branchline.catalogue.indexing import Indexer
from branchline.catalogue.query import Query
from branchline.catalogue.search import Hit, Searcher
from branchline.settings import SessionsRoot
from tests.unit.session_files import header, text_of_file, write


class Catalogue:
    """A catalogue of the session files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = Database(folder / "cache")
        self.searcher = Searcher(self.database)

    def indexer(self, **callbacks: Any) -> Indexer:
        return Indexer(self.database, None, **callbacks)

    def take_in(self) -> None:
        self.indexer().take_in_folders([SessionsRoot(self.folder, flat=True)])

    def write(self, name: str, *records: Any, **fields: Any) -> Path:
        return write(self.folder, text_of_file(header(**{"id": name, **fields}), *records), name)

    def hits(self, query: str, *, limit: int = 100, per_session: int | None = None) -> list[Hit]:
        read = Query.read(query)
        return self.searcher.search(read, lambda _: True, None, limit, per_session).hits

    def found(self, query: str, **params: Any) -> list[str]:
        """Session and entry of each hit, sorted."""
        return sorted(f"{hit.session['id']} {hit.entry_id}" for hit in self.hits(query, **params))

    def rows(self) -> dict[str, SessionRow]:
        """What the database has of each session, by the name of its file."""
        with self.database.use() as connection:
            return {Path(row.path).name: row for row in all_sessions(connection)}
