"""The drawn rows of one layout, as columns: what `layout` fills, and what rows are made of."""

from array import array
from collections.abc import Sequence
from itertools import groupby, repeat
from typing import TYPE_CHECKING, Literal

from branchline.tree.index import NONE, Tree

if TYPE_CHECKING:
    from branchline.tree.layout import ShownTree

StandIn = Literal["folded", "branches", "run"]
"""What a row that stands for others is: a folded entry, several folded branches, tool rows."""


class Drawn:
    """The drawn rows from top to bottom, as columns.

    Attributes:
        entries: the entry of each row; of a row that stands for several, the first of them.
        depths: how deep each row stands.
        heads: 1 for the first row of a branch.
        stand_ins: what the rows that stand for others are, and the entries they stand for: the
            folded entry, the heads of the branches, or the tool results of the run. Ascending.
        on_path: one byte an entry of the tree, 1 if it lies on the active path.
        leaf: the end of that path.
    """

    def __init__(self, entries: int, leaf: int) -> None:
        """No rows yet, of a tree with so many entries."""
        self.entries: list[int] = []
        self.depths: list[int] = []
        self.heads = bytearray()
        self.stand_ins: dict[int, tuple[StandIn, list[int]]] = {}
        self.on_path = bytearray(entries)
        self.leaf = leaf
        # Made as far as somebody asks, and kept when rows are taken back.
        self._rows: dict[int, int] = {}
        self._mapped = 0
        self._positions = array("l")
        self._groups = array("l")
        self._sizes = array("l")

    def __len__(self) -> int:
        return len(self.entries)

    def add(self, chain: Sequence[int], depth: int, head: int) -> None:
        """Add rows at the bottom; ``head`` is that of the first."""
        count = len(chain)
        self.entries += chain
        self.depths += repeat(depth, count)
        self.heads += bytes((head, *repeat(0, count - 1))) if head else bytes(count)

    def cut(self, row: int) -> None:
        """Take back the rows from this one on. It must stand at depth 0."""
        while self.stand_ins and (last := next(reversed(self.stand_ins))) >= row:
            what, members = self.stand_ins.pop(last)
            if what == "branches" and last < self._mapped:
                for member in members:
                    self._rows.pop(member, None)
        for entry in self.entries[row : self._mapped]:
            self._rows.pop(entry, None)
        self._mapped = min(self._mapped, row)
        for group in self._groups[row:]:
            self._sizes[group] -= 1
        while self._sizes and self._sizes[-1] == 0:
            self._sizes.pop()
        for column in (
            self.entries, self.depths, self.heads, self._positions, self._groups
        ):  # fmt: skip
            del column[row:]

    def move_path(self, tree: Tree) -> None:
        """Have ``on_path`` and ``leaf`` say where the tree's leaf is now."""
        on_path, parents = self.on_path, tree.parents
        on_path.extend(bytes(len(tree) - len(on_path)))
        old, self.leaf = self.leaf, tree.leaf
        ordinal, new_part = tree.leaf, list[int]()
        while ordinal != NONE and not on_path[ordinal]:
            new_part.append(ordinal)
            ordinal = parents[ordinal]
        while old != ordinal:
            on_path[old] = 0
            old = parents[old]
        for ordinal in new_part:
            on_path[ordinal] = 1

    def own_row(self, entry: int) -> int | None:
        """The row that an entry has, alone or as one of many branches; None if it is hidden."""
        self._map()
        return self._rows.get(entry)

    def row_of(self, shown_tree: "ShownTree", ordinal: int) -> int | None:
        """The row of an entry, else the one it is hidden in, else that of its nearest ancestor."""
        self._map()
        ordinal = shown_tree.nearest[ordinal]
        while ordinal != NONE and ordinal not in self._rows:
            ordinal = shown_tree.parent(ordinal)
        return self._rows.get(ordinal)

    def _map(self) -> None:
        """Note the row of each entry that was added since."""
        start = self._mapped
        if start == len(self):
            return
        self._rows.update(zip(self.entries[start:], range(start, len(self)), strict=True))
        for row in reversed(self.stand_ins):
            if row < start:
                break
            what, members = self.stand_ins[row]
            if what == "branches":
                self._rows.update(dict.fromkeys(members, row))
        self._mapped = len(self)

    def lanes(self, start: int, stop: int) -> list[tuple[list[int], bool]]:
        """``(guides, last)`` of the rows from ``start`` up to ``stop``.

        The line at a depth passes below a row if, before any row that is less deep, another row at
        that depth begins a branch (at depth 0: any row). ``guides`` are the depths whose line
        passes the row, and ``last`` says that none passes below it at its own depth.
        """
        below = self._lines_reaching(stop)
        lanes: list[tuple[list[int], bool]] = []
        for row in range(stop - 1, start - 1, -1):
            depth = self.depths[row]
            begins = self.heads[row] or depth == 0
            while below and below[-1] > depth:
                below.pop()
            goes_on = bool(below) and below[-1] == depth
            # The first row of a branch draws a joint at its own depth, its other rows a line.
            lanes.append((below[:-1] if goes_on and begins else below[:], not goes_on))
            if begins and not goes_on:
                below.append(depth)
        lanes.reverse()
        return lanes

    def place(self, row: int) -> tuple[int, int]:
        """``(position, siblings)`` of a row: which one it is, from 1, and of how many.

        Siblings are the rows at one depth with no row between them that is less deep.
        """
        if len(self._positions) < len(self):
            self._number()
        return self._positions[row], self._sizes[self._groups[row]]

    def _number(self) -> None:
        """Number the siblings of the rows added since, of which the first is at depth 0."""
        positions, groups, sizes = self._positions, self._groups, self._sizes
        open_groups: list[int] = [0] if sizes else []  # the group that goes on at each depth
        for depth, run in groupby(self.depths[len(positions) :]):
            count = len(list(run))
            del open_groups[depth + 1 :]
            while len(open_groups) <= depth:
                open_groups.append(len(sizes))
                sizes.append(0)
            group = open_groups[depth]
            positions.extend(range(sizes[group] + 1, sizes[group] + count + 1))
            groups.extend(repeat(group, count))
            sizes[group] += count

    def _lines_reaching(self, row: int) -> list[int]:
        """The depths whose line comes down to this row from above."""
        lines: list[int] = []
        least = len(self)
        for index in range(row, len(self)):
            depth = self.depths[index]
            if depth <= least:
                least = depth
                if (self.heads[index] or depth == 0) and (not lines or lines[-1] != depth):
                    lines.append(depth)
                if depth == 0:
                    break
        lines.reverse()
        return lines
