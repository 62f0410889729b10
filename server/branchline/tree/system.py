"""The one system message that a context begins with, made from the patches on its path.

The rule (format.md, "From a leaf to the model's context", 3): contents that are not blank are
joined by a blank line; a later section takes the place of an earlier one of its name, and null
removes it; of each message, ``toolsRemoved`` first, then ``toolsAdded``. Which messages count is
`context`'s to say. Malformed parts say nothing.
"""

from collections.abc import Iterable
from typing import Any

from branchline.entries import Entry, text_of


def fold_system(messages: Iterable[Entry]) -> Entry | None:
    """Fold system messages, in path order, into one; None if together they say nothing.

    The result is ``{role, content, sections?, toolsAdded?, timestamp}`` with the first message's
    timestamp in milliseconds (0 if it has none), as in Pi.
    """
    contents: list[str] = []
    sections: dict[str, str] = {}
    tools: dict[str, Entry] = {}
    timestamp: Any = None
    for message in messages:
        if timestamp is None:
            timestamp = message.get("timestamp")
        content = text_of(message.get("content"))
        if content.strip():
            contents.append(content)
        _patch_sections(sections, message.get("sections"))
        for name, _ in _named(message.get("toolsRemoved")):
            tools.pop(name, None)
        tools.update(_named(message.get("toolsAdded")))
    if not (contents or sections or tools):
        return None
    folded: Entry = {"role": "system", "content": "\n\n".join(contents)}
    if sections:
        folded["sections"] = sections
    if tools:
        folded["toolsAdded"] = list(tools.values())
    folded["timestamp"] = 0 if timestamp is None else timestamp
    return folded


def system_text(system: Entry) -> str:
    """The text form of a folded system message: content, then sections, joined by blank lines."""
    parts = [system["content"], *system.get("sections", {}).values()]
    return "\n\n".join(part for part in parts if part.strip())


def _patch_sections(sections: dict[str, str], patch: Any) -> None:
    if not isinstance(patch, dict):
        return
    for name, text in patch.items():
        if text is None:
            sections.pop(name, None)
        elif isinstance(text, str):
            sections[name] = text


def _named(tools: Any) -> list[tuple[str, Entry]]:
    """The tools of a list that have a name, by it."""
    return [
        (tool["name"], tool)
        for tool in (tools if isinstance(tools, list) else ())
        if isinstance(tool, dict) and isinstance(tool.get("name"), str)
    ]
