"""Where a step through the drawn tree leads: ``session/locate`` and ``session/find``.

Steps go between drawn rows, so a folded branch or a run is stepped over as the one row it is. What
is found by its words may be anywhere: there the whole tree is laid out, with nothing folded.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Literal, TypedDict

from branchline.entries import Kind
from branchline.tree.drawn import Drawn
from branchline.tree.index import NONE, Tree
from branchline.tree.layout import ShownTree

Step = Literal[
    "parent",
    "fork",
    "nextSibling",
    "previousSibling",
    "nextUser",
    "previousUser",
    "nextLabel",
    "previousLabel",
    "nextHit",
    "previousHit",
    "leaf",
]


class Place(TypedDict):
    """A drawn row: its id and its index among all rows."""

    id: str
    offset: int


class Hit(TypedDict):
    """An entry that holds the words: the how-many-th of ``total``, and if round the end."""

    id: str
    number: int
    total: int
    wrapped: bool


def find(
    tree: Tree, hits: Sequence[tuple[int, int]], origin: int | None, *, backwards: bool
) -> Hit | None:
    """The next of the hits from the row ``origin``, round the end if need be, or None.

    ``hits`` are the row and the entry of each, from top to bottom. Without an origin it is the
    first, backwards the last.
    """
    if not hits:
        return None
    wrapped = False
    if origin is None:
        place = len(hits) - 1 if backwards else 0
    else:
        below = bisect_left if backwards else bisect_right
        place = below(hits, origin, key=lambda hit: hit[0]) - (1 if backwards else 0)
        wrapped = not 0 <= place < len(hits)
        place %= len(hits)
    return {
        "id": tree.ids[hits[place][1]],
        "number": place + 1,
        "total": len(hits),
        "wrapped": wrapped,
    }


def locate(
    tree: Tree, shown_tree: ShownTree, drawn: Drawn, origin: int, step: Step, *, has_query: bool
) -> Place | None:
    """The row that the step leads to from the row of the entry ``origin``, or None."""
    row = drawn.row_of(shown_tree, origin)
    if step == "leaf":
        target = drawn.row_of(shown_tree, tree.leaf)
    elif row is None:
        target = None
    elif step == "parent":
        target = drawn.row_of(shown_tree, shown_tree.parent(drawn.entries[row]))
    elif step == "fork":
        target = drawn.row_of(shown_tree, _fork_above(shown_tree, drawn.entries[row]))
    elif step in ("nextSibling", "previousSibling"):
        target = _sibling(shown_tree, drawn, row, forwards=step == "nextSibling")
    else:
        forwards = step.startswith("next")
        after = range(row + 1, len(drawn)) if forwards else range(row - 1, -1, -1)
        target = _first(tree, drawn, after, step, has_query=has_query)
    return None if target is None else {"id": tree.ids[drawn.entries[target]], "offset": target}


def _fork_above(shown_tree: ShownTree, ordinal: int) -> int:
    """The nearest shown ancestor with several shown children, or `NONE`."""
    ordinal = shown_tree.parent(ordinal)
    while ordinal != NONE and ordinal not in shown_tree.forks:
        ordinal = shown_tree.parent(ordinal)
    return ordinal


def _sibling(shown_tree: ShownTree, drawn: Drawn, row: int, *, forwards: bool) -> int | None:
    """The next row of a sibling, of the entry or else of its nearest ancestor that has any."""
    ordinal = drawn.entries[row]
    while ordinal != NONE and shown_tree.parent(ordinal) not in shown_tree.forks:
        ordinal = shown_tree.parent(ordinal)
    if ordinal == NONE:
        return None
    own = drawn.row_of(shown_tree, ordinal)
    siblings = shown_tree.forks[shown_tree.parent(ordinal)]
    rows = {drawn.row_of(shown_tree, sibling) for sibling in siblings}
    if own is None:
        return None
    if forwards:
        return min((other for other in rows if other is not None and other > own), default=None)
    return max((other for other in rows if other is not None and other < own), default=None)


def _first(
    tree: Tree, drawn: Drawn, rows: Iterable[int], step: Step, *, has_query: bool
) -> int | None:
    """The first of the rows that is what the step looks for. Rows of several entries are not."""
    for row in rows:
        stand_in = drawn.stand_ins.get(row)
        if step in ("nextHit", "previousHit"):
            # With a query, nothing but hits is shown.
            return row if has_query else None
        if stand_in is not None and stand_in[0] != "folded":
            continue
        entry = drawn.entries[row]
        if step in ("nextUser", "previousUser"):
            if tree.kinds[entry] == Kind.USER:
                return row
        elif entry in tree.labels:
            return row
    return None
