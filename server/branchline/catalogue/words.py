"""What of an entry can be searched for, and how texts and queries become comparable words.

Pure. A word is a run of letters and digits of one script. Scripts that are written without spaces
(Chinese, Japanese, Thai, …, and Korean, whose words take endings) are taken a character at a time:
a word of them in a query is a phrase, found wherever it stands. Case and accents do not count.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Any, Final

from branchline.codec import clean_text
from branchline.entries import Entry, Kind, blocks, content_of, message_of, summary_of, text_of
from branchline.summaries.files import FileOperations

RESULT_CHARACTERS: Final = 8 * 1024
"""How much of a tool's or command's output can be searched."""

ROLES: Final = {
    Kind.USER: "user",
    Kind.ASSISTANT: "assistant",
    Kind.TOOL_RESULT: "toolResult",
    Kind.BASH_EXECUTION: "bashExecution",
    Kind.CUSTOM_ROLE: "custom",
    Kind.CUSTOM_MESSAGE: "custom",
    Kind.COMPACTION: "compaction",
    Kind.BRANCH_SUMMARY: "branchSummary",
    Kind.LABEL: "label",
    Kind.SESSION_INFO: "name",
}
"""What can be searched, by kind, and the role of a hit there."""

_ARGUMENT_DEPTH: Final = 8
_SINGLE: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u318f\u31a0-\u31ff\u3400-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U00020000-\U0003ffff"
)
_SINGLE_CHARACTER: Final = re.compile(f"([{_SINGLE}])")
_WORD: Final = re.compile(f"[{_SINGLE}]|(?:(?![{_SINGLE}])[^\\W_])+")
_MARKS: Final = "[\u0300-\u036f]*"
_OF_A_PATH: Final = "\ue000"
"""What the words of paths begin with in the index. A letter to it, and in nobody's text."""


@dataclass(frozen=True, slots=True)
class Searchable:
    """What can be searched of one entry. ``tools`` and ``files`` are one text each."""

    role: str
    text: str
    tools: str = ""
    files: str = ""


def searchable(entry: Entry, kind: int) -> Searchable | None:
    """What can be searched of an entry; None if there is nothing.

    Thinking and system prompts are left out, and whatever the model is not to see
    (``excludeFromContext``).
    """
    role = ROLES.get(Kind(kind))
    if role is None:
        return None
    message = message_of(entry)
    found: Searchable | None
    match kind:
        case Kind.ASSISTANT:
            found = _of_assistant(message)
        case Kind.TOOL_RESULT:
            text = text_of(message.get("content"))[:RESULT_CHARACTERS]
            found = Searchable(role, text, _text(message.get("toolName")))
        case Kind.BASH_EXECUTION:
            if message.get("excludeFromContext"):
                return None
            output = _text(message.get("output"))[:RESULT_CHARACTERS]
            found = Searchable(role, f"{_text(message.get('command'))}\n{output}", "bash")
        case Kind.COMPACTION | Kind.BRANCH_SUMMARY:
            found = Searchable(role, summary_of(entry))
        case Kind.LABEL:
            found = Searchable(role, _text(entry.get("label")))
        case Kind.SESSION_INFO:
            found = Searchable(role, _text(entry.get("name")))
        case _:
            found = Searchable(role, text_of(content_of(entry)))
    return found if found.text.strip() or found.tools else None


def _of_assistant(message: Entry) -> Searchable:
    content = message.get("content")
    texts, tools = [text_of(content)], []
    operations = FileOperations()
    operations.take_message(message)
    for call in blocks(content, "toolCall"):
        tools.append(_text(call.get("name")))
        texts.append(tools[-1])
        _collect(call.get("arguments"), texts, _ARGUMENT_DEPTH)
    files = "\n".join(sorted(operations.read | operations.modified))
    return Searchable("assistant", "\n".join(texts), "\n".join(tools), files)


def _collect(value: Any, texts: list[str], depth: int) -> None:
    """The texts in a tool call's arguments."""
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, dict) and depth:
        for item in value.values():
            _collect(item, texts, depth - 1)
    elif isinstance(value, list) and depth:
        for item in value:
            _collect(item, texts, depth - 1)


def separated(text: str) -> str:
    """The text as the index takes it: characters that are words of their own stand apart."""
    if text.isascii():
        return text
    text = clean_text(unicodedata.normalize("NFKC", text))
    return _SINGLE_CHARACTER.sub(r" \1 ", text)


def separated_paths(text: str) -> str:
    """Paths as the index takes them: their words are others than those of texts.

    ``src`` and ``py`` stand in most texts; a search for a file would have to pass over all these.
    """
    return _WORD.sub(rf"{_OF_A_PATH}\g<0>", separated(text))


def words(text: str) -> list[str]:
    """The words of a query's term, case and accents taken away."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).translate(_FOLDED).lower())


def term_pattern(term_words: list[str], *, prefix: bool) -> str:
    """A regular expression that finds a term in what `folded` gives, for `re.IGNORECASE`."""
    pattern = "" if _is_single(term_words[0]) else r"(?<![^\W_])"
    for before, word in zip(("", *term_words), term_words, strict=False):
        if before:
            pattern += r"[\W_]*" if _is_single(before) or _is_single(word) else r"[\W_]+"
        pattern += _MARKS.join(map(re.escape, word)) + _MARKS
    return pattern + ("" if prefix or _is_single(term_words[-1]) else r"(?![^\W_])")


def _is_single(word: str) -> bool:
    return _SINGLE_CHARACTER.match(word) is not None


def folded(text: str) -> str:
    """The text without accents, character for character, so that places in it are the same."""
    return text if text.isascii() else text.translate(_FOLDED)


class _Folding(dict[int, int]):
    """For each character its base, if that is a single one."""

    def __missing__(self, code: int) -> int:
        base = unicodedata.normalize("NFKD", chr(code)).rstrip(_COMBINING)
        self[code] = ord(base) if len(base) == 1 and not _is_single(base) else code
        return self[code]


_COMBINING: Final = "".join(map(chr, range(0x300, 0x370)))
_FOLDED: Final = _Folding()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
