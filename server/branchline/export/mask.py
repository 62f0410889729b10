"""Hides what looks like keys, home folders and e-mail addresses, the same everywhere.

Two steps, since a key may stand without its name where it is mentioned first: a `Finder` looks at
everything that will be shown, then its `Mask` replaces each thing found wherever its characters
stand. One thing always gets the same placeholder: ``[key 1]``, ``[email 2]``, ``~``.

A picture's data is not looked at. Everything else is: texts, keys of objects, ids, paths.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal

from branchline.export.secrets import is_strong, names_secret, secrets_in
from branchline.export.text import without_escapes
from branchline.tree.chat import is_image

MaskedKind = Literal["key", "homePath", "email"]

_HOME: Final = re.compile(
    r"(?:(?<![\w.~%-])(?:/mnt)?(?:/[a-zA-Z])?|(?<=://)|(?<=\\[nrt]))/(?:home|Users)/([\w.+@-]{1,64})"
    r"|[A-Za-z]:(\\{1,4}|/)Users(?:\\{1,4}|/)([^\\/:*?\"<>|\r\n]{1,40}(?=[\\/])|[\w.+@-]{1,64})"
)
"""A home folder: group 1 the name in a POSIX path, group 3 in one of Windows."""
_MAIL_NAME: Final = re.compile(r"[A-Za-z0-9._%+-]{1,64}\Z")
_MAIL_HOST: Final = re.compile(r"(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9-])")
_IN_URL: Final = re.compile(r"://[^\s/@]{0,290}\Z")
_NO_MAIL: Final = frozenset(
    ("png", "jpg", "jpeg", "gif", "svg", "webp", "py", "js", "ts", "md", "json", "css", "html")
)
_NO_HOMES: Final = frozenset({"Shared", "Public", "user", "username", "USER", "USERNAME"})
_NOUNS: Final = {"key": "key", "homePath": "home folder", "email": "e-mail address"}
_PLURAL: Final = {"key": "s", "homePath": "s", "email": "es"}
_APART: Final = "\n\x00\n"
"""Between texts that are looked at together: nothing that is found reaches across it."""
_GROUPED = 4  # first characters that the pattern of many texts branches on, one after the other


class Finder:
    """Collects what is to be hidden. Texts may come in any order and as often as one likes."""

    def __init__(self) -> None:
        self._keys: dict[str, None] = {}
        self._mails: dict[str, None] = {}
        self._homes: dict[str, dict[str, None]] = {}  # by name: its paths as they stand

    def look_at(self, value: Any) -> None:
        """Look at every text inside a JSON value."""
        text = _APART.join(map(without_escapes, _texts(value)))
        self._keys.update(dict.fromkeys(secrets_in(text)))
        if "@" in text:
            self._mails.update(dict.fromkeys(_mails_in(text)))
        if "/home/" in text or "Users" in text:
            self._look_for_homes(text)

    def mask(self) -> "Mask":
        """What hides all that was found so far."""
        return Mask(list(self._keys), list(self._mails), self._homes)

    def _look_for_homes(self, text: str) -> None:
        for match in _HOME.finditer(text):
            name = (match[1] or match[3]).rstrip(".")
            if name and name not in _NO_HOMES:
                path = match[0].rstrip(".") if match[1] else match[0]
                self._homes.setdefault(name, {})[path] = None


class Mask:
    """Replaces what a `Finder` found. The same text always gives the same text."""

    def __init__(
        self, keys: list[str], mails: list[str], homes: Mapping[str, Iterable[str]]
    ) -> None:
        everywhere = {key: f"[key {at}]" for at, key in enumerate(keys, 1)}
        words = {key: everywhere.pop(key) for key in keys if not is_strong(key)}
        everywhere |= {mail: f"[email {at}]" for at, mail in enumerate(mails, 1)}
        paths: dict[str, str] = {}
        for name, found in homes.items():
            paths |= dict.fromkeys(found, "~")
            paths |= {f"/{folder}/{name}": "~" for folder in ("home", "Users")}
            # As folders of sessions are named.
            paths |= {f"-{folder}-{name}": "-~" for folder in ("home", "Users")}
        self._steps = [
            _Replacing(texts, *edges)
            for texts, edges in (
                (everywhere, ("", "")),
                (paths, ("", r"(?!\w)")),
                (words, (r"(?<!\w)", r"(?!\w)")),
            )
            if texts
        ]
        self._counts: dict[MaskedKind, int] = {
            "key": len(keys),
            "homePath": len(homes),
            "email": len(mails),
        }

    @property
    def counts(self) -> list[dict[str, Any]]:
        """How many different ones are hidden: ``[{kind, count}]``, those of none left out."""
        return [{"kind": kind, "count": count} for kind, count in self._counts.items() if count]

    def text(self, text: str) -> str:
        """The text with everything replaced, and without escape sequences that could split it."""
        text = without_escapes(text)
        for replace in self._steps:
            text = replace(text)
        return text

    def value(self, value: Any) -> Any:
        """The JSON value with every text in it replaced, keys of objects included. Any depth."""
        result: list[Any] = [value]
        pending: list[Any] = [result]  # copies whose items are still those of the original
        while pending:
            holder = pending.pop()
            image = isinstance(holder, dict) and is_image(holder)
            for place, item in holder.items() if isinstance(holder, dict) else enumerate(holder):
                if isinstance(item, str):
                    if not (image and place == "data"):
                        holder[place] = self.text(item)
                elif isinstance(item, list):
                    holder[place] = copied = list(item)
                    pending.append(copied)
                elif isinstance(item, dict):
                    holder[place] = renamed = {self.text(key): one for key, one in item.items()}
                    pending.append(renamed)
        return result[0]


def hidden_text(counts: Iterable[Mapping[str, Any]]) -> str:
    """What was hidden and how far that can be trusted, in words for a person."""
    parts = [
        f"{one['count']:,} {_NOUNS[one['kind']]}{_PLURAL[one['kind']] if one['count'] != 1 else ''}"
        for one in counts
    ]
    if not parts:
        return "nothing found that looks like a key, a home folder or an e-mail address"
    listed = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
    return f"{listed} hidden; this goes by looks, so read before you share"


def _texts(value: Any) -> Iterator[str]:
    """Every text inside a JSON value that `Mask.value` replaces, in order."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list):
            pending.extend(reversed(item))
        elif isinstance(item, dict):
            image = is_image(item)
            for key, inner in reversed(item.items()):
                if not (image and key == "data"):
                    pending.append(inner)
                if isinstance(inner, str) and names_secret(key):
                    pending.append(f'{key}="{inner}"')  # they make sense together
                pending.append(key)


def _mails_in(text: str) -> Iterator[str]:
    at = text.find("@")
    while at >= 0:
        before = text[max(0, at - 300) : at]
        name, host = _MAIL_NAME.search(before), _MAIL_HOST.match(text, at + 1)
        if name and host and name[0] != "git" and not _IN_URL.search(before):
            ending = host[0].rpartition(".")[2].lower()
            if ending not in _NO_MAIL:
                yield f"{name[0]}@{host[0]}"
        at = text.find("@", at + 1)


class _Replacing:
    """Replaces any of some texts, a longer one first, where the edges allow it.

    The pattern branches on one character after the other, so that their number costs little.
    """

    def __init__(self, texts: Mapping[str, str], before: str, behind: str) -> None:
        branches = _branches(sorted(texts, key=len, reverse=True), _GROUPED)
        self._pattern = re.compile(before + branches + behind)
        self._texts = texts

    def __call__(self, text: str) -> str:
        return self._pattern.sub(self._other, text)

    def _other(self, match: "re.Match[str]") -> str:
        return self._texts[match[0]]


def _branches(texts: list[str], depth: int) -> str:
    groups: dict[str, list[str]] = {}
    for text in texts:
        groups.setdefault(text[:1], []).append(text[1:])
    parts = []
    for first, rests in groups.items():
        if depth == 0 or len(rests) == 1 or not first:
            parts += [re.escape(first + rest) for rest in rests]
        else:
            parts.append(re.escape(first) + _branches(rests, depth - 1))
    return f"(?:{'|'.join(parts)})"
