"""One cue, compiled so that a long conversation is read in seconds.

A cue has dozens of alternatives, and most sentences have none of them. So all that begin at a
word's beginning, or at the sentence's, are tried there only; cases are folded once, in the text;
and plain ASCII is spared what needs other letters. What a cue finds is not changed by any of it.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

_FLAGS = re.VERBOSE
_LETTER = re.compile(r"\\.|[A-Z]", re.DOTALL)


class Cue:
    """A cue of several languages: patterns for those with words set apart, and for the others."""

    def __init__(self, spaced: Sequence[str], unspaced: Sequence[str]) -> None:
        self._patterns = (*spaced, *unspaced)
        self._all = re.compile(_grouped(self._patterns), _FLAGS)
        self._ascii = re.compile(_grouped(spaced), _FLAGS)

    def search(self, text: str) -> re.Match[str] | None:
        """Where the cue is in a text first; what it gives is in lower case."""
        return (self._ascii if text.isascii() else self._all).search(text.lower())

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Everywhere it is, in lower case."""
        return (self._ascii if text.isascii() else self._all).finditer(text.lower())

    def sub(self, replacement: str, text: str) -> str:
        """The text with something else in its place."""
        return self._in_any_case.sub(replacement, text) if self.search(text) else text

    @cached_property
    def _in_any_case(self) -> re.Pattern[str]:
        return re.compile("|".join(f"(?:{one})" for one in self._patterns), _FLAGS | re.IGNORECASE)


def _grouped(patterns: Sequence[str]) -> str:
    """The patterns as one, in lower case, with their common beginnings taken out."""
    alternatives = [one for pattern in patterns for one in _alternatives(_lower(pattern))]
    groups = []
    for beginning in ("^", r"\b"):
        same = [one for one in alternatives if one.startswith(beginning)]
        alternatives = [one for one in alternatives if one not in same]
        if same:
            inner = "|".join(one.removeprefix(beginning) for one in same)
            groups.append(f"{beginning}(?:{inner})")
    return "|".join((*groups, *alternatives))


def _lower(pattern: str) -> str:
    return _LETTER.sub(lambda one: one[0] if one[0].startswith("\\") else one[0].lower(), pattern)


def _alternatives(pattern: str) -> list[str]:
    """The alternatives of a pattern, those in groups left alone."""
    found = [""]
    depth = 0
    in_class = False
    for token in re.findall(r"\\.|.", pattern, re.DOTALL):
        if in_class or token == "[":
            in_class = token != "]"
        elif token in "()":
            depth += 1 if token == "(" else -1
        elif token == "|" and depth == 0:
            found.append("")
            continue
        found[-1] += token
    return [one.strip() for one in found]
