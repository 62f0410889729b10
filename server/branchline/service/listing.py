"""Which sessions a list shows, in which order, page by page. Pure."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from branchline.errors import InvalidParams
from branchline.log.info import SessionInfo
from branchline.log.locations import lies_in, same_folder

_SEARCHED: Final = ("name", "firstMessage", "id", "cwd")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a list is to show. ``folders``: sessions of these or below them; None: all."""

    folders: Sequence[Path] | None
    query: str = ""
    named: bool = False
    threaded: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the wanted sessions, how many there are, and where the next page begins."""

    sessions: list[SessionInfo]
    total: int
    next_cursor: str | None


class InFolders:
    """Whether a session's folder is one of some folders, or lies below one. Ask it for one answer.

    Links are followed once for each folder: sessions are many, their folders few.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._parents = [same_folder(str(folder)) for folder in folders]
        self._known: dict[str, bool] = {}

    def __call__(self, info: SessionInfo) -> bool:
        """Whether this session is one of them."""
        cwd = info["cwd"]
        if not isinstance(cwd, str):
            return False
        if cwd not in self._known:
            self._known[cwd] = lies_in(same_folder(cwd), self._parents)
        return self._known[cwd]


def select(infos: Sequence[SessionInfo], wanted: Wanted, cursor: str | None, limit: int) -> Page:
    """The page of wanted sessions behind ``cursor`` (None: the first).

    A cursor names the last session of the page before, so that what was added meanwhile does not
    shift the pages. Raises `InvalidParams` for a cursor that no page gave.
    """
    words = wanted.query.casefold().split()
    shown = [
        info
        for info in infos
        if (info["name"] or not wanted.named) and (not words or _has_words(info, words))
    ]
    if wanted.folders is not None:
        shown = list(filter(InFolders(wanted.folders), shown))
    shown.sort(key=_age, reverse=True)
    if wanted.threaded:
        shown = _thread(shown)
    start = 0
    if cursor is not None:
        end, path = _read_cursor(cursor)
        # If that session is gone, what came after it stands one place before.
        start = next((at + 1 for at, info in enumerate(shown) if info["path"] == path), end - 1)
    end = start + limit
    page = shown[start:end]
    return Page(page, len(shown), _cursor(end, page[-1]) if end < len(shown) else None)


def _has_words(info: SessionInfo, words: list[str]) -> bool:
    text = "\n".join(str(info[key]) for key in _SEARCHED if info[key]).casefold()
    return all(word in text for word in words)


def _age(info: SessionInfo) -> tuple[str, str]:
    return info["modifiedAt"] or "", info["path"]


def _thread(infos: list[SessionInfo]) -> list[SessionInfo]:
    """Each session followed by its forks; a family stands where its newest member would."""
    by_path = {info["path"]: info for info in infos}
    forks: dict[str, list[SessionInfo]] = {}
    for info in infos:
        parent = info["parentSession"]
        if parent in by_path and parent != info["path"]:
            forks.setdefault(parent, []).append(info)
    threaded: dict[str, SessionInfo] = {}
    for info in infos:
        family: list[SessionInfo] = [_head(info, by_path)]
        while family:
            member = family.pop()
            if member["path"] not in threaded:
                threaded[member["path"]] = member
                family.extend(reversed(forks.get(member["path"], [])))
        threaded.setdefault(info["path"], info)
    return list(threaded.values())


def _head(info: SessionInfo, by_path: dict[str, SessionInfo]) -> SessionInfo:
    """The session that a family of forks began with; sessions that name each other end the way."""
    passed = {info["path"]}
    while (parent := info["parentSession"]) in by_path and parent not in passed:
        passed.add(parent)
        info = by_path[parent]
    return info


def _cursor(end: int, info: SessionInfo) -> str:
    text = f"{end} {info['path']}"
    return base64.urlsafe_b64encode(text.encode("utf-8", "surrogateescape")).decode()


def _read_cursor(cursor: str) -> tuple[int, str]:
    try:
        raw = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True)
        end, _, path = raw.decode("utf-8", "surrogateescape").partition(" ")
        return max(1, int(end)), path
    except ValueError:
        raise InvalidParams("cursor", "must be a nextCursor of an earlier answer") from None
