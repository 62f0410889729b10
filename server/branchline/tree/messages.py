"""From one entry to the message it shows the model, and from tool calls to their results.

Messages have the roles of the file and, for entries that are no messages, those that Pi gives
them: ``compactionSummary``, ``branchSummary``, ``custom``. Content stays as it is stored, also
where it is malformed; `chat` makes something sendable of it.

It knows nothing of the tree: which entries are shown, and in which order, is `context`'s to say.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from branchline.entries import Entry, Kind, message_of, tool_calls

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LISTED: Final = frozenset({Kind.USER, Kind.ASSISTANT, Kind.TOOL_RESULT})
"""Messages whose missing content is read as no blocks."""


def shown_message(entry: Entry, kind: Kind) -> Entry:
    """The message that a visible entry shows the model, before any context edit.

    Keys that the entry does not have are left out; ``timestamp`` is in milliseconds.
    """
    match kind:
        case Kind.CUSTOM_MESSAGE:
            message = _made("custom", entry, "customType", "content", "display", "details")
            return {**message, "content": []} if message.get("content") is None else message
        case Kind.BRANCH_SUMMARY:
            return _made("branchSummary", entry, "summary", "fromId")
        case Kind.COMPACTION:
            return _made("compactionSummary", entry, "summary", "tokensBefore")
        case _:
            message = message_of(entry)
            if message.get("content") is None and kind in _LISTED:
                return {**message, "content": []}
            return message


def edited_message(message: Entry, content: Any) -> Entry:
    """The message with the content that a context edit gives it.

    Assistants and tool results hold blocks, so a text becomes one text block there.
    """
    if isinstance(content, str) and message.get("role") in ("assistant", "toolResult"):
        content = [{"type": "text", "text": content}]
    return {**message, "content": content}


def failed(message: Entry) -> bool:
    """Whether an assistant message broke off, so that no model is sent it again."""
    return message.get("stopReason") in ("aborted", "error")


@dataclass(frozen=True, slots=True)
class Pairing:
    """Which tool result answers which call, by index into the messages.

    Attributes:
        results: for each assistant message that did not fail, one item a call, in call order:
            the index of its result, or None if it has none.
        orphans: results whose call is not before them, or stands in a message that failed.
    """

    results: dict[int, list[int | None]]
    orphans: list[int]


def pair_results(messages: Sequence[Entry]) -> Pairing:
    """Pair the tool calls of a context with their results, each at most once.

    Where a call id is used again, a result belongs to the newest message that still waits for it,
    and there to the first such call. A second result for a call is in neither list.
    """
    pairing = Pairing({}, [])
    waiting: dict[str, list[tuple[int, int]]] = {}  # by call id: (message, call), next one last
    for index, message in enumerate(messages):
        match message.get("role"):
            case "assistant":
                calls = list(tool_calls(message.get("content")))
                for position in range(len(calls) - 1, -1, -1):
                    waiting.setdefault(calls[position]["id"], []).append((index, position))
                if not failed(message):
                    pairing.results[index] = [None] * len(calls)
            case "toolResult":
                call_id = message.get("toolCallId")
                slots = waiting.get(call_id) if isinstance(call_id, str) else None
                if slots is None:
                    pairing.orphans.append(index)
                elif slots:
                    caller, position = slots.pop()
                    if caller in pairing.results:
                        pairing.results[caller][position] = index
                    else:
                        pairing.orphans.append(index)
            case _:
                pass  # neither calls nor answers
    return pairing


def _made(role: str, entry: Entry, *keys: str) -> Entry:
    message: Entry = {"role": role, **{key: entry[key] for key in keys if key in entry}}
    timestamp = _milliseconds(entry.get("timestamp"))
    if timestamp is not None:
        message["timestamp"] = timestamp
    return message


def _milliseconds(timestamp: Any) -> int | None:
    """An ISO 8601 time as milliseconds since 1970; None if it is none. Without a zone it is UTC."""
    if not isinstance(timestamp, str):
        return None
    try:
        time = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    return (time - _EPOCH) // timedelta(milliseconds=1)
