"""A list of sessions, and the line above a tree."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.cells import cell_len, set_cell_size

from branchline.terminal.rows import plain_text, short_age, short_count


def draw_sessions(sessions: Sequence[Mapping[str, Any]], *, width: int) -> list[str]:
    """One line for each SessionInfo: age, counts, name or first message, id."""
    now = datetime.now(UTC)
    lines = []
    for info in sessions:
        age = short_age(info["modifiedAt"], now)
        left = f"{age:>4}  {_counts(info):<24}  "
        session_id = plain_text(str(info["id"]))
        room = max(16, width - cell_len(left) - cell_len(session_id) - 2)
        lines.append(f"{left}{set_cell_size(title(info), room)}  {session_id}".rstrip())
    return lines


def tree_header(info: Mapping[str, Any], usage: Mapping[str, Any], filter_name: str) -> str:
    """What stands above a tree: the session's title, its branches, the context's size."""
    branches = info["branchCount"]
    size = f"{short_count(usage['tokens'])}/{short_count(usage['contextWindow'])}"
    parts = [title(info), _many(branches, "branch", "branches"), size, filter_name]
    return " · ".join(part for part in parts if part)


def title(info: Mapping[str, Any]) -> str:
    """What a session is called: its name, else its first message."""
    if not info["readable"]:
        return "(cannot be read)"
    return plain_text(info["name"] or info["firstMessage"] or "(no messages)")


def _counts(info: Mapping[str, Any]) -> str:
    if info["messageCount"] is None:
        size = info["sizeBytes"]
        return f"{size / 1e6:.0f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
    messages = _many(info["messageCount"], "message", "messages")
    branches = info["branchCount"]
    return f"{messages}, {branches} branches" if branches > 1 else messages


def _many(count: int | None, one: str, more: str) -> str:
    return "" if count is None else f"{count} {one if count == 1 else more}"


def draw_branches(result: Mapping[str, Any], *, width: int) -> list[str]:
    """One line for each branch of ``session/branches``, then one for each label."""
    now = datetime.now(UTC)
    lines = []
    for branch in result["branches"]:
        mark = "*" if branch["active"] else " "
        counts = f"{_many(branch['messageCount'], 'message', 'messages')}"
        size = short_count(branch["tokens"])
        age = short_age(branch["lastTimestamp"], now)
        left = f"{mark} {plain_text(branch['tipId'])}  {counts:<13} {size:>5} {age:>4}  "
        lines.append(
            left + set_cell_size(plain_text(branch["name"]), max(16, width - cell_len(left)))
        )
    for label in result["labels"]:
        lines.append(f"⚑ {plain_text(label['id'])}  {plain_text(label['label'])}")
    return [line.rstrip() for line in lines]


def draw_stats(result: Mapping[str, Any]) -> list[str]:
    """The two columns of ``session/stats``: the active branch and the whole file."""
    rows: dict[str, list[str]] = {"": ["active", "whole"]}
    for column, part in enumerate((result["active"], result["whole"])):
        values = {
            "entries": f"{part['entries']:,}",
            **{f"messages {role}": f"{count:,}" for role, count in part["messages"].items()},
            **{f"calls {name}": f"{count:,}" for name, count in part["toolCalls"].items()},
            **{f"tokens {name}": f"{count:,}" for name, count in part["tokens"].items()},
            "cost": f"{part['cost']:.4f}",
        }
        for name, value in values.items():
            rows.setdefault(name, ["", ""])[column] = value
    size = max(map(len, rows))
    return [f"{name:<{size}}  {one:>12}  {two:>12}" for name, (one, two) in rows.items()]
