"""The database of the catalogue: its tables, and that it can be thrown away at any time.

Everything in it was read from session files and can be read again, so a database that is damaged,
foreign or of another version is deleted and begun anew. Several processes may have it open (WAL);
one of them writes at a time. It holds no text of a session but its name and first message: the
full-text index is without content, and the text of a hit is read from the session file.

The place of an entry in the index is ``session key << 24 | number of the entry``. Keys go up with
the time that a session was begun, and are never used twice: a session that was replaced gets a new
one, and what the index has under the old one is passed over until the database is begun anew.
"""

import os
import sqlite3
import time
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any, Final

from branchline import codec
from branchline.log.locations import make_private_folders

VERSION: Final = 2
"""Goes up when the tables, or what is put into them, change."""
ENTRY_BITS: Final = 24
MOST_ENTRIES: Final = 1 << ENTRY_BITS
"""Entries of one session that can be searched."""

LOCK: Final = ".lock"
"""Ending of the file that whoever writes to the database holds."""
_UNUSED_SECONDS: Final = 30 * 86_400.0
_LITTLE: Final = 100_000
"""Entries that are gone, but not worth to begin the database anew."""
_KEYS_A_SECOND: Final = 64
_LAST_SECOND: Final = 1 << 32
_APPLICATION: Final = 0x42726C6E  # "Brln"
_WAIT_SECONDS: Final = 20.0
_SCHEMA: Final = f"""
pragma application_id = {_APPLICATION};
pragma user_version = {VERSION};
create table session (
    key integer primary key,
    path blob not null unique,
    device integer not null, inode integer not null,
    size integer not null, modified_ns integer not null,
    edges blob not null,
    info blob not null,
    indexed integer not null,
    complete integer not null,
    first_ms integer, last_ms integer,
    checksum integer not null,
    changed integer not null
);
create index session_changed on session (changed);
create table entry (
    place integer primary key,
    id text not null,
    offset integer not null, length integer not null,
    kind integer not null, sent_ms integer,
    checksum integer not null
);
create table gone (key integer primary key, entries integer not null);
create virtual table words using fts5(
    text, role, tools, files, content='', columnsize=0, tokenize='unicode61 remove_diacritics 2'
);
insert into words(words, rank) values('hashsize', 16777216);
create table block (id integer primary key, checksum integer not null);
create trigger block_written after insert on words_data begin
    insert or replace into block values (new.id, checksum(new.block)); end;
create trigger block_deleted after delete on words_data begin
    delete from block where id = old.id; end;
"""
"""SQLite has no checksums: those of the full-text index's blocks are kept up by triggers."""

_VOCABULARY: Final = "create virtual table temp.vocabulary using fts5vocab(main, words, instance)"
"""The words of the index in their order, for each connection; nothing of it is stored."""

_OUTSIDE: Final = frozenset(
    {
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
    }
)

Status = tuple[int, int, int, int]
"""Device, inode, size in bytes and time of the last change in nanoseconds."""


class CatalogueDamaged(Exception):
    """The database is no database of ours, or damaged. It was deleted."""


@dataclass(slots=True)
class SessionRow:
    """What the catalogue has of one session file.

    Attributes:
        edges: a hash of the first bytes, and of the last ones before ``status``'s size.
        info: the protocol's SessionInfo; None if the file holds no session.
        indexed: how many entries can be searched.
        complete: whether these are all.
        first_ms, last_ms: when the first and the last of them were written.
    """

    key: int
    path: str
    status: Status
    edges: bytes
    info: dict[str, Any] | None
    indexed: int
    complete: bool
    first_ms: int | None = None
    last_ms: int | None = None


class Database:
    """A connection to the catalogue, opened when first used. One thread at a time has it."""

    def __init__(self, folder: Path) -> None:
        """``folder`` need not exist. Nothing is opened yet."""
        self.path = folder / f"catalogue-{VERSION}.db"
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._turn = RLock()

    @contextmanager
    def use(self) -> Iterator[sqlite3.Connection]:
        """The connection, for reading or with `writing`.

        Raises `CatalogueDamaged` if it is of no use (then it is gone, and the next use begins it
        anew), `sqlite3.OperationalError` and `OSError` if the disk refuses.
        """
        with self._turn:
            try:
                yield self._opened()
            except (sqlite3.DatabaseError, codec.DecodeError, UnicodeDecodeError) as error:
                if isinstance(error, sqlite3.OperationalError) and _may_be_sound(error):
                    self.close()
                    raise
                self.discard()
                raise CatalogueDamaged(type(error).__name__) from error

    def close(self) -> None:
        """Give the connection back."""
        with self._turn:
            if self._connection is not None:
                with suppress(sqlite3.Error):
                    self._connection.close()
                self._connection = None

    def discard(self) -> None:
        """Delete the database. Whoever else has it open notices and opens the next one."""
        with self._turn:
            self.close()
            _delete(self.path)

    def delete_old_versions(self) -> None:
        """Delete the databases of other versions that nobody has used for long."""
        for path in self.path.parent.glob("catalogue-*.db"):
            with suppress(OSError):
                if path != self.path and time.time() - path.stat().st_mtime > _UNUSED_SECONDS:
                    _delete(path)
                    path.with_suffix(LOCK).unlink(missing_ok=True)

    def check(self) -> None:
        """Read all of it; raise `CatalogueDamaged` if it is. Takes seconds for a large one."""
        with self.use() as connection:
            found = connection.execute("pragma quick_check(1)").fetchone()
            if found != ("ok",):
                raise sqlite3.DatabaseError
            connection.execute("insert into words(words) values('integrity-check')")
            blocks = connection.execute(
                "select words_data.block, block.checksum from words_data full join block using (id)"
            )
            if any(found is None or zlib.crc32(found) != wanted for found, wanted in blocks):
                raise sqlite3.DatabaseError("a checksum is wrong")

    def _opened(self) -> sqlite3.Connection:
        if self._connection is not None and self._identity != _identity(self.path):
            self.close()  # another process began it anew
        if self._connection is None:
            make_private_folders(self.path.parent)
            self._connection = self._open()
            self._identity = _identity(self.path)
        return self._connection

    def _open(self) -> sqlite3.Connection:
        with suppress(FileExistsError):
            # Never opened otherwise: to close a descriptor gives back SQLite's own locks, too.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        connection = sqlite3.connect(
            self.path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            connection.create_function("checksum", 1, zlib.crc32, deterministic=True)
            connection.executescript(
                "pragma journal_mode = wal; pragma synchronous = normal;"
                "pragma cache_size = -16000; pragma temp_store = memory;"
            )
            if not _is_ours(connection):
                with writing(connection):
                    if not _is_ours(connection):  # or else another process was quicker
                        _make(connection)
            connection.execute(_VOCABULARY)
        except BaseException:
            connection.close()
            raise
        return connection


@contextmanager
def writing(connection: sqlite3.Connection) -> Iterator[None]:
    """One transaction: all of it is stored, or nothing."""
    connection.execute("begin immediate")
    try:
        yield
        connection.execute("commit")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("rollback")
        raise


@contextmanager
def reading(connection: sqlite3.Connection) -> Iterator[None]:
    """What is read in it is one state of the database, whatever others write meanwhile."""
    connection.execute("begin")
    try:
        yield
    finally:
        with suppress(sqlite3.Error):
            connection.execute("commit")


def _delete(database: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        Path(f"{database}{ending}").unlink(missing_ok=True)


def _may_be_sound(error: sqlite3.OperationalError) -> bool:
    """Whether the disk or another process is the reason: busy, full, not to be written, …"""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)  # none: no UTF-8
    return code & 0xFF in _OUTSIDE and code != sqlite3.SQLITE_IOERR_SHORT_READ


def _make(connection: sqlite3.Connection) -> None:
    for statement in _SCHEMA.split(";\n"):
        connection.execute(statement if "begin" not in statement else f"{statement};")


def _is_ours(connection: sqlite3.Connection) -> bool:
    """Whether it has our tables. Raises `sqlite3.DatabaseError` if it has others."""
    (application,) = connection.execute("pragma application_id").fetchone()
    (version,) = connection.execute("pragma user_version").fetchone()
    if (application, version) == (_APPLICATION, VERSION):
        return True
    (tables,) = connection.execute("select count(*) from sqlite_master").fetchone()
    if (application, version, tables) == (0, 0, 0):
        return False
    raise sqlite3.DatabaseError("another program's, or another version's")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


# --- the sessions ------------------------------------------------------------------------------

_COLUMNS: Final = (
    "key, path, device, inode, size, modified_ns, edges, info, indexed, complete, first_ms, last_ms"
)


def all_sessions(connection: sqlite3.Connection) -> list[SessionRow]:
    """What is known of all sessions, by key."""
    query = f"select {_COLUMNS}, checksum from session"
    return [_row(found) for found in connection.execute(query)]


def sessions_since(
    connection: sqlite3.Connection, change: int
) -> tuple[list[SessionRow], int, int]:
    """What was stored after a change; the number of the last change, and of all sessions."""
    query = f"select {_COLUMNS}, checksum from session where changed > ?"
    rows = [_row(found) for found in connection.execute(query, (change,))]
    last, count = connection.execute("select max(changed), count(changed) from session").fetchone()
    return rows, last or 0, count


def session_of(connection: sqlite3.Connection, path: str) -> SessionRow | None:
    """What is known of the session in a file."""
    query = f"select {_COLUMNS}, checksum from session where path = ?"
    found = connection.execute(query, (os.fsencode(path),)).fetchone()
    return _row(found) if found else None


def free_key(connection: sqlite3.Connection, created_ms: int, taken: Collection[int]) -> int:
    """A key that no session has or had, for one that was begun then; ``taken`` are no more free."""
    first = key = min(max(created_ms // 1000, 0), _LAST_SECOND) * _KEYS_A_SECOND
    query = "select key from session where key >= ?1 union select key from gone where key >= ?1"
    for (used,) in connection.execute(f"{query} order by key", (first,)):
        if used > key and key not in taken:
            break
        key = max(key, used + 1)
    while key in taken:
        key += 1
    return key


def put_session(connection: sqlite3.Connection, row: SessionRow) -> None:
    """Store what is known of a session, in place of what was known of that file."""
    known = session_of(connection, row.path)
    if known is not None and known.key != row.key:
        forget_session(connection, row.path)
    values = (
        row.key,
        os.fsencode(row.path),
        *row.status,
        row.edges,
        codec.encode(row.info),
        row.indexed,
        int(row.complete),
        row.first_ms,
        row.last_ms,
    )
    marks = ", ".join("?" * len(values))
    connection.execute(
        f"insert or replace into session ({_COLUMNS}, checksum, changed) values ({marks}, ?,"
        " (select coalesce(max(changed), 0) + 1 from session))",
        (*values, checksum_of(values)),
    )


def forget_session(connection: sqlite3.Connection, path: str) -> None:
    """Forget the session in a file; what the index has of it is waste from now on."""
    known = session_of(connection, path)
    if known is None:
        return
    first = known.key << ENTRY_BITS
    connection.execute("delete from session where key = ?", (known.key,))
    connection.execute(
        "delete from entry where place between ? and ?", (first, first + MOST_ENTRIES - 1)
    )
    connection.execute("insert into gone values (?, ?)", (known.key, known.indexed))


def is_mostly_waste(connection: sqlite3.Connection) -> bool:
    """Whether the index holds more that is gone than what is there."""
    (waste,) = connection.execute("select coalesce(sum(entries), 0) from gone").fetchone()
    (used,) = connection.execute("select coalesce(sum(indexed), 0) from session").fetchone()
    return bool(waste > max(used, _LITTLE))


def _row(found: tuple[Any, ...]) -> SessionRow:
    *values, checksum = found
    if checksum != checksum_of(values):
        raise sqlite3.DatabaseError("a checksum is wrong")
    key, path, device, inode, size, modified, edges, info, indexed, complete, first, last = values
    name, stored = os.fsdecode(path), codec.decode(info)
    return SessionRow(
        key,
        name,
        (device, inode, size, modified),
        edges,
        # JSON has no word for the name of every file.
        {**stored, "path": name} if isinstance(stored, dict) else None,
        indexed,
        bool(complete),
        first,
        last,
    )


def checksum_of(values: Sequence[object]) -> int:
    """The checksum of a row whose values are believed as they stand."""
    return zlib.crc32(repr(tuple(values)).encode())
