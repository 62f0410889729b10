"""From a leaf to what the model is sent: which entries, in which order, how many tokens.

The rules are those of format.md ("From a leaf to the model's context", "Tokens") and design.md
("Pinned branch summaries"). The structural part needs no bodies: the path, the last compaction on
it, what that keeps, the context edits. Bodies are read only for what is shown (with a compaction,
only for what it keeps) and, where nothing shown names the model, back to the one that does.

Order of a context: the compaction's summary, the branch summaries pinned behind it, the entries
it keeps, what came after it. System messages are folded into one and stand in no place.

It never raises over what a file holds, and it decides nothing about wire formats (see `chat`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from branchline.entries import Entry, Kind, message_of
from branchline.tree.index import NONE, Bodies, Problem, Tree
from branchline.tree.messages import edited_message, pair_results, shown_message
from branchline.tree.selection import (
    SHOWN,
    Selection,
    edit_target,
    positions,
    select,
    shows,
    tokens_of,
)
from branchline.tree.system import fold_system
from branchline.tree.tokens import message_tokens, reported_tokens

_COUNTED: Final = SHOWN | {Kind.SYSTEM}
"""Kinds that add to what a model reported before them."""
_INVALIDATING: Final = frozenset({Kind.COMPACTION, Kind.CONTEXT_EDIT})
"""Kinds after which the usage recorded before them describes another context."""


@dataclass(frozen=True, slots=True)
class Context:
    """What the model is sent at a leaf.

    Attributes:
        leaf: the ordinal of the leaf, or `NONE`.
        path: ordinals from the root to the leaf.
        items: what is shown, in context order: ordinal of its entry, and the message.
        system: the folded system message (see `fold_system`), or None.
        model: ``{provider, modelId}``, or None.
        thinking_level: the last level set on the path; ``off`` if none was.
        active_tools: the last list of tool names set on the path, or None.
        tokens: the estimated size.
        problems: what is wrong on this path (see `Problem`).
    """

    leaf: int
    path: list[int]
    items: list[tuple[int, Entry]]
    system: Entry | None
    model: Entry | None
    thinking_level: str
    active_tools: list[Any] | None
    tokens: int
    problems: list[Problem]

    @property
    def sources(self) -> list[int]:
        """The entries that show the model something, in context order."""
        return [ordinal for ordinal, _ in self.items]

    @property
    def messages(self) -> list[Entry]:
        """The messages in order, the folded system message first."""
        shown = [message for _, message in self.items]
        return shown if self.system is None else [self.system, *shown]


def build_context(tree: Tree, bodies: Bodies, leaf: int, pinned_tokens: int) -> Context:
    """The context at a leaf.

    Args:
        tree: the index.
        bodies: where entries are read from; each one needed is read once.
        leaf: an ordinal, or `NONE`.
        pinned_tokens: how many tokens of covered branch summaries stay in the context.
    """
    read = _ReadOnce(bodies)
    selection = select(tree, read, leaf, pinned_tokens)
    items = [
        (ordinal, _message(tree, read, ordinal, selection.edits)) for ordinal in selection.sources
    ]
    system = fold_system(_system_messages(tree, read, selection))
    reported = _reported_size(tree, read, leaf)
    levels = _settings(tree, selection, Kind.THINKING_LEVEL_CHANGE, "thinkingLevel")
    tools = _settings(tree, selection, Kind.ACTIVE_TOOLS_CHANGE, "activeToolNames")
    return Context(
        leaf=leaf,
        path=selection.path,
        items=items,
        system=system,
        model=_model(tree, read, selection),
        thinking_level=next((level for level in levels if isinstance(level, str)), "off"),
        active_tools=next((names for names in tools if isinstance(names, list)), None),
        tokens=_estimated_size(tree, read, selection) if reported is None else reported,
        problems=[
            *_link_problems(tree, selection),
            *_orphan_results(tree, items),
        ],
    )


def context_tokens(tree: Tree, bodies: Bodies, leaf: int, pinned_tokens: int) -> int:
    """The same number as `Context.tokens`, reading as few bodies as it can."""
    reported = _reported_size(tree, bodies, leaf)
    if reported is not None:
        return reported
    return _estimated_size(tree, bodies, select(tree, bodies, leaf, pinned_tokens))


def system_message(tree: Tree, bodies: Bodies, leaf: int) -> Entry | None:
    """The same as `Context.system`, reading system messages only."""
    return fold_system(_system_messages(tree, bodies, select(tree, bodies, leaf, 0)))


class _ReadOnce:
    """Bodies that remember what was read, for as long as one context is built."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies
        self._read: dict[int, Entry] = {}

    def entry(self, ordinal: int) -> Entry:
        entry = self._read.get(ordinal)
        if entry is None:
            entry = self._read[ordinal] = self._bodies.entry(ordinal)
        return entry


def _message(tree: Tree, bodies: Bodies, ordinal: int, edits: dict[int, Any]) -> Entry:
    message = shown_message(bodies.entry(ordinal), tree.kind(ordinal))
    return edited_message(message, edits[ordinal]) if ordinal in edits else message


def _system_messages(tree: Tree, bodies: Bodies, selection: Selection) -> Iterator[Entry]:
    """The system messages that count: a compaction's own takes the place of all before it."""
    path = selection.path
    after = 0
    if selection.compaction != NONE:
        compaction = path[selection.compaction]
        after = selection.compaction + 1
        if tree.facts.get(compaction, {}).get("hasSystemMessage"):
            message = bodies.entry(compaction).get("systemMessage")
            if isinstance(message, dict):
                yield message
    for position in positions(selection.kinds, Kind.SYSTEM):
        if position >= after:
            yield message_of(bodies.entry(path[position]))


def _model(tree: Tree, bodies: Bodies, selection: Selection) -> Entry | None:
    """The last model that a model change or an assistant message names."""
    for ordinal, kind in zip(reversed(selection.path), reversed(selection.kinds), strict=True):
        if kind == Kind.MODEL_CHANGE:
            facts = tree.facts.get(ordinal, {})
            provider, model_id = facts.get("provider"), facts.get("modelId")
        elif kind == Kind.ASSISTANT:
            message = message_of(bodies.entry(ordinal))
            provider, model_id = message.get("provider"), message.get("model")
        else:
            continue
        if isinstance(provider, str) and isinstance(model_id, str):
            return {"provider": provider, "modelId": model_id}
    return None


def _settings(tree: Tree, selection: Selection, kind: Kind, key: str) -> Iterator[Any]:
    """What the entries of a kind set on the path, newest first."""
    position = selection.kinds.rfind(kind)
    while position != NONE:
        yield tree.facts.get(selection.path[position], {}).get(key)
        position = selection.kinds.rfind(kind, 0, position)


def _reported_size(tree: Tree, bodies: Bodies, leaf: int) -> int | None:
    """The size of the context by the last usage to be trusted and what follows it, if there is one.

    Walks back from the leaf, so that in a long conversation a few messages are enough.
    """
    following = 0
    ordinal = leaf
    while ordinal != NONE and tree.kinds[ordinal] not in _INVALIDATING:
        kind = tree.kinds[ordinal]
        if kind == Kind.ASSISTANT:
            reported = reported_tokens(message_of(bodies.entry(ordinal)))
            if reported:
                return reported + following
        if shows(tree, ordinal, _COUNTED):
            following += tokens_of(tree, bodies, ordinal)
        ordinal = tree.parents[ordinal]
    return None


def _estimated_size(tree: Tree, bodies: Bodies, selection: Selection) -> int:
    """The size of the context where no usage can be trusted: everything is estimated."""
    system = fold_system(_system_messages(tree, bodies, selection))
    shown = sum(
        message_tokens(_message(tree, bodies, ordinal, selection.edits))
        if ordinal in selection.edits
        else tokens_of(tree, bodies, ordinal)
        for ordinal in selection.sources
    )
    return shown + (message_tokens(system) if system else 0)


def _link_problems(tree: Tree, selection: Selection) -> Iterator[Problem]:
    """What the compaction and the context edits on the path name in vain."""
    path, ids = selection.path, tree.ids
    if selection.first_kept_missing:
        compaction = path[selection.compaction]
        message = f"The compaction {ids[compaction]} names no entry before it as the first kept"
        yield Problem("first-kept-missing", message, compaction)
    edits = [path[position] for position in positions(selection.kinds, Kind.CONTEXT_EDIT)]
    on_path = set(path) if edits else set()
    for edit in edits:
        target = edit_target(tree, edit)
        if target is not None and target not in on_path:
            message = f"{ids[edit]} edits {ids[target]}, which is not on the path"
            yield Problem("edit-target-missing", message, edit)


def _orphan_results(tree: Tree, items: list[tuple[int, Entry]]) -> Iterator[Problem]:
    """Tool results that no model is sent, because their call is not in the context."""
    for index in pair_results([message for _, message in items]).orphans:
        ordinal = items[index][0]
        message = f"The call that {tree.ids[ordinal]} answers is not in the context before it"
        yield Problem("orphan-tool-result", message, ordinal)
