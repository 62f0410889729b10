"""Draws the rows of `session/tree` as lines of text for a terminal.

Rows are the JSON objects of the protocol; lines come back, and nothing is printed here. Whatever a
session holds, a line has no control character except the colours that this module adds, and is
never wider than asked for.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from rich.cells import cell_len

Row = Mapping[str, Any]
"""One line of the drawn tree, as the protocol has it."""


@dataclass(frozen=True, slots=True)
class _Signs:
    trunk: str
    covered: str
    passing: str
    branch: str
    last_branch: str
    folded: str
    unfolded: str
    user: str
    user_elsewhere: str
    assistant: str
    tool: str
    compaction: str
    branch_summary: str
    other: str
    leaf: str
    here: str
    label: str
    failed: str
    separator: str
    cut: str


_UNICODE: Final = _Signs(
    trunk="┃",
    covered="┆",
    passing="│",
    branch="├╴",
    last_branch="└╴",
    folded="⊞",
    unfolded="⊟",
    user="●",
    user_elsewhere="○",
    assistant="·",
    tool="⚙",
    compaction="◆",
    branch_summary="⇄",
    other="◦",
    leaf="◉",
    here="◀ here",
    label="⚑",
    failed="✗",
    separator=" · ",
    cut="…",
)
_ASCII: Final = _Signs(
    trunk="|",
    covered=":",
    passing="|",
    branch="|-",
    last_branch="`-",
    folded="+",
    unfolded="-",
    user="*",
    user_elsewhere="o",
    assistant=".",
    tool="%",
    compaction="=",
    branch_summary="~",
    other="'",
    leaf="@",
    here="< here",
    label="!",
    failed="x",
    separator=" - ",
    cut="...",
)

_RESET: Final = "\x1b[0m"
_BOLD: Final = "\x1b[1m"
_DIM: Final = "\x1b[2m"
_RED: Final = "\x1b[31m"
_GREEN: Final = "\x1b[32m"
_CYAN: Final = "\x1b[36m"

_WIDEST_MARK: Final = 16  # cells of a label and "here"; longer ones are cut
_NUMBERS: Final = 11  # cells of tokens and age, with the blanks before them
_NARROWEST_TEXT: Final = 24  # with less than this for the text, marks and numbers are left out
_JOINERS: Final = "\u200c\u200d"  # format characters that letters and emoji are made with


def draw_rows(
    rows: Sequence[Row],
    *,
    header: str | None,
    width: int,
    unicode: bool,
    color: bool,
    show_ids: bool,
    now: datetime | None = None,
) -> list[str]:
    """Draw a window of rows of layout ``pinned`` or ``pi``.

    Args:
        rows: as they came, in order, without gaps.
        header: a line above them, or None.
        width: the widest that a line may be, in terminal cells.
        unicode: draw with line characters; else everything is ASCII, session text included.
        color: add ANSI colours.
        show_ids: begin each line with the id of its entry.
        now: what ages are reckoned from; None is the present. It must have a time zone.
    """
    pen = _Pen(rows, width, _UNICODE if unicode else _ASCII, color, show_ids, now)
    lines = [] if header is None else [pen.header(header)]
    covered = _trunk_is_covered(rows)
    depths: dict[str | None, int] = {None: 0}
    previous: Row | None = None
    for at, row in enumerate(rows):
        depth, guides, parent_id = row["depth"], row["guides"], row["parentId"]
        if previous is not None and previous["type"] == "run":
            # What comes next hangs from the run's last entry, which has no row of its own.
            depths.setdefault(parent_id, previous["depth"])
        # A branch begins one deeper than its fork; where the fork stands above the window, all
        # that is known is that nearly every branch can be folded.
        deeper = depth > depths[parent_id] if parent_id in depths else row["foldable"]
        begins = deeper and depth > 0 and depth not in guides
        lines.append(pen.row(row, begins, covered[at] if 0 in guides else None))
        depths[row["id"]] = depth
        previous = row
    return lines


def plain_text(text: str) -> str:
    """The text on one line, without control, bidirectional and other invisible characters."""
    return "".join(_plain_character(character) for character in text)


def short_count(count: int) -> str:
    """A number of tokens in at most four characters: 340, 2k, 61k, 1.2M."""
    if count < 1000:
        return str(count)
    if count < 999_500:
        return f"{(count + 500) // 1000}k"
    return f"{count / 1e6:.1f}M" if count < 99_950_000 else f"{count // 1_000_000}M"


def short_age(timestamp: object, now: datetime) -> str:
    """How long ago: now, 5m, 3h, 2d, 1y. Empty if it is not an ISO 8601 time."""
    if not isinstance(timestamp, str):
        return ""
    try:
        then = datetime.fromisoformat(timestamp)
    except ValueError:
        return ""
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    minutes = int((now - then).total_seconds() // 60)
    for unit, length in (("y", 365 * 1440), ("d", 1440), ("h", 60), ("m", 1)):
        if minutes >= length:
            return f"{minutes // length}{unit}"
    return "now"


class _Pen:
    """Draws single rows, with the widths that all rows of a window share."""

    def __init__(
        self,
        rows: Sequence[Row],
        width: int,
        signs: _Signs,
        color: bool,
        show_ids: bool,
        now: datetime | None,
    ) -> None:
        self._width = width
        self._signs = signs
        self._color = color
        self._now = now or datetime.now(UTC)
        widths = [cell_len(self._clean(row["id"])) for row in rows] if show_ids else []
        self._id_width = min(max(widths, default=0), width // 2)
        marks = [cell_len(self._mark(row)) for row in rows]
        self._mark_width = min(max(marks, default=0), _WIDEST_MARK)
        left = width - self._mark_width - _NUMBERS
        if self._id_width:
            left -= self._id_width + 1
        self._with_columns = left >= _NARROWEST_TEXT

    def header(self, text: str) -> str:
        return self._paint(_BOLD, _crop(self._clean(text), self._width, self._signs.cut))

    def row(self, row: Row, begins_branch: bool, trunk_is_covered: bool | None) -> str:
        """One line. ``trunk_is_covered`` is None where no trunk passes a deeper row."""
        mark_width = self._mark_width if self._with_columns else 0
        room = self._width - (mark_width + _NUMBERS + 1 if self._with_columns else 0)
        entry_id = ""
        if self._id_width:
            entry_id = _crop(self._clean(row["id"]), self._id_width, self._signs.cut)
            entry_id = _fill(entry_id, self._id_width) + " "
        lanes = self._lanes(row, begins_branch, trunk_is_covered)
        before = cell_len(entry_id) + cell_len(lanes)
        ending = _crop(self._ending(row), room - before, self._signs.cut)
        room_for_body = room - before - cell_len(ending)
        body = _crop(self._body(row, begins_branch), room_for_body, self._signs.cut)
        line = (
            self._paint(_DIM, entry_id)
            + self._paint(_CYAN, lanes)
            + self._paint(self._style(row), body + ending)
        )
        if not self._with_columns:
            return line
        blanks = " " * (room + 1 - before - cell_len(body + ending))
        mark = _fill(_crop(self._mark(row), mark_width, self._signs.cut), mark_width)
        numbers = self._numbers(row)
        return (line + blanks + self._paint(_GREEN, mark) + self._paint(_DIM, numbers)).rstrip()

    def _lanes(self, row: Row, begins_branch: bool, trunk_is_covered: bool | None) -> str:
        signs = self._signs
        depth: int = row["depth"]
        if depth == 0:
            if row["isLeaf"]:
                return signs.leaf + " "
            if row["type"] == "compaction":
                return signs.compaction + " "
            return (signs.covered if row["context"] == "covered" else signs.trunk) + " "
        trunk = {None: " ", False: signs.trunk, True: signs.covered}[trunk_is_covered]
        guides = row["guides"]
        # Of many lanes only the innermost are drawn: more would leave no room for the text.
        first = max(1, depth - (self._width - self._id_width) // 8)
        lanes = "".join(
            f"{signs.passing if lane in guides else ' '}  " for lane in range(first, depth)
        )
        if begins_branch:
            own = signs.last_branch if row["last"] else signs.branch
        else:
            own = f"{signs.passing if depth in guides else ' '}  "
        return f"{trunk} {lanes}{own}"

    def _body(self, row: Row, begins_branch: bool) -> str:
        """What the row says, with the sign of what it is before it."""
        signs = self._signs
        text = self._clean(row["text"]).strip()
        if row["type"] == "run":
            return f"{signs.tool} {text}"
        if row["folded"]:
            return f"{signs.folded} {text}"
        in_lane = row["type"] == "compaction" and row["depth"] == 0 and not row["isLeaf"]
        sign = "" if in_lane else self._sign(row)
        if row["foldable"] and begins_branch:
            sign = f"{signs.unfolded} {sign}"
        return f"{sign}{text}"

    def _sign(self, row: Row) -> str:
        signs = self._signs
        if row["isLeaf"] and row["depth"] > 0:
            return signs.leaf + " "
        match row["type"], row["role"]:
            case _, "user":
                sign = signs.user if row["onActivePath"] else signs.user_elsewhere
            case _, "assistant":
                sign = signs.assistant
            case _, "toolResult" | "bashExecution":
                sign = signs.tool
            case "compaction", _:
                sign = signs.compaction
            case "branch_summary", _:
                sign = signs.branch_summary
            case _:
                sign = signs.other
        return sign + " "

    def _ending(self, row: Row) -> str:
        """What is to be seen however long the text is."""
        if row["type"] == "run":
            return ""
        if row["hidden"] is not None:
            count = row["hidden"]["messages"]
            return f"{self._signs.separator}{count} message{'' if count == 1 else 's'}"
        changed = f" ({row['context']})" if row["context"] in ("omitted", "replaced") else ""
        return f"{changed} {self._signs.failed}" if row["error"] else changed

    def _mark(self, row: Row) -> str:
        marks = []
        if row["label"]:
            marks.append(self._signs.label + self._clean(row["label"]))
        if row["isLeaf"]:
            marks.append(self._signs.here)
        return " ".join(marks)

    def _numbers(self, row: Row) -> str:
        hidden = row["hidden"] or {}
        tokens = hidden.get("tokens", row["tokens"])
        age = short_age(hidden.get("lastTimestamp") or row["timestamp"], self._now)
        return f" {'' if tokens is None else short_count(tokens):>5}{age:>5}"

    def _style(self, row: Row) -> str:
        if row["error"]:
            return _RED
        is_tool = row["type"] == "run" or row["role"] == "toolResult"
        if is_tool or not row["onActivePath"] or row["context"] == "covered":
            return _DIM
        return _BOLD if row["role"] == "user" or row["isLeaf"] else ""

    def _clean(self, text: str) -> str:
        text = plain_text(text)
        return text if self._signs is _UNICODE else text.encode("ascii", "replace").decode()

    def _paint(self, style: str, text: str) -> str:
        return f"{style}{text}{_RESET}" if self._color and style and text.strip() else text


def _trunk_is_covered(rows: Sequence[Row]) -> list[bool]:
    """For each row, whether the trunk that passes it is compacted away.

    The trunk beside a branch is drawn as the trunk's next row: what stands above it hangs from it.
    """
    covered = False
    found: list[bool] = []
    for row in reversed(rows):
        if row["depth"] == 0:
            covered = row["context"] == "covered"
        found.append(covered)
    found.reverse()
    return found


def _plain_character(character: str) -> str:
    match unicodedata.category(character):
        case "Cc" | "Zl" | "Zp":
            return " " if character.isspace() else ""
        case "Cf":
            return character if character in _JOINERS else ""
        case "Cs":
            return "\ufffd"
        case _:
            return character


def _crop(text: str, width: int, cut: str) -> str:
    """The text, cut at the width in cells, with a sign that it was."""
    if cell_len(text) <= width:
        return text
    room = width - cell_len(cut)
    if room <= 0:
        return cut[: max(width, 0)]
    end = min(len(text), room)
    while cell_len(text[:end]) > room:
        end -= 1
    return text[:end].rstrip() + cut


def _fill(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))
