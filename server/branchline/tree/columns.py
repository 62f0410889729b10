"""The raw material of an index: what a scan found, what is wrong with it, and its labels."""

from array import array
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from branchline.entries import Entry, Flag, Kind
from branchline.tree.packed_facts import PackedFacts
from branchline.tree.packed_ids import PackedIds

NONE: Final = -1
"""The ordinal of no entry: the parent of a root, the leaf before the first entry."""


@dataclass(slots=True)
class Columns:
    """What a scan found, one item an entry, in file order. The raw material of a `Tree`."""

    ids: list[str] | PackedIds = field(default_factory=list)
    parent_ids: list[str | None] = field(default_factory=list)
    kinds: bytearray = field(default_factory=bytearray)
    flags: bytearray = field(default_factory=bytearray)
    tokens: "array[int]" = field(default_factory=lambda: array("l"))
    """Estimated tokens: exact where `Flag.EXACT` is set, else guessed from the line's length."""
    facts: dict[int, Entry] | PackedFacts = field(default_factory=dict)
    """The small fields of structural entries."""

    def add(
        self,
        entry_id: str,
        parent_id: str | None,
        kind: Kind,
        flags: Flag,
        tokens: int,
        facts: Entry | None = None,
    ) -> int:
        """Add one entry; give its ordinal."""
        ordinal = len(self.ids)
        self.ids.append(entry_id)
        self.parent_ids.append(parent_id)
        self.kinds.append(kind)
        self.flags.append(flags)
        self.tokens.append(tokens)
        if facts is not None:
            self.facts[ordinal] = facts
        return ordinal

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with the links between entries. ``code`` is a warning code."""

    code: str
    message: str
    ordinal: int


class Label(NamedTuple):
    """A label and when it was set (ISO 8601, as in the file; None if it is not a text)."""

    text: str
    timestamp: str | None
