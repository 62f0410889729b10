"""A conversation as text for a model to summarise: who said what, cut to fit, fenced.

Promises, whatever the session holds:
* nothing inside can close the fence or pose as another speaker: each passage begins with a mark
  that occurs in none of the texts (`fenced`);
* what no model is sent is left out here too: thinking, messages that failed, results without
  their call, blank texts, shell commands that the user excluded;
* tool results and long arguments keep their head and their tail, since errors stand at the end,
  and say how much is left out between.

Pure. It puts no question to the model: see `prompts`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from branchline import codec
from branchline.entries import Entry, blocks, summary_of
from branchline.tree.messages import failed, pair_results
from branchline.tree.tokens import CHARACTERS_PER_TOKEN

RESULT_CHARACTERS: Final = 2000
"""What is kept of a tool result, and of a whole call's arguments."""
_ARGUMENT_CHARACTERS: Final = 500
_NAME_CHARACTERS: Final = 64
_SHORTEST_CHARACTERS: Final = 400
"""Passages are not shortened below this while whole ones can be left out instead."""
_MARK_CHARACTERS: Final = 14
"""The most that a mark of five digits adds to a passage beside its speaker: see `fenced`."""
_CUT_CHARACTERS: Final = 48
"""The most that `cut` adds."""
_IMAGE: Final = "[image]"
_TAKEN: Final = re.compile(r"log-(\d+)")


@dataclass(frozen=True, slots=True)
class Passage:
    """What one speaker said. ``speaker`` is in our words, on one line."""

    speaker: str
    text: str

    @property
    def characters(self) -> int:
        """The most UTF-16 code units that it takes between its marks."""
        return codec.utf16_length(self.text) + len(self.speaker) + _MARK_CHARACTERS


def passages(messages: Sequence[Entry]) -> list[Passage]:
    """The conversation, one passage for each message that says something."""
    answers = {at for slots in pair_results(messages).results.values() for at in slots}
    return [
        passage
        for index, message in enumerate(messages)
        if message.get("role") != "toolResult" or index in answers
        for passage in _passage(message)
    ]


def fit(messages: Sequence[Entry], max_tokens: int | None) -> list[Passage]:
    """The conversation, cut until it fits into ``max_tokens`` (None: no limit).

    The longest passages are shortened first, down to some hundred characters; then the oldest are
    left out, the first user message excepted, and a passage in their place says how many. That
    message and the newest one are always there: what they need at least is all that can exceed
    the limit, some dozen tokens.
    """
    said = passages(messages)
    if max_tokens is None:
        return said
    room = max(0, max_tokens) * CHARACTERS_PER_TOKEN
    said = shortened(said, room, _SHORTEST_CHARACTERS)
    return shortened(_without_middle(said, room), room, 0)


def fenced(said: Sequence[Passage]) -> tuple[str, str]:
    """The passages as one text, and the mark that begins each: a line ``[mark speaker]``.

    The text ends with the line ``[mark end]``.
    """
    taken = {
        number
        for passage in said
        for text in (passage.speaker, passage.text)
        for number in _TAKEN.findall(text)
    }
    free = next(number for number in range(1, len(taken) + 2) if str(number) not in taken)
    mark = f"log-{free}"
    lines = [f"[{mark} {passage.speaker}]\n{passage.text}" for passage in said]
    return mark, "\n".join([*lines, f"[{mark} end]"])


def cut(text: str, characters: int) -> str:
    """The text, of which at most ``characters`` are kept: half at its head, half at its tail."""
    left_out = len(text) - characters
    if left_out <= 0:
        return text
    tail = characters // 2
    head = characters - tail
    marker = f"[… {left_out} characters left out …]"
    return "\n".join(part for part in (text[:head], marker, text[len(text) - tail :]) if part)


def shortened(said: list[Passage], room: int, shortest: int) -> list[Passage]:
    """The passages in ``room`` characters, the longest cut to one length, ``shortest`` or more."""
    total = sum(passage.characters for passage in said)
    if total <= room:
        return said
    sizes = [codec.utf16_length(passage.text) for passage in said]
    level = max(shortest, _level(sizes, room - (total - sum(sizes))))
    return [Passage(passage.speaker, shorten(passage.text, level)) for passage in said]


def shorten(text: str, characters: int) -> str:
    """The text in at most ``characters`` UTF-16 code units, what says that it was cut included.

    Below some dozen only that is left.
    """
    if codec.utf16_length(text) <= characters:
        return text
    room = max(0, characters - _CUT_CHARACTERS)
    outside_bmp = codec.utf16_length(text) != len(text)  # there a character may take two
    return cut(text, room // 2 if outside_bmp else room)


def _passage(message: Entry) -> Iterator[Passage]:
    """What a message says; nothing if it is blank or not for a model."""
    content = message.get("content")
    match message.get("role"):
        case "user" | "custom":
            speaker, text = "user", _content(content)
        case "assistant":
            speaker, text = "assistant", "" if failed(message) else _assistant(content)
        case "toolResult":
            speaker = f"result of {_name(message.get('toolName'))}"
            if message.get("isError") is True:
                speaker += ", failed"
            text = cut(_content(content), RESULT_CHARACTERS)
        case "bashExecution":
            speaker = "shell command of the user"
            text = "" if message.get("excludeFromContext") else _shell_command(message)
        case "compactionSummary":
            speaker, text = "summary of what came before", summary_of(message)
        case "branchSummary":
            speaker, text = "summary of another branch", summary_of(message)
        case _:
            return
    if text.strip():
        yield Passage(speaker, codec.clean_text(text))


def _content(content: Any) -> str:
    parts = []
    for block in blocks(content):
        match block:
            case {"type": "text", "text": str() as text} if text.strip():
                parts.append(text)
            case {"type": "image"}:
                parts.append(_IMAGE)
            case _:
                continue
    return "\n".join(parts)


def _assistant(content: Any) -> str:
    parts = []
    for block in blocks(content):
        match block:
            case {"type": "text", "text": str() as text} if text.strip():
                parts.append(text)
            case {"type": "toolCall", "name": str() as name}:
                parts.append(f"Calls {_name(name)}({_arguments(block.get('arguments'))})")
            case _:
                continue
    return "\n".join(parts)


def _arguments(arguments: Any) -> str:
    """Arguments as compact JSON, long texts in them cut."""
    if isinstance(arguments, dict):
        arguments = {
            key: cut(value, _ARGUMENT_CHARACTERS) if isinstance(value, str) else value
            for key, value in arguments.items()
        }
    return cut(codec.encode(arguments).decode(), RESULT_CHARACTERS)


def _shell_command(message: Entry) -> str:
    command, output = (
        cut(value, RESULT_CHARACTERS) if isinstance(value, str) and value.strip() else ""
        for value in (message.get("command"), message.get("output"))
    )
    if not command and not output:
        return ""
    exit_code = message.get("exitCode")
    ending = ""
    if message.get("cancelled"):
        ending = "(cancelled)"
    elif isinstance(exit_code, int) and exit_code != 0:
        ending = f"(exit code {exit_code})"
    return "\n".join(part for part in (f"$ {command}", output, ending) if part)


def _name(name: Any) -> str:
    """A tool's name, on one line."""
    return " ".join(codec.clean_text(name).split())[:_NAME_CHARACTERS] if name else "a tool"


def _level(sizes: Sequence[int], room: int) -> int:
    """The length to which the longest must be cut so that all together take ``room``."""
    for position, size in enumerate(sorted(sizes)):
        share = max(0, room) // (len(sizes) - position)
        if size > share:
            return share
        room -= size
    return max(sizes, default=0)


def _without_middle(said: list[Passage], room: int) -> list[Passage]:
    """The first user message and as many of the newest as fit, with a word on those between."""
    if sum(passage.characters for passage in said) <= room:
        return said
    first = next((at for at, passage in enumerate(said) if passage.speaker == "user"), 0)
    room -= said[first].characters + Passage("note", _left_out(len(said))).characters
    start = len(said)
    while start > 0:
        cost = said[start - 1].characters
        if cost > room and start < len(said):
            break
        start -= 1
        room -= cost
    left_out = start - (first < start)
    if left_out == 0:
        return said
    begin = [said[first]] if first < start else []
    return [*begin, Passage("note", _left_out(left_out)), *said[start:]]


def _left_out(count: int) -> str:
    return f"{count} older {'message' if count == 1 else 'messages'} left out"
