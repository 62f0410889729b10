"""The last thing that moved the leaf to another place of the conversation, and the way back.

Read from the records alone, so it is the same after a restart and for every client. The way back
is itself a move, so undoing twice is doing it again.
"""

from dataclasses import dataclass
from typing import Final

from branchline.entries import MESSAGES, MOVES, Kind
from branchline.tree.index import NONE, Bodies, Tree

_CONTEXT_FREE: Final = frozenset({Kind.LABEL, Kind.SESSION_INFO, Kind.USAGE, Kind.CUSTOM})
"""Kinds that leave the conversation where it was, though the leaf goes on to them."""
_SUMMARIES: Final = frozenset({Kind.COMPACTION, Kind.BRANCH_SUMMARY})
_ENDS_A_CHAIN: Final = MOVES | _SUMMARIES
_SAID: Final = MESSAGES | {Kind.CUSTOM_MESSAGE}


@dataclass(frozen=True, slots=True)
class LastMove:
    """A record that moved the leaf. Ordinals.

    Attributes:
        record: the move record, branch summary, compaction or label that did it.
        came_from: where the leaf was before; `NONE` before the first entry.
        messages_since: how many messages were appended after it.
    """

    record: int
    came_from: int
    messages_since: int


def last_move(tree: Tree, bodies: Bodies) -> LastMove | None:
    """The last move, branch summary or compaction; None if the leaf only ever went on.

    An append elsewhere that leaves the leaf where it was is none. Few bodies are read.
    """
    messages = 0
    at = len(tree) - 1
    while at >= 0:
        kind, parent, before = tree.kind(at), tree.parents[at], _place_after(tree, at - 1)
        if kind in _SUMMARIES:
            return LastMove(at, before, messages)
        if kind in MOVES:
            target = tree.move_target(at)
            if target is not None and _settled(tree, target) != _settled(tree, before):
                elsewhere = _excursion(tree, bodies, at, target)
                if elsewhere is None:
                    return LastMove(at, before, messages)
                at = elsewhere
        elif kind in _CONTEXT_FREE and parent not in (before, at - 1):
            return LastMove(at, before, messages)  # the label that a move set on its target
        if kind in _SAID:
            messages += 1
        at -= 1
    return None


def _place_after(tree: Tree, at: int) -> int:
    """Where the leaf was once this record was written; before the first one: `NONE`."""
    while at >= 0 and tree.kind(at) == Kind.PLACEHOLDER:
        at -= 1
    if at >= 0 and tree.kind(at) in MOVES:
        target = tree.move_target(at)
        return at if target is None else target
    return at if at >= 0 else NONE


def _settled(tree: Tree, place: int) -> int:
    """The nearest entry at or above the place that is part of the conversation."""
    while place != NONE and tree.kind(place) in _CONTEXT_FREE:
        place = tree.parents[place]
    return place


def _excursion(tree: Tree, bodies: Bodies, move: int, target: int) -> int | None:
    """The first record of the write that this move ends, if that appended elsewhere than the leaf.

    Another program may append to another branch in the same way, and a person move back then: only
    the records of one write have the same time.
    """
    first = move - 1
    while first >= 0 and tree.kind(first) not in _ENDS_A_CHAIN and tree.parents[first] == first - 1:
        first -= 1
    if first < 0 or tree.kind(first) in _ENDS_A_CHAIN:
        return None
    leaf = _place_after(tree, first - 1)
    if tree.parents[first] == leaf or leaf != target:
        return None
    times = [bodies.entry(record).get("timestamp") for record in (move - 1, move)]
    return first if times[0] == times[1] else None
