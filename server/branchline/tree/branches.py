"""The branches and labels of a session: ``session/branches``."""

from array import array
from typing import TypedDict

from branchline.entries import Kind
from branchline.tree.index import NONE, Bodies, Tree
from branchline.tree.preview import SHORT_UNITS, describe, one_line, short_text
from branchline.tree.rows import COUNTED, body_of, timestamp_of


class Branch(TypedDict):
    """One way the conversation went. Counts and tokens are of the entries after the fork."""

    tipId: str
    forkId: str | None
    name: str
    messageCount: int
    tokens: int
    lastTimestamp: str | None
    active: bool


class LabelPlace(TypedDict):
    """A labelled entry, its label, and when that was set."""

    id: str
    label: str
    timestamp: str | None


class Branches(TypedDict):
    """The result of ``session/branches``, both lists in file order."""

    branches: list[Branch]
    labels: list[LabelPlace]


def branches(tree: Tree, bodies: Bodies) -> Branches:
    """The branches by their tips (`Tree.tips`), and the labels.

    A branch parts from the others at its fork, the deepest entry from which another one goes on
    elsewhere (None if it is alone from its root on). Its name is the nearest label above the tip,
    else its first user message, else empty. At most one branch is active.
    """
    tips = tree.tips()
    newest_tip, ways_on = _join(tree, tips)
    leaf = tree.leaf
    while leaf != NONE and newest_tip[leaf] == NONE:
        leaf = tree.parents[leaf]
    active_tip = NONE if leaf == NONE else newest_tip[leaf]
    return {
        "branches": [_branch(tree, bodies, tip, ways_on, active=tip == active_tip) for tip in tips],
        "labels": [
            {
                "id": tree.ids[ordinal],
                "label": one_line(label.text),
                "timestamp": short_text(label.timestamp),
            }
            for ordinal, label in sorted(tree.labels.items(), key=lambda item: item[0])
        ],
    }


def _join(tree: Tree, tips: list[int]) -> tuple["array[int]", bytearray]:
    """For each entry, the newest tip at or below it (or `NONE`), and 2 where branches part, else 1.

    Each entry is visited once: a walk up from a tip ends where a newer branch has come through.
    """
    newest_tip = array("l", [NONE]) * len(tree)
    ways_on = bytearray(len(tree))
    for tip in sorted(tips, reverse=True):
        ordinal = tip
        while ordinal != NONE:
            if newest_tip[ordinal] != NONE:
                ways_on[ordinal] = 2
                break
            newest_tip[ordinal] = tip
            ways_on[ordinal] = 1
            ordinal = tree.parents[ordinal]
    return newest_tip, ways_on


def _branch(tree: Tree, bodies: Bodies, tip: int, ways_on: bytearray, *, active: bool) -> Branch:
    label: str | None = None
    first_user = NONE
    messages = tokens = 0
    ordinal = tip
    while ordinal != NONE and ways_on[ordinal] != 2:
        if label is None and ordinal in tree.labels:
            label = tree.labels[ordinal].text
        kind = tree.kinds[ordinal]
        if kind == Kind.USER:
            first_user = ordinal
        messages += kind in COUNTED
        tokens += tree.tokens[ordinal]
        ordinal = tree.parents[ordinal]
    if label is None and first_user != NONE:
        label = describe(bodies.entry(first_user), Kind.USER)
    return {
        "tipId": tree.ids[tip],
        "forkId": tree.id_of(ordinal),
        "name": one_line(label or "", SHORT_UNITS),
        "messageCount": messages,
        "tokens": tokens,
        "lastTimestamp": timestamp_of(body_of(tree, bodies, tip)),
        "active": active,
    }
