"""The drawing of one session, kept between requests: ``session/tree``, ``locate`` and ``find``.

What depends only on the tree, the leaf and how one looks at them is kept until one of these
changes; after an append, the links between shown entries grow instead of being made again.
Bodies are read for the rows of a window only, and for a query.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TypedDict, TypeVar

from branchline.entries import Kind
from branchline.errors import NotFound
from branchline.tree.drawn import Drawn
from branchline.tree.filters import Filter, Search, query_words, visible
from branchline.tree.index import NONE, Bodies, Tree
from branchline.tree.layout import Layout, ShownTree, draw, redraw
from branchline.tree.locate import Hit, Place, Step, find, locate
from branchline.tree.rows import Row, RowMaker
from branchline.tree.runs import collapse_runs

ROOTS: Final = "root"
"""What ``expanded`` names to open the one row that stands for many roots."""

Key = TypeVar("Key")
Value = TypeVar("Value")

_KEPT = 4  # how many ways of looking at one session are kept: one an editor window, about


@dataclass(frozen=True, slots=True)
class View:
    """How one looks at the tree: the parameters of ``session/tree`` but for the window."""

    filter: Filter = "default"
    query: str | None = None
    layout: Layout = "pinned"
    runs_as_one: bool = False
    folded: frozenset[str] = frozenset()
    expanded: frozenset[str] = frozenset()


class Window(TypedDict):
    """Some of the drawn rows. ``leafRow`` is the index of the leaf's row among all ``total``."""

    rows: list[Row]
    offset: int
    total: int
    leafRow: int | None


class Overview(TypedDict):
    """Where in the drawing without its query things lie, as indexes of rows, for marks beside it.

    ``labels`` and ``forks`` (where a branch begins) are in order. ``hits`` has the row of each row
    that the query shows, in the order in which it shows them.
    """

    total: int
    leafRow: int | None
    labels: list[int]
    forks: list[int]
    hits: list[int]


class Drawing:
    """Draws one session's tree, from whatever side it is looked at."""

    def __init__(self, tree: Tree, bodies: Bodies) -> None:
        self._tree = tree
        self._bodies = bodies
        self._state = (tree.version, tree.leaf)
        self._row_maker = RowMaker(tree, bodies)
        self._drawn: dict[View, _KeptDrawing] = {}
        self._hits: dict[View, tuple[ShownTree, Drawn, list[tuple[int, int]]]] = {}
        self._shown: dict[tuple[Filter, tuple[str, ...]], ShownTree] = {}
        self._searches: dict[tuple[str, ...], Search] = {}

    def window(
        self,
        view: View,
        contexts: Mapping[int, str],
        *,
        offset: int = 0,
        around: str | None = None,
        limit: int = 500,
    ) -> Window:
        """Up to ``limit`` rows: from ``offset``, or with the row of the entry ``around`` halfway.

        ``contexts`` says what the model is sent of an entry, by ordinal. Raises `NotFound`.
        """
        shown_tree, drawn = self._draw(view)
        if around is not None:
            row = drawn.row_of(shown_tree, self._find(around))
            offset = 0 if row is None else min(row - limit // 2, len(drawn) - limit)
        start = min(max(offset, 0), len(drawn))
        leaf_row = drawn.row_of(shown_tree, self._tree.leaf)
        rows = self._row_maker.rows(
            shown_tree,
            drawn,
            start,
            min(start + max(limit, 0), len(drawn)),
            leaf_row=leaf_row,
            contexts=contexts,
            words=query_words(view.query),
        )
        return {"rows": rows, "offset": start, "total": len(drawn), "leafRow": leaf_row}

    def locate(self, view: View, from_id: str, step: Step) -> Place | None:
        """Where a step leads from the row of an entry. Raises `NotFound`."""
        shown_tree, drawn = self._draw(view)
        origin = self._find(from_id)
        has_query = bool(query_words(view.query))
        return locate(self._tree, shown_tree, drawn, origin, step, has_query=has_query)

    def find(
        self, filter_name: Filter, query: str, from_id: str | None, *, backwards: bool = False
    ) -> Hit | None:
        """The next entry that holds every word, of those that the filter shows; None without words.

        In the order of layout ``pinned`` with nothing folded. Raises `NotFound`.
        """
        origin = None if from_id is None else self._find(from_id)
        words = query_words(query)
        if not words:
            return None
        shown_tree, drawn, hits = self._find_all(filter_name, words)
        row = None if origin is None else drawn.row_of(shown_tree, origin)
        return find(self._tree, hits, row, backwards=backwards)

    def _find_all(
        self, filter_name: Filter, words: tuple[str, ...]
    ) -> tuple[ShownTree, Drawn, list[tuple[int, int]]]:
        """The tree with nothing folded, and the row and entry of each that holds the words."""
        self._forget()
        key = View(filter=filter_name, query=" ".join(words))
        kept = self._hits.get(key)
        if kept is None:
            shown_tree = self._show(View(filter=filter_name))
            matching = self._show(key).shown
            drawn = draw(self._tree, shown_tree, "pinned", expanded=range(NONE, len(self._tree)))
            hits = [(row, entry) for row, entry in enumerate(drawn.entries) if matching[entry]]
            kept = (shown_tree, drawn, hits)
        _keep(self._hits, key, kept)
        return kept

    def overview(self, view: View) -> Overview:
        """Where things lie in the whole drawing. Reads no body but for the query."""
        shown_tree, drawn = self._draw(replace(view, query=None))
        shown = (ordinal for ordinal in self._tree.labels if shown_tree.shown[ordinal])
        labels = (drawn.row_of(shown_tree, ordinal) for ordinal in shown)
        hits = self._draw(view)[1].entries if query_words(view.query) else []
        rows = (drawn.row_of(shown_tree, ordinal) for ordinal in hits)
        return {
            "total": len(drawn),
            "leafRow": drawn.row_of(shown_tree, self._tree.leaf),
            "labels": sorted({row for row in labels if row is not None}),
            "forks": [row for row, head in enumerate(drawn.heads) if head],
            "hits": [row for row in rows if row is not None],
        }

    def _find(self, entry_id: str) -> int:
        ordinal = self._tree.find(entry_id)
        if ordinal is None:
            raise NotFound.entry(entry_id)
        return ordinal

    def _forget(self) -> None:
        """Forget what was kept of another state of the tree, but for drawings: they can follow."""
        tree = self._tree
        if self._state != (tree.version, tree.leaf):
            self._state = (tree.version, tree.leaf)
            self._row_maker = RowMaker(tree, self._bodies)
            self._hits.clear()

    def _draw(self, view: View) -> tuple[ShownTree, Drawn]:
        self._forget()
        # Taken out while it is brought up to date: half a drawing is never looked at.
        kept = self._drawn.pop(view, None)
        if kept is None or not kept.shows(self._state):
            kept = self._drawn_now(view, kept)
        _keep(self._drawn, view, kept)
        return kept.shown_tree, kept.drawn

    def _drawn_now(self, view: View, before: "_KeptDrawing | None") -> "_KeptDrawing":
        """The drawing of the present state, made from that of an earlier one where that goes."""
        tree = self._tree
        shown_tree = self._show(view)
        expanded = self._ordinals(view.expanded)
        if ROOTS in view.expanded:
            expanded.add(NONE)
        folded = self._ordinals(view.folded)
        single, collapsed, changed = None, None, None
        if before is not None and before.shown_tree is shown_tree and view.layout == "pinned":
            single, old_count = before.single, len(before.single.on_path)
            toggled = shown_tree.toggled[before.toggled :]
            changed = redraw(tree, shown_tree, single, toggled, folded, expanded)
            if Kind.LABEL not in tree.kinds[old_count:]:
                collapsed = before.drawn
        if single is None or changed is None:
            single = draw(tree, shown_tree, view.layout, folded, expanded)
            collapsed, changed = None, 0
        drawn = single
        if view.runs_as_one:
            drawn = collapse_runs(tree, single, expanded, collapsed, changed)
        return _KeptDrawing(self._state, shown_tree, len(shown_tree.toggled), single, drawn)

    def _show(self, view: View) -> ShownTree:
        words = query_words(view.query)
        shown = visible(self._tree, view.filter)
        if words:
            search = self._searches.get(words) or Search(self._tree, self._bodies, words)
            _keep(self._searches, words, search)
            search.restrict(shown)
        key = (view.filter, words)
        shown_tree = self._shown.get(key)
        if shown_tree is None or not shown_tree.follow(shown):
            shown_tree = ShownTree(self._tree, shown)
        _keep(self._shown, key, shown_tree)
        return shown_tree

    def _ordinals(self, ids: frozenset[str]) -> set[int]:
        """The entries with these ids; those that are not there any more are passed over."""
        found = (self._tree.find(entry_id) for entry_id in ids)
        return {ordinal for ordinal in found if ordinal is not None}


@dataclass(frozen=True, slots=True)
class _KeptDrawing:
    """A drawing, and what of the tree it shows.

    ``toggled``: how many toggled entries of ``shown_tree`` it knows. ``single`` has a row for each
    tool, see `collapse_runs`.
    """

    state: tuple[int, int]
    shown_tree: ShownTree
    toggled: int
    single: Drawn
    drawn: Drawn

    def shows(self, state: tuple[int, int]) -> bool:
        """Whether it shows a state of the tree, and nothing was toggled since for another view."""
        return self.state == state and self.toggled == len(self.shown_tree.toggled)


def _keep(kept: dict[Key, Value], key: Key, value: Value) -> None:
    """Remember as the newest of a few."""
    kept.pop(key, None)
    kept[key] = value
    while len(kept) > _KEPT:
        del kept[next(iter(kept))]
