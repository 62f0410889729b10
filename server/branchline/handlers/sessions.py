"""Methods that find, make and remove sessions."""

import re
from typing import Any, Final

from anyio import to_thread

from branchline.errors import InvalidParams
from branchline.handlers.connection import Connection, absolute_path
from branchline.service import fork as forks
from branchline.service import listing, searching
from branchline.service.session import Session
from branchline.settings import as_json
from branchline.wire.method_params import (
    CreateParams,
    ForkParams,
    ListParams,
    OpenParams,
    SearchParams,
    SessionParams,
)

Result = dict[str, Any]

_VALID_ID: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_COUNTED_BYTES: Final = 8 * 1024 * 1024
"""Bytes of session files that are read for the counts of one page of a list: some milliseconds."""
_MAX_ID: Final = 128


async def list_sessions(connection: Connection, params: ListParams) -> Result:
    """``session/list``."""
    service = connection.service
    await service.watcher.tell_of_lists(connection.client)
    infos = await service.registry.infos(connection.client)
    service.indexing.want_folders(connection.client.roots())
    wanted = listing.Wanted(
        folders=None if params.scope == "all" else connection.client.folders,
        query=params.query or "",
        named=params.named,
        threaded=params.order == "threaded",
    )

    def select() -> Result:
        page = listing.select(infos, wanted, params.cursor, params.limit)
        sessions = service.registry.listing.counted(page.sessions, _COUNTED_BYTES)
        return {"sessions": sessions, "total": page.total, "nextCursor": page.next_cursor}

    return await to_thread.run_sync(select)


async def search(connection: Connection, params: SearchParams) -> Result:
    """``session/search``."""
    request = searching.SearchRequest(
        params.query,
        params.scope == "all",
        params.cursor,
        params.limit,
        params.per_session,
        params.wait,
    )
    return await searching.search(connection.service, connection.client, request)


async def create(connection: Connection, params: CreateParams) -> Result:
    """``session/create``."""
    if params.id is not None and (len(params.id) > _MAX_ID or not _VALID_ID.fullmatch(params.id)):
        raise InvalidParams(
            "id", "must be letters, digits, '.', '_' and '-', and begin and end with the former"
        )
    session = await connection.service.registry.create(
        connection.client,
        absolute_path(params.cwd, "cwd") or connection.client.home,
        session_id=params.id,
        name=params.name,
        parent_session=params.parent_session,
    )
    return {"session": session.info(), "leafId": session.leaf_id, "revision": session.revision}


async def open_session(connection: Connection, params: OpenParams) -> Result:
    """``session/open``."""
    client = connection.client

    def look(session: Session) -> Result:
        info = session.info()
        return {
            "session": {**info, "readOnly": info["readOnly"] or params.read_only},
            "leafId": session.leaf_id,
            "revision": session.revision,
            "usage": session.usage(client),
            "warnings": [one.as_json() for one in session.warnings()],
            "settings": as_json(client.settings),
        }

    service = connection.service

    def joined(session: Session) -> None:
        if (job := service.jobs.of(session)) is not None:
            job.tell(client)

    opened = await service.registry.subscribe(
        client, params.session, look, read_only=params.read_only, joined=joined
    )
    await service.watcher.followed()
    return opened


async def close(connection: Connection, params: SessionParams) -> Result:
    """``session/close``."""
    await connection.service.registry.unsubscribe(connection.client, params.session)
    return {}


async def fork(connection: Connection, params: ForkParams) -> Result:
    """``session/fork``."""
    made = await forks.fork(
        connection.service.registry,
        connection.client,
        await connection.session(params.session),
        params.entry_id,
        params.position,
        absolute_path(params.cwd, "cwd"),
    )
    session = made.session
    return {
        "session": session.info(),
        "leafId": session.leaf_id,
        "revision": session.revision,
        "editorContent": made.editor,
    }


async def delete(connection: Connection, params: SessionParams) -> Result:
    """``session/delete``."""
    return {"trashed": await connection.service.registry.trash(connection.client, params.session)}
