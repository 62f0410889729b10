"""Lines taken by their fixed parts alone, without parsing them: what opens a large file quickly.

Pure. An entry is known by the beginning that Pi gives every message, or by the beginning and the
end of an extension's entry (see `format`). Tokens and flags are guesses from the line's bytes until
the file is verified. A line that does not look like that is left to the caller.
"""

import re
from array import array
from dataclasses import dataclass, field
from typing import Final

from branchline.entries import ROLES, Flag, Kind
from branchline.log.format import COMMON_SUFFIX, MESSAGE_PREFIX, PAYLOAD_FIRST, SUFFIX_BYTES
from branchline.tree.index import Columns

# As plain integers: an enum's arithmetic costs a microsecond, and there are 100,000 lines.
_ROLE_KINDS: Final = {role.encode(): int(kind) for role, kind in ROLES.items()}
_ASSISTANT: Final = int(Kind.ASSISTANT)
_HAS_TEXT: Final = int(Flag.HAS_TEXT)
_ENDED_BADLY: Final = int(Flag.ENDED_BADLY)

_BRACE: Final = ord("}")
_QUOTE: Final = ord('"')
_CONTENT: Final = b'"content":['
_TEXT_BLOCK: Final = b'{"type":"text","text":"'
_TEXT_FIRST: Final = _CONTENT + _TEXT_BLOCK
_TEXT_VALUE: Final = re.compile(rb'content":"[^"]')
_STOP_REASON: Final = b'"stopReason":"'
_ENDED_WELL: Final = (b'stop"', b'toolUse"')
# As numbers: to ask for a length here costs as much as the rest of the comparison.
_CONTENT_LENGTH: Final = len(_CONTENT)
_TEXT_BLOCK_LENGTH: Final = len(_TEXT_BLOCK)
_STOP_REASON_LENGTH: Final = len(_STOP_REASON)
_STOP_REASON_BYTES: Final = 400
_OVERHEAD_ASSISTANT: Final = 420
"""Bytes of a line that are no text, for the guess of its tokens."""
_OVERHEAD_ELSE: Final = 200


@dataclass(slots=True)
class Places:
    """Where each entry's record stands in the file, by ordinal: offset and length in bytes."""

    offsets: "array[int]" = field(default_factory=lambda: array("q"))
    lengths: "array[int]" = field(default_factory=lambda: array("q"))

    def add(self, offset: int, length: int) -> None:
        """The place of the next entry."""
        self.offsets.append(offset)
        self.lengths.append(length)

    def extend(self, later: "Places") -> None:
        """The places of the entries after these."""
        self.offsets.extend(later.offsets)
        self.lengths.extend(later.lengths)


def take_messages(
    columns: Columns, places: Places, buffer: bytearray, position: int, end: int, base: int
) -> tuple[int, int]:
    """Take message lines in ``buffer[position:end]``, which stands at ``base`` in the file.

    Gives where the first other line begins, and how many were taken. The one loop that decides how
    long a large file takes: nothing is looked up twice in it.
    """
    add_id, add_parent_id = columns.ids.append, columns.parent_ids.append
    add_kind, add_flags = columns.kinds.append, columns.flags.append
    add_tokens = columns.tokens.append
    add_offset, add_length = places.offsets.append, places.lengths.append
    find, match_prefix = buffer.find, MESSAGE_PREFIX.match
    taken = 0
    previous_raw, previous_id = b"", ""
    while (newline := find(b"\n", position, end)) >= 0 and buffer[newline - 1] == _BRACE:
        match = match_prefix(buffer, position, newline)
        if match is None:
            break
        raw_id, raw_parent_id, role = match.groups()
        kind = _ROLE_KINDS[role]
        length = newline - position
        flags, overhead = 0, _OVERHEAD_ELSE
        if kind == _ASSISTANT:
            flags, overhead = _guess_flags(buffer, match.end(), newline), _OVERHEAD_ASSISTANT
        if raw_parent_id is None:
            add_parent_id(None)
        elif raw_parent_id == previous_raw:  # most entries follow their parent
            add_parent_id(previous_id)
        else:
            add_parent_id(raw_parent_id.decode("utf-8", "replace"))
        previous_raw, previous_id = raw_id, raw_id.decode("utf-8", "replace")
        add_id(previous_id)
        add_kind(kind)
        add_flags(flags)
        add_tokens((length - overhead) // 4 if length > overhead else 0)
        add_offset(base + position)
        add_length(length)
        taken += 1
        position = newline + 1
    return position, taken


def take_payload_first(
    columns: Columns, places: Places, buffer: bytearray, start: int, end: int, base: int
) -> bool:
    """Take the line of an extension's entry, ``buffer[start:end]``. False: it has to be parsed."""
    first = PAYLOAD_FIRST.match(buffer, start, end)
    if not first or first[2].startswith(b"branchline."):
        return False
    match = COMMON_SUFFIX.search(buffer, max(start, end - SUFFIX_BYTES), end)
    if not match:
        return False
    entry_id, parent_id = match.groups()
    length = end - start
    is_message = first[1] == b"custom_message"
    columns.add(
        entry_id.decode("utf-8", "replace"),
        None if parent_id is None else parent_id.decode("utf-8", "replace"),
        Kind.CUSTOM_MESSAGE if is_message else Kind.CUSTOM,
        Flag(0),
        max(0, length - _OVERHEAD_ELSE) // 4 if is_message else 0,
    )
    places.add(base + start, length)
    return True


def _guess_flags(buffer: bytearray, start: int, end: int) -> int:
    flags = 0
    # Nearly always the first block says whether there is text; else all have to be looked at.
    text = start + _CONTENT_LENGTH
    if not buffer.startswith(_TEXT_FIRST, start):
        text = buffer.find(_TEXT_BLOCK, start, end)
    if (text >= 0 and buffer[text + _TEXT_BLOCK_LENGTH] != _QUOTE) or (
        text < 0 and _TEXT_VALUE.match(buffer, start + 1, end)
    ):
        flags = _HAS_TEXT
    last = end - _STOP_REASON_BYTES
    reason = buffer.rfind(_STOP_REASON, last if last > start else start, end)
    if reason < 0 or not buffer.startswith(_ENDED_WELL, reason + _STOP_REASON_LENGTH):
        flags |= _ENDED_BADLY
    return flags
