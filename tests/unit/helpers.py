"""A session file as an index and its bodies, for tests of the pure parts.

Reads clean version 3 files only: lines that are not JSON are skipped, nothing is recovered.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from branchline import codec
from branchline.entries import STRUCTURAL, Entry, facts_of, flags_of, kind_of
from branchline.tree.index import Columns, Tree
from branchline.tree.tokens import entry_tokens

TESTS = Path(__file__).resolve().parents[1]
RECOVERY = ("01-", "02-", "05-", "07-", "08-", "16-", "17-", "19-", "20-")
"""Cases whose files need the recovery of a real scan."""


class Bodies:
    """Entries by ordinal. ``read`` holds what was asked for."""

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries
        self.read: set[int] = set()

    def entry(self, ordinal: int) -> Entry:
        self.read.add(ordinal)
        return self.entries[ordinal]


def load(path: Path) -> tuple[Tree, Bodies]:
    """Read a session file; the header is left out."""
    entries = []
    for line in path.read_bytes().split(b"\n"):
        try:
            entry = codec.decode(line)
        except codec.DecodeError:
            continue
        if entry["type"] != "session":
            entries.append(entry)
    return index(entries)


def index(entries: Iterable[Entry], *, exact: bool = True) -> tuple[Tree, Bodies]:
    """The index of entries; without ``exact`` the tokens are wrong, as a fast scan's may be."""
    bodies = Bodies(list(entries))
    columns = Columns()
    for entry in bodies.entries:
        kind = kind_of(entry)
        flags = flags_of(entry, kind)
        tokens = entry_tokens(entry, kind)
        if not exact:
            flags, tokens = type(flags)(0), tokens + 1_000_000
        facts = facts_of(entry, kind) if kind in STRUCTURAL else None
        columns.add(entry["id"], entry["parentId"], kind, flags, tokens, facts)
    return Tree(columns), bodies


def expected(folder: str) -> dict[str, Any]:
    """What the files of ``tests/<folder>`` are expected to give, by file name."""
    found: dict[str, Any] = json.loads((TESTS / folder / "expected.json").read_bytes())
    return found


def clean_cases() -> dict[str, Any]:
    """The cases that `load` can read, with what is expected of them."""
    return {
        name: wanted for name, wanted in expected("cases").items() if not name.startswith(RECOVERY)
    }


def entry(entry_id: str, parent_id: str | None, entry_type: str, **fields: Any) -> Entry:
    """An entry with the fields that every type has."""
    return {
        "type": entry_type,
        "id": entry_id,
        "parentId": parent_id,
        "timestamp": "2026-01-02T03:04:05.678Z",
        **fields,
    }


def message(entry_id: str, parent_id: str | None, role: str, content: Any, **fields: Any) -> Entry:
    """A message entry."""
    body = {"role": role, "content": content, **fields}
    return entry(entry_id, parent_id, "message", message=body)


def chain(*entries: Entry) -> list[Entry]:
    """The entries, each made the child of the one before."""
    parent_id: str | None = None
    for item in entries:
        item["parentId"] = parent_id
        parent_id = item["id"]
    return list(entries)
