"""A new session file with one branch of another, byte for byte."""

import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from branchline.entries import CURRENT_VERSION, Kind
from branchline.errors import InvalidParams
from branchline.export.conversation import labels_of
from branchline.export.jsonl import branch_lines
from branchline.log.format import Header, now
from branchline.log.locations import create_session_file, new_session_path
from branchline.service.client import Client
from branchline.service.registry import Registry
from branchline.service.session import Session
from branchline.tree.plan import editor_content


@dataclass(frozen=True, slots=True)
class Fork:
    """The new session, and what a person gets to edit when the fork was made before a message."""

    session: Session
    editor: dict[str, Any] | None


async def fork(
    registry: Registry,
    client: Client,
    session: Session,
    entry_id: str | None,
    position: Literal["before", "at"],
    cwd: Path | None,
) -> Fork:
    """Copy the branch up to an entry (``before``: without it, a user message only) to a new file.

    Without an entry the active branch is copied. Labels of copied entries that stand elsewhere are
    appended. Raises `NotFound`, `InvalidParams`, `StorageFailure`.
    """
    if session.header.cwd is None and cwd is None:
        raise InvalidParams("cwd", "is needed: the session names no folder")
    folder = cwd or Path(session.header.cwd or "/")
    header = Header(str(uuid.uuid4()), CURRENT_VERSION, now(), str(folder), str(session.path))
    path = new_session_path(client.root_for(folder), folder, header.id, header.timestamp or now())

    def copy() -> dict[str, Any] | None:
        end, editor = _end(session, entry_id, position)
        tree, branch = session.tree, session.tree.path(end)
        lines = branch_lines(tree, session, branch, labels_of(tree, branch))
        create_session_file(path, b"".join([header.line(), *lines]))
        return editor

    editor = await session.read(copy)
    return Fork(await registry.find(client, str(path)), editor)


def _end(
    session: Session, entry_id: str | None, position: Literal["before", "at"]
) -> tuple[int, dict[str, Any] | None]:
    if entry_id is None:
        return session.tree.leaf, None
    ordinal = session.ordinal(entry_id)
    if position == "at":
        return ordinal, None
    if session.tree.kinds[ordinal] != Kind.USER:
        problem = "names no user message: only before one can a fork be made; use position at"
        raise InvalidParams("entryId", problem)
    return session.tree.parents[ordinal], editor_content(session.entry(ordinal))
