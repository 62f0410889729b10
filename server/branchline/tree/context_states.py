"""What the model is sent of each entry on a path, for marks beside the rows."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Literal

from branchline.entries import VISIBLE
from branchline.tree.index import Bodies, Tree
from branchline.tree.selection import Selection, select, showing, shows

State = Literal["in", "covered", "omitted", "replaced"]
"""``in``: as it is. ``covered``: only the summary of a compaction. ``omitted``: nothing, by a
context edit. ``replaced``: other content, by a context edit."""


def context_states(
    tree: Tree, leaf: int, pinned_tokens: int, bodies: Bodies
) -> Mapping[int, State]:
    """What the model is sent of each entry on the path that shows something, by ordinal.

    Good until the tree changes. Reads bodies of branch summaries at most.
    """
    return _States(tree, select(tree, bodies, leaf, pinned_tokens))


class _States(Mapping[int, State]):
    """What is covered, nearly all of a long path, is looked up when somebody asks for it."""

    def __init__(self, tree: Tree, selection: Selection) -> None:
        self._tree = tree
        self._selection = selection
        self._told: dict[int, State] = dict.fromkeys(selection.candidates, "in")
        for ordinal, content in selection.edits.items():
            if ordinal in self._told:
                self._told[ordinal] = "omitted" if content is None else "replaced"
        # Where a path's ordinals do not go up, nothing can be found on it without a set.
        self._on_path = None if tree.parents_first else frozenset(selection.path)

    def __getitem__(self, ordinal: int) -> State:
        told = self._told.get(ordinal)
        if told is not None:
            return told
        if not (self._has(ordinal) and shows(self._tree, ordinal, VISIBLE)):
            raise KeyError(ordinal)
        return "covered"

    def __iter__(self) -> Iterator[int]:
        return iter(showing(self._tree, self._selection.path, self._selection.kinds, VISIBLE))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _has(self, ordinal: int) -> bool:
        if self._on_path is not None:
            return ordinal in self._on_path
        path = self._selection.path
        at = bisect_left(path, ordinal)
        return at < len(path) and path[at] == ordinal
