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
from typing import Final, Literal

from branchline.tree.drawn import Drawn, StandIn
from branchline.tree.index import NONE, Tree

Layout = Literal["pinned", "pi"]

MOST_FOLDED_SIBLINGS: Final = 5
"""More folded branches than this at one fork become one row."""
_MOST_TOGGLED: Final = 4
"""If more entries than this come in sight or out of it at once, all are linked anew."""
_MOST_NEW: Final = 5_000
"""After more new entries than this everything is drawn anew; after as many toggled ones, linked."""


class ShownTree:
    """The tree of the shown entries alone. Grows with the `Tree` it was made from.

    Attributes:
        shown: one byte an entry, 1 if it is shown.
        nearest: the entry itself if it is shown, else its nearest shown ancestor, or `NONE`.
        first_child: the first shown child, or `NONE`; at index `NONE`, the first root.
        forks: the shown children, in file order, of each entry that has several; of `NONE`, roots.
        toggled: the entries that came in sight or out of it, one after the other.
    """

    def __init__(self, tree: Tree, shown: bytearray) -> None:
        self._tree = tree
        self.shown = shown
        # One item more than there are entries: index -1 is that last item, which stands for `NONE`.
        self.nearest = array("l", [NONE]) * (len(shown) + 1)
        self.first_child = self.nearest[:]
        self.forks: dict[int, list[int]] = {}
        self.toggled: list[int] = []
        self._newest: array[int] | None = None
        self._link(tree.in_order())
        for siblings in self.forks.values():
            siblings.sort()

    def follow(self, shown: bytearray) -> bool:
        """Take in what was appended, and a few entries that are shown now or not any more.

        An assistant message without text is one where it is the leaf. False, and nothing done, if
        there are too many of these.
        """
        old = len(self.shown)
        toggled = _differences(self.shown, shown[:old])
        if toggled is None or len(self.toggled) > _MOST_NEW:
            return False
        for ordinal in toggled:
            if shown[ordinal]:
                self._show(ordinal)
            else:
                self._hide(ordinal)
        self.toggled += toggled
        if toggled or len(shown) > old:
            self._newest = None
        for column in (self.nearest, self.first_child):
            of_none = column.pop()
            column.extend(array("l", [NONE]) * (len(shown) - old))
            column.append(of_none)
        self.shown = shown
        self._link(range(old, len(shown)))
        return True

    def _show(self, ordinal: int) -> None:
        """Put an entry between its nearest shown ancestor and what is shown below it."""
        parent, self.shown[ordinal] = self.nearest[ordinal], 1
        children = self._found_below(ordinal, ordinal)
        siblings = [other for other in self.children(parent) if other not in children]
        self._set_children(ordinal, children)
        self._set_children(parent, sorted([*siblings, ordinal]))

    def _hide(self, ordinal: int) -> None:
        """Give what is shown below an entry to its nearest shown ancestor."""
        parent, self.shown[ordinal] = self.parent(ordinal), 0
        children = self._found_below(ordinal, parent)
        siblings = [other for other in self.children(parent) if other != ordinal]
        self._set_children(ordinal, [])
        self._set_children(parent, sorted([*siblings, *children]))

    def _found_below(self, ordinal: int, nearest: int) -> list[int]:
        """The nearest shown entries below one; the hidden ones between get their ``nearest``."""
        self.nearest[ordinal] = nearest
        found: list[int] = []
        pending = [*self._tree.children(ordinal)]
        while pending:
            below = pending.pop()
            if below >= len(self.shown):
                continue  # just appended: it is linked later
            if self.shown[below]:
                found.append(below)
            else:
                self.nearest[below] = nearest
                pending += self._tree.children(below)
        return sorted(found)

    def _set_children(self, ordinal: int, children: list[int]) -> None:
        self.first_child[ordinal] = children[0] if children else NONE
        if len(children) > 1:
            self.forks[ordinal] = children
        else:
            self.forks.pop(ordinal, None)

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


def _differences(one: bytearray, other: bytearray) -> list[int] | None:
    """Where two columns of as many zeros and ones differ; None if in more than a few places."""
    if one == other:
        return []
    differs = int.from_bytes(one, "little") ^ int.from_bytes(other, "little")
    column = differs.to_bytes(len(one), "little")
    if column.count(1) > _MOST_TOGGLED:
        return None
    places = [column.find(1)]
    while (place := column.find(1, places[-1] + 1)) >= 0:
        places.append(place)
    return places


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
    drawn = Drawn(len(tree), tree.leaf)
    top, ordinal = NONE, tree.leaf
    while ordinal != NONE:
        drawn.on_path[ordinal] = 1
        if shown_tree.shown[ordinal]:
            top = ordinal
        ordinal = tree.parents[ordinal]
    painter = _Painter(shown_tree, drawn, frozenset(folded), frozenset(expanded))
    if layout == "pi":
        painter.paint_pi()
    else:
        painter.paint_pinned(top)
    return drawn


def redraw(
    tree: Tree,
    shown_tree: ShownTree,
    drawn: Drawn,
    toggled: Iterable[int],
    folded: Collection[int] = (),
    expanded: Collection[int] = (),
) -> int | None:
    """Bring a drawing in layout ``pinned`` up to date after moves of the leaf and appends.

    ``toggled`` are the entries that came in sight since, or out of it. Gives the first row that may
    be another now. None, with nothing done, if all have to be drawn. The filter, what is folded and
    what is expanded must be as before.
    """
    first = _first_affected(tree, shown_tree, drawn, toggled)
    row = None if first is None else drawn.own_row(first)
    if first is None or row is None:
        return None
    # Above that row the path is the same, so are the branches beside it.
    top = drawn.entries[0]
    drawn.cut(row)
    drawn.move_path(tree)
    painter = _Painter(shown_tree, drawn, frozenset(folded), frozenset(expanded))
    painter.paint_pinned(top, first)
    return row


def _first_affected(
    tree: Tree, shown_tree: ShownTree, drawn: Drawn, toggled: Iterable[int]
) -> int | None:
    """The topmost entry of the drawn path below which anything changed; None if it has no row.

    It is on the new path as well.
    """
    parents, nearest, shown = tree.parents, shown_tree.nearest, shown_tree.shown
    on_path, old_count = drawn.on_path, len(drawn.on_path)
    if len(tree) - old_count > _MOST_NEW:
        return None
    found: dict[int, int] = {}  # of each new entry, the entry of the old path it hangs below

    def meet(ordinal: int) -> int:
        while ordinal != NONE and (ordinal >= old_count or not on_path[ordinal]):
            if ordinal in found:
                return found[ordinal]
            ordinal = parents[ordinal]
        return ordinal

    just_toggled = frozenset(toggled)
    meets = {meet(tree.leaf), *(meet(parents[ordinal]) for ordinal in just_toggled)}
    for ordinal in range(old_count, len(tree)):
        found[ordinal] = meet(parents[ordinal])
        if shown[ordinal]:
            meets.add(found[ordinal])
    rows: list[tuple[int, int]] = []
    for entry in {NONE if ordinal == NONE else nearest[ordinal] for ordinal in meets}:
        while entry in just_toggled:  # it had no row
            entry = shown_tree.parent(entry)
        row = None if entry == NONE else drawn.own_row(entry)
        if row is None:
            return None
        rows.append((row, entry))
    return min(rows)[1]


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
            chain = [ordinal]
            while first_child[ordinal] != NONE and ordinal not in folded and ordinal not in forks:
                ordinal = first_child[ordinal]
                chain.append(ordinal)
            drawn.add(chain, depth, 1)
            if ordinal in folded and first_child[ordinal] != NONE:
                self._mark("folded", [ordinal])
            elif ordinal in forks:
                children = self._active_first(forks[ordinal])
                pending += [(child, depth + 1) for child in reversed(children)]

    def paint_pinned(self, top: int, start: int | None = None) -> None:
        """Layout ``pinned``; ``top`` is the first shown entry of the active path, or `NONE`.

        With ``start``, an entry of that path, the rows above its own are there already.
        """
        roots = self._tree.children(NONE)
        if top == NONE and len(roots) == 1:
            top = roots[0]
        pending = self._branches_at(NONE, [root for root in roots if root != top], 1)
        if top != NONE:
            pending.append((top if start is None else start, 0, 0))
        while pending:
            item, depth, head = pending.pop()
            if isinstance(item, list):
                self.drawn.add(item[:1], depth, 1)
                self._mark("branches", item)
            else:
                pending += self._paint_chain(item, depth, head)

    def _paint_chain(self, ordinal: int, depth: int, head: int) -> "list[_Pending]":
        """Draw from an entry down to the next fork or end; what stands below that, last first."""
        first_child, forks, on_path = self._tree.first_child, self._tree.forks, self._on_path
        folded, is_open = self._folded, not head or ordinal in self._expanded
        chain: list[int] = []
        add = chain.append
        while True:
            add(ordinal)
            child = first_child[ordinal]
            goes_on = child != NONE and is_open and ordinal not in folded
            if not goes_on or ordinal in forks or (on_path[ordinal] and not on_path[child]):
                break
            ordinal = child
            is_open = True
        self.drawn.add(chain, depth, head)
        if not goes_on:
            if child != NONE:
                self._mark("folded", [ordinal])
            return []
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
