"""From a leaf to what the model is sent: which entries, in which order, how many tokens.

The rules are those of format.md ("From a leaf to the model's context", "Tokens") and design.md
("Pinned branch summaries"). The structural part needs no bodies: the path, the last compaction on
it, what that keeps, the context edits. Bodies are read only for what is shown (with a compaction,
only for what it keeps) and, where nothing shown names the model, back to the one that does.

Order of a context: the compaction's summary, the branch summaries pinned behind it, the entries
it keeps, what came after it. System messages are folded into one and stand in no place.

It never raises over what a file holds, and it decides nothing about wire formats (see `chat`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import compress
from typing import Any, Final, Literal

from branchline.entries import VISIBLE, Entry, Flag, Kind, message_of
from branchline.tree.index import NONE, Bodies, Problem, Tree
from branchline.tree.messages import edited_message, pair_results, shown_message
from branchline.tree.system import fold_system
from branchline.tree.tokens import entry_tokens, message_tokens, reported_tokens

State = Literal["in", "covered", "omitted", "replaced"]
"""What the model is sent of an entry on the path: see `context_states`."""

EDITABLE: Final = frozenset(
    {Kind.USER, Kind.ASSISTANT, Kind.TOOL_RESULT, Kind.CUSTOM_ROLE, Kind.CUSTOM_MESSAGE}
)
"""Kinds to which context edits apply."""

_EXACT: Final = int(Flag.EXACT)
_SHOWN: Final = VISIBLE - {Kind.COMPACTION}
"""Kinds that show something where they stand: an older compaction shows nothing."""
_COUNTED: Final = _SHOWN | {Kind.SYSTEM}
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
    selection = _select(tree, read, leaf, pinned_tokens)
    items = [
        (ordinal, _message(tree, read, ordinal, selection.edits)) for ordinal in selection.sources
    ]
    system = fold_system(_system_messages(tree, read, selection))
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
        tokens=_count(tree, read, selection),
        problems=[
            *_link_problems(tree, selection),
            *_orphan_results(tree, items),
        ],
    )


def context_tokens(tree: Tree, bodies: Bodies, leaf: int, pinned_tokens: int) -> int:
    """The same number as `Context.tokens`, reading as few bodies as it can."""
    return _count(tree, bodies, _select(tree, bodies, leaf, pinned_tokens))


def context_states(tree: Tree, leaf: int, pinned_tokens: int, bodies: Bodies) -> dict[int, State]:
    """What the model is sent of each entry on the path that shows something, by ordinal.

    ``in``: as it is. ``covered``: only the summary of a compaction. ``omitted``: nothing, by a
    context edit. ``replaced``: other content, by a context edit. Reads bodies of branch summaries
    at most.
    """
    selection = _select(tree, bodies, leaf, pinned_tokens)
    showing = _showing(tree, selection.path, selection.kinds, VISIBLE)
    states: dict[int, State] = dict.fromkeys(showing, "covered")
    states.update(dict.fromkeys(selection.candidates, "in"))
    for ordinal, content in selection.edits.items():
        if states.get(ordinal) == "in":
            states[ordinal] = "omitted" if content is None else "replaced"
    return states


@dataclass(frozen=True, slots=True)
class _Selection:
    """The structural part of a context.

    Attributes:
        path: ordinals from the root to the leaf.
        kinds: their kinds.
        compaction: position on the path of the compaction that counts, or `NONE`.
        candidates: ordinals of what shows something, in context order, before edits omit.
        edits: by ordinal of the target, the content that replaces its own; None omits it.
        first_kept_missing: whether the compaction names no entry before it.
    """

    path: list[int]
    kinds: bytes
    compaction: int
    candidates: list[int]
    edits: dict[int, Any]
    first_kept_missing: bool

    @property
    def sources(self) -> list[int]:
        edits = self.edits
        if not edits:
            return self.candidates
        return [
            ordinal
            for ordinal in self.candidates
            if ordinal not in edits or edits[ordinal] is not None
        ]


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


def _select(tree: Tree, bodies: Bodies, leaf: int, pinned_tokens: int) -> _Selection:
    path = tree.path(leaf)
    kinds = bytes(map(tree.kinds.__getitem__, path))
    compaction = kinds.rfind(Kind.COMPACTION)
    candidates: list[int] = []
    shown, shown_kinds = path, kinds
    first_kept_missing = False
    if compaction != NONE:
        first_kept = _first_kept(tree, path, compaction)
        first_kept_missing = first_kept is None
        kept = compaction if first_kept is None else first_kept
        candidates.append(path[compaction])
        candidates += _pinned(tree, bodies, path[:kept], pinned_tokens)
        shown = path[kept:compaction] + path[compaction + 1 :]
        shown_kinds = kinds[kept:compaction] + kinds[compaction + 1 :]
    candidates += _showing(tree, shown, shown_kinds, _SHOWN)
    edits = _edits(tree, (shown[at] for at in _positions(shown_kinds, Kind.CONTEXT_EDIT)))
    return _Selection(path, kinds, compaction, candidates, edits, first_kept_missing)


def _showing(tree: Tree, ordinals: list[int], kinds: bytes, which: frozenset[int]) -> list[int]:
    """The entries of these kinds, blank branch summaries left out."""
    wanted = kinds.translate(bytes(kind in which for kind in range(256)))
    blank = {
        ordinals[position]
        for position in _positions(kinds, Kind.BRANCH_SUMMARY)
        if _is_blank(tree, ordinals[position])
    }
    return [ordinal for ordinal in compress(ordinals, wanted) if ordinal not in blank]


def _first_kept(tree: Tree, path: list[int], compaction: int) -> int | None:
    """The position where the kept range begins; None if the compaction names no entry before it.

    A compaction that names itself keeps nothing: its range begins at its own position.
    """
    entry_id = tree.facts.get(path[compaction], {}).get("firstKeptEntryId")
    ordinal = tree.find(entry_id) if isinstance(entry_id, str) else None
    if ordinal is None:
        return None
    try:
        return path.index(ordinal, 0, compaction + 1)
    except ValueError:
        return None


def _pinned(tree: Tree, bodies: Bodies, covered: list[int], budget: int) -> list[int]:
    """The newest covered branch summaries that fit into the budget together, in path order."""
    pinned: list[int] = []
    for ordinal in reversed(covered):
        if tree.kinds[ordinal] != Kind.BRANCH_SUMMARY or _is_blank(tree, ordinal):
            continue
        budget -= _entry_tokens(tree, bodies, ordinal)
        if budget < 0:
            break
        pinned.append(ordinal)
    pinned.reverse()
    return pinned


def _edits(tree: Tree, edits: Iterable[int]) -> dict[int, Any]:
    """What context edits, in path order, make of their targets; malformed ones do nothing."""
    contents: dict[int, Any] = {}
    for edit in edits:
        target = _edit_target(tree, edit)
        if target is None or tree.kinds[target] not in EDITABLE:
            continue
        match tree.facts[edit]:
            case {"replacement": None}:
                contents[target] = None
            case {"replacement": {"content": str() | list() as content}}:
                contents[target] = content
            case _:
                continue
    return contents


def _edit_target(tree: Tree, edit: int) -> int | None:
    target_id = tree.facts.get(edit, {}).get("targetId")
    return tree.find(target_id) if isinstance(target_id, str) else None


def _is_blank(tree: Tree, branch_summary: int) -> bool:
    """Whether a branch summary says nothing."""
    return tree.facts.get(branch_summary, {}).get("blank") is True


def _positions(kinds: bytes, kind: Kind) -> Iterator[int]:
    """The positions of a kind on a path."""
    position = kinds.find(kind)
    while position != NONE:
        yield position
        position = kinds.find(kind, position + 1)


def _message(tree: Tree, bodies: Bodies, ordinal: int, edits: dict[int, Any]) -> Entry:
    message = shown_message(bodies.entry(ordinal), tree.kind(ordinal))
    return edited_message(message, edits[ordinal]) if ordinal in edits else message


def _system_messages(tree: Tree, bodies: Bodies, selection: _Selection) -> Iterator[Entry]:
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
    for position in _positions(selection.kinds, Kind.SYSTEM):
        if position >= after:
            yield message_of(bodies.entry(path[position]))


def _model(tree: Tree, bodies: Bodies, selection: _Selection) -> Entry | None:
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


def _settings(tree: Tree, selection: _Selection, kind: Kind, key: str) -> Iterator[Any]:
    """What the entries of a kind set on the path, newest first."""
    position = selection.kinds.rfind(kind)
    while position != NONE:
        yield tree.facts.get(selection.path[position], {}).get(key)
        position = selection.kinds.rfind(kind, 0, position)


def _count(tree: Tree, bodies: Bodies, selection: _Selection) -> int:
    """The size of the context: the last usage to be trusted and what follows it, else everything.

    Walks back from the leaf, so that in a long conversation one message is enough.
    """
    following = 0
    for ordinal, kind in zip(reversed(selection.path), reversed(selection.kinds), strict=True):
        if kind in _INVALIDATING:
            break
        if kind == Kind.ASSISTANT:
            reported = reported_tokens(message_of(bodies.entry(ordinal)))
            if reported:
                return reported + following
        if kind in _COUNTED and not (kind == Kind.BRANCH_SUMMARY and _is_blank(tree, ordinal)):
            following += _entry_tokens(tree, bodies, ordinal)
    system = fold_system(_system_messages(tree, bodies, selection))
    shown = sum(
        message_tokens(_message(tree, bodies, ordinal, selection.edits))
        if ordinal in selection.edits
        else _entry_tokens(tree, bodies, ordinal)
        for ordinal in selection.sources
    )
    return shown + (message_tokens(system) if system else 0)


def _entry_tokens(tree: Tree, bodies: Bodies, ordinal: int) -> int:
    if tree.flags[ordinal] & _EXACT:
        return tree.tokens[ordinal]
    return entry_tokens(bodies.entry(ordinal), tree.kind(ordinal))


def _link_problems(tree: Tree, selection: _Selection) -> Iterator[Problem]:
    """What the compaction and the context edits on the path name in vain."""
    path, ids = selection.path, tree.ids
    if selection.first_kept_missing:
        compaction = path[selection.compaction]
        message = f"The compaction {ids[compaction]} names no entry before it as the first kept"
        yield Problem("first-kept-missing", message, compaction)
    edits = [path[position] for position in _positions(selection.kinds, Kind.CONTEXT_EDIT)]
    on_path = set(path) if edits else set()
    for edit in edits:
        target = _edit_target(tree, edit)
        if target is not None and target not in on_path:
            message = f"{ids[edit]} edits {ids[target]}, which is not on the path"
            yield Problem("edit-target-missing", message, edit)


def _orphan_results(tree: Tree, items: list[tuple[int, Entry]]) -> Iterator[Problem]:
    """Tool results that no model is sent, because their call is not in the context."""
    for index in pair_results([message for _, message in items]).orphans:
        ordinal = items[index][0]
        message = f"The call that {tree.ids[ordinal]} answers is not in the context before it"
        yield Problem("orphan-tool-result", message, ordinal)
