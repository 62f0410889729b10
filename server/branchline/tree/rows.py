"""The drawn rows as clients receive them (protocol.md, Row), made for one window at a time.

Only the entries of the window are read: their own bodies, the calls of their tool results, and the
newest entry of what a folded row hides.
"""

from collections.abc import Iterable, Mapping
from typing import Final, TypedDict

from branchline.entries import BOOKKEEPING, MESSAGES, Entry, Kind, message_of, tool_calls
from branchline.tree.drawn import Drawn, StandIn
from branchline.tree.index import NONE, Bodies, Tree
from branchline.tree.layout import ShownTree
from branchline.tree.preview import (
    describe,
    excerpt,
    failed,
    main_argument,
    matches,
    one_line,
    short_text,
    word_pattern,
)

COUNTED: Final = (MESSAGES - {Kind.SYSTEM}) | {Kind.CUSTOM_MESSAGE}
"""The kinds that a person counts as messages."""

_FARTHEST_CALL = 200  # entries between a tool result and its call that are looked at


class Tool(TypedDict):
    """The tool of a tool result, and the main argument it was called with."""

    name: str
    argument: str | None


class Hidden(TypedDict):
    """What a row stands for, its own entry included."""

    entries: int
    messages: int
    tokens: int
    branches: int
    lastTimestamp: str | None


class Row(TypedDict):
    """One line of the drawn tree. ``type`` is the entry's, or ``run`` or ``branches``."""

    id: str
    parentId: str | None
    type: str
    role: str | None
    text: str
    label: str | None
    labelTimestamp: str | None
    timestamp: str | None
    depth: int
    guides: list[int]
    last: bool
    position: int
    siblings: int
    onActivePath: bool
    isLeaf: bool
    childCount: int
    foldable: bool
    folded: bool
    context: str | None
    tokens: int
    error: bool
    tool: Tool | None
    hidden: Hidden | None
    matches: list[list[int]]


def timestamp_of(entry: Entry) -> str | None:
    """When the entry was made, as the file says it, or None if that is no text."""
    return short_text(entry.get("timestamp"))


def body_of(tree: Tree, bodies: Bodies, ordinal: int) -> Entry:
    """The decoded entry; empty for a placeholder, which has no body."""
    return {} if tree.kinds[ordinal] == Kind.PLACEHOLDER else bodies.entry(ordinal)


class RowMaker:
    """Makes rows of one state of a session. Keeps the sums of what folded rows hide.

    Good until the tree's ``version`` changes.
    """

    def __init__(self, tree: Tree, bodies: Bodies) -> None:
        self._tree = tree
        self._bodies = bodies
        self._sums: dict[int, tuple[Hidden, int]] = {}  # by head, each with its newest entry

    def rows(
        self,
        shown_tree: ShownTree,
        drawn: Drawn,
        start: int,
        stop: int,
        *,
        leaf_row: int | None,
        contexts: Mapping[int, str],
        words: Iterable[str] = (),
    ) -> list[Row]:
        """The rows from ``start`` up to ``stop``.

        ``contexts`` says of each entry what the model is sent of it; ``words`` are the query's.
        """
        tree = self._tree
        calls: _Calls = {}
        pattern = word_pattern(words)
        rows: list[Row] = []
        for index, (guides, last) in enumerate(drawn.lanes(start, stop), start):
            ordinal = drawn.entries[index]
            kind = tree.kinds[ordinal]
            entry = body_of(tree, self._bodies, ordinal)
            tool = self._tool_of(ordinal, entry, calls) if kind == Kind.TOOL_RESULT else None
            text = excerpt(describe(entry, kind, tool["argument"] if tool else None), pattern)
            label = tree.labels.get(ordinal)
            parent = shown_tree.parent(ordinal)
            children = len(shown_tree.children(ordinal))
            position, siblings = drawn.place(index)
            type_name = "placeholder" if kind == Kind.PLACEHOLDER else entry.get("type")
            row: Row = {
                "id": tree.ids[ordinal],
                "parentId": tree.id_of(parent),
                "type": short_text(type_name) or "",
                "role": short_text(message_of(entry).get("role")) if kind in MESSAGES else None,
                "text": text,
                "label": one_line(label.text) if label else None,
                "labelTimestamp": short_text(label.timestamp) if label else None,
                "timestamp": timestamp_of(entry),
                "depth": drawn.depths[index],
                "guides": guides,
                "last": last,
                "position": position,
                "siblings": siblings,
                "onActivePath": drawn.on_path[ordinal] == 1,
                "isLeaf": index == leaf_row,
                "childCount": children,
                "foldable": children > 0
                and (bool(drawn.heads[index]) or parent == NONE or parent in shown_tree.forks),
                "folded": False,
                "context": contexts.get(ordinal),
                "tokens": tree.tokens[ordinal],
                "error": failed(entry, kind),
                "tool": tool,
                "hidden": None,
                "matches": [],
            }
            if index in drawn.stand_ins:
                self._stand_in(row, *drawn.stand_ins[index], shown_tree)
            row["matches"] = matches(row["text"], pattern)
            rows.append(row)
        return rows

    def _stand_in(self, row: Row, what: StandIn, members: list[int], shown_tree: ShownTree) -> None:
        """Turn the row of the first of several entries into the row that stands for all of them."""
        row["foldable"] = row["folded"] = True
        hidden = self._hidden_in_run(members) if what == "run" else self._hidden(members)
        row["hidden"] = hidden
        if what == "folded":
            return
        row["type"] = what
        row["role"] = row["label"] = row["labelTimestamp"] = row["tool"] = None
        row["tokens"] = hidden["tokens"]
        if what == "run":
            row["text"], row["error"] = self._describe_run(members)
            row["childCount"] = len(shown_tree.children(members[-1]))
        else:
            row["text"], row["error"] = f"{len(members)} branches", False
            row["childCount"] = len(members)

    def _tool_of(self, ordinal: int, entry: Entry, calls: "_Calls") -> Tool:
        message = message_of(entry)
        call_id = message.get("toolCallId")
        call = self._call(ordinal, call_id, calls) if isinstance(call_id, str) else None
        name = short_text(message.get("toolName"))
        return {"name": name or "", "argument": main_argument(call)}

    def _call(self, ordinal: int, call_id: str, calls: "_Calls") -> Entry | None:
        """The nearest call with this id above the entry."""
        kinds, parents = self._tree.kinds, self._tree.parents
        for _step in range(_FARTHEST_CALL):
            ordinal = parents[ordinal]
            if ordinal == NONE:
                return None
            if kinds[ordinal] != Kind.ASSISTANT:
                continue
            if ordinal not in calls:
                content = message_of(self._bodies.entry(ordinal)).get("content")
                calls[ordinal] = {call["id"]: call for call in tool_calls(content)}
            if call_id in calls[ordinal]:
                return calls[ordinal][call_id]
        return None

    def _describe_run(self, members: list[int]) -> tuple[str, bool]:
        """``41 steps: 18 read 12 edit 11 bash 1 failed``, and whether any failed."""
        counts: dict[str, int] = {}
        failures = 0
        for member in members:
            entry = self._bodies.entry(member)
            name = short_text(message_of(entry).get("toolName")) or "unknown"
            counts[name] = counts.get(name, 0) + 1
            failures += failed(entry, Kind.TOOL_RESULT)
        by_count = sorted(counts.items(), key=lambda item: -item[1])
        parts = [f"{count} {name}" for name, count in by_count]
        if failures:
            parts.append(f"{failures} failed")
        return one_line(f"{len(members)} steps: {' '.join(parts)}"), failures > 0

    def _hidden_in_run(self, members: list[int]) -> Hidden:
        """The sums over every entry from the first to the last member, hidden ones included."""
        steps: list[int] = []
        ordinal = members[-1]
        while ordinal != NONE:
            steps.append(ordinal)
            if ordinal == members[0]:
                break
            ordinal = self._tree.parents[ordinal]
        sums = _sum(self._tree, steps, 1)
        sums["lastTimestamp"] = timestamp_of(body_of(self._tree, self._bodies, max(steps)))
        return sums

    def _hidden(self, heads: list[int]) -> Hidden:
        """The sums over everything at and below the heads."""
        total: Hidden = {
            "entries": 0, "messages": 0, "tokens": 0, "branches": 0, "lastTimestamp": None
        }  # fmt: skip
        newest = NONE
        for head in heads:
            sums = self._sums.get(head)
            if sums is None:
                below = list(self._tree.below(head))
                tips = _count_tips(self._tree, below)
                sums = self._sums[head] = (_sum(self._tree, below, tips), max(below))
            total["entries"] += sums[0]["entries"]
            total["messages"] += sums[0]["messages"]
            total["tokens"] += sums[0]["tokens"]
            total["branches"] += sums[0]["branches"]
            newest = max(newest, sums[1])
        total["lastTimestamp"] = timestamp_of(body_of(self._tree, self._bodies, newest))
        return total


_Calls = dict[int, dict[str, Entry]]
"""The tool calls of the assistant messages read for one window: by message, then by call id."""


def _sum(tree: Tree, ordinals: list[int], branches: int) -> Hidden:
    kinds, tokens = tree.kinds, tree.tokens
    return {
        "entries": len(ordinals),
        "messages": sum(1 for ordinal in ordinals if kinds[ordinal] in COUNTED),
        "tokens": sum(tokens[ordinal] for ordinal in ordinals),
        "branches": branches,
        "lastTimestamp": None,
    }


def _count_tips(tree: Tree, below: list[int]) -> int:
    """How many of `Tree.tips` are among a subtree (parents first); at least 1."""
    kinds, parents = tree.kinds, tree.parents
    said: set[int] = set()  # entries with something said below them
    tips = 0
    for ordinal in reversed(below):
        if ordinal in said:
            said.add(parents[ordinal])
        elif kinds[ordinal] not in BOOKKEEPING:
            tips += 1
            said.add(parents[ordinal])
    return max(tips, 1)
