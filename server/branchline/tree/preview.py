"""One line of plain text for an entry: what a row, a branch list or a search hit shows of it.

Session text is hostile input. What leaves here has no control character (so no ANSI escape), no
line break and no bidirectional override, and is never cut inside a surrogate pair.

It knows entries only: no tree, no files, no clients.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from branchline.codec import clean_text, utf16_length
from branchline.entries import (
    Entry,
    Kind,
    blocks,
    content_of,
    message_of,
    summary_of,
    text_of,
    tool_calls,
)
from branchline.tree.chat import BRANCH_INTRODUCTION

PREVIEW_UNITS: Final = 200
"""The longest preview, in UTF-16 code units (protocol.md, Row)."""
SHORT_UNITS: Final = 80
"""The longest name of a tool or branch, and the longest tool argument, in UTF-16 code units."""

_LEAD = 40  # characters of context before a match that the ordinary preview does not reach
_OFTEN = 2  # how many times as many characters as wanted are looked at first
_ENOUGH = 4_000  # characters that are looked at for a preview of a text of any length
_MAIN_ARGUMENTS = (
    "path", "file_path", "filePath", "command", "pattern", "query", "url", "target_file"
)  # fmt: skip

# What a terminal would obey, or what turns the order of the text around, goes without a trace.
_REMOVED = re.compile("\x1b\\[[0-?]*[ -/]*[@-~]|[\u202a-\u202e\u2066-\u2069]")
_SPACES = re.compile("[\\s\x00-\x1f\x7f-\x9f]+")


def one_line(text: str, units: int = PREVIEW_UNITS) -> str:
    """The text as one plain line of at most ``units`` UTF-16 code units."""
    text = text.lstrip()
    # Little of it is enough, nearly always. What may be half an escape sequence is no part of it.
    beginning = text[: _OFTEN * units].rsplit("\x1b", 1)[0]
    line = _plain(beginning)
    if len(line) < units and len(beginning) < len(text):
        line = _plain(text[:_ENOUGH])
    return _cut(line, units)


def short_text(value: object, units: int = SHORT_UNITS) -> str | None:
    """A field as one plain line, or None if it is no text."""
    return one_line(value, units) if isinstance(value, str) else None


def word_pattern(words: Iterable[str]) -> "re.Pattern[str] | None":
    """A pattern that finds any of the words in any case; None without words."""
    longest_first = sorted(words, key=len, reverse=True)
    if not longest_first:
        return None
    return re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)


def excerpt(text: str, pattern: "re.Pattern[str] | None") -> str:
    """`one_line`, or if only what follows that line matches, a line that begins near the match."""
    line = one_line(text)
    if pattern is None or pattern.search(line):
        return line
    whole = _plain(text)
    match = pattern.search(whole)
    if match is None:
        return line
    return _cut("…" + whole[max(0, match.start() - _LEAD) :].lstrip(), PREVIEW_UNITS)


def matches(line: str, pattern: "re.Pattern[str] | None") -> list[list[int]]:
    """Where the words stand in the line: ``[[start, end]]`` in UTF-16 code units."""
    if pattern is None:
        return []
    return [
        [utf16_length(line[: match.start()]), utf16_length(line[: match.end()])]
        for match in pattern.finditer(line)
    ]


def main_argument(call: Entry | None) -> str | None:
    """The argument that says most about a tool call (a path, a command, …), as one short line."""
    arguments = call.get("arguments") if call else None
    if not isinstance(arguments, dict):
        return None
    for name in (*_MAIN_ARGUMENTS, *arguments):
        value = arguments.get(name)
        if isinstance(value, str):
            return one_line(value, SHORT_UNITS)
    return None


def failed(entry: Entry, kind: int) -> bool:
    """Whether the entry records a failure: of a tool, of the model, or of a command."""
    message = message_of(entry)
    match kind:
        case Kind.TOOL_RESULT:
            return message.get("isError") is True
        case Kind.ASSISTANT:
            return message.get("stopReason") in ("error", "aborted")
        case Kind.BASH_EXECUTION:
            exit_code = message.get("exitCode")
            return message.get("cancelled") is True or (
                isinstance(exit_code, int | float) and exit_code != 0
            )
        case _:
            return False


def describe(entry: Entry, kind: int, argument: str | None = None) -> str:
    """What the preview of the entry is made from: a text of any length, not yet made plain.

    ``argument`` is the main argument of a tool result's call.
    """
    message = message_of(entry)
    match kind:
        case Kind.PLACEHOLDER:
            return "damaged record"
        case Kind.ASSISTANT:
            return _describe_assistant(message)
        case Kind.TOOL_RESULT:
            return _describe_tool_result(message, argument)
        case Kind.BASH_EXECUTION:
            return f"$ {_text(message.get('command'))}"
        case Kind.SYSTEM:
            return text_of(message.get("content")) or _listed("sections", message.get("sections"))
        case Kind.USER | Kind.CUSTOM_ROLE | Kind.UNKNOWN_ROLE | Kind.CUSTOM_MESSAGE:
            return _describe_content(content_of(entry))
        case Kind.COMPACTION:
            return f"compacted: {_first_statement(summary_of(entry))}"
        case Kind.BRANCH_SUMMARY:
            said = summary_of(entry).lstrip().removeprefix(BRANCH_INTRODUCTION)
            return _first_statement(said) or said
        case _:
            return _describe_bookkeeping(entry, kind)


def _describe_assistant(message: Entry) -> str:
    content = message.get("content")
    text = text_of(content)
    if text.strip():
        return text
    reason = message.get("stopReason")
    error = _text(message.get("errorMessage"))
    names = [call["name"] for call in tool_calls(content)]
    if reason == "aborted":
        return "(aborted)"
    if error.strip():
        return error
    if names:
        noun = "tool call" if len(names) == 1 else "tool calls"
        return f"({len(names)} {noun}: {', '.join(dict.fromkeys(names))})"
    return "(error)" if reason == "error" else "(no text)"


def _describe_tool_result(message: Entry, argument: str | None) -> str:
    text = _text(message.get("toolName"))
    if argument:
        text = f"{text} {argument}"
    if message.get("isError") is True:
        lines = text_of(message.get("content")).lstrip()[:_ENOUGH].splitlines()
        if lines:
            text = f"{text}: {lines[0]}"
    return text


def _describe_content(content: Any) -> str:
    text = text_of(content)
    if text.strip():
        return text
    images = sum(1 for _ in blocks(content, "image"))
    return f"({images} {'image' if images == 1 else 'images'})" if images else ""


def _describe_bookkeeping(entry: Entry, kind: int) -> str:
    match kind:
        case Kind.LABEL:
            label = _text(entry.get("label"))
            return f"label: {label}" if label.strip() else "label removed"
        case Kind.SESSION_INFO:
            return f"name: {_text(entry.get('name'))}"
        case Kind.MODEL_CHANGE:
            return f"model: {_text(entry.get('provider'))}/{_text(entry.get('modelId'))}"
        case Kind.THINKING_LEVEL_CHANGE:
            return f"thinking: {_text(entry.get('thinkingLevel'))}"
        case Kind.ACTIVE_TOOLS_CHANGE:
            return _listed("tools", entry.get("activeToolNames"))
        case Kind.CONTEXT_EDIT:
            verb = "replaces" if isinstance(entry.get("replacement"), dict) else "omits"
            return f"{verb} {_text(entry.get('targetId'))}"
        case Kind.LEAF:
            return _describe_move(entry.get("targetId"))
        case Kind.MOVE:
            data = entry.get("data")
            return _describe_move(data.get("targetId") if isinstance(data, dict) else None)
        case Kind.USAGE:
            return f"usage: {_text(entry.get('provider'))}/{_text(entry.get('model'))}"
        case Kind.CUSTOM:
            return f"custom: {_text(entry.get('customType'))}"
        case _:
            return _text(entry.get("type"))


def _describe_move(target: object) -> str:
    return f"moved to {target}" if isinstance(target, str) else "moved before the first entry"


def _first_statement(summary: str) -> str:
    """The first line that is neither blank nor a heading, without the mark of a list."""
    lines = (line.strip() for line in summary.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return first.removeprefix("- ")


def _listed(noun: str, names: object) -> str:
    listed: Sequence[Any] = list(names) if isinstance(names, list | dict) else []
    return f"{noun}: {', '.join(name for name in listed if isinstance(name, str))}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _plain(text: str) -> str:
    return clean_text(_SPACES.sub(" ", _REMOVED.sub("", text)).strip())


def _cut(text: str, units: int) -> str:
    """The longest beginning of at most ``units`` UTF-16 code units; a whole pair or none."""
    if text.isascii():
        return text[:units].rstrip()
    return text[:units].encode("utf-16-le")[: units * 2].decode("utf-16-le", "ignore").rstrip()
