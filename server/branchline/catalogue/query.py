"""What a person types to search, read into what the index and the session list are asked.

Pure. Words must all occur, in any order. Grammar, by example:

    two words   "a phrase"   begin*   -without   role:user   tool:bash   file:src/parser.py
    before:2026-05-01   after:2026-04   in:"my project"

Anything else with a colon is a word like any other (``std::vector``).
"""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Self

from branchline.catalogue.words import ROLES, separated, term_pattern, words
from branchline.errors import InvalidParams

_TERM: Final = re.compile(
    r"""(?P<minus>-)?(?:(?P<filter>role|tool|file|before|after|in):)?"""
    r"""(?:"(?P<phrase>[^"]*)"?|(?P<word>[^\s"]+))(?P<star>\*)?"""
)
_DATE: Final = re.compile(r"(\d{4})(?:-(\d\d?)(?:-(\d\d?))?)?")
_SUMMARIES: Final = ("compaction", "branchSummary")
_ROLES: Final = {
    **{role.lower(): (role,) for role in ROLES.values()},
    "tool": ("toolResult",),
    "bash": ("bashExecution",),
    "summary": _SUMMARIES,
}
_LONGEST: Final = 1_000
"""The longest query, in characters."""


@dataclass(slots=True)
class Query:
    """A query.

    Attributes:
        expression: for the full-text index, in its own language.
        before, after: hits were written before, and at or after, this time (ms since 1970).
        places: each must occur in a session's folder, path or name; lower case.
        pattern: finds the searched words in a text, see `words.folded`; None without words.
    """

    expression: str
    before: int | None = None
    after: int | None = None
    places: list[str] = field(default_factory=list)
    pattern: "re.Pattern[str] | None" = None

    @classmethod
    def read(cls, text: str) -> Self:
        """Read a query. Raises `InvalidParams` if it is none."""
        if len(text) > _LONGEST:
            raise InvalidParams("query", f"must have at most {_LONGEST} characters")
        wanted: list[str] = []
        unwanted: list[str] = []
        patterns: list[str] = []
        query = cls("")
        for term in _TERM.finditer(text):
            value = term["word"] if term["phrase"] is None else term["phrase"]
            prefix = term["star"] is not None or (term["word"] or "").endswith("*")
            match term["filter"]:
                case "before":
                    query.before = _day(value, "before")
                case "after":
                    query.after = _day(value, "after")
                case "in":
                    query.places.append(value.casefold())
                case "role":
                    found = _ROLES.get(value.lower())
                    if found is None:
                        known = ", ".join(sorted(_ROLES))
                        raise InvalidParams("query", f"has an unknown role; known are {known}")
                    (unwanted if term["minus"] else wanted).append(f"role : ({' OR '.join(found)})")
                case column:
                    term_words = words(value)
                    if not term_words:
                        continue
                    name = {"tool": "tools", "file": "files"}.get(column or "", "text")
                    phrase = f"{name} : {_quoted(value)}{' *' if prefix else ''}"
                    (unwanted if term["minus"] else wanted).append(phrase)
                    if not term["minus"]:
                        patterns.append(term_pattern(term_words, prefix=prefix))
        if not wanted:
            raise InvalidParams("query", "needs a word, or a role:, tool: or file: to search for")
        query.expression = " AND ".join(wanted) + "".join(f" NOT {one}" for one in unwanted)
        if patterns:
            query.pattern = re.compile("|".join(patterns), re.IGNORECASE)
        return query


def _quoted(value: str) -> str:
    return '"' + separated(value).replace('"', " ").replace("\x00", " ") + '"'


def _day(value: str, name: str) -> int:
    """The first moment of a day, month or year in UTC, in milliseconds since 1970."""
    found = _DATE.fullmatch(value)
    if found:
        year, month, day = (int(part or 1) for part in found.groups())
        try:
            return round(datetime(year, month, day, tzinfo=UTC).timestamp() * 1000)
        except ValueError:
            pass
    raise InvalidParams("query", f"has a wrong date: write {name}:2026-05-31")
