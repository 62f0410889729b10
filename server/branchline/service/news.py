"""What subscribers are told of a change: the params of ``session/changed``."""

from typing import Any, Literal

from branchline.entries import Kind, message_of
from branchline.service.foreign import ExternalBranch
from branchline.service.session_view import SessionView
from branchline.tree.preview import describe, one_line

Origin = Literal["client", "external"]


def change_of(
    session: SessionView,
    previous_leaf_id: str | None,
    added: list[int],
    origin: Origin,
    external: ExternalBranch | None,
) -> dict[str, Any]:
    """The news of a change that added entries, but for what differs from client to client."""
    tree = session.tree
    return {
        "session": session.header.id,
        "path": str(session.path),
        "revision": session.revision,
        "leafId": session.leaf_id,
        "previousLeafId": previous_leaf_id,
        "appended": [_summary(session, ordinal) for ordinal in added],
        "labels": _labels_set_by(session, added),
        "name": one_line(tree.name) if tree.name else None,
        "origin": origin,
        "externalBranch": (
            {"forkId": external.fork_id, "tipId": external.tip_id} if external else None
        ),
    }


def _summary(session: SessionView, ordinal: int) -> dict[str, Any]:
    entry = session.entry(ordinal)
    return {
        "id": session.tree.ids[ordinal],
        "parentId": session.tree.id_of(session.tree.parents[ordinal]),
        "type": entry.get("type"),
        "role": message_of(entry).get("role"),
        "text": one_line(describe(entry, session.tree.kind(ordinal))),
    }


def _labels_set_by(session: SessionView, added: list[int]) -> dict[str, str | None]:
    """The labels that entries set or cleared, as they are now, by the id of what they label."""
    tree = session.tree
    labels: dict[str, str | None] = {}
    for ordinal in added:
        if tree.kinds[ordinal] == Kind.LABEL:
            target_id = tree.facts[ordinal].get("targetId")
            target = tree.find(target_id) if isinstance(target_id, str) else None
            if target is not None:
                label = tree.labels.get(target)
                labels[tree.ids[target]] = one_line(label.text) if label else None
    return labels
