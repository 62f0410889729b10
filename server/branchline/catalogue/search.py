"""Finds what a query asks for: in the index of words, then in the session files themselves.

Of all that matches, the newest few thousand are ranked: by who said it, how long ago, and how much
else it says. A cursor goes on behind them, so no page costs more than the first.
"""

import base64
import math
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from sqlite3 import Connection, DatabaseError
from typing import Any, Final, NamedTuple

from branchline import codec
from branchline.catalogue.database import (
    ENTRY_BITS,
    Database,
    SessionRow,
    Status,
    all_sessions,
    checksum_of,
    reading,
    sessions_since,
)
from branchline.catalogue.indexing import news, statuses_in, taken_in
from branchline.catalogue.query import Query
from branchline.catalogue.words import folded, searchable
from branchline.codec import utf16_length
from branchline.entries import Kind, kind_of
from branchline.errors import InvalidParams
from branchline.log.info import SessionInfo
from branchline.settings import SessionsRoot
from branchline.tree.preview import one_line

_RANKED: Final = 2000
"""How many of the newest matches are ranked against each other."""
_RANKED_EACH: Final = 50
"""The same of one session, where only a few of each are wanted."""
_LOOKED_AT: Final = 100_000
"""Matches that are looked at for one page, those of other sessions included."""
_WORDS: Final = 500
"""Words that are looked for one by one instead of their common beginning."""
_END: Final = 1 << 62
"""Behind the last place."""
_HALF_LIFE_DAYS: Final = 60.0
_DAY_MS: Final = 86_400_000
_MEANT_LENGTH: Final = 1000
"""Bytes of a record from which on it counts less the longer it is."""
_WEIGHTS: Final[dict[int, float]] = {
    Kind.LABEL: 4.0,
    Kind.SESSION_INFO: 4.0,
    Kind.USER: 3.0,
    Kind.COMPACTION: 2.0,
    Kind.BRANCH_SUMMARY: 2.0,
    Kind.ASSISTANT: 1.5,
}
"""How much a match counts by what it stands in; anything else counts 1."""
_LEAD: Final = 60
_SNIPPET: Final = 400
"""Characters before the first match, and in all, that a snippet is made of."""
_PLACES: Final = """
select rowid from words where words match ? and rowid between ? and ? order by rowid desc
"""
_NEXT_WORD: Final = "select term from vocabulary where term >= ? limit 1"
_MATCHES: Final = """
select place, id, offset, length, kind, sent_ms, checksum
from entry where place in (select value from json_each(?)) order by place desc
"""

Wanted = Callable[[SessionInfo], bool]


@dataclass(frozen=True, slots=True)
class Hit:
    """One entry that matches. ``matches`` are places in ``snippet`` in UTF-16 code units."""

    session: SessionInfo
    entry_id: str
    role: str
    snippet: str
    matches: list[list[int]]
    timestamp: str | None

    def as_json(self) -> dict[str, Any]:
        """The hit as the protocol has it."""
        return {
            "session": self.session,
            "entryId": self.entry_id,
            "role": self.role,
            "snippet": self.snippet,
            "matches": self.matches,
            "timestamp": self.timestamp,
        }


@dataclass(frozen=True, slots=True)
class HitPage:
    """Some of the hits, and where the next page begins (None: nowhere)."""

    hits: list[Hit]
    next_cursor: str | None


class _Match(NamedTuple):
    """A match in the index, as a row of `_MATCHES` has it. ``kind`` is the entry's."""

    place: int
    entry_id: str
    offset: int
    length: int
    kind: int
    sent_ms: int | None

    @property
    def key(self) -> int:
        """The key of the session."""
        return self.place >> ENTRY_BITS


class Searcher:
    """Searches the catalogue. Blocks: use it in a thread."""

    def __init__(self, database: Database) -> None:
        self.path = database.path
        self._database = database
        self._sessions: dict[str, SessionRow] = {}
        self._taken_in: dict[str, Status] = {}
        self._change = 0
        self._version: tuple[Connection, int] | None = None

    def search(
        self,
        query: Query,
        wanted: Wanted,
        cursor: str | None,
        limit: int,
        per_session: int | None,
        *,
        is_ended: Callable[[], bool] = lambda: False,
    ) -> HitPage:
        """The page of hits behind ``cursor`` (None: the first), in sessions that are ``wanted``.

        ``per_session``: at most so many of one session. ``is_ended``: whether nobody waits for it
        any more; asked when its turn has come, and then nothing is found. Raises `InvalidParams`
        for a cursor that no page gave, and what `Database.use` raises.
        """
        bound, at = (_END, 0) if cursor is None else _read_cursor(cursor)
        with self._database.use() as connection, reading(connection):
            if is_ended():
                return HitPage([], None)
            self._load(connection)
            infos = {
                row.key: row.info
                for row in self._sessions.values()
                if row.info is not None and _may_hit(row, row.info, query) and wanted(row.info)
            }
            found, next_bound = _newest(connection, query, infos.keys(), bound, per_session)
            ranked = _ranked(found, per_session)
            hits: list[Hit] = []
            while at < len(ranked) and len(hits) < limit:
                match = ranked[at]
                hit = _hit(match, infos[match.key], query)
                if hit is not None:
                    hits.append(hit)
                at += 1
        if at < len(ranked):
            return HitPage(hits, _cursor(bound, at))
        return HitPage(hits, None if next_bound is None else _cursor(next_bound, 0))

    def news(self, roots: Iterable[SessionsRoot]) -> dict[str, Status]:
        """The files in session folders that the catalogue does not know as they are."""
        with self._database.use() as connection, reading(connection):
            self._load(connection)
            known = self._taken_in
        return news(statuses_in(roots), known)

    def _load(self, connection: Connection) -> None:
        """Take in what changed in the database since it was last looked at."""
        (version,) = connection.execute("pragma data_version").fetchone()
        if (connection, version) == self._version:
            return
        if self._version is None or connection is not self._version[0]:
            self._change = 0  # another connection: perhaps to another database
        rows, change, count = sessions_since(connection, self._change)
        known = self._sessions if self._change else {}
        known.update((row.path, row) for row in rows)
        if len(known) != count:  # some were forgotten
            known = {row.path: row for row in all_sessions(connection)}
        self._sessions, self._change, self._version = known, change, (connection, version)
        self._taken_in = taken_in(known.values())


def _may_hit(row: SessionRow, info: SessionInfo, query: Query) -> bool:
    return (
        row.indexed > 0
        and (query.before is None or row.first_ms is None or row.first_ms < query.before)
        and (query.after is None or row.last_ms is None or row.last_ms >= query.after)
        and (not query.places or _is_at(info, query.places))
    )


def _is_at(info: SessionInfo, places: Iterable[str]) -> bool:
    named = "\n".join(str(info[key]) for key in ("cwd", "name", "path") if info[key]).casefold()
    return all(place in named for place in places)


def _newest(
    connection: Connection, query: Query, keys: Collection[int], bound: int, per_session: int | None
) -> tuple[list[_Match], int | None]:
    """The newest matches before the place ``bound``; and the bound of the next ones, if any.

    Newest is what was begun last: the places of sessions are in that order.
    """
    if not keys:
        return [], None
    most = _RANKED if per_session is None else _RANKED_EACH
    low, high = min(keys) << ENTRY_BITS, min(bound, (max(keys) + 1) << ENTRY_BITS)
    places: list[int] = []
    taken: Counter[int] = Counter()
    next_bound = None
    expression = query.expression(partial(words_from, connection))
    matches = connection.execute(_PLACES, (expression, low, high - 1))
    for looked_at, (place,) in enumerate(matches, 1):
        key = place >> ENTRY_BITS
        if key in keys and taken[key] < most:
            taken[key] += 1
            places.append(place)
        if len(places) >= _RANKED or looked_at >= _LOOKED_AT:
            next_bound = place
            break
    rows = connection.execute(_MATCHES, (codec.encode(places),)).fetchall()
    if len(rows) != len(places) or any(checksum_of(row[:-1]) != row[-1] for row in rows):
        raise DatabaseError("an entry is missing or damaged")
    found = (_Match._make(row[:-1]) for row in rows)
    return [match for match in found if _is_of_its_time(match, query)], next_bound


def words_from(connection: Connection, beginning: str) -> list[str]:
    """The words of the index that begin so; none if they are more than `_WORDS`."""
    found: list[str] = []
    word = beginning
    # Asked one by one: to ask for several goes through all the places of each.
    while (row := connection.execute(_NEXT_WORD, (word,)).fetchone()) is not None:
        if not row[0].startswith(beginning):
            break
        if len(found) == _WORDS:
            return []
        found.append(row[0])
        word = f"{row[0]}\0"
    return found


def _is_of_its_time(match: _Match, query: Query) -> bool:
    if match.sent_ms is None:
        return query.before is None and query.after is None
    return (query.before is None or match.sent_ms < query.before) and (
        query.after is None or match.sent_ms >= query.after
    )


def _ranked(matches: list[_Match], per_session: int | None) -> list[_Match]:
    """The best first."""
    newest = max((match.sent_ms or 0 for match in matches), default=0)

    def score(match: _Match) -> float:
        age = (newest - (match.sent_ms or 0)) / _DAY_MS
        weight = _WEIGHTS.get(match.kind, 1.0)
        return weight * math.exp2(-age / _HALF_LIFE_DAYS) / math.log2(_MEANT_LENGTH + match.length)

    ranked = sorted(matches, key=score, reverse=True)
    if per_session is None:
        return ranked
    shown: Counter[int] = Counter()
    few: list[_Match] = []
    for match in ranked:
        shown[match.key] += 1
        if shown[match.key] <= per_session:
            few.append(match)
    return few


def _hit(match: _Match, info: SessionInfo, query: Query) -> Hit | None:
    """The hit with what the file says there; None if the file is another by now."""
    try:
        with open(info["path"], "rb", buffering=0) as file:
            raw = os.pread(file.fileno(), match.length, match.offset)
        entry = codec.decode(raw)
    except (OSError, codec.DecodeError):
        return None
    is_same = isinstance(entry, dict) and kind_of(entry) == match.kind
    found = searchable(entry, match.kind) if is_same else None
    named = entry.get("targetId" if match.kind == Kind.LABEL else "id") if found else None
    if found is None or named not in (match.entry_id, None):  # version 1 has no ids
        return None
    snippet, matches = _snippet(found.text, query)
    timestamp = entry.get("timestamp")
    return Hit(
        info,
        match.entry_id,
        found.role,
        snippet,
        matches,
        timestamp if isinstance(timestamp, str) else None,
    )


def _snippet(text: str, query: Query) -> tuple[str, list[list[int]]]:
    """The text around the first match on one line, and the places of all matches on it."""
    if query.pattern is None:
        return one_line(text), []
    first = query.pattern.search(folded(text))
    start = max(0, first.start() - _LEAD) if first else 0
    line = one_line(("…" if start else "") + text[start : start + _SNIPPET])
    return line, [
        [utf16_length(line[: match.start()]), utf16_length(line[: match.end()])]
        for match in query.pattern.finditer(folded(line))
    ]


def _cursor(bound: int, at: int) -> str:
    return base64.urlsafe_b64encode(f"{bound} {at}".encode()).decode()


def _read_cursor(cursor: str) -> tuple[int, int]:
    try:
        raw = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True)
        bound, at = map(int, raw.decode().split())
    except ValueError:
        raise InvalidParams("cursor", "must be a nextCursor of an earlier answer") from None
    if not (0 <= bound <= _END and at >= 0):
        raise InvalidParams("cursor", "must be a nextCursor of an earlier answer")
    return bound, at
