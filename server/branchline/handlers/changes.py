"""Methods that write to a session."""

from typing import Any

from branchline.handlers.connection import Connection
from branchline.service import actions
from branchline.service.session import Written
from branchline.wire.method_params import (
    AppendParams,
    EditParams,
    LabelParams,
    RenameParams,
    SessionParams,
    UndoParams,
)

Result = dict[str, Any]


async def append(connection: Connection, params: AppendParams) -> Result:
    """``session/append``."""
    session = await connection.session(params.session)
    written = await actions.append(
        session,
        connection.client,
        params.entries,
        parent_id=params.parent_id,
        move_leaf=params.move_leaf,
        expected_leaf_id=params.expected_leaf_id,
    )
    connection.service.compactor.appended(session, connection.client)
    given = written.entries[: len(params.entries)]  # a move record may follow
    entries = [{key: entry[key] for key in ("id", "parentId", "timestamp")} for entry in given]
    return {"entries": entries, **_position(written)}


async def label(connection: Connection, params: LabelParams) -> Result:
    """``session/label``."""
    session = await connection.session(params.session)
    return _position(
        await actions.label(session, connection.client, params.target_id, params.label)
    )


async def rename(connection: Connection, params: RenameParams) -> Result:
    """``session/rename``."""
    session = await connection.session(params.session)
    return _position(await actions.rename(session, connection.client, params.name))


async def edit(connection: Connection, params: EditParams) -> Result:
    """``session/edit``."""
    session = await connection.session(params.session)
    written = await actions.edit(session, connection.client, params.target_id, params.replacement)
    return {"entryId": written.entries[0]["id"], **_position(written)}


async def undo(connection: Connection, params: UndoParams) -> Result:
    """``session/undo``."""
    session = await connection.session(params.session)
    written, undone_id = await actions.undo(session, connection.client, params.expected_leaf_id)
    return {"undoneId": undone_id, **_position(written)}


async def repair(connection: Connection, params: SessionParams) -> Result:
    """``session/repair``."""
    session = await connection.session(params.session)
    backup = await session.repair(connection.client)
    warnings = await session.read(session.warnings)
    kept = None if backup is None else str(backup)
    return {"backup": kept, "warnings": [one.as_json() for one in warnings]}


def _position(written: Written) -> Result:
    return {"leafId": written.leaf_id, "revision": written.revision}
