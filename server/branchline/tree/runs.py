"""Tool rows in succession as one row."""

from collections.abc import Collection
from typing import Final

from branchline.entries import Kind
from branchline.tree.drawn import Drawn
from branchline.tree.index import Tree

SHORTEST_RUN: Final = 3
"""Fewer tool rows than this in succession stay rows of their own."""


def collapse_runs(
    tree: Tree,
    drawn: Drawn,
    expanded: Collection[int] = (),
    collapsed: Drawn | None = None,
    changed: int = 0,
) -> Drawn:
    """Make one row of three or more tool rows in succession on one branch.

    A label, a folded row, another branch, or the run's first entry among ``expanded`` prevents it.
    ``collapsed`` is what this gave of the drawing before its rows from ``changed`` on were drawn
    anew: it is brought up to date then, if no label has changed.
    """
    kinds, labels, stand_ins = tree.kinds, tree.labels, drawn.stand_ins
    entries, depths, heads = drawn.entries, drawn.depths, drawn.heads
    row, kept_row = changed, None
    if collapsed is not None:
        # A run may reach up from there.
        while row > 0 and (kinds[entries[row]] == Kind.TOOL_RESULT or depths[row] > 0):
            row -= 1
        kept_row = collapsed.own_row(entries[row])
    if collapsed is None or kept_row is None:
        row, collapsed = 0, Drawn(0, drawn.leaf)
    else:
        collapsed.cut(kept_row)
    collapsed.on_path, collapsed.leaf = drawn.on_path, drawn.leaf
    total = len(drawn)
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
