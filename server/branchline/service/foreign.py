"""Rules for entries that another program wrote: where they leave the leaf, what they branched.

Pure (format.md, "The tree and the leaf").
"""

from dataclasses import dataclass

from branchline.entries import MOVES
from branchline.tree.index import NONE, Tree


@dataclass(frozen=True, slots=True)
class ExternalBranch:
    """A branch that another program made beside our leaf."""

    fork_id: str | None
    tip_id: str


def goes_on_from_leaf(tree: Tree, ordinal: int) -> bool:
    """Whether a foreign entry goes on from our leaf, or from the move record that points to it."""
    if tree.kinds[ordinal] in MOVES:
        return False
    parent = tree.parents[ordinal]
    if parent == tree.leaf:
        return True
    if parent == NONE or tree.kinds[parent] not in MOVES:
        return False
    return tree.move_target(parent) == tree.leaf


def branch_beside_leaf(tree: Tree, added: list[int]) -> ExternalBranch | None:
    """The branch that foreign entries made away from the leaf, by its newest entry.

    ``added``: all of them, in file order; each stands behind its parent.
    """
    beside = set(added)
    current = tree.leaf
    while current in beside:  # what is above an older entry is older
        beside.discard(current)
        current = tree.parents[current]
    for ordinal in reversed(added):
        if ordinal in beside and tree.kinds[ordinal] not in MOVES:
            fork = tree.common_ancestor(tree.leaf, ordinal)
            return ExternalBranch(tree.id_of(fork), tree.ids[ordinal])
    return None
