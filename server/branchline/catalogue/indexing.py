"""Keeps the catalogue in step with the session files: reads what is new, a piece at a time.

Each piece is one transaction, so work that is killed goes on where it was. One process does it at
a time, see `IndexingLock`. Files are read the way an open session is, damage included.
"""

import fcntl
import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from branchline.catalogue.database import (
    ENTRY_BITS,
    LOCK,
    MOST_ENTRIES,
    Database,
    SessionRow,
    Status,
    all_sessions,
    checksum_of,
    forget_session,
    free_key,
    is_mostly_waste,
    put_session,
    session_of,
    writing,
)
from branchline.catalogue.words import searchable, separated, separated_paths
from branchline.entries import Kind
from branchline.errors import BranchlineError, InvalidSession
from branchline.log.format import milliseconds
from branchline.log.info import describe
from branchline.log.locations import beginnings, make_private_folders, session_entries
from branchline.log.saved_index import SavedIndexes, edges
from branchline.log.scan import VERIFIED_BYTES
from branchline.log.session_reader import SessionReader
from branchline.settings import SessionsRoot
from branchline.tree.index import Tree

_PIECE_BYTES: Final = 16 * 1024 * 1024
"""Bytes of session files that one transaction takes in, about."""

Document = tuple[int, str, str, str, str]
Place = tuple[int, str, int, int, int, int | None, int]


@dataclass(slots=True)
class Progress:
    """How far the work has come. ``described``: paths whose infos are known in full now."""

    sessions: int
    of_sessions: int
    size: int
    of_size: int
    described: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Piece:
    """What the next transaction takes in. ``size``: bytes of session files that it was made of."""

    documents: list[Document] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    rows: dict[int, SessionRow] = field(default_factory=dict)
    size: int = 0


class Indexer:
    """Brings the catalogue up to date. Blocks: use it in a thread or process of its own.

    ``indexes`` are those that the daemon saved of large files. ``report`` is told how it goes.
    ``pause`` is called now and then, and may raise to end the work: what is committed stays.
    ``urgent`` is asked between two files which ones go first.
    """

    def __init__(
        self,
        database: Database,
        indexes: SavedIndexes | None,
        *,
        report: Callable[[Progress], None] = lambda _: None,
        pause: Callable[[], None] = lambda: None,
        urgent: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._database = database
        self._indexes = indexes
        self._report = report
        self._pause = pause
        self._urgent = urgent

    def take_in_folders(self, roots: Collection[SessionsRoot]) -> None:
        """Take in what is new in session folders, the newest files first, and forget what is gone.

        Raises what `Database.use` raises.
        """
        with self._database.use() as connection:
            if is_mostly_waste(connection):
                self._database.discard()
        with self._database.use() as connection:
            rows = all_sessions(connection)
            found = statuses_in(roots)
            folders = beginnings(roots)
            gone = [
                row.path for row in rows if row.path not in found and row.path.startswith(folders)
            ]
            if gone:
                with writing(connection):
                    for path in gone:
                        forget_session(connection, path)
        self._take_in(news(found, taken_in(rows)))

    def take_in_files(self, paths: Iterable[str]) -> None:
        """Take in what is new in some session files. Raises what `take_in_folders` raises."""
        with self._database.use() as connection:
            known = {path: session_of(connection, path) for path in paths}
            found = statuses_of(known)
            with writing(connection):
                for path in known.keys() - found.keys():
                    forget_session(connection, path)
        self._take_in(news(found, taken_in(filter(None, known.values()))))

    # --- inside ------------------------------------------------------------------------------

    def _take_in(self, pending: dict[str, Status]) -> None:
        newest_first = sorted(pending, key=lambda path: pending[path][3], reverse=True)
        progress = Progress(0, len(pending), 0, sum(status[2] for status in pending.values()))
        self._report(progress)
        piece = _Piece()
        for path in newest_first:
            self._pause()
            if urgent := self._urgent():
                self._store(piece, progress)
                self.take_in_files(urgent)
            self._take_in_file(path, pending[path], piece, progress)
            progress.sessions += 1
            progress.size += pending[path][2]
            if piece.size >= _PIECE_BYTES or progress.sessions == progress.of_sessions:
                self._store(piece, progress)
            self._report(progress)

    def _take_in_file(self, path: str, status: Status, piece: _Piece, progress: Progress) -> None:
        with self._database.use() as connection:
            known = session_of(connection, path)
        if known is not None and not news({path: status}, taken_in([known])):
            return  # it was urgent meanwhile
        try:
            # Of a large file only what came since its index was saved is read, and parsed.
            verify_up_to = VERIFIED_BYTES if status[2] > VERIFIED_BYTES else 0
            file = SessionReader(Path(path), verify_up_to, self._indexes)
        except InvalidSession:
            with self._database.use() as connection, writing(connection):
                key = free_key(connection, status[3] // 1_000_000, piece.rows)
                put_session(connection, SessionRow(key, path, status, b"", None, 0, complete=True))
            return
        except (BranchlineError, OSError):
            return  # it cannot be read, which the next list says
        try:
            tree = file.tree
            row = self._row(path, status, file, tree, known, piece)
            piece.rows[row.key] = row
            count = min(sum(1 for kind in tree.kinds if kind != Kind.PLACEHOLDER), MOST_ENTRIES)
            for ordinal in range(row.indexed, count):
                if piece.size >= _PIECE_BYTES:
                    self._store(piece, progress)
                    self._pause()
                    piece.rows[row.key] = row
                if ordinal not in tree.superseded:
                    _add(piece, file, tree, ordinal, row)
                row.indexed = ordinal + 1
            row.complete = True
        except (BranchlineError, OSError):
            return  # it changed while it was read: whoever changed it makes it be looked at again
        finally:
            file.close()

    def _row(
        self,
        path: str,
        status: Status,
        file: SessionReader,
        tree: Tree,
        known: SessionRow | None,
        piece: _Piece,
    ) -> SessionRow:
        """What is to be stored of a session, with how much of it the index has already."""
        size = file.size
        row = SessionRow(
            key=0,
            path=path,
            # If it grew since it was looked at, this is no status that it ever had.
            status=(*status[:2], size, status[3] if size == status[2] else 0),
            edges=_edges(path, size),
            info=describe(file, tree, read_only=False),
            indexed=0,
            complete=False,
        )
        if known is not None and _goes_on(known, status, size):
            row.key, row.indexed = known.key, known.indexed
            row.first_ms, row.last_ms = known.first_ms, known.last_ms
        else:
            created = milliseconds(file.header.timestamp) or status[3] // 1_000_000
            with self._database.use() as connection:
                row.key = free_key(connection, created, piece.rows)
        return row

    def _store(self, piece: _Piece, progress: Progress) -> None:
        """Store a piece, and empty it."""
        progress.described += [row.path for row in piece.rows.values() if row.complete]
        piece.documents.sort()  # the index takes them quickest in the order of their places
        with self._database.use() as connection, writing(connection):
            for row in piece.rows.values():
                put_session(connection, row)
            connection.executemany(
                "insert into words(rowid, text, role, tools, files) values (?, ?, ?, ?, ?)",
                piece.documents,
            )
            connection.executemany("insert into entry values (?, ?, ?, ?, ?, ?, ?)", piece.places)
        piece.documents, piece.places, piece.rows, piece.size = [], [], {}, 0


def _goes_on(known: SessionRow, status: Status, size: int) -> bool:
    """Whether what is known of a file is how it begins."""
    same = known.status[:2] == status[:2] and known.status[2] <= size
    return same and _edges(known.path, known.status[2]) == known.edges


def _add(piece: _Piece, file: SessionReader, tree: Tree, ordinal: int, row: SessionRow) -> None:
    """Add one entry to a piece, if there is something in it to be searched."""
    offset, length = file.places.offsets[ordinal], file.places.lengths[ordinal]
    piece.size += length
    entry, kind = file.entry(ordinal), tree.kinds[ordinal]
    found = searchable(entry, kind)
    shown = entry.get("targetId") if kind == Kind.LABEL else tree.ids[ordinal]
    if found is None or not isinstance(shown, str):
        return
    place = row.key << ENTRY_BITS | ordinal
    sent = milliseconds(entry.get("timestamp"))
    if sent is not None:
        row.first_ms = sent if row.first_ms is None else min(sent, row.first_ms)
        row.last_ms = sent if row.last_ms is None else max(sent, row.last_ms)
    files = separated_paths(found.files)
    piece.documents.append((place, separated(found.text), found.role, found.tools, files))
    values = (place, shown, offset, length, kind, sent)
    piece.places.append((*values, checksum_of(values)))


def _edges(path: str, size: int) -> bytes:
    """A hash of the first bytes of a file, and of the last ones before ``size``."""
    with open(path, "rb", buffering=0) as file:
        return hashlib.sha256(b"".join(edges(file.fileno(), size))).digest()[:16]


def status_key(status: os.stat_result) -> Status:
    """By what one sees that a file changed."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def statuses_in(roots: Iterable[SessionsRoot]) -> dict[str, Status]:
    """By what one sees that the session files in session folders changed."""
    return _statuses((path, entry.stat) for root in roots for path, entry in session_entries(root))


def statuses_of(paths: Iterable[str]) -> dict[str, Status]:
    """The same of some files."""
    return _statuses((path, partial(os.stat, path)) for path in paths)


def _statuses(files: Iterable[tuple[str, Callable[[], os.stat_result]]]) -> dict[str, Status]:
    """Of those that are regular files."""
    found = {}
    for path, look in files:
        try:
            status = look()
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(status.st_mode):
            found[path] = status_key(status)
    return found


def taken_in(rows: Iterable[SessionRow]) -> dict[str, Status]:
    """The files that are in the catalogue with all that they held when they had this status."""
    return {row.path: row.status for row in rows if row.complete}


def news(found: Mapping[str, Status], known: Mapping[str, Status]) -> dict[str, Status]:
    """The files that the catalogue does not know as they are; for ``known`` see `taken_in`."""
    return {path: status for path, status in found.items() if known.get(path) != status}


class IndexingLock:
    """Held by the one process that writes to the catalogue. Free at once when its holder dies."""

    def __init__(self, database: Path) -> None:
        self._path = database.with_suffix(LOCK)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Wait for it, and hold it."""
        make_private_folders(self._path.parent)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)
