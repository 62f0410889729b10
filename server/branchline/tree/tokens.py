"""How many tokens a message costs: the one estimate that everything here counts with.

The rule (format.md, "Tokens"): characters divided by four, rounded up, with characters counted as
UTF-16 code units so that the numbers are those of Pi. An estimate never fails: what is malformed
counts nothing.

It never asks a tokenizer and never looks at the tree; `context` adds the estimates up.
"""

from typing import Any, Final

from branchline import codec
from branchline.entries import (
    MESSAGES,
    Entry,
    Kind,
    blocks,
    message_of,
    summary_of,
)
from branchline.tree.messages import failed

CHARACTERS_PER_TOKEN: Final = 4
IMAGE_CHARACTERS: Final = 4800
"""What an image counts, whatever its size."""


def message_tokens(message: Entry) -> int:
    """The estimate of one message of any role, as it stands in a context.

    Besides the roles of the file that is ``compactionSummary`` and ``branchSummary``. An unknown
    role counts 0.
    """
    match message.get("role"):
        case "user" | "toolResult" | "custom":
            characters = _content_characters(message.get("content"))
        case "assistant":
            characters = _assistant_characters(message.get("content"))
        case "bashExecution":
            characters = _length(message.get("command")) + _length(message.get("output"))
        case "compactionSummary" | "branchSummary":
            characters = _length(message.get("summary"))
        case "system":
            characters = _system_characters(message)
        case _:
            characters = 0
    return _tokens(characters)


def entry_tokens(entry: Entry, kind: Kind) -> int:
    """The estimate of the message that an entry shows, before any context edit.

    Entries that show none count 0, whatever they hold.
    """
    if kind in MESSAGES:
        return message_tokens(message_of(entry))
    match kind:
        case Kind.CUSTOM_MESSAGE:
            return _tokens(_content_characters(entry.get("content")))
        case Kind.COMPACTION | Kind.BRANCH_SUMMARY:
            return _tokens(_length(summary_of(entry)))
        case _:
            return 0


def usage_tokens(usage: Any) -> int:
    """The size of the context that a reported ``usage`` tells of; 0 if it tells none.

    ``totalTokens``, else the sum of input, output, cacheRead and cacheWrite.
    """
    if not isinstance(usage, dict):
        return 0
    total = _count(usage.get("totalTokens")) or sum(
        _count(usage.get(part)) for part in ("input", "output", "cacheRead", "cacheWrite")
    )
    return max(total, 0)


def reported_tokens(message: Entry) -> int:
    """What an assistant message's usage says of the context up to and with it.

    0 if it has none, or was aborted or failed.
    """
    if message.get("role") != "assistant" or failed(message):
        return 0
    return usage_tokens(message.get("usage"))


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)


def _length(text: Any) -> int:
    return codec.utf16_length(text) if isinstance(text, str) else 0


def _count(number: Any) -> int:
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    return int(number) if is_number else 0


def _content_characters(content: Any) -> int:
    characters = 0
    for block in blocks(content):
        match block.get("type"):
            case "text":
                characters += _length(block.get("text"))
            case "image":
                characters += IMAGE_CHARACTERS
            case _:
                pass  # shows the model nothing
    return characters


def _assistant_characters(content: Any) -> int:
    characters = 0
    for block in blocks(content):
        match block.get("type"):
            case "text":
                characters += _length(block.get("text"))
            case "thinking":
                characters += _length(block.get("thinking"))
            case "toolCall":
                characters += _length(block.get("name"))
                if "arguments" in block:
                    characters += _json_characters(block["arguments"])
            case _:
                pass  # shows the model nothing
    return characters


def _system_characters(message: Entry) -> int:
    characters = _content_characters(message.get("content"))
    sections = message.get("sections")
    if isinstance(sections, dict):
        characters += sum(_length(text) for text in sections.values())
    tools = message.get("toolsAdded")
    if isinstance(tools, list):
        characters += _json_characters(tools)
    return characters


def _json_characters(value: Any) -> int:
    try:
        return codec.javascript_length(value)
    except (codec.DecodeError, RecursionError):
        return 0  # nested deeper than can be written: it can be sent to no model either
