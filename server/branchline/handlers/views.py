"""Methods that look at a session."""

from functools import partial
from typing import Any

from branchline import codec
from branchline.absent import Absent
from branchline.entries import Kind
from branchline.handlers.connection import Connection
from branchline.service import tail as tails
from branchline.service.session import Session
from branchline.tree import branches as tree_branches
from branchline.tree import stats as tree_stats
from branchline.tree.chat import chat_messages, chat_tools
from branchline.tree.context import build_context
from branchline.tree.drawing import View
from branchline.wire.method_params import (
    ContextParams,
    DrawingParams,
    EntriesParams,
    FindParams,
    LocateParams,
    SessionParams,
    TailParams,
    TreeParams,
    ViewParams,
)

Result = dict[str, Any]


async def tree(connection: Connection, params: TreeParams) -> Result:
    """``session/tree``."""
    session = await connection.session(params.session)

    def look() -> Result:
        window = session.drawing.window(
            _view(params),
            session.context_states(connection.client),
            offset=params.offset,
            around=params.around,
            limit=params.limit,
        )
        return {**window, **_position(session)}

    return await session.read(look)


async def tail(connection: Connection, params: TailParams) -> Result:
    """``session/tail``."""
    service, client = connection.service, connection.client
    return await tails.tail(service.registry, client, params.session, _view(params), params.limit)


async def locate(connection: Connection, params: LocateParams) -> object:
    """``session/locate``."""
    session = await connection.session(params.session)
    step = partial(session.drawing.locate, _view(params), params.from_, params.to)
    return await session.read(step)


async def find(connection: Connection, params: FindParams) -> object:
    """``session/find``."""
    session = await connection.session(params.session)
    look = partial(
        session.drawing.find,
        params.filter,
        params.query,
        params.from_,
        backwards=params.backwards,
    )
    return await session.read(look)


async def overview(connection: Connection, params: ViewParams) -> object:
    """``session/overview``."""
    session = await connection.session(params.session)
    look = partial(session.drawing.overview, _view(params))
    return await session.read(look)


async def branches(connection: Connection, params: SessionParams) -> object:
    """``session/branches``."""
    session = await connection.session(params.session)
    return await session.read(lambda: tree_branches.branches(session.tree, session))


async def entries(connection: Connection, params: EntriesParams) -> Result:
    """``session/entries``: the stored texts themselves, passed on byte for byte."""
    session = await connection.session(params.session)

    def look() -> Result:
        return {"entries": [_stored(session, entry_id) for entry_id in params.ids]}

    return await session.read(look)


async def context(connection: Connection, params: ContextParams) -> Result:
    """``session/context``."""
    session = await connection.session(params.session)
    pinned = connection.client.settings.branch_summary.pinned_tokens

    def look() -> Result:
        tree = session.tree
        given = params.leaf_id
        leaf = tree.leaf if isinstance(given, Absent) else session.place(given)
        found = build_context(tree, session, leaf, pinned)
        messages: object = None
        if params.format == "openai":
            messages = chat_messages(found)
        elif params.format == "messages":
            messages = found.messages
        return {
            "leafId": tree.id_of(leaf),
            "path": [tree.ids[ordinal] for ordinal in found.path],
            "sources": [tree.ids[ordinal] for ordinal in found.sources],
            "messages": messages,
            "tools": chat_tools(found.system),
            "model": found.model,
            "thinkingLevel": found.thinking_level,
            "activeTools": found.active_tools,
            "usage": session.usage(connection.client, leaf),
            "warnings": [one.as_json() for one in session.located(found.problems)],
        }

    return await session.read(look)


async def stats(connection: Connection, params: SessionParams) -> object:
    """``session/stats``."""
    session = await connection.session(params.session)
    return await session.read(lambda: tree_stats.stats(session.tree, session))


async def check(connection: Connection, params: SessionParams) -> Result:
    """``session/check``: every line is parsed first, however large the file."""
    session = await connection.session(params.session)
    await session.verify(pause_seconds=0)
    warnings, repairable = await session.read(lambda: (session.warnings(), session.is_repairable()))
    count = len(warnings)
    summary = (
        "Nothing is wrong with this session"
        if not count
        else f"{count} thing{'s' if count != 1 else ''} to know about this session"
    )
    return {
        "warnings": [one.as_json() for one in warnings],
        "summary": summary,
        "repairable": repairable,
    }


def _stored(session: Session, entry_id: str) -> object:
    ordinal = session.ordinal(entry_id)
    if session.file is None or session.tree.kinds[ordinal] == Kind.PLACEHOLDER:
        return session.entry(ordinal)
    return codec.relay(session.file.raw(ordinal))


def _view(params: DrawingParams) -> View:
    return View(
        filter=params.filter,
        query=params.query if isinstance(params, ViewParams) else None,
        layout=params.layout,
        runs_as_one=params.runs == "tools",
        folded=frozenset(params.folded),
        expanded=frozenset(params.expanded),
    )


def _position(session: Session) -> Result:
    return {"leafId": session.leaf_id, "revision": session.revision}
