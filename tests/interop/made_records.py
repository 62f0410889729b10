"""Made sessions as plain records, of version 3 and of the older ones."""

import json

from branchline.entries import Entry


class Records:
    """A writer into a list of version 3 records.

    With ``leaf_records``, a move is written down as agent-core does.
    """

    def __init__(self, *, leaf_records: bool = False) -> None:
        self.records: list[Entry] = []
        self.leaf_id: str | None = None
        self._leaf_records = leaf_records

    def append(self, fields: Entry) -> str:
        """Add a record below the leaf."""
        number = len(self.records)
        entry_id = f"{0xA0000000 + number * 7919:08x}"
        common = {
            "id": entry_id,
            "parentId": self.leaf_id,
            "timestamp": f"2026-02-01T{number // 60:02}:{number % 60:02}:00.000Z",
        }
        self.records.append({"type": fields["type"], **common, **fields})
        self.leaf_id = entry_id
        return entry_id

    def label(self, target_id: str, text: str | None) -> str:
        """Add a label."""
        label = {} if text is None else {"label": text}
        return self.append({"type": "label", "targetId": target_id, **label})

    def rename(self, name: str) -> str:
        """Add a name."""
        return self.append({"type": "session_info", "name": name})

    def edit(self, target_id: str, replacement: Entry | None) -> str:
        """Add a context edit."""
        return self.append(
            {"type": "context_edit", "targetId": target_id, "replacement": replacement}
        )

    def move(self, target_id: str | None) -> None:
        """Go elsewhere."""
        if self._leaf_records:
            self.append({"type": "leaf", "targetId": target_id})
        self.leaf_id = target_id

    def move_with_summary(self, target_id: str | None, summary: str) -> str:
        """Add a branch summary elsewhere."""
        from_id = self.leaf_id or "root"
        self.leaf_id = target_id
        return self.append({"type": "branch_summary", "fromId": from_id, "summary": summary})


def as_version(records: list[Entry], version: int) -> list[Entry]:
    """Records of version 3 as an older version has them; for 1 they must be one line of descent."""
    places = {record["id"]: place for place, record in enumerate(records, start=1)}
    return [_older(json.loads(json.dumps(record)), version, places) for record in records]


def _older(record: Entry, version: int, places: dict[str, int]) -> Entry:
    message = record.get("message")
    if isinstance(message, dict) and message["role"] == "custom":
        message["role"] = "hookMessage"
    if version == 1:
        del record["id"], record["parentId"]
        if record["type"] == "compaction":
            record["firstKeptEntryIndex"] = places[record.pop("firstKeptEntryId")]
    return record
