"""The rows around the leaf before all of a large file is read: a client's first screen."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from anyio import to_thread

from branchline.log.tail import FIRST_BYTES, MOST_BYTES, Tail, read_end
from branchline.service.client import Client
from branchline.service.registry import Registry
from branchline.service.session import Session
from branchline.tree.drawing import Drawing, View
from branchline.tree.filters import visible
from branchline.tree.index import Tree

Result = dict[str, Any]


async def tail(registry: Registry, client: Client, named: str, view: View, limit: int) -> Result:
    """Up to ``limit`` rows around the leaf, as ``session/tail`` gives them.

    Of a session that is open, or that is read in no time, they are those of ``session/tree``.
    Raises what `Registry.find` and `FollowedSession.read` raise.
    """
    found = await registry.look_up(client, named)
    if isinstance(found, Session) and not registry.keeps(found):
        found = found.path
    if isinstance(found, Path):
        rows = await to_thread.run_sync(partial(rows_of_end, found, view, limit))
        info = None if rows is None else await registry.info(str(found))
        if rows is not None and info is not None:
            return {"session": info, **rows}
        found = await registry.find(client, named)
    return await found.read(partial(_rows_of_session, found, client, view, limit))


def _rows_of_session(session: Session, client: Client, view: View, limit: int) -> Result:
    contexts = session.context_states(client)
    rows = _around_leaf(session.tree, session.drawing, view, contexts, limit)
    return {"session": session.info(), **rows}


def rows_of_end(
    path: Path,
    view: View,
    limit: int,
    first_bytes: int = FIRST_BYTES,
    most_bytes: int = MOST_BYTES,
) -> Result | None:
    """The rows as the end of the file tells them; None if it tells of none. See `read_end`."""

    def shown_path(end: Tail) -> list[int]:
        tree, shown = end.tree, visible(end.tree, view.filter)
        return [ordinal for ordinal in tree.path(tree.leaf) if shown[ordinal]]

    end = read_end(path, lambda end: len(shown_path(end)) >= limit, first_bytes, most_bytes)
    shown = [] if end is None else shown_path(end)
    if end is None or not shown:
        return None
    # What hangs beside the first entry of the branch is not known, so the drawing begins below it.
    end.tree.keep_below(shown[0])
    # What the model is sent of them depends on the whole branch, so no row says it.
    rows = _around_leaf(end.tree, Drawing(end.tree, end.bodies), view, {}, limit)
    return {**rows, "whole": False}


def _around_leaf(
    tree: Tree, drawing: Drawing, view: View, contexts: Mapping[int, str], limit: int
) -> Result:
    leaf_id = tree.id_of(tree.leaf)
    window = drawing.window(view, contexts, around=leaf_id, limit=limit)
    rows, leaf_row = window["rows"], window["leafRow"]
    return {
        "rows": rows,
        "leafRow": None if leaf_row is None else leaf_row - window["offset"],
        "leafId": leaf_id,
        "whole": len(rows) == window["total"],
    }
