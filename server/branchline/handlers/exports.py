"""``session/export``."""

from typing import Any

from branchline.handlers.connection import Connection, absolute_path
from branchline.service.exporting import Wanted, export_session
from branchline.wire.method_params import ExportParams


async def export(connection: Connection, params: ExportParams) -> dict[str, Any]:
    """``session/export``."""
    path = absolute_path(params.path, "path")
    session = await connection.session(params.session)
    wanted = Wanted(params.format, params.branches == "all", params.mask)
    exported = await export_session(session, connection.client, wanted, path)
    found = {"content": exported.content} if path is None else {"path": str(path)}
    return {**found, "masked": exported.masked}
