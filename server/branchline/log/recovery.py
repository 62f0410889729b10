"""What can be saved from a line that is not one whole record.

Pure: a line in, the whole records on it out. A line is damaged when a write was cut short and the
next record landed on it, when two writers' records were joined, or when something else was written
into it. Nothing here is written back.
"""

import re
from dataclasses import dataclass, field
from typing import Any, Final

from branchline import codec
from branchline.entries import ENTRY_TYPES
from branchline.log.format import FILLER, READABLE_PREFIX

_FILLER_RUN: Final = re.compile(b"[" + FILLER + b"]*")
_RECORD_START: Final = '{"type":'
_MAX_ATTEMPTS: Final = 2000
_EFFORT: Final = 8
"""At most this many times the line's length is parsed: a line made to be slow stays cheap."""


@dataclass(slots=True)
class Salvage:
    """What was found on a damaged line. Positions are bytes from the line's beginning."""

    records: list[tuple[int, int]] = field(default_factory=list)
    """Start and end of each whole record, in order."""
    lost_id: str | None = None
    """The id of the record that was lost, if its beginning shows id and parentId."""
    lost_parent_id: str | None = None
    lost_at: int = 0
    """Where the unreadable part begins."""


def salvage(line: bytes, *, with_ids: bool = True) -> Salvage:
    """Find the whole records on a line that does not parse as one.

    First whole objects from the left; where that ends, the rest of the line is searched from the
    right for a run of whole records that reaches its end (so that an object *inside* a cut record
    is never taken for a record). ``with_ids`` is False for version 1, whose records have none.
    """
    # Latin-1 gives one character a byte, so positions are offsets; JSON's own syntax is ASCII.
    text = line.decode("latin-1")
    found = Salvage()
    position = _skip_filler(line, 0)
    while position < len(line):
        try:
            value, end = codec.decode_first(text, position)
        except codec.DecodeError:
            break
        if looks_like_record(value, with_ids=with_ids):
            found.records.append((position, end))
        position = _skip_filler(line, end)
    if position >= len(line):
        return found
    found.lost_at = position
    lost = READABLE_PREFIX.match(line, position)
    if lost:
        found.lost_id = lost[2].decode("utf-8", "replace")
        found.lost_parent_id = lost[4].decode("utf-8", "replace") if lost[4] else None
    found.records.extend(_records_at_end(text, line, position, with_ids))
    return found


def looks_like_record(value: Any, *, with_ids: bool = True) -> bool:
    """Whether a decoded object may be an entry or header, not just a piece of one."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    if not with_ids:
        return value["type"] in ENTRY_TYPES
    return isinstance(value.get("id"), str) and ("parentId" in value or value["type"] == "session")


def _records_at_end(text: str, line: bytes, after: int, with_ids: bool) -> list[tuple[int, int]]:
    records: list[tuple[int, int]] = []
    end = len(line.rstrip(FILLER))
    budget = _EFFORT * (end - after)
    position = end
    for _ in range(_MAX_ATTEMPTS):
        position = text.rfind(_RECORD_START, after + 1, position + len(_RECORD_START) - 1)
        if position < 0 or budget < 0:
            break
        budget -= end - position
        try:
            value, value_end = codec.decode_first(text, position)
        except codec.DecodeError:
            continue
        if looks_like_record(value, with_ids=with_ids) and _skip_filler(line, value_end) >= end:
            records.append((position, value_end))
            end = len(line[:position].rstrip(FILLER))
    records.reverse()
    return records


def _skip_filler(line: bytes, position: int) -> int:
    filler = _FILLER_RUN.match(line, position)
    return filler.end() if filler else position
