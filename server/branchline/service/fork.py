"""A new session file with one branch of another, byte for byte."""

import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from branchline.entries import CURRENT_VERSION, Kind
from branchline.errors import InvalidParams
from branchline.log.format import Header, new_id, now, record_line
from branchline.log.locations import create_session_file, new_session_path
from branchline.service.client import Client
from branchline.service.registry import Registry
from branchline.service.session import Session
from branchline.tree.index import NONE, Tree
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
        create_session_file(path, header.line() + b"".join(_lines(session, end)))
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


def _lines(session: Session, end: int) -> list[bytes]:
    """The records of the branch as they stand, then what its labels are today."""
    tree, file = session.tree, session.file
    if file is None or end == NONE:
        return []
    path = tree.path(end)
    lines = [file.raw(ordinal) + b"\n" for ordinal in path]
    on_path = _labels_on(tree, path)
    parent_id = tree.ids[end]
    for ordinal in path:
        label = tree.labels.get(ordinal)
        text = label.text if label else None
        if text == on_path.get(ordinal):
            continue
        record = {
            "type": "label",
            "id": new_id(tree.find),
            "parentId": parent_id,
            "timestamp": (label.timestamp if label else None) or now(),
            "targetId": tree.ids[ordinal],
            **({"label": text} if text else {}),
        }
        lines.append(record_line(record))
        parent_id = record["id"]
    return lines


def _labels_on(tree: Tree, path: list[int]) -> dict[int, str | None]:
    """The labels that the records of a path alone set, by ordinal."""
    labels: dict[int, str | None] = {}
    for ordinal in path:
        if tree.kinds[ordinal] == Kind.LABEL:
            facts = tree.facts[ordinal]
            target_id = facts.get("targetId")
            target = tree.find(target_id) if isinstance(target_id, str) else None
            text = facts.get("label")
            if target is not None:
                labels[target] = text if isinstance(text, str) and text.strip() else None
    return labels
