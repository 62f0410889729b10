"""The order and depth of the drawn rows: the tree of the shown entries, laid out line by line.

`ShownTree` links each shown entry to its nearest shown ancestor. `draw` lays it out:

* ``pinned``: the active path keeps depth 0. At a fork every other branch stands directly under the
  fork, one deeper and folded to one row unless it is expanded, before the path goes on. Inside an
  expanded branch, the child that leads to the newest entry goes on at the same depth.
* ``pi``: below a fork every branch is one deeper, the active one first; nothing is folded unasked.

All of this is by ordinal and reads no body. Every walk is a loop: chains of 50,000 entries and
1,000 branches at one entry are ordinary.
"""

from array import array
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

from branchline.entries import Kind
from branchline.tree.index import NONE, Tree

Layout = Literal["pinned", "pi"]
StandIn = Literal["folded", "branches", "run"]
"""What a row that stands for others is: a folded entry, several folded branches, tool rows."""

MOST_FOLDED_SIBLINGS: Final = 5
"""More folded branches than this at one fork become one row."""
SHORTEST_RUN: Final = 3
"""Fewer tool rows than this in succession stay rows of their own."""


class ShownTree:
    """The tree of the shown entries alone. Grows with the `Tree` it was made from.

    Attributes:
        shown: one byte an entry, 1 if it is shown.
        nearest: the entry itself if it is shown, else its nearest shown ancestor, or `NONE`.
        first_child: the first shown child, or `NONE`; at index `NONE`, the first root.
        forks: the shown children, in file order, of each entry that has several; of `NONE`, roots.
    """

    def __init__(self, tree: Tree, shown: bytearray) -> None:
        self._tree = tree
        self.shown = shown
        # One item more than there are entries: index -1 is that last item, which stands for `NONE`.
        self.nearest = array("l", [NONE]) * (len(shown) + 1)
        self.first_child = self.nearest[:]
        self.forks: dict[int, list[int]] = {}
        self._newest: array[int] | None = None
        self._link(tree.in_order())
        for siblings in self.forks.values():
            siblings.sort()

    def follow(self, shown: bytearray) -> bool:
        """Take in what was appended; False, and nothing done, if an earlier one changed."""
        old = len(self.shown)
        if shown[:old] != self.shown:
            return False
        if len(shown) == old:
            return True
        for column in (self.nearest, self.first_child):
            of_none = column.pop()
            column.extend(array("l", [NONE]) * (len(shown) - old))
            column.append(of_none)
        self.shown = shown
        self._newest = None
        self._link(range(old, len(shown)))
        return True

    def _link(self, ordinals: Iterable[int]) -> None:
        parents, shown, nearest = self._tree.parents, self.shown, self.nearest
        first_child, forks = self.first_child, self.forks
        for ordinal in ordinals:
            parent = nearest[parents[ordinal]]
            if not shown[ordinal]:
                nearest[ordinal] = parent
                continue
            nearest[ordinal] = ordinal
            first = first_child[parent]
            if first == NONE:
                first_child[parent] = ordinal
            elif parent in forks:
                forks[parent].append(ordinal)
            else:
                forks[parent] = [first, ordinal]

    def parent(self, ordinal: int) -> int:
        """The nearest shown ancestor of an entry, itself left out, or `NONE`."""
        return NONE if ordinal == NONE else self.nearest[self._tree.parents[ordinal]]

    def children(self, ordinal: int) -> list[int]:
        """The shown children in file order; of `NONE`, the roots."""
        siblings = self.forks.get(ordinal)
        if siblings is not None:
            return siblings
        first = self.first_child[ordinal]
        return [] if first == NONE else [first]

    def newest_below(self) -> "array[int]":
        """For each shown entry, the newest shown entry at or below it. Made when first needed."""
        if self._newest is None:
            newest = array("l", range(len(self.shown)))
            newest.append(NONE)
            for ordinal in reversed(self._tree.in_order()):
                if self.shown[ordinal]:
                    parent = self.nearest[self._tree.parents[ordinal]]
                    newest[parent] = max(newest[parent], newest[ordinal])
            self._newest = newest
        return self._newest


@dataclass(slots=True)
class Drawn:
    """The drawn rows from top to bottom, as columns.

    Attributes:
        entries: the entry of each row; of a row that stands for several, the first of them.
        depths: how deep each row stands.
        heads: 1 for the first row of a branch.
        stand_ins: what the rows that stand for others are, and the entries they stand for: the
            folded entry, the heads of the branches, or the tool results of the run.
        on_path: one byte an entry of the tree, 1 if it lies on the active path.
    """

    on_path: bytearray
    entries: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    heads: bytearray = field(default_factory=bytearray)
    stand_ins: dict[int, tuple[StandIn, list[int]]] = field(default_factory=dict)
    _rows: dict[int, int] = field(default_factory=dict)
    _positions: "array[int]" = field(default_factory=lambda: array("l"))
    _groups: "array[int]" = field(default_factory=lambda: array("l"))
    _sizes: "array[int]" = field(default_factory=lambda: array("l"))

    def __len__(self) -> int:
        return len(self.entries)

    def add(self, ordinal: int, depth: int, head: int) -> None:
        """Add one row at the bottom."""
        self.entries.append(ordinal)
        self.depths.append(depth)
        self.heads.append(head)

    def row_of(self, shown_tree: ShownTree, ordinal: int) -> int | None:
        """The row of an entry, else the one it is hidden in, else that of its nearest ancestor."""
        if not self._rows:
            self._rows = {entry: row for row, entry in enumerate(self.entries)}
            for row, (what, members) in self.stand_ins.items():
                if what == "branches":
                    self._rows.update(dict.fromkeys(members, row))
        ordinal = shown_tree.nearest[ordinal]
        while ordinal != NONE and ordinal not in self._rows:
            ordinal = shown_tree.parent(ordinal)
        return self._rows.get(ordinal)

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
        if not self._positions:
            self._number()
        return self._positions[row], self._sizes[self._groups[row]]

    def _number(self) -> None:
        """Number the siblings of all rows."""
        positions, groups, sizes = self._positions, self._groups, self._sizes
        open_groups: list[int] = []  # the group that goes on at each depth
        for depth in self.depths:
            del open_groups[depth + 1 :]
            while len(open_groups) <= depth:
                open_groups.append(len(sizes))
                sizes.append(0)
            group = open_groups[depth]
            sizes[group] += 1
            positions.append(sizes[group])
            groups.append(group)

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


def draw(
    tree: Tree,
    shown_tree: ShownTree,
    layout: Layout,
    folded: Collection[int] = (),
    expanded: Collection[int] = (),
) -> Drawn:
    """Lay out the shown entries.

    ``folded`` and ``expanded`` are entries by ordinal; `NONE` among ``expanded`` opens the one row
    that stands for many roots.
    """
    on_path = bytearray(len(tree))
    path = tree.path(tree.leaf)
    for ordinal in path:
        on_path[ordinal] = 1
    painter = _Painter(shown_tree, Drawn(on_path), frozenset(folded), frozenset(expanded))
    top = next((ordinal for ordinal in path if shown_tree.shown[ordinal]), NONE)
    if layout == "pi":
        painter.paint_pi()
    else:
        painter.paint_pinned(top)
    return painter.drawn


class _Painter:
    """Puts rows into ``drawn``, one branch after the other."""

    def __init__(
        self,
        shown_tree: ShownTree,
        drawn: Drawn,
        folded: frozenset[int],
        expanded: frozenset[int],
    ) -> None:
        self.drawn = drawn
        self._tree = shown_tree
        self._on_path = drawn.on_path
        self._folded = folded
        self._expanded = expanded

    def _active_first(self, siblings: list[int]) -> list[int]:
        """The siblings with the one on the active path first."""
        return sorted(siblings, key=lambda ordinal: not self._on_path[ordinal])

    def paint_pi(self) -> None:
        """Layout ``pi``."""
        roots = self._active_first(self._tree.children(NONE))
        drawn, folded = self.drawn, self._folded
        forks, first_child = self._tree.forks, self._tree.first_child
        pending = [(root, 0) for root in reversed(roots)]
        while pending:
            ordinal, depth = pending.pop()
            head = 1
            while ordinal != NONE:
                drawn.add(ordinal, depth, head)
                if ordinal in folded and first_child[ordinal] != NONE:
                    self._mark("folded", [ordinal])
                    break
                if ordinal in forks:
                    children = self._active_first(forks[ordinal])
                    pending += [(child, depth + 1) for child in reversed(children)]
                    break
                ordinal = first_child[ordinal]
                head = 0

    def paint_pinned(self, top: int) -> None:
        """Layout ``pinned``; ``top`` is the first shown entry of the active path, or `NONE`."""
        roots = self._tree.children(NONE)
        if top == NONE and len(roots) == 1:
            top = roots[0]
        pending = self._branches_at(NONE, [root for root in roots if root != top], 1)
        if top != NONE:
            pending.append((top, 0, 0))
        while pending:
            item, depth, head = pending.pop()
            if isinstance(item, list):
                self.drawn.add(item[0], depth, 1)
                self._mark("branches", item)
            else:
                pending += self._paint_chain(item, depth, head)

    def _paint_chain(self, ordinal: int, depth: int, head: int) -> "list[_Pending]":
        """Draw from an entry down to the next fork or end; what stands below that, last first."""
        first_child, forks, on_path = self._tree.first_child, self._tree.forks, self._on_path
        drawn = self.drawn
        while True:
            drawn.add(ordinal, depth, head)
            child = first_child[ordinal]
            if child == NONE:
                return []
            if ordinal in self._folded or (head and ordinal not in self._expanded):
                self._mark("folded", [ordinal])
                return []
            if ordinal in forks or (on_path[ordinal] and not on_path[child]):
                break
            ordinal = child
            head = 0
        children = self._tree.children(ordinal)
        if on_path[ordinal]:
            main = next((child for child in children if on_path[child]), NONE)
        else:
            newest = self._tree.newest_below()
            main = max(children, key=newest.__getitem__)
        others = [child for child in children if child != main]
        below = self._branches_at(ordinal, others, depth + 1)
        return below if main == NONE else [(main, depth, 0), *below]

    def _branches_at(self, fork: int, siblings: list[int], depth: int) -> "list[_Pending]":
        """The branches under a fork, last first; a list stands for many folded ones."""
        folded = [sibling for sibling in siblings if sibling not in self._expanded]
        opened = fork in self._expanded or (siblings and siblings[0] in self._expanded)
        items: list[int | list[int]] = [*siblings]
        if len(folded) > MOST_FOLDED_SIBLINGS and not opened:
            items = [folded, *(sibling for sibling in siblings if sibling in self._expanded)]
        return [(item, depth, 1) for item in reversed(items)]

    def _mark(self, what: StandIn, members: list[int]) -> None:
        self.drawn.stand_ins[len(self.drawn) - 1] = (what, members)


_Pending = tuple[int | list[int], int, int]
"""A branch still to be drawn: its first entry (or the heads of many), its depth, and if a head."""


def collapse_runs(tree: Tree, drawn: Drawn, expanded: Collection[int] = ()) -> Drawn:
    """Make one row of three or more tool rows in succession on one branch.

    A label, a folded row, another branch, or the run's first entry among ``expanded`` prevents it.
    """
    collapsed = Drawn(drawn.on_path)
    kinds, labels, stand_ins = tree.kinds, tree.labels, drawn.stand_ins
    entries, depths, heads = drawn.entries, drawn.depths, drawn.heads
    row, total = 0, len(drawn)
    while row < total:
        end = row
        while (
            end < total
            and kinds[entries[end]] == Kind.TOOL_RESULT
            and depths[end] == depths[row]
            and not (end > row and heads[end])
            and entries[end] not in labels
            and end not in stand_ins
        ):
            end += 1
        count = end - row
        if count >= SHORTEST_RUN and entries[row] not in expanded:
            collapsed.stand_ins[len(collapsed)] = ("run", entries[row:end])
            kept = 1
        else:
            kept = max(count, 1)
            if row in stand_ins:
                collapsed.stand_ins[len(collapsed)] = stand_ins[row]
        collapsed.entries += entries[row : row + kept]
        collapsed.depths += depths[row : row + kept]
        collapsed.heads += heads[row : row + kept]
        row += max(count, 1)
    return collapsed
