"""What a client can do to a session, each as one write: append, label, rename, edit, move, fork.

Every action says what to add and hands that to `Session.change`; none writes by itself.
"""

from collections.abc import Sequence
from typing import Any, Final

from branchline.absent import ABSENT, Absent
from branchline.entries import Entry, Kind, single_spaced
from branchline.errors import NothingToUndo
from branchline.service.client import Client
from branchline.service.new_entries import Addition, EntryFactory, call_owner, make_addition
from branchline.service.session import Session, Written
from branchline.tree.index import Tree
from branchline.tree.undo import last_move

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
        fields = {"type": "session_info", "name": single_spaced(name)}
        return make_addition(tree, tree.leaf, [fields])

    return await session.change(client, prepare)


async def undo(
    session: Session, client: Client, expected_leaf_id: Expected = ABSENT
) -> tuple[Written, str]:
    """Move the leaf back to where it was before its last move or compaction.

    Gives also the id of the record that is undone. Raises `NothingToUndo`, `LeafChanged`.
    """
    undone: list[str] = []

    def prepare(tree: Tree) -> Addition:
        last = last_move(tree, session)
        if last is None:
            raise NothingToUndo
        if last.messages_since:
            raise NothingToUndo(tree.id_of(last.came_from), last.messages_since)
        undone[:] = [tree.ids[last.record]]
        factory = EntryFactory(tree, tree.leaf)
        factory.move(tree.id_of(last.came_from))
        return Addition(list(factory.made.values()), tree.id_of(last.came_from))

    written = await session.change(client, prepare, expected_leaf_id=expected_leaf_id)
    return written, undone[0]


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
