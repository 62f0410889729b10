"""What it means that Pi and Branchline read a session alike. Compares; starts and writes nothing.

Deliberate differences, and so not compared (format.md names them):

* Where Pi's last record is a move record of ours, Pi's place is that record; its context is that of
  the record's parent, which is our leaf.
* System messages reach the model as one. Pi keeps the patches apart in its messages and folds them
  when it asks; they are compared as Pi folds them. A fold that says nothing is no message for us.
* Entry types that a version of Pi does not know are rows without text in its tree, and so are
  ``active_tools_change`` and ``leaf``, which have no row in ours.
* Siblings stand in the order of the file, the active branch first. Pi takes that of the timestamps,
  and a row below an entry without a row has the place of that entry.
* An assistant message with calls only has a row where it is the leaf. Behind a move record it is
  the leaf for us, not for Pi.
"""

from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any

from branchline.entries import MOVE_RECORD, Entry
from tests.e2e.world import lines_of
from tests.interop.branchline_side import Branchline
from tests.interop.pi_process import Pi, Version

Drawn = tuple[str, str | None]
"""A row of a tree: its id, and that of the row it is drawn below."""


def entries_of(path: Path) -> dict[str, Entry]:
    """The entries of a file by id, in file order; its every line must parse."""
    header, *entries = lines_of(path)
    assert header["type"] == "session"
    found = {entry["id"]: entry for entry in entries}
    assert len(found) == len(entries)
    return found


def is_move(entry: Entry) -> bool:
    """Whether this is our record of a move."""
    return entry.get("customType") == MOVE_RECORD


def place(entries: dict[str, Entry], leaf_id: str | None) -> str | None:
    """Where a leaf of Pi is: a move record stands for its parent."""
    if leaf_id is not None and is_move(entries[leaf_id]):
        parent_id: str | None = entries[leaf_id]["parentId"]
        return parent_id
    return leaf_id


def assert_agreed(pi: Pi, branchline: Branchline, *, context: bool = True) -> dict[str, Any]:
    """Open the file with a fresh Pi, and compare all that it says with what Branchline says.

    ``context`` False leaves out what a version that lacks context edits and system messages
    cannot say. Gives what Branchline says. Pi must leave the file alone.
    """
    path = branchline.path
    before = path.read_bytes()
    entries = entries_of(path)
    ours = branchline.look()
    pi.open(path)
    theirs = pi.look()
    assert theirs["ids"] == list(entries)
    assert place(entries, theirs["leafId"]) == ours["leafId"]
    assert pi.path_to(ours["leafId"]) == ours["path"]
    assert theirs["labels"] == ours["labels"]
    assert theirs["name"] == ours["name"]
    said = theirs["context"]
    assert said["model"] == ours["model"]
    assert said["thinkingLevel"] == ours["thinkingLevel"]
    if pi.version.kind == "agent-core":
        assert said["activeToolNames"] == ours["activeTools"]
    if context:
        shown = [one for one in said["messages"] if one["role"] != "system"]
        assert shown == ours["messages"]
        if pi.version.edits_and_system:
            assert _says_something(theirs["system"]) == ours["system"]
    if theirs["rows"] is not None:
        assert_same_tree(pi.version, entries, theirs, ours)
    assert path.read_bytes() == before, "Pi changed the file by opening it"
    return ours


def assert_same_tree(
    version: Version, entries: dict[str, Entry], theirs: dict[str, Any], ours: dict[str, Any]
) -> None:
    """The rows of both trees: the same, each below the same row, and ours in our order."""
    rows = [(row["id"], row["parentId"]) for row in theirs["rows"]]
    drawn = [row_id for row_id, _ in rows]
    assert len(set(drawn)) == len(drawn)
    assert not [row_id for row_id in drawn if is_move(entries[row_id])]
    unknown = _unknown_types(entries, version)
    blank = [row["id"] for row in theirs["rows"] if not row["text"].strip()]
    assert {entries[row_id]["type"] for row_id in blank} <= unknown
    stray = {row_id for row_id in drawn if entries[row_id]["type"] in version.blank_rows}
    mine = [(row["id"], row["parentId"]) for row in ours["rows"]]
    leaf = ours["leafId"]
    behind_move = leaf != theirs["leafId"] and leaf not in drawn
    expected = _in_our_order(_without(rows, stray), [*entries], ours["path"])
    assert _without(mine, {leaf} if behind_move else ()) == expected


def assert_entries_relayed(branchline: Branchline) -> None:
    """Branchline gives every entry as it stands in the file."""
    entries = entries_of(branchline.path)
    given = branchline.ask("entries", ids=list(entries))["entries"]
    assert given == list(entries.values())


def _unknown_types(entries: dict[str, Entry], version: Version) -> set[str]:
    known_to_all = {
        "message", "custom_message", "compaction", "branch_summary", "context_edit", "label",
        "model_change", "thinking_level_change", "session_info", "usage", "custom",
    }  # fmt: skip
    return ({entry["type"] for entry in entries.values()} - known_to_all) | version.blank_rows


def _says_something(system: Entry | None) -> Entry | None:
    if system is None or not (
        system["content"] or system.get("sections") or system.get("toolsAdded")
    ):
        return None
    return system


def _in_our_order(rows: list[Drawn], ids: list[str], path: Container[str]) -> list[Drawn]:
    """The rows from top to bottom, siblings as they stand in the file, the active branch first."""
    file_order = {entry_id: place for place, entry_id in enumerate(ids)}
    children: dict[str | None, list[Drawn]] = {}
    for row in sorted(rows, key=lambda row: (row[0] not in path, file_order[row[0]])):
        children.setdefault(row[1], []).append(row)
    ordered: list[Drawn] = []
    pending = children.get(None, [])[::-1]
    while pending:
        row = pending.pop()
        ordered.append(row)
        pending += children.get(row[0], [])[::-1]
    assert len(ordered) == len(rows)
    return ordered


def _without(rows: Sequence[Drawn], left_out: Container[str]) -> list[Drawn]:
    """The rows that remain, each below the nearest of them that it was below."""
    parents = dict(rows)

    def remaining(row_id: str | None) -> str | None:
        while row_id is not None and row_id in left_out:
            row_id = parents[row_id]
        return row_id

    return [(row_id, remaining(parent)) for row_id, parent in rows if row_id not in left_out]
