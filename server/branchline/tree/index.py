"""The index of one session: every entry's place in the tree, and none of their bodies.

An entry is known by its *ordinal*, its position among the entries of the file. The index is a set
of columns by ordinal, so that 100,000 entries cost a few megabytes; what an entry says is read
through `Bodies` when somebody looks.

Rules kept here (format.md, "The tree and the leaf"): the parent link makes the tree; a missing
parent makes a root; in a cycle the member that stands first becomes a root; a later record with an
id already seen takes its place; siblings stand in file order; the last record sets the leaf.
Every walk is a loop and ends, whatever the file holds.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from branchline.entries import BOOKKEEPING, MOVES, Entry, Flag, Kind
from branchline.tree.children import Children

NONE: Final = -1
"""The ordinal of no entry: the parent of a root, the leaf before the first entry."""
_MISSING: Final = -2
"""Stands for a parent that is not in the file while the links are made."""


class Bodies(Protocol):
    """Where the bodies of entries are read from. Ordinals are those of the index."""

    def entry(self, ordinal: int) -> Entry:
        """The decoded entry."""
        ...


@dataclass(slots=True)
class Columns:
    """What a scan found, one item an entry, in file order. The raw material of a `Tree`."""

    ids: list[str] = field(default_factory=list)
    parent_ids: list[str | None] = field(default_factory=list)
    kinds: bytearray = field(default_factory=bytearray)
    flags: bytearray = field(default_factory=bytearray)
    tokens: "array[int]" = field(default_factory=lambda: array("l"))
    """Estimated tokens: exact where `Flag.EXACT` is set, else guessed from the line's length."""
    facts: dict[int, Entry] = field(default_factory=dict)
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


@dataclass(frozen=True, slots=True)
class Label:
    """A label and when it was set (ISO 8601, as in the file; None if it is not a text)."""

    text: str
    timestamp: str | None


class Tree:
    """The linked index. Grows by `append`; nothing is ever removed.

    Attributes:
        ids, kinds, flags, tokens: the columns of the entries, by ordinal.
        parents: the parent's ordinal, or `NONE` for a root.
        facts: small fields of structural entries, by ordinal.
        leaf: the ordinal of the leaf, or `NONE` before the first entry.
        labels: the label of each labelled entry, by ordinal.
        name: the session's name on one line, or None.
        problems: what is wrong with the links.
        version: goes up with every change, so that what is derived can be kept until then.
    """

    def __init__(self, columns: Columns) -> None:
        self.ids = columns.ids
        self.kinds = columns.kinds
        self.flags = columns.flags
        self.tokens = columns.tokens
        self.facts = columns.facts
        self.problems: list[Problem] = []
        self.labels: dict[int, Label] = {}
        self.name: str | None = None
        self.leaf = NONE
        self.version = 0
        self.superseded: set[int] = set()
        """Ordinals whose id a later record took over; they are no part of the tree."""
        self._by_id: dict[str, int] = {}
        self._children: Children | None = None  # made when first asked for
        self._index_ids()
        self.parents: array[int] = array("l")
        self._link_parents(columns.parent_ids)
        self._break_cycles()
        self._read_facts()
        self._place_leaf()

    # --- reading -----------------------------------------------------------------------------

    def __len__(self) -> int:
        """How many records there are, superseded ones and placeholders included."""
        return len(self.ids)

    def find(self, entry_id: str) -> int | None:
        """The ordinal of the entry with this id."""
        return self._by_id.get(entry_id)

    def id_of(self, ordinal: int) -> str | None:
        """The id of an entry, or None for `NONE`."""
        return None if ordinal == NONE else self.ids[ordinal]

    def kind(self, ordinal: int) -> Kind:
        """What the entry is."""
        return Kind(self.kinds[ordinal])

    def entries(self) -> Iterator[int]:
        """Every entry of the tree in file order; superseded records left out."""
        if not self.superseded:
            return iter(range(len(self.ids)))
        return (ordinal for ordinal in range(len(self.ids)) if ordinal not in self.superseded)

    def roots(self) -> Iterator[int]:
        """The roots in file order."""
        return self._links().of(NONE)

    def children(self, ordinal: int) -> Iterator[int]:
        """The children in file order; of `NONE`, the roots."""
        return self._links().of(ordinal)

    def path(self, ordinal: int) -> list[int]:
        """The way from the root to the entry, both included; empty for `NONE`."""
        path: list[int] = []
        parents = self.parents
        while ordinal != NONE:
            path.append(ordinal)
            ordinal = parents[ordinal]
        path.reverse()
        return path

    def common_ancestor(self, one: int, other: int) -> int:
        """The deepest entry on both paths, or `NONE`."""
        # A step of each walk in turn: the cost is how far away it is, not how deep the tree is.
        seen: set[int] = set()
        while one != NONE or other != NONE:
            if one in seen:
                return one
            if one != NONE:
                seen.add(one)
                one = self.parents[one]
            one, other = other, one
        return NONE

    def below(self, ordinal: int) -> Iterator[int]:
        """The entry and everything below it, parents before children."""
        pending = [ordinal]
        while pending:
            current = pending.pop()
            yield current
            pending.extend(self.children(current))

    def newest_tip_below(self, ordinal: int) -> int:
        """The newest entry at or below this one that is no move record."""
        return max(
            (entry for entry in self.below(ordinal) if self.kinds[entry] not in MOVES),
            default=ordinal,
        )

    def in_order(self) -> Sequence[int]:
        """Every entry, parents before their children; in file order wherever that is enough."""
        if not self.superseded and all(
            parent < ordinal for ordinal, parent in enumerate(self.parents)
        ):
            return range(len(self.ids))
        return [entry for root in self.roots() for entry in self.below(root)]

    def tips(self) -> list[int]:
        """The ends of the branches, in file order: one for each way the conversation went.

        Bookkeeping alone makes no branch: a label or a move record beside an answer is no tip,
        and a tip that ends in bookkeeping counts once.
        """
        is_tip = bytearray(b"\x01" * len(self.ids))
        said = bytearray(len(self.ids))  # whether the entry, or something below it, is said
        for ordinal in reversed(self.in_order()):
            if self.kinds[ordinal] not in BOOKKEEPING:
                said[ordinal] = 1
            parent = self.parents[ordinal]
            if said[ordinal] and parent != NONE:
                said[parent] = 1
                is_tip[parent] = 0
        return [ordinal for ordinal in self.entries() if said[ordinal] and is_tip[ordinal]]

    # --- growing -----------------------------------------------------------------------------

    def append(
        self,
        entry_id: str,
        parent: int,
        kind: Kind,
        flags: Flag,
        tokens: int,
        facts: Entry | None = None,
    ) -> int:
        """Add one entry below ``parent``; give its ordinal. The leaf stays where it is.

        The id must be new (see `find`).
        """
        ordinal = len(self.ids)
        self.ids.append(entry_id)
        self.kinds.append(kind)
        self.flags.append(flags)
        self.tokens.append(tokens)
        self.parents.append(parent)
        self._by_id[entry_id] = ordinal
        if self._children is not None:
            self._children.add(parent, ordinal)
        if facts is not None:
            self.facts[ordinal] = facts
            self._read_fact(ordinal, kind, facts)
        self.version += 1
        return ordinal

    def append_found(self, columns: Columns, ordinal: int) -> int:
        """Add an entry that was found in the file; give its ordinal here.

        A parent that is not there makes it a root, with the problem ``orphan``.
        """
        entry_id = columns.ids[ordinal]
        parent_id = columns.parent_ids[ordinal]
        parent = NONE if parent_id is None else self._by_id.get(parent_id)
        if parent is None:
            parent = NONE
            message = f"The parent {parent_id} of {entry_id} is not in the file"
            self.problems.append(Problem("orphan", message, len(self.ids)))
        return self.append(
            entry_id,
            parent,
            Kind(columns.kinds[ordinal]),
            Flag(columns.flags[ordinal]),
            columns.tokens[ordinal],
            columns.facts.get(ordinal),
        )

    def move_target(self, ordinal: int) -> int | None:
        """Where a move record (ours or Pi's ``leaf``) leads; None if its target is unknown."""
        target = self.facts.get(ordinal, {}).get("targetId")
        if target is None:
            return NONE
        return self._by_id.get(target) if isinstance(target, str) else None

    # --- linking, once -----------------------------------------------------------------------

    def _index_ids(self) -> None:
        by_id = self._by_id
        if len(set(self.ids)) == len(self.ids):
            by_id.update(zip(self.ids, range(len(self.ids)), strict=True))
            return
        for ordinal, entry_id in enumerate(self.ids):
            earlier = by_id.get(entry_id)
            if earlier is not None:
                self.superseded.add(earlier)
                message = f"The id {entry_id} is used again; the later record counts"
                self.problems.append(Problem("duplicate-id", message, ordinal))
            by_id[entry_id] = ordinal

    def _link_parents(self, parent_ids: Sequence[str | None]) -> None:
        find = self._by_id.get
        self.parents.extend(
            NONE if parent_id is None else find(parent_id, _MISSING) for parent_id in parent_ids
        )
        if _MISSING not in self.parents:
            return
        for ordinal, parent_id in enumerate(parent_ids):
            if self.parents[ordinal] == _MISSING:
                self.parents[ordinal] = NONE
                if ordinal not in self.superseded:
                    message = f"The parent {parent_id} of {self.ids[ordinal]} is not in the file"
                    self.problems.append(Problem("orphan", message, ordinal))

    def _break_cycles(self) -> None:
        """Make the first member of each cycle a root.

        Only an entry that stands before its own parent can close a cycle, so the walks start there.
        """
        parents = self.parents
        cleared = bytearray(len(parents))
        starts = [start for start, parent in enumerate(parents) if parent >= start]
        for start in starts:
            if start in self.superseded:
                continue
            trail: list[int] = []
            on_trail: set[int] = set()
            current = start
            while current != NONE and not cleared[current] and current not in on_trail:
                trail.append(current)
                on_trail.add(current)
                current = parents[current]
            if current != NONE and current in on_trail:
                first = min(trail[trail.index(current) :])
                parents[first] = NONE
                message = (
                    f"The ancestors of {self.ids[first]} lead back to it; it is read as a root"
                )
                self.problems.append(Problem("cycle", message, first))
            for entry in trail:
                cleared[entry] = 1

    def _links(self) -> Children:
        if self._children is None:
            self._children = Children(self.parents, self.superseded)
        return self._children

    def _read_facts(self) -> None:
        for ordinal in sorted(self.facts):
            if ordinal not in self.superseded:
                self._read_fact(ordinal, self.kind(ordinal), self.facts[ordinal])

    def _read_fact(self, ordinal: int, kind: Kind, facts: Entry) -> None:
        """Take over what one structural entry says about the session as a whole."""
        match kind:
            case Kind.LABEL:
                self._read_label(ordinal, facts)
            case Kind.SESSION_INFO:
                name = facts.get("name")
                self.name = (" ".join(name.split()) or None) if isinstance(name, str) else None
            case Kind.CONTEXT_EDIT if self._target(facts) is None:
                self._miss("edit-target-missing", ordinal, facts.get("targetId"))
            case Kind.LEAF | Kind.MOVE if self.move_target(ordinal) is None:
                self._miss("leaf-target-missing", ordinal, facts.get("targetId"))
            case _:
                pass

    def _read_label(self, ordinal: int, facts: Entry) -> None:
        target = self._target(facts)
        if target is None:
            self._miss("label-target-missing", ordinal, facts.get("targetId"))
            return
        text = facts.get("label")
        timestamp = facts.get("timestamp")
        if isinstance(text, str) and text.strip():
            self.labels[target] = Label(text, timestamp if isinstance(timestamp, str) else None)
        else:
            self.labels.pop(target, None)

    def _target(self, facts: Entry) -> int | None:
        target = facts.get("targetId")
        return self._by_id.get(target) if isinstance(target, str) else None

    def _miss(self, code: str, ordinal: int, target: object) -> None:
        # What is no text may be nested deeper than anything here could print.
        named = f"the entry {target}" if isinstance(target, str) else "an entry, but not by its id"
        message = f"{self.ids[ordinal]} names {named}, which is not in the file"
        self.problems.append(Problem(code, message, ordinal))

    def _place_leaf(self) -> None:
        """The last record is the leaf, or says where it is."""
        last = len(self.ids) - 1
        while last >= 0 and self.kinds[last] == Kind.PLACEHOLDER:
            last -= 1
        if last < 0:
            return
        self.leaf = last
        if self.kinds[last] in MOVES:
            target = self.move_target(last)
            if target is not None:
                self.leaf = target
