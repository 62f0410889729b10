"""Session text as a person is shown it: nothing that a terminal or a reader's eye would obey."""

import re
from typing import Any, Final
from urllib.parse import quote

from branchline import codec
from branchline.entries import Entry, Kind, message_of, summary_of
from branchline.tree.chat import BRANCH_INTRODUCTION
from branchline.tree.preview import one_line

# Colours and cursor moves, titles and links: they say nothing to a reader of a page.
_ESCAPES: Final = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]{0,4000}(?:\x07|\x1b\\\\)|\x1b[@-Z\\\\^_]"
)
_LONGEST_ROLE: Final = 40
_BIDI: Final = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_INVISIBLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff]")


_FILES: Final = re.compile(r"^<(read|modified)-files>\n(.{0,100000}?)\n</\1-files>$", re.M | re.S)


def without_escapes(text: str) -> str:
    """The text without terminal escapes and marks that turn the order of text around."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    return text if text.isascii() else _BIDI.sub("", text)


def readable(text: str) -> str:
    """The text with LF line ends; control characters that are left are shown as their code."""
    text = without_escapes(text).replace("\r\n", "\n").replace("\r", "\n")
    return codec.clean_text(_INVISIBLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def text_or(value: object, other: str = "") -> str:
    """A field that should be a text, as `readable`; ``other`` if it is none."""
    return readable(value) if isinstance(value, str) else other


def summary_text(entry: Entry) -> str:
    """The summary of a compaction or branch, its lists of files as lists of Markdown."""
    said = summary_of(entry).lstrip().removeprefix(BRANCH_INTRODUCTION)
    return _FILES.sub(_file_list, readable(said)).strip("\n")


def _file_list(match: "re.Match[str]") -> str:
    paths = [line.strip().replace("`", "'") for line in match[2].splitlines() if line.strip()]
    listed = "\n".join(f"- `{path}`" for path in paths)
    return f"\n**Files {match[1]}**\n\n{listed}\n"


def arguments_of(call: Entry) -> list[tuple[str, str]]:
    """The arguments of a tool call as names and texts; what is no text as JSON."""
    arguments = call.get("arguments")
    if not isinstance(arguments, dict):
        return [] if arguments is None else [("arguments", as_text(arguments))]
    return [(readable(name), as_text(value)) for name, value in arguments.items()]


def as_text(value: Any) -> str:
    """A text as it is; anything else as JSON."""
    return readable(value if isinstance(value, str) else codec.encode(value).decode())


def image_note(block: Entry) -> str:
    """What an image is, for where it is not shown: ``image/png, 12,345 bytes``."""
    data = block.get("data")
    size = len(data.rstrip("=")) * 3 // 4 if isinstance(data, str) else 0
    return f"{text_or(block.get('mimeType'), 'unknown type')}, {size:,} bytes"


def moment(timestamp: object) -> str:
    """An entry's time to the minute, ``2026-02-03 10:00``; empty if it has none."""
    found = (
        re.match(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)", timestamp)
        if isinstance(timestamp, str)
        else None
    )
    return f"{found[1]} {found[2]}" if found else ""


def anchor(entry_id: str) -> str:
    """An entry's place on a page: plain ASCII, whatever its id holds, and the same in a link."""
    return f"entry-{quote(codec.clean_text(entry_id), safe='')}"


def role_name(entry: Entry, kind: int) -> str:
    """Who or what an entry is, as a heading."""
    names = {
        Kind.USER: "User",
        Kind.ASSISTANT: "Assistant",
        Kind.TOOL_RESULT: "Tool result",
        Kind.BASH_EXECUTION: "Shell command",
        Kind.SYSTEM: "System",
        Kind.CUSTOM_ROLE: "Note",
        Kind.CUSTOM_MESSAGE: "Note",
        Kind.COMPACTION: "Compaction",
        Kind.BRANCH_SUMMARY: "Branch summary",
        Kind.PLACEHOLDER: "Damaged record",
    }
    other = message_of(entry).get("role") or entry.get("type")
    return names.get(Kind(kind)) or one_line(text_or(other), _LONGEST_ROLE) or "Unknown"
