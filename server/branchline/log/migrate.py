"""Versions 1 and 2, read as version 3. In memory only; `rewrite` makes it last.

Version 1 has no ids: a record's parent is the record before it, and a compaction names the first
entry it keeps by its index among all non-blank lines, the header being 0. Version 2 calls the
message role ``custom`` ``hookMessage``.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from branchline.entries import CURRENT_VERSION, Entry


@dataclass(slots=True)
class VersionOneIds:
    """Gives the records of a version 1 file their ids, the same at every opening."""

    session_id: str
    previous: str | None = None
    by_index: dict[int, str] = field(default_factory=dict)
    """The id of the record on each non-blank line, counted from the header as 0."""

    def adopt(self, entry: Entry, index: int, raw: bytes, taken: Callable[[str], bool]) -> None:
        """Fill in ``id`` and ``parentId`` of the record on non-blank line ``index``.

        The id comes from the session, the index and the bytes; ``taken`` tells ids in use.
        """
        if not isinstance(entry.get("id"), str) or "parentId" not in entry:
            seed = f"{self.session_id}\n{index}\n".encode() + raw
            digest = hashlib.sha256(seed).hexdigest()
            length = 8
            while taken(digest[:length]):
                length += 1
            entry["id"] = digest[:length]
            entry["parentId"] = self.previous
        self.previous = entry["id"]
        self.by_index[index] = entry["id"]

    def first_kept(self, entry: Entry) -> str | None:
        """The id behind a compaction's ``firstKeptEntryIndex``; the next record if that is lost."""
        index = entry.get("firstKeptEntryIndex")
        if not isinstance(index, int) or index < 1:
            return None
        return next((self.by_index[i] for i in sorted(self.by_index) if i >= index), None)


def upgrade(entry: Entry, version: int, first_kept: str | None = None) -> Entry:
    """The entry as version 3 has it; the given one if nothing changes.

    An entry of version 1 must have its ids already (see `VersionOneIds`).
    """
    if version >= CURRENT_VERSION:
        return entry
    message = entry.get("message")
    if isinstance(message, dict) and message.get("role") == "hookMessage":
        entry = {**entry, "message": {**message, "role": "custom"}}
    if version < 2 and "firstKeptEntryIndex" in entry:
        entry = {key: value for key, value in entry.items() if key != "firstKeptEntryIndex"}
        if first_kept is not None:
            entry["firstKeptEntryId"] = first_kept
    return entry
