"""What an entry can be: the one table of entry types, and how to read an entry's parts.

Entries travel and are kept as the plain JSON objects of the file, key for key, so an entry here is
an `Entry` (a ``dict``). What this module adds is knowledge: which types there are, which of their
fields must be there, which name other entries, and what each shows the model.

It knows nothing of files, trees or clients. Anything read from a file may be malformed: every
function here accepts that and answers with the harmless value.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import Any, Final

Entry = dict[str, Any]
"""One record of a session file as decoded JSON: ``{type, id, parentId, timestamp, …}``."""

CURRENT_VERSION: Final = 3
MOVE_RECORD: Final = "branchline.leaf"
"""``customType`` of the record that moves the leaf."""
DAMAGED_RECORD: Final = "branchline.damaged"
"""``customType`` of what stands where a record was lost."""
NO_ORIGIN: Final = "root"
"""``fromId`` of a branch summary made when there was no leaf."""


class Kind(IntEnum):
    """What an entry is, in one byte: its type, or for a message its role."""

    UNKNOWN = 0
    PLACEHOLDER = 1  # stands in for a damaged record that others name as parent; never in a file
    USER = 2
    ASSISTANT = 3
    TOOL_RESULT = 4
    BASH_EXECUTION = 5
    SYSTEM = 6
    CUSTOM_ROLE = 7  # a message with role "custom"
    UNKNOWN_ROLE = 8
    CUSTOM_MESSAGE = 9
    COMPACTION = 10
    BRANCH_SUMMARY = 11
    CONTEXT_EDIT = 12
    MODEL_CHANGE = 13
    THINKING_LEVEL_CHANGE = 14
    ACTIVE_TOOLS_CHANGE = 15
    LEAF = 16  # pi-agent-core's move; read, never written
    MOVE = 17  # our move record
    LABEL = 18
    SESSION_INFO = 19
    USAGE = 20
    CUSTOM = 21


MESSAGES: Final = frozenset(range(Kind.USER, Kind.CUSTOM_MESSAGE))
"""Kinds whose entry ``type`` is ``message``."""

VISIBLE: Final = frozenset(
    {
        Kind.USER,
        Kind.ASSISTANT,
        Kind.TOOL_RESULT,
        Kind.BASH_EXECUTION,
        Kind.CUSTOM_ROLE,
        Kind.CUSTOM_MESSAGE,
        Kind.COMPACTION,
        Kind.BRANCH_SUMMARY,
    }
)
"""Kinds that show the model something of their own (a blank branch summary excepted)."""

MOVES: Final = frozenset({Kind.LEAF, Kind.MOVE})
"""Kinds that set the position and are no part of the conversation."""

BOOKKEEPING: Final = frozenset(
    {
        Kind.CONTEXT_EDIT,
        Kind.MODEL_CHANGE,
        Kind.THINKING_LEVEL_CHANGE,
        Kind.ACTIVE_TOOLS_CHANGE,
        Kind.LEAF,
        Kind.MOVE,
        Kind.LABEL,
        Kind.SESSION_INFO,
        Kind.USAGE,
        Kind.CUSTOM,
    }
)
"""Kinds that a person looking at the conversation does not see."""

STRUCTURAL: Final = frozenset(
    {
        Kind.COMPACTION,
        Kind.BRANCH_SUMMARY,
        Kind.CONTEXT_EDIT,
        Kind.MODEL_CHANGE,
        Kind.THINKING_LEVEL_CHANGE,
        Kind.ACTIVE_TOOLS_CHANGE,
        Kind.LEAF,
        Kind.MOVE,
        Kind.LABEL,
        Kind.SESSION_INFO,
    }
)
"""Kinds whose few `facts` the index keeps in memory."""


class Flag(IntFlag):
    """What is known of an entry without its body."""

    HAS_TEXT = 1  # an assistant message with text that is not blank
    ENDED_BADLY = 2  # an assistant message that stopped for another reason than stop or toolUse
    EXACT = 4  # tokens and flags were taken from the parsed body, not guessed from the line


@dataclass(frozen=True, slots=True)
class EntryField:
    """A field that an entry of a type must have to be appended."""

    name: str
    types: tuple[type, ...]
    names_entry: bool = False


@dataclass(frozen=True, slots=True)
class EntryType:
    """One row of the table: what the product knows of an entry ``type``."""

    name: str
    kind: Kind
    fields: tuple[EntryField, ...] = ()
    in_context: str = "no"
    """What the model sees of it; the wording of server/docs/FORMAT.md."""
    facts: tuple[str, ...] = field(default=())
    """The small fields that the index keeps."""


_TEXT = (str,)
_TEXT_OR_NULL = (str, type(None))

ENTRY_TYPES: Final[Mapping[str, EntryType]] = {
    row.name: row
    for row in (
        EntryType("message", Kind.UNKNOWN_ROLE, (EntryField("message", (dict,)),), "by its role"),
        EntryType(
            "custom_message",
            Kind.CUSTOM_MESSAGE,
            (EntryField("customType", _TEXT), EntryField("content", (str, list))),
            "as user text",
        ),
        EntryType(
            "compaction",
            Kind.COMPACTION,
            (EntryField("summary", _TEXT), EntryField("firstKeptEntryId", _TEXT, names_entry=True)),
            "its summary, in place of what it covers",
            ("firstKeptEntryId", "fromHook", "tokensBefore"),
        ),
        EntryType(
            "branch_summary",
            Kind.BRANCH_SUMMARY,
            (EntryField("summary", _TEXT), EntryField("fromId", _TEXT, names_entry=True)),
            "its summary, if not blank",
            ("fromId", "fromHook"),
        ),
        EntryType(
            "context_edit",
            Kind.CONTEXT_EDIT,
            (
                EntryField("targetId", _TEXT, names_entry=True),
                EntryField("replacement", (dict, type(None))),
            ),
            "omits or replaces its target's content",
            ("targetId", "replacement"),
        ),
        EntryType(
            "model_change",
            Kind.MODEL_CHANGE,
            (EntryField("provider", _TEXT), EntryField("modelId", _TEXT)),
            facts=("provider", "modelId"),
        ),
        EntryType(
            "thinking_level_change",
            Kind.THINKING_LEVEL_CHANGE,
            (EntryField("thinkingLevel", _TEXT),),
            facts=("thinkingLevel",),
        ),
        EntryType(
            "active_tools_change",
            Kind.ACTIVE_TOOLS_CHANGE,
            (EntryField("activeToolNames", (list,)),),
            facts=("activeToolNames",),
        ),
        EntryType(
            "leaf",
            Kind.LEAF,
            (EntryField("targetId", _TEXT_OR_NULL, names_entry=True),),
            facts=("targetId",),
        ),
        EntryType(
            "label",
            Kind.LABEL,
            (EntryField("targetId", _TEXT, names_entry=True),),
            facts=("targetId", "label", "timestamp"),
        ),
        EntryType("session_info", Kind.SESSION_INFO, (EntryField("name", _TEXT),), facts=("name",)),
        EntryType("usage", Kind.USAGE, (EntryField("usage", (dict,)),)),
        EntryType("custom", Kind.CUSTOM, (EntryField("customType", _TEXT),)),
    )
}

ROLES: Final[Mapping[str, Kind]] = {
    "user": Kind.USER,
    "assistant": Kind.ASSISTANT,
    "toolResult": Kind.TOOL_RESULT,
    "bashExecution": Kind.BASH_EXECUTION,
    "system": Kind.SYSTEM,
    "custom": Kind.CUSTOM_ROLE,
}

ZERO_USAGE: Final[Mapping[str, Any]] = {
    "input": 0,
    "output": 0,
    "cacheRead": 0,
    "cacheWrite": 0,
    "totalTokens": 0,
    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
}
"""The usage of an assistant message that reported none. Pi's totals need it to be there."""


def zero_usage() -> dict[str, Any]:
    """A `ZERO_USAGE` of one's own, to be filled or stored."""
    return {**ZERO_USAGE, "cost": dict(ZERO_USAGE["cost"])}


def kind_of(entry: Entry) -> Kind:
    """The kind of a decoded entry."""
    match entry.get("type"):
        case "message":
            role = message_of(entry).get("role")
            return (
                ROLES.get(role, Kind.UNKNOWN_ROLE) if isinstance(role, str) else Kind.UNKNOWN_ROLE
            )
        case "custom" if entry.get("customType") == MOVE_RECORD:
            return Kind.MOVE
        case str() as name:
            row = ENTRY_TYPES.get(name)
            return row.kind if row else Kind.UNKNOWN
        case _:
            return Kind.UNKNOWN


def facts_of(entry: Entry, kind: Kind) -> Entry:
    """The small fields of a structural entry that the index keeps.

    A branch summary's facts say ``blank``; a compaction's say ``hasSystemMessage``.
    """
    if kind is Kind.MOVE:
        data = entry.get("data")
        return {"targetId": data.get("targetId")} if isinstance(data, dict) else {}
    row = ENTRY_TYPES[entry["type"]]
    facts = {name: entry[name] for name in row.facts if name in entry}
    if kind is Kind.BRANCH_SUMMARY:
        facts["blank"] = not summary_of(entry).strip()
    elif kind is Kind.COMPACTION:
        facts["hasSystemMessage"] = isinstance(entry.get("systemMessage"), dict)
    return facts


def flags_of(entry: Entry, kind: Kind) -> Flag:
    """The flags of a decoded entry."""
    flags = Flag.EXACT
    if kind is Kind.ASSISTANT:
        message = message_of(entry)
        if text_of(message.get("content")).strip():
            flags |= Flag.HAS_TEXT
        if message.get("stopReason") not in (None, "stop", "toolUse"):
            flags |= Flag.ENDED_BADLY
    return flags


def message_of(entry: Entry) -> Entry:
    """The ``message`` of a message entry; empty if there is none."""
    message = entry.get("message")
    return message if isinstance(message, dict) else {}


def summary_of(entry: Entry) -> str:
    """The ``summary`` of a compaction or branch summary; empty if there is none."""
    summary = entry.get("summary")
    return summary if isinstance(summary, str) else ""


def content_of(entry: Entry) -> Any:
    """The content of a message or custom message: a text, a list of blocks, or anything."""
    return (
        entry.get("content")
        if entry.get("type") == "custom_message"
        else (message_of(entry).get("content"))
    )


def blocks(content: Any, block_type: str | None = None) -> Iterator[Entry]:
    """The content blocks (objects) of a message content; of one ``type`` if given.

    A plain text counts as one text block.
    """
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if isinstance(content, list):
        for block in content:
            if isinstance(block, dict) and block_type in (None, block.get("type")):
                yield block


_UNEVEN: Final = re.compile(r"[^\S ]|  ")


def single_spaced(text: str) -> str:
    """A text, such as a session's name, on one line with single blanks between its words."""
    text = text.strip()
    # Cutting a text of megabytes into its words takes many times as much memory as it has.
    return " ".join(text.split()) if _UNEVEN.search(text) else text


def text_of(content: Any, separator: str = "\n") -> str:
    """The texts of a message content, joined."""
    return separator.join(
        block["text"] for block in blocks(content, "text") if isinstance(block.get("text"), str)
    )


def tool_calls(content: Any) -> Iterator[Entry]:
    """The tool calls of an assistant content that have an id and a name."""
    for block in blocks(content, "toolCall"):
        if isinstance(block.get("id"), str) and isinstance(block.get("name"), str):
            yield block


def move_record(entry_id: str, target_id: str | None, timestamp: str) -> Entry:
    """The record that moves the leaf to ``target_id`` (None: before the first entry)."""
    return {
        "type": "custom",
        "customType": MOVE_RECORD,
        "data": {"targetId": target_id},
        "id": entry_id,
        "parentId": target_id,
        "timestamp": timestamp,
    }
