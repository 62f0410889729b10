"""Search hits, below a line for each session."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from rich.cells import cell_len, set_cell_size

from branchline.terminal.rows import plain_text, short_age
from branchline.terminal.sessions import title

_MARKED: Final = "\x1b[1;33m"
_DIM: Final = "\x1b[2m"
_RESET: Final = "\x1b[0m"


def draw_hits(hits: Sequence[Mapping[str, Any]], *, width: int, color: bool) -> list[str]:
    """Lines for the hits of ``session/search``: each session where its best hit stands."""
    by_session: dict[str, list[Mapping[str, Any]]] = {}
    for hit in hits:
        by_session.setdefault(hit["session"]["path"], []).append(hit)
    now = datetime.now(UTC)
    lines: list[str] = []
    for found in by_session.values():
        info = found[0]["session"]
        right = f"  {short_age(info['modifiedAt'], now)}  {plain_text(str(info['id']))}"
        room = max(16, width - cell_len(right))
        lines += [f"{set_cell_size(title(info), room)}{right}", *_hits(found, width, color=color)]
    return lines


def _hits(hits: Iterable[Mapping[str, Any]], width: int, *, color: bool) -> Iterable[str]:
    for hit in hits:
        left = f"  {plain_text(hit['entryId'])}  {hit['role']:<13}  "
        room = max(16, width - cell_len(left))
        snippet = hit["snippet"]
        while cell_len(snippet) > room:
            snippet = snippet[:-1]
        if not color:
            yield (left + plain_text(snippet)).rstrip()
            continue
        yield f"{_DIM}{left}{_RESET}{_marked(snippet, hit['matches'])}"


def _marked(snippet: str, matches: Iterable[Sequence[int]]) -> str:
    """The snippet with its matches in colour; their places are UTF-16 code units."""
    units = snippet.encode("utf-16-le", "surrogatepass")
    parts: list[str] = []
    done = 0
    for start, end in matches:
        before, match = units[done : 2 * start], units[max(done, 2 * start) : 2 * end]
        parts.append(plain_text(before.decode("utf-16-le", "replace")))
        if match:
            parts.append(f"{_MARKED}{plain_text(match.decode('utf-16-le', 'replace'))}{_RESET}")
        done = max(done, 2 * end)
    return "".join([*parts, plain_text(units[done:].decode("utf-16-le", "replace"))])
