"""The index of one session: every entry's place in the tree, and none of their bodies.

An entry is known by its *ordinal*, its position among the entries of the file. The index is a set
of columns by ordinal, so that 100,000 entries cost a few megabytes; what an entry says is read
through `Bodies` when somebody looks.

Rules kept here (format.md, "The tree and the leaf"): the parent link makes the tree; a missing
parent makes a root; in a cycle the member that stands first becomes a root; a later record with an
id already seen takes its place; siblings stand in file order; the last record sets the leaf.
Every walk is a loop and ends, whatever the file holds.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import chain, compress
from typing import Final, Protocol

from branchline.entries import BOOKKEEPING, MOVES, Entry, Flag, Kind
from branchline.tree.children import Children
from branchline.tree.columns import NONE, Columns, Label, Problem
from branchline.tree.linking import LinkedEntries, Links

__all__ = ["NONE", "Bodies", "Columns", "Label", "Problem", "Tree"]

_SAID: Final = bytes(kind not in BOOKKEEPING for kind in range(256))
"""A table from a kind to 1 if such an entry says something, else 0."""
_NEAR: Final = 1_000
"""How many stretches of a path are looked for in the one that was asked for last."""


class Bodies(Protocol):
    """Where the bodies of entries are read from. Ordinals are those of the index."""

    def entry(self, ordinal: int) -> Entry:
        """The decoded entry."""
        ...


class Tree(LinkedEntries):
    """The linked index. Grows by `append`; nothing is ever removed.

    Attributes (beside those of `LinkedEntries`):
        leaf: the ordinal of the leaf, or `NONE` before the first entry.
        version: goes up with every change, so that what is derived can be kept until then.
    """

    def __init__(self, columns: Columns, links: Links | None = None) -> None:
        """The index of a scan; with ``links``, of one that was linked before."""
        super().__init__(columns, links)
        self.leaf = NONE
        self.version = 0
        self._last_path: tuple[list[int], bytes] = [], b""
        self._children: Children | None = None  # made when first asked for
        self.place_leaf()

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

    @property
    def parents_first(self) -> bool:
        """Whether every entry stands behind its parent, so that the ordinals of a path go up."""
        return all(self.parents[ordinal] < ordinal for ordinal in self._all_turns())

    def path(self, ordinal: int) -> list[int]:
        """The way from the root to the entry, both included; empty for `NONE`."""
        return self.path_and_kinds(ordinal)[0][:]

    def path_and_kinds(self, ordinal: int) -> tuple[list[int], bytes]:
        """The same, with the kind of each; not to be changed."""
        # Most paths that are asked for go the way of the last one but for the end. Where a parent
        # stands behind its child, it may not be found there, and is walked past.
        (last, last_kinds), parents, turns = self._last_path, self.parents, self._all_turns()
        known, lower = 0, list[range]()
        while ordinal != NONE:
            if last and len(lower) < _NEAR:
                at = bisect_left(last, ordinal)
                if at < len(last) and last[at] == ordinal:
                    known = at + 1
                    break
            first = ordinal
            if parents[ordinal] == ordinal - 1:
                at = bisect_left(turns, ordinal)
                first = turns[at - 1] if at > 0 else 0
            lower.append(range(first, ordinal + 1))
            ordinal = parents[first]
        lower.reverse()
        kinds = b"".join(self.kinds[part.start : part.stop] for part in lower)
        found = [*last[:known], *chain.from_iterable(lower)], last_kinds[:known] + kinds
        self._last_path = found
        return found

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
        if not self.superseded and self.parents_first:
            return range(len(self.ids))
        return [entry for root in self.roots() for entry in self.below(root)]

    def tips(self) -> list[int]:
        """The ends of the branches, in file order: one for each way the conversation went.

        Bookkeeping alone makes no branch: a label or a move record beside an answer is no tip,
        and a tip that ends in bookkeeping counts once.
        """
        said = self.kinds.translate(_SAID)
        for ordinal in self.superseded:
            said[ordinal] = 0
        # Whether something is said right below: one place more than there are entries, for `NONE`.
        goes_on = bytearray(len(self) + 1)
        for parent in compress(self.parents, said):
            goes_on[parent] = 1
        for ordinal in reversed([other for other in self.in_order() if not said[other]]):
            if goes_on[ordinal]:  # bookkeeping on the way to what is said
                goes_on[self.parents[ordinal]] = 1
        # As one long integer each, for the bytes are 0 or 1.
        ends = int.from_bytes(said, "little") & ~int.from_bytes(goes_on, "little")
        return [*compress(range(len(self)), ends.to_bytes(len(self), "little"))]

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
        if self._turns is not None and parent != ordinal - 1:
            self._turns.append(ordinal)
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
            self.read_fact(ordinal, kind, facts)
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
            if parent_id is not None:
                self.missing.add(parent_id)
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

    def grows_by(self, columns: Columns) -> bool:
        """Whether to append these one by one gives what linking all of them anew would give.

        Not if an id is used again, if something names what only comes later, or if a placeholder,
        which stands behind its children, is among them.
        """
        later = set(columns.ids)
        if len(later) != len(columns) or Kind.PLACEHOLDER in columns.kinds:
            return False
        if not self.missing.isdisjoint(later) or any(self.find(one) is not None for one in later):
            return False
        for ordinal, entry_id in enumerate(columns.ids):
            if columns.parent_ids[ordinal] in later:
                return False
            later.discard(entry_id)
            target = columns.facts.get(ordinal, {}).get("targetId")
            if isinstance(target, str) and target in later:
                return False
        return True

    def keep_below(self, ordinal: int) -> None:
        """Leave out of the tree what is not at or below this entry, which becomes the root."""
        kept = set(self.below(ordinal))
        self.parents[ordinal] = NONE
        self._last_path, self._turns = ([], b""), None
        self.superseded.update(other for other in range(len(self)) if other not in kept)
        self._children = None
        self.version += 1

    def place_leaf(self) -> None:
        """Put the leaf where the file says: at the last record, or where that one says."""
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

    def _links(self) -> Children:
        if self._children is None:
            self._children = Children(self.parents, self.superseded)
        return self._children
