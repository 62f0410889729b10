"""From what a client wants appended to the records that go into the file.

Pure: the index is read, nothing is written. All entries of a request are valid or none is; an
error names the field, as ``entries[2].message.content``.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from branchline.entries import (
    ENTRY_TYPES,
    MOVE_RECORD,
    NO_ORIGIN,
    Entry,
    Kind,
    content_of,
    kind_of,
    move_record,
    summary_of,
    tool_calls,
    zero_usage,
)
from branchline.errors import InvalidEntry
from branchline.log.format import milliseconds, new_id, now
from branchline.tree.index import NONE, Bodies, Tree
from branchline.tree.selection import EDITABLE

MAX_ID_LENGTH: Final = 200
_REFUSED_TYPES: Final = frozenset({"session", "leaf"})
_PAYLOAD_FIRST: Final = frozenset({"custom", "custom_message"})  # as Pi writes them
_ROLE_FIELDS: Final[dict[str, dict[str, tuple[type, ...]]]] = {
    "user": {"content": (str, list)},
    "assistant": {"content": (list,)},
    "toolResult": {"toolCallId": (str,), "toolName": (str,), "content": (list,)},
    "bashExecution": {"command": (str,), "output": (str,)},
    "system": {"content": (str, list)},
    "custom": {"customType": (str,), "content": (str, list)},
}
_JSON_NAMES: Final[dict[type, str]] = {
    str: "a text",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


@dataclass(frozen=True, slots=True)
class Addition:
    """What one write adds to a session.

    ``entries`` are complete records in file order, each the child of the one before or of
    ``parentId``; ``leaf_id`` is where the leaf is afterwards.
    """

    entries: list[Entry]
    leaf_id: str | None


class EntryFactory:
    """Makes the records of one write: ids, timestamps, links."""

    def __init__(self, tree: Tree, parent: int) -> None:
        self._tree = tree
        self._parent_id = tree.id_of(parent)
        self._path: set[int] | None = None
        self._parent = parent
        self.made: dict[str, Entry] = {}
        self._timestamp = now()

    @property
    def last_id(self) -> str | None:
        """The id that the next record will have as parent."""
        return self._parent_id

    def add(self, fields: Entry, where: str = "") -> Entry:
        """Check one entry as a client gave it, complete it, and take it in.

        ``where`` is what an error puts before a field's name. Raises `InvalidEntry`.
        """
        name = self._checked_type(fields, where)
        entry_id = self._checked_id(fields, where)
        self._check_fields(fields, name, entry_id, where)
        own = {key: value for key, value in fields.items() if key not in _COMMON}
        if name == "message":
            own["message"] = _completed_message(fields["message"], f"{where}message.")
        timestamp = fields.get("timestamp")
        if milliseconds(timestamp) is None:
            timestamp = self._timestamp
        common = {"id": entry_id, "parentId": self._parent_id, "timestamp": timestamp}
        entry = (
            {"type": name, **own, **common}
            if name in _PAYLOAD_FIRST
            else {"type": name, **common, **own}
        )
        return self._take(entry)

    def move(self, target_id: str | None) -> None:
        """End the write with a record that moves the leaf. Its parent is its target.

        It has the time of the record before it, which is how it is seen later that both were one
        write (see `tree.undo`).
        """
        before = next(reversed(self.made.values()), None)
        timestamp = self._timestamp if before is None else before["timestamp"]
        self._take(move_record(new_id(self._known), target_id, timestamp))

    def _take(self, entry: Entry) -> Entry:
        self.made[entry["id"]] = entry
        self._parent_id = entry["id"]
        return entry

    def _known(self, entry_id: str) -> object | None:
        made = self.made.get(entry_id)
        return made if made is not None else self._tree.find(entry_id)

    def _checked_type(self, fields: Entry, where: str) -> str:
        name = fields.get("type")
        if not isinstance(name, str) or not name:
            raise InvalidEntry(f"{where}type", "must be a text")
        if name in _REFUSED_TYPES or fields.get("customType") == MOVE_RECORD:
            raise InvalidEntry(f"{where}type", f"{name!r} may not be appended by a client")
        if "parentId" in fields:
            raise InvalidEntry(f"{where}parentId", "is not allowed: use the request's parentId")
        return name

    def _checked_id(self, fields: Entry, where: str) -> str:
        entry_id = fields.get("id")
        if entry_id is None:
            return new_id(self._known)
        if not isinstance(entry_id, str) or not entry_id or len(entry_id) > MAX_ID_LENGTH:
            problem = f"must be a text of 1 to {MAX_ID_LENGTH} characters"
            raise InvalidEntry(f"{where}id", problem)
        if self._known(entry_id) is not None:
            raise InvalidEntry(f"{where}id", f"{entry_id!r} is taken", entryId=entry_id)
        return entry_id

    def _check_fields(self, fields: Entry, name: str, entry_id: str, where: str) -> None:
        row = ENTRY_TYPES.get(name)
        if row is None:
            return
        for one in row.fields:
            value = fields.get(one.name)
            _check(f"{where}{one.name}", value, one.types, given=one.name in fields)
            if one.names_entry and value is not None:
                self._check_reference(f"{where}{one.name}", one.name, value, entry_id)
        if row.kind in (Kind.COMPACTION, Kind.BRANCH_SUMMARY) and not summary_of(fields).strip():
            raise InvalidEntry(f"{where}summary", "must not be blank")
        if row.kind is Kind.LABEL:
            _check(f"{where}label", fields.get("label"), (str, type(None)), given=True)
        if row.kind is Kind.CONTEXT_EDIT:
            self._check_edit(fields, where)

    def _check_reference(self, field: str, name: str, value: str, entry_id: str) -> None:
        if value == NO_ORIGIN and name == "fromId":
            return
        if value == entry_id and name == "firstKeptEntryId":
            return
        if self._known(value) is None:
            problem = f"names the entry {value[:MAX_ID_LENGTH]!r}, which does not exist"
            raise InvalidEntry(field, problem)

    def _check_edit(self, fields: Entry, where: str) -> None:
        target_id = fields["targetId"]
        replacement = fields["replacement"]
        if replacement is not None:
            content = replacement.get("content")
            _check(f"{where}replacement.content", content, (str, list), given=True)
        made = self.made.get(target_id)
        ordinal = self._tree.find(target_id)
        if made is not None:
            kind = kind_of(made)
        elif ordinal is not None:
            kind = self._tree.kind(ordinal)
            if self._path is None:
                self._path = set(self._tree.path(self._parent))
            if ordinal not in self._path:
                problem = f"{target_id!r} is not on the branch that the edit would be on"
                raise InvalidEntry(f"{where}targetId", problem, entryId=target_id)
        else:
            return
        if kind not in EDITABLE:
            problem = f"{target_id!r} has no content that an edit could change for the model"
            raise InvalidEntry(f"{where}targetId", problem, entryId=target_id)


_COMMON: Final = frozenset({"type", "id", "parentId", "timestamp"})


def make_addition(
    tree: Tree, parent: int, fields: Sequence[Entry], *, return_to: int | None = None
) -> Addition:
    """The records for entries given by a client, the first a child of ``parent``.

    With ``return_to`` the same write ends with a move of the leaf there.
    """
    factory = EntryFactory(tree, parent)
    for number, one in enumerate(fields):
        factory.add(one, f"entries[{number}].")
    leaf_id = factory.last_id
    if return_to is not None:
        leaf_id = tree.id_of(return_to)
        factory.move(leaf_id)
    return Addition(list(factory.made.values()), leaf_id)


def call_owner(tree: Tree, bodies: Bodies, fields: Entry, leaf: int) -> int | None:
    """Where a tool result belongs that is not answered on the active path.

    The newest tip below the call it answers; None if its call is on the path, or nowhere.
    """
    if kind_of(fields) is not Kind.TOOL_RESULT:
        return None
    call_id = fields["message"].get("toolCallId")

    def makes_call(ordinal: int) -> bool:
        content = content_of(bodies.entry(ordinal))
        return any(call["id"] == call_id for call in tool_calls(content))

    current = leaf
    while current != NONE:
        if tree.kinds[current] == Kind.ASSISTANT and makes_call(current):
            return None
        current = tree.parents[current]
    on_path = set(tree.path(leaf))
    for ordinal in range(len(tree) - 1, -1, -1):
        if (
            tree.kinds[ordinal] == Kind.ASSISTANT
            and ordinal not in on_path
            and ordinal not in tree.superseded
            and makes_call(ordinal)
        ):
            return tree.newest_tip_below(ordinal)
    return None


def _completed_message(message: Entry, where: str) -> Entry:
    role = message.get("role")
    if not isinstance(role, str) or not role:
        raise InvalidEntry(f"{where}role", "must be a text")
    for name, types in _ROLE_FIELDS.get(role, {}).items():
        _check(f"{where}{name}", message.get(name), types, given=name in message)
    completed = dict(message)
    if role == "assistant":
        _check(f"{where}usage", message.get("usage"), (dict, type(None)), given=True)
        if message.get("usage") is None:
            completed["usage"] = zero_usage()
    sent = message.get("timestamp")
    if isinstance(sent, bool) or not isinstance(sent, (int, float)) or sent < 0:
        completed["timestamp"] = round(time.time() * 1000)
    return completed


def _check(field: str, value: Any, types: tuple[type, ...], *, given: bool) -> None:
    if not given:
        raise InvalidEntry(field, "is missing")
    if not isinstance(value, types):
        wanted = " or ".join(_JSON_NAMES[one] for one in types)
        raise InvalidEntry(field, f"must be {wanted}")
