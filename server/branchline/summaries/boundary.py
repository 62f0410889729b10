"""What a summary covers and what it keeps: decided here, never by a model.

Pure and deterministic (design.md, "Summaries", whose step numbers stand at the code). Everything
is reckoned on what the entries *show the model* with the context edits of the path applied; pinned
branch summaries take no part.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from branchline.entries import Entry, Kind
from branchline.summaries.files import FileOperations
from branchline.tree.index import NONE, Bodies, Tree
from branchline.tree.messages import edited_message, shown_message
from branchline.tree.selection import SHOWN, edits_among, select, shows
from branchline.tree.tokens import message_tokens

_TURN_BEGINS: Final = frozenset({"user", "bashExecution", "custom", "branchSummary"})
_CUT_ALLOWED: Final = _TURN_BEGINS | {"assistant"}
_SEEN: Final = frozenset({Kind.COMPACTION, Kind.SYSTEM})
"""What shows no message in its place and still ends the way back to the kept side."""
_SUMMARIES: Final = frozenset({Kind.COMPACTION, Kind.BRANCH_SUMMARY})
_SUMMARY_FITS_BELOW: Final = 0.9
_UNEDITED: Final = object()

Item = tuple[int, Entry]
"""An entry's ordinal and the message it shows."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """What a compaction covers.

    Attributes:
        first_kept: the first entry that stays as it is.
        history: what goes into the summary.
        turn_prefix: the beginning of the turn that the cut splits; empty if it splits none.
        kept: what the model still sees as it is.
        previous: the compaction whose summary is updated, or `NONE`.
        files: ``{readFiles, modifiedFiles}`` of what is covered, earlier summaries included.
    """

    first_kept: int
    history: list[Item]
    turn_prefix: list[Item]
    kept: list[Item]
    previous: int
    files: dict[str, list[str]]


def compaction_boundary(
    tree: Tree, bodies: Bodies, leaf: int, keep_recent_tokens: int
) -> Boundary | None:
    """Where a compaction at this leaf would cut; None if there is nothing to compact."""
    selection = select(tree, bodies, leaf, 0)
    if leaf == NONE or selection.compaction == len(selection.path) - 1:  # 1
        return None
    compaction = NONE if selection.compaction == NONE else selection.path[selection.compaction]
    # System messages before the compaction are folded into its own: they stand in no place here.
    entries = [
        ordinal
        for ordinal in selection.stretch
        if tree.kinds[ordinal] != Kind.SYSTEM or ordinal > compaction != NONE
    ]
    messages = [_message(tree, bodies, ordinal, selection.edits) for ordinal in entries]
    cut = _cut(messages, keep_recent_tokens)
    if cut is None:
        return None
    if _only_taken_back(tree, entries[cut + 1 :], messages[cut + 1 :], selection.edits):
        cut += 1
    while cut > 0 and messages[cut - 1] is None and tree.kinds[entries[cut - 1]] not in _SEEN:  # 5
        cut -= 1
    begin = _turn_begin(messages, cut)  # 6
    history = _items(entries, messages, 0, cut if begin is None else begin)
    prefix = [] if begin is None else _items(entries, messages, begin, cut)
    if not history and not prefix:  # 7
        return None
    operations = FileOperations()
    if compaction != NONE:
        operations.take_details(bodies.entry(compaction))
    for _, message in (*history, *prefix):
        operations.take_message(message)
    return Boundary(
        first_kept=entries[cut],
        history=history,
        turn_prefix=prefix,
        kept=_items(entries, messages, cut, len(entries)),
        previous=compaction,
        files=operations.lists(),
    )


def _message(tree: Tree, bodies: Bodies, ordinal: int, edits: Mapping[int, Any]) -> Entry | None:
    """What an entry shows the model with the edits applied; None for nothing."""
    kind = tree.kind(ordinal)
    content = edits.get(ordinal, _UNEDITED)
    if content is None or not shows(tree, ordinal, SHOWN):
        return None
    message = shown_message(bodies.entry(ordinal), kind)
    return message if content is _UNEDITED else edited_message(message, content)


def _cut(messages: Sequence[Entry | None], budget: int) -> int | None:
    """Steps 2 and 3: the position of the cut; None if there is no place for one."""
    allowed = [
        at for at, message in enumerate(messages) if message and message["role"] in _CUT_ALLOWED
    ]
    if not allowed:
        return None
    total = 0
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        total += message_tokens(message) if message else 0
        if message and total >= budget:
            return next((one for one in allowed if one >= at), allowed[-1])
    return allowed[0]


def _only_taken_back(
    tree: Tree,
    entries: Sequence[int],
    messages: Sequence[Entry | None],
    edits: Mapping[int, Any],
) -> bool:
    """Step 4: whether behind the cut there is only an attempt that was taken back."""
    if any(messages):
        return False
    omitted = {target for target, content in edits.items() if content is None}
    if not any(one in omitted and tree.kinds[one] == Kind.ASSISTANT for one in entries):
        return False
    made_there = edits_among(tree, (one for one in entries if tree.kinds[one] == Kind.CONTEXT_EDIT))
    return all(content is None or target in omitted for target, content in made_there.items())


def _turn_begin(messages: Sequence[Entry | None], cut: int) -> int | None:
    """Where the turn begins that a cut splits; None if it splits none."""
    first = next((one for one in messages[cut:] if one), None)
    if first is None or first["role"] in _TURN_BEGINS:
        return None
    for at in range(cut - 1, -1, -1):
        message = messages[at]
        if message and message["role"] in _TURN_BEGINS:
            return at
    return None


def _items(
    entries: Sequence[int], messages: Sequence[Entry | None], start: int, end: int
) -> list[Item]:
    return [
        (entries[at], message) for at in range(start, end) if (message := messages[at]) is not None
    ]


@dataclass(frozen=True, slots=True)
class Collected:
    """What of a branch goes into its summary.

    Attributes:
        items: in path order; compactions and branch summaries as their summaries.
        tokens: their estimate.
        files: ``{readFiles, modifiedFiles}``.
    """

    items: list[Item]
    tokens: int
    files: dict[str, list[str]]


def collect_branch(tree: Tree, bodies: Bodies, leaving: Sequence[int], budget: int) -> Collected:
    """What a branch summary of the entries ``leaving`` is made from, within ``budget`` tokens.

    Newest first, until one does not fit (0: all fit); a summary that does not fit is still taken
    if less than nine tenths are used. Tool results are left out.
    """
    operations = FileOperations()
    for ordinal in leaving:
        if tree.kinds[ordinal] == Kind.BRANCH_SUMMARY:
            operations.take_details(bodies.entry(ordinal))
    edits = edits_among(tree, (one for one in leaving if tree.kinds[one] == Kind.CONTEXT_EDIT))
    items: list[Item] = []
    total = 0
    for ordinal in reversed(leaving):
        if tree.kinds[ordinal] in _SUMMARIES:
            message: Entry | None = shown_message(bodies.entry(ordinal), tree.kind(ordinal))
        elif tree.kinds[ordinal] == Kind.TOOL_RESULT:
            continue
        else:
            message = _message(tree, bodies, ordinal, edits)
        if message is None:
            continue
        operations.take_message(message)
        tokens = message_tokens(message)
        fits = budget <= 0 or total + tokens <= budget
        is_summary = tree.kinds[ordinal] in _SUMMARIES
        if fits or (is_summary and total < budget * _SUMMARY_FITS_BELOW):
            items.append((ordinal, message))
            total += tokens
        if not fits:
            break
    items.reverse()
    return Collected(items, total, operations.lists())
