"""The tree of an exported page: the rows of the pinned drawing, with folds that need no script.

A branch is a ``details`` whose summary is its first row; a run of tool calls is one likewise.
"""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Final

from branchline.entries import Kind
from branchline.export.conversation import Conversation
from branchline.export.order import draw_all
from branchline.export.text import anchor, moment
from branchline.tree.filters import visible
from branchline.tree.layout import ShownTree
from branchline.tree.rows import Row, RowMaker
from branchline.tree.runs import collapse_runs

_WINDOW: Final = 200
"""Rows that are made at a time."""
_DEEPEST: Final = 24
"""Branches inside of branches beyond this stand at this depth: browsers nest 512 elements."""

_CLASSES: Final = {
    Kind.USER: "user",
    Kind.ASSISTANT: "assistant",
    Kind.TOOL_RESULT: "tool",
    Kind.BASH_EXECUTION: "tool",
    Kind.COMPACTION: "compaction",
    Kind.BRANCH_SUMMARY: "summary",
}


def class_of(kind: int) -> str:
    """The class of an entry on the page, by its kind."""
    return _CLASSES.get(Kind(kind), "other")


class PageTree:
    """Draws the rows of one conversation. ``contexts``: what the model is sent of an entry."""

    def __init__(self, conversation: Conversation, contexts: Mapping[int, str]) -> None:
        tree = conversation.tree
        self._tree = tree
        self._contexts = contexts
        self._maker = RowMaker(tree, conversation)
        self._shown = ShownTree(tree, visible(tree, "default"))
        self._single = draw_all(tree, self._shown)
        self._rows = collapse_runs(tree, self._single)
        self._leaf = self._single.row_of(self._shown, tree.leaf)
        self._open: list[int] = []  # the depths of the branches that are being drawn
        self._trunk = "t"

    def pieces(self) -> Iterator[str]:
        """The rows, in pieces."""
        single = 0
        for start in range(0, len(self._rows), _WINDOW):
            stop = min(start + _WINDOW, len(self._rows))
            rows = self._maker.rows(
                self._shown, self._rows, start, stop, leaf_row=None, contexts=self._contexts
            )
            parts: list[str] = []
            for at, row in enumerate(rows, start):
                parts += self._row(row, at, single)
                single += len(self._rows.stand_ins[at][1]) if at in self._rows.stand_ins else 1
            yield "".join(parts)
        yield "</details>" * len(self._open)

    def _row(self, row: Row, at: int, single: int) -> Iterator[str]:
        """One row and, of a run, those inside. ``single`` is the row where nothing is collapsed."""
        depth = min(row["depth"], _DEEPEST)
        begins = bool(self._rows.heads[at]) and depth > 0
        while self._open and (self._open[-1] > depth or (begins and self._open[-1] == depth)):
            self._open.pop()
            yield "</details>"
        if depth == 0:
            self._trunk = "c" if row["context"] == "covered" else "t"
        if at in self._rows.stand_ins:
            members = self._rows.stand_ins[at][1]
            inside = self._maker.rows(
                self._shown,
                self._single,
                single,
                single + len(members),
                leaf_row=self._leaf,
                contexts=self._contexts,
            )
            yield f'<details class="run"><summary>{self._line(row, begins, False)}</summary>'
            for one in inside:
                yield self._line(one, False, one["isLeaf"])
            yield "</details>"
        elif begins and row["depth"] <= _DEEPEST:
            self._open.append(depth)
            yield f'<details class="branch"><summary>{self._line(row, True, single == self._leaf)}'
            yield "</summary>"
        else:
            yield self._line(row, begins, single == self._leaf)

    def _line(self, row: Row, begins: bool, is_leaf: bool) -> str:
        ordinal = self._tree.find(row["id"])
        assert ordinal is not None
        kind = "run" if row["type"] == "run" else class_of(self._tree.kinds[ordinal])
        classes = ["row", kind]
        classes += ["labelled"] if row["label"] else []
        classes += ["failed"] if row["error"] else []
        classes += ["leaf"] if is_leaf else []
        classes += ["away"] if not row["onActivePath"] else []
        label = f'<span class="flag">{escape(row["label"])}</span>' if row["label"] else ""
        here = '<span class="here">here</span>' if is_leaf else ""
        error = '<span class="bad">failed</span>' if row["error"] and kind != "run" else ""
        time = f' title="{moment(row["timestamp"])}"' if moment(row["timestamp"]) else ""
        inside = (
            f'{self._lanes(row, begins)}<i class="sign"></i>'
            f'<span class="said" dir="auto">{escape(row["text"])}</span>{error}{label}{here}'
        )
        if row["type"] == "run":
            return f'<span class="{" ".join(classes)}"{time}>{inside}</span>'
        return f'<a class="{" ".join(classes)}" href="#{anchor(row["id"])}"{time}>{inside}</a>'

    def _lanes(self, row: Row, begins: bool) -> str:
        depth, guides = row["depth"], row["guides"]
        if depth == 0:
            return f'<i class="{self._trunk}"></i>'
        lanes = [self._trunk if 0 in guides else "n"]
        lanes += ["l" if lane in guides else "n" for lane in range(1, min(depth, _DEEPEST))]
        if begins and depth not in guides:
            lanes.append("e" if row["last"] else "b")
        else:
            lanes.append("l" if depth in guides else "n")
        return "".join(f'<i class="{lane}"></i>' for lane in lanes)
