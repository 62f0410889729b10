"""What a session file and a daemon's view of it should be, in the plainest terms.

The model knows nothing of files: a list of records in file order, and for each daemon that has the
session open the leaf that it should have. Rules: format.md, "The tree and the leaf".
"""

from dataclasses import dataclass, field
from typing import Any

MOVE = "branchline.leaf"
Record = dict[str, Any]


def is_move(record: Record) -> bool:
    """Whether a record only says where the leaf is."""
    return record["type"] == "leaf" or record.get("customType") == MOVE


def move_target(record: Record) -> str | None:
    """Where a move record leads."""
    target: str | None = record.get("data", record)["targetId"]
    return target


@dataclass
class Model:
    """A session: its records in file order, by id."""

    records: dict[str, Record] = field(default_factory=dict)

    def add(self, record: Record) -> None:
        """Another record at the end of the file."""
        assert record["id"] not in self.records
        self.records[record["id"]] = record

    def parents(self) -> dict[str, str | None]:
        """The parent of each entry; one that is not there makes a root."""
        return {
            entry_id: record["parentId"] if record["parentId"] in self.records else None
            for entry_id, record in self.records.items()
        }

    def path(self, leaf: str | None) -> list[str]:
        """The ids from the root to the leaf."""
        path: list[str] = []
        parents = self.parents()
        while leaf is not None:
            path.append(leaf)
            leaf = parents[leaf]
        return path[::-1]

    def sources(self, leaf: str | None) -> list[str]:
        """The ids of what the model sees at a leaf: user messages that no edit leaves out."""
        path = self.path(leaf)
        edits = {
            self.records[one]["targetId"]: self.records[one]["replacement"]
            for one in path
            if self.records[one]["type"] == "context_edit"
        }
        return [
            one
            for one in path
            if self.records[one]["type"] == "message" and edits.get(one, ...) is not None
        ]

    def labels(self) -> dict[str, str]:
        """The label of each labelled entry."""
        labels: dict[str, str] = {}
        for record in self.records.values():
            if record["type"] == "label" and record["targetId"] in self.records:
                labels.pop(record["targetId"], None)
                if record.get("label"):
                    labels[record["targetId"]] = record["label"]
        return labels

    def name(self) -> str | None:
        """The session's name."""
        names = [one["name"] for one in self.records.values() if one["type"] == "session_info"]
        return (names[-1] or None) if names else None

    def leaf_when_opened(self) -> str | None:
        """The leaf of a daemon that opens the file now."""
        last = list(self.records.values())[-1]
        return move_target(last) if is_move(last) else last["id"]

    def leaf_after(self, leaf: str | None, record: Record) -> str | None:
        """A daemon's leaf once it has read a record that somebody else appended."""
        if is_move(record):
            return leaf
        parent = self.records.get(record["parentId"])
        if record["parentId"] == leaf:
            return str(record["id"])
        if parent is not None and is_move(parent) and move_target(parent) == leaf:
            return str(record["id"])
        return leaf
