"""Entries and messages in full, as text to read. Control characters are the caller's business."""

from typing import Any

from branchline import codec
from branchline.entries import Entry, blocks, message_of, summary_of


def entry_text(entry: Entry) -> str:
    """An entry under a line that says what it is and when it was made."""
    kind = message_of(entry).get("role") or entry.get("type")
    head = f"── {kind} {entry.get('id')} {entry.get('timestamp') or ''}".rstrip()
    return f"{head}\n\n{_entry_body(entry)}\n"


def first_line(entry: Entry) -> str:
    """The first line of an entry that is not blank; empty if it says nothing."""
    return next((line for line in _entry_body(entry).splitlines() if line.strip()), "")


def message_text(message: Entry) -> str:
    """A message of a context under a line that says whose it is."""
    return f"── {message.get('role')}\n\n{_body(message)}"


def _entry_body(entry: Entry) -> str:
    if entry.get("type") == "message":
        return _body(message_of(entry))
    if entry.get("type") == "custom_message":
        return _content(entry.get("content"))
    if summary_of(entry):
        return summary_of(entry)
    common = ("type", "id", "parentId", "timestamp")
    return _json({key: value for key, value in entry.items() if key not in common})


def _body(message: Entry) -> str:
    match message.get("role"):
        case "bashExecution":
            return f"$ {message.get('command')}\n{message.get('output') or ''}"
        case "system":
            sections = message.get("sections")
            parts = [_content(message.get("content"))]
            if isinstance(sections, dict):
                parts += [f"[{name}]\n{text}" for name, text in sections.items() if text]
            return "\n\n".join(part for part in parts if part)
        case "compactionSummary" | "branchSummary":
            return str(message.get("summary", ""))
        case _:
            body = _content(message.get("content"))
            error = message.get("errorMessage")
            return f"{body}\n(error: {error})" if isinstance(error, str) else body


def _content(content: Any) -> str:
    return "\n".join(filter(None, map(_block, blocks(content))))


def _block(block: Entry) -> str:
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "thinking":
            return f"(thinking) {block.get('thinking', '')}"
        case "toolCall":
            return f"→ {block.get('name')} {_json(block.get('arguments'))}"
        case "image":
            data = block.get("data")
            size = len(data) * 3 // 4 if isinstance(data, str) else 0
            return f"(image, {block.get('mimeType')}, {size:,} bytes)"
        case other:
            return f"({other})"


def _json(value: Any) -> str:
    return codec.encode(value).decode()
