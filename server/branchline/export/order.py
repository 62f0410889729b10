"""In which order a person reads the entries of an export, and where branches begin and end.

The order is that of the pinned drawing: the active branch from top to bottom, and under each fork
the other branches before it goes on.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from branchline.entries import Kind
from branchline.tree.drawn import Drawn
from branchline.tree.index import NONE, Tree
from branchline.tree.layout import ShownTree, draw

_LEFT_OUT: Final = frozenset(
    {Kind.LEAF, Kind.MOVE, Kind.LABEL, Kind.SESSION_INFO, Kind.USAGE, Kind.CUSTOM}
)
"""What says nothing of its own to a reader: moves, labels (they stand at their entry), totals."""

NOTES: Final = frozenset(
    {
        Kind.MODEL_CHANGE,
        Kind.THINKING_LEVEL_CHANGE,
        Kind.ACTIVE_TOOLS_CHANGE,
        Kind.CONTEXT_EDIT,
    }
)
"""What is one line between the messages."""


@dataclass(frozen=True, slots=True)
class Step:
    """One entry in reading order.

    Attributes:
        ordinal: the entry.
        depth: 0 on the active branch, more on others.
        begins: whether another branch begins here; ``fork`` is where it parts, or `NONE`.
        returns: whether a branch that was left for others goes on here.
    """

    ordinal: int
    depth: int
    begins: bool
    returns: bool
    fork: int


def reading_order(tree: Tree) -> Iterator[Step]:
    """The entries that a reader is shown."""
    shown = bytearray(kind not in _LEFT_OUT for kind in tree.kinds)
    for ordinal in tree.superseded:
        shown[ordinal] = 0
    shown_tree = ShownTree(tree, shown)
    drawn = draw_all(tree, shown_tree)
    before = NONE
    for row, ordinal in enumerate(drawn.entries):
        parent = shown_tree.parent(ordinal)
        begins = bool(drawn.heads[row]) and drawn.depths[row] > 0
        returns = not begins and parent != before
        yield Step(ordinal, drawn.depths[row], begins, returns, parent)
        before = ordinal


def draw_all(tree: Tree, shown_tree: ShownTree) -> Drawn:
    """The pinned drawing with every branch unfolded."""
    return draw(tree, shown_tree, "pinned", (), range(NONE, len(tree)))
