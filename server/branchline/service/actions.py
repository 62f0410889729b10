"""What a client can do to a session, each as one write: append, label, rename, edit, move, fork.

Every action says what to add and hands that to `Session.change`; none writes by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from branchline.absent import ABSENT, Absent
from branchline.entries import MESSAGES, NO_ORIGIN, Entry, Kind
from branchline.errors import InvalidEntry, InvalidParams
from branchline.service.client import Client
from branchline.service.new_entries import Addition, EntryFactory, call_owner, make_addition
from branchline.service.session import Session, Written
from branchline.tree.index import Tree
from branchline.tree.plan import Position, destination, switch_plan

Expected = str | Absent | None

_TEXT_BLOCKS_ONLY: Final = frozenset({Kind.ASSISTANT, Kind.TOOL_RESULT})
"""Kinds whose content is always a list of blocks."""


async def append(
    session: Session,
    client: Client,
    entries: Sequence[Entry],
    *,
    parent_id: Expected = ABSENT,
    move_leaf: bool = True,
    expected_leaf_id: Expected = ABSENT,
) -> Written:
    """Append entries, the first below ``parent_id`` (absent: the leaf), each below the one before.

    Raises `InvalidEntry`, `NotFound` for the parent, and what `Session.change` raises.
    """

    def prepare(tree: Tree) -> Addition:
        leaf = tree.leaf
        if not isinstance(parent_id, Absent):
            parent = session.place(parent_id)
            return make_addition(tree, parent, entries, return_to=None if move_leaf else leaf)
        elsewhere = None
        if isinstance(entries[0].get("message"), dict):
            elsewhere = call_owner(tree, session, entries[0], leaf)
        if elsewhere is not None:
            return make_addition(tree, elsewhere, entries, return_to=leaf)
        return make_addition(tree, leaf, entries, return_to=None if move_leaf else leaf)

    return await session.change(client, prepare, expected_leaf_id=expected_leaf_id)


async def label(session: Session, client: Client, target_id: str, text: str | None) -> Written:
    """Label an entry; a blank text clears its label. Raises `NotFound`."""

    def prepare(tree: Tree) -> Addition:
        session.ordinal(target_id)
        fields: Entry = {"type": "label", "targetId": target_id}
        if text is not None and text.strip():
            fields["label"] = text.strip()
        return make_addition(tree, tree.leaf, [fields])

    return await session.change(client, prepare)


async def rename(session: Session, client: Client, name: str) -> Written:
    """Name the session, in one line; a blank name clears it."""

    def prepare(tree: Tree) -> Addition:
        fields = {"type": "session_info", "name": " ".join(name.split())}
        return make_addition(tree, tree.leaf, [fields])

    return await session.change(client, prepare)


async def edit(
    session: Session, client: Client, target_id: str, replacement: dict[str, Any] | None
) -> Written:
    """Leave an entry out of the context (null), or let it say something else there.

    Raises `NotFound`; `InvalidEntry` for a target that shows the model nothing editable or is not
    on the active branch.
    """

    def prepare(tree: Tree) -> Addition:
        kind = tree.kind(session.ordinal(target_id))
        shown = replacement
        if shown is not None and kind in _TEXT_BLOCKS_ONLY:
            content = shown.get("content")
            if isinstance(content, str):
                shown = {"content": [{"type": "text", "text": content}]}
        factory = EntryFactory(tree, tree.leaf)
        factory.add({"type": "context_edit", "targetId": target_id, "replacement": shown})
        return Addition(list(factory.made.values()), factory.last_id)

    return await session.change(client, prepare)


@dataclass(frozen=True, slots=True)
class Switch:
    """A move of the leaf as a client asks for it; see protocol.md, ``session/switchLeaf``."""

    target_id: str | None
    position: Position = "auto"
    mode: Literal["none", "text"] = "none"
    text: str | None = None
    label: str | None = None
    expected_leaf_id: Expected = ABSENT


@dataclass(frozen=True, slots=True)
class Plan:
    """What a move would do. Ordinals; ``editor`` is what a person gets to edit."""

    old_leaf: int
    new_leaf: int
    common_ancestor: int
    leaving: list[int]
    editor: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Switched:
    """A move of the leaf: its plan, and what was written (None: nothing, it was a dry run)."""

    plan: Plan
    previous_leaf_id: str | None
    written: Written | None
    summary: Entry | None


def plan_switch(session: Session, tree: Tree, switch: Switch) -> Plan:
    """Where the leaf would go, and what would be left behind.

    Raises `NotFound`; `LeafChanged`, `InvalidParams` and `InvalidEntry` for what the move itself
    would be refused for.
    """
    if (switch.mode == "text") != (switch.text is not None):
        problem = "is needed in mode text" if switch.text is None else "belongs to mode text"
        raise InvalidParams("summary.text", problem)
    if switch.text is not None and not switch.text.strip():
        raise InvalidEntry("summary.text", "must not be blank")
    session.expect_leaf(switch.expected_leaf_id)
    target = session.place(switch.target_id)
    new_leaf, editor = tree.leaf, None
    if target != tree.leaf:
        new_leaf, editor = destination(tree, session, target, switch.position)
    ancestor, leaving = switch_plan(tree, tree.leaf, new_leaf)
    return Plan(tree.leaf, new_leaf, ancestor, leaving, editor)


async def switch_leaf(session: Session, client: Client, switch: Switch) -> Switched:
    """Move the leaf, with a summary that a person wrote if there is one.

    One write: the summary becomes the leaf, a label goes on it or else on the target.
    """
    made: list[tuple[Plan, str | None, Entry | None]] = []

    def prepare(tree: Tree) -> Addition | None:
        plan = plan_switch(session, tree, switch)
        addition, summary = _moved(tree, plan, switch)
        made[:] = [(plan, session.leaf_id, summary)]
        return addition

    written = await session.change(client, prepare, expected_leaf_id=switch.expected_leaf_id)
    plan, previous, summary = made[0]
    return Switched(plan, previous, written, summary)


def _moved(tree: Tree, plan: Plan, switch: Switch) -> tuple[Addition | None, Entry | None]:
    """The records of a move, and the summary among them."""
    factory = EntryFactory(tree, plan.new_leaf)
    summary = None
    if switch.text is not None:
        from_id = tree.id_of(plan.old_leaf) or NO_ORIGIN
        fields = {"type": "branch_summary", "fromId": from_id, "summary": switch.text}
        summary = factory.add(fields, "summary.")
    place = summary["id"] if summary else tree.id_of(plan.new_leaf)
    labelled = summary["id"] if summary else switch.target_id
    if switch.label is not None and switch.label.strip() and labelled is not None:
        fields = {"type": "label", "targetId": labelled, "label": switch.label.strip()}
        factory.add(fields)
        factory.move(place)
    elif summary is None and plan.new_leaf != plan.old_leaf:
        factory.move(place)
    entries = list(factory.made.values())
    return (Addition(entries, place) if entries else None), summary


def leaving_messages(tree: Tree, plan: Plan) -> int:
    """How many messages a move leaves behind."""
    return sum(1 for ordinal in plan.leaving if tree.kinds[ordinal] in MESSAGES)


def leaving_tokens(tree: Tree, plan: Plan) -> int:
    """The estimated tokens of what a move leaves behind."""
    return sum(tree.tokens[ordinal] for ordinal in plan.leaving)
