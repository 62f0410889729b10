"""Exact names that the work needs: paths, identifiers, URLs and errors, with when they came up.

Taken from what the user and the assistant wrote and from the arguments of tool calls, never from
what a tool printed.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from branchline.summaries.files import FileOperations
from branchline.summaries.offline.wording import LONGEST_CODE, code_in, excerpt, paths_in, unquoted

_MAX_KEPT: Final = 400
_URL = re.compile(r"\bhttps?://[^\s<>\"'`、。\uff0c\uff09)\]]{3,300}", re.ASCII)
_ERROR = re.compile(r"\b[A-Z]\w{0,60}(?:Error|Exception)\b|\bE[A-Z]{5,12}\b|\bHTTP [45]\d\d\b")
_IDENTIFIER = re.compile(
    r"\b[a-zA-Z]\w{0,60}_\w{1,60}\b(?!/)|\b[A-Z][a-z0-9]+[A-Z]\w{1,60}\b|\b[a-z]+[A-Z]\w{1,60}\b"
    r"|\b[A-Za-z_][\w.]{1,60}\(\)",
    re.ASCII,
)
_PATHLIKE = re.compile(r"[\w.~@+/-]*(?:/[\w.@+-]+|\.[A-Za-z]\w{0,7})", re.ASCII)


@dataclass(slots=True)
class Seen:
    """How often a name came up, and in which message last."""

    times: int
    at: int


@dataclass(slots=True)
class Names:
    """Names by sort."""

    paths: dict[str, Seen] = field(default_factory=dict)
    identifiers: dict[str, Seen] = field(default_factory=dict)
    urls: dict[str, Seen] = field(default_factory=dict)
    errors: dict[str, Seen] = field(default_factory=dict)

    def take_text(self, text: str, at: int) -> None:
        """Take in the names of what somebody wrote, code blocks included."""
        text = excerpt(text)
        for url in _URL.findall(text):
            see(self.urls, url.rstrip(".,;:!?"), at)
        text = _URL.sub(" ", text)
        for name in code_in(text):
            self.take_quoted(name, at)
        bare = unquoted(text)
        for path in paths_in(bare):
            see(self.paths, path, at)
        for name in _ERROR.findall(bare):
            see(self.errors, name, at)
        for name in _IDENTIFIER.findall(bare):
            if name not in self.errors and not any(name in path for path in paths_in(name)):
                see(self.identifiers, name, at)

    def take_quoted(self, name: str, at: int) -> None:
        """Take in something that was quoted as code."""
        if not name or len(name) > LONGEST_CODE or "\n" in name:
            return
        if _ERROR.fullmatch(name):
            see(self.errors, name, at)
        elif "://" in name:
            see(self.urls, name, at)
        elif name.endswith("/") or (_PATHLIKE.fullmatch(name) and paths_in(name)):
            see(self.paths, name, at)
        elif " " not in name and not name.isdigit():
            see(self.identifiers, name, at)

    def take_files(self, operations: FileOperations, at: int) -> None:
        """Take in the files that a tool call names."""
        for path in sorted(operations.read | operations.modified):
            if len(path) <= LONGEST_CODE:
                see(self.paths, path, at)


def most_used(names: dict[str, Seen], count: int) -> list[str]:
    """The names that came up most often, of equals the newest, most used first."""
    newest_first = reversed(names)
    return sorted(newest_first, key=lambda name: -names[name].times)[:count]


def see(names: dict[str, Seen], name: str, at: int) -> None:
    """Note that a name came up in a message; beyond a limit the one unseen longest goes."""
    earlier = names.pop(name, None)
    names[name] = Seen(earlier.times + 1 if earlier else 1, at)
    if len(names) > _MAX_KEPT:
        del names[next(iter(names))]
