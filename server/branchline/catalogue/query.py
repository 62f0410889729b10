"""What a person types to search, read into what the index and the session list are asked.

Pure. Words must all occur, in any order. Grammar, by example:

    two words   "a phrase"   begin*   -without   role:user   tool:bash   file:src/parser.py
    before:2026-05-01   after:2026-04   in:"my project"

Anything else with a colon is a word like any other (``std::vector``).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Self

from branchline.catalogue.words import ROLES, separated, separated_paths, term_pattern, words
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


@dataclass(frozen=True, slots=True)
class Term:
    """What a column of the index must hold.

    Attributes:
        phrases: one of these, in the index's own language.
        beginning: the word that the only phrase consists of, if others that begin so will do.
    """

    column: str
    phrases: Sequence[str]
    beginning: str | None = None

    def expression(self, words_from: Callable[[str], Sequence[str]]) -> str:
        """The term in the index's own language; for ``words_from`` see `Query.expression`."""
        found = self.beginning and words_from(self.beginning)
        phrases = map(_quoted, found) if found else self.phrases
        return f"{self.column} : ({' OR '.join(phrases)})"


@dataclass(slots=True)
class Query:
    """A query.

    Attributes:
        wanted, unwanted: what an entry must have, at least one; and what it must not have.
        before, after: hits were written before, and at or after, this time (ms since 1970).
        places: each must occur in a session's folder, path or name; lower case.
        pattern: finds the searched words in a text, see `words.folded`; None without words.
    """

    wanted: list[Term] = field(default_factory=list)
    unwanted: list[Term] = field(default_factory=list)
    before: int | None = None
    after: int | None = None
    places: list[str] = field(default_factory=list)
    pattern: "re.Pattern[str] | None" = None

    @classmethod
    def read(cls, text: str) -> Self:
        """Read a query. Raises `InvalidParams` if it is none."""
        if len(text) > _LONGEST:
            raise InvalidParams("query", f"must have at most {_LONGEST} characters")
        patterns: list[str] = []
        query = cls()
        for term in _TERM.finditer(text):
            value = term["word"] if term["phrase"] is None else term["phrase"]
            prefix = term["star"] is not None or (term["word"] or "").endswith("*")
            terms = query.unwanted if term["minus"] else query.wanted
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
                    terms.append(Term("role", found))
                case column:
                    term_words = words(value)
                    if not term_words:
                        continue
                    terms.append(_term(column, value, term_words, prefix=prefix))
                    if not term["minus"]:
                        patterns.append(term_pattern(term_words, prefix=prefix))
        if not query.wanted:
            raise InvalidParams("query", "needs a word, or a role:, tool: or file: to search for")
        if patterns:
            query.pattern = re.compile("|".join(patterns), re.IGNORECASE)
        return query

    def expression(self, words_from: Callable[[str], Sequence[str]]) -> str:
        """The query in the index's own language.

        ``words_from`` gives the words of the index that begin so; none if there are too many. For
        the index it is much less work to look for each of them than for a beginning.
        """
        wanted, unwanted = (
            [term.expression(words_from) for term in terms]
            for terms in (self.wanted, self.unwanted)
        )
        return " NOT ".join([" AND ".join(wanted), *unwanted])


def _term(column: str | None, value: str, value_words: list[str], *, prefix: bool) -> Term:
    name = {"tool": "tools", "file": "files"}.get(column or "", "text")
    prepared = separated_paths if name == "files" else separated
    phrase = _quoted(prepared(value))
    if not prefix:
        return Term(name, [phrase])
    # What else is one word is for the index to say.
    is_word = len(value_words) == 1 and value.isascii()
    return Term(name, [f"{phrase} *"], prepared(value_words[0]) if is_word else None)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', " ").replace("\x00", " ") + '"'


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
