"""A conversation as one Markdown document, for a forge, a wiki or a plain editor.

Nothing that a session says can pose as something else: what people and models said stands in
quotes, what tools said in fences longer than any in it. Text with HTML, pictures or odd links in it
stands in a fence as well. Images are named, not shown.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from branchline.entries import (
    Entry,
    Kind,
    blocks,
    content_of,
    message_of,
    text_of,
)
from branchline.export.conversation import Conversation
from branchline.export.mask import hidden_text
from branchline.export.order import NOTES, Step, reading_order
from branchline.export.rich_text import LONGEST, is_plain
from branchline.export.summary import Overview, overview
from branchline.export.text import (
    arguments_of,
    as_text,
    image_note,
    moment,
    readable,
    role_name,
    summary_text,
    text_or,
)
from branchline.tree.chat import fenced
from branchline.tree.index import NONE
from branchline.tree.preview import SHORT_UNITS, describe, failed, main_argument, one_line

_BLANK: Final = re.compile("^> $", re.MULTILINE)
_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>#|~&])")


def markdown_pieces(conversation: Conversation) -> Iterator[str]:
    """The document, in pieces."""
    yield _head(conversation, overview(conversation))
    calls: dict[str, Entry] = {}
    for step in reading_order(conversation.tree):
        yield from _turn_of_branch(conversation, step)
        yield _entry(conversation, step.ordinal, calls)


def _head(conversation: Conversation, about: Overview) -> str:
    facts = {
        "Session": _code(about.session_id),
        "Folder": _code(about.folder),
        "Time": " to ".join(filter(None, (about.begun, about.ended))),
        "Models": ", ".join(map(_code, about.models)),
        "Messages": f"{about.messages:,}",
        "Tokens": f"{about.tokens:,}" if about.tokens else "",
        "Cost": about.cost,
        "Branches": f"all {about.branches}" if conversation.whole else "the active one",
    }
    lines = [f"# {_inline(about.title)}", ""]
    lines += [f"- **{name}:** {value}" for name, value in facts.items() if value]
    if conversation.mask is not None:
        lines.append(f"- **Masked:** {hidden_text(conversation.counts)}")
    return "\n".join(lines) + "\n\n"


def _turn_of_branch(conversation: Conversation, step: Step) -> Iterator[str]:
    """The line that says that another branch begins, or that one goes on."""
    if step.begins:
        fork = "the beginning" if step.fork == NONE else conversation.tree.ids[step.fork]
        yield f"---\n\n# Another branch, from {_code(fork)}\n\n"
    elif step.returns and step.fork != NONE:
        branch = "The active branch" if step.depth == 0 else "The branch"
        yield f"---\n\n# {branch} goes on, from {_code(conversation.tree.ids[step.fork])}\n\n"


def _entry(conversation: Conversation, ordinal: int, calls: dict[str, Entry]) -> str:
    tree = conversation.tree
    kind = tree.kinds[ordinal]
    entry: Entry = {} if kind == Kind.PLACEHOLDER else conversation.entry(ordinal)
    if kind in NOTES:
        return f"*{_inline(one_line(describe(entry, kind)))}*\n\n"
    label = tree.labels.get(ordinal)
    head = [role_name(entry, kind), moment(entry.get("timestamp"))]
    if kind == Kind.TOOL_RESULT:
        head.insert(1, _tool_named(entry, calls))
    if failed(entry, kind):
        head.append("failed")
    if label is not None:
        head.append(f"⚑ {_inline(label.text)}")
    parts = [f"## {' · '.join(filter(None, head))}", *_body(entry, kind, calls)]
    return "\n\n".join(filter(None, parts)) + "\n\n"


def _tool_named(entry: Entry, calls: Mapping[str, Entry]) -> str:
    message = message_of(entry)
    call_id = message.get("toolCallId")
    argument = main_argument(calls.get(call_id)) if isinstance(call_id, str) else None
    name = one_line(text_or(message.get("toolName")), SHORT_UNITS)
    return _code(f"{name} {argument or ''}".strip())


def _body(entry: Entry, kind: int, calls: dict[str, Entry]) -> Iterator[str]:
    message = message_of(entry)
    match kind:
        case Kind.ASSISTANT:
            yield from _blocks(message.get("content"), calls)
            if isinstance(message.get("errorMessage"), str):
                yield f"The answer broke off:\n\n{fenced(readable(message['errorMessage']))}"
        case Kind.TOOL_RESULT:
            yield from _output(message.get("content"))
        case Kind.BASH_EXECUTION:
            if message.get("excludeFromContext"):
                yield "*Not sent to the model.*"
            yield fenced(f"$ {text_or(message.get('command'))}")
            yield from _output(message.get("output"))
        case Kind.SYSTEM:
            yield from _blocks(message.get("content"), calls)
            sections = message.get("sections")
            if isinstance(sections, dict):
                for name, text in sections.items():
                    yield f"**{_inline(name)}**"
                    yield fenced(as_text(text))
        case Kind.COMPACTION:
            yield "*What comes before is no longer sent to the model; this summary stands for it.*"
            yield _said(summary_text(entry))
        case Kind.BRANCH_SUMMARY:
            yield _said(summary_text(entry))
        case Kind.USER | Kind.CUSTOM_ROLE | Kind.CUSTOM_MESSAGE:
            yield from _blocks(content_of(entry), calls)
        case Kind.PLACEHOLDER:
            yield "*The file is damaged here.*"
        case _:
            text = text_of(content_of(entry))
            yield _said(text) if text.strip() else fenced(as_text(entry))


def _blocks(content: Any, calls: dict[str, Entry]) -> Iterator[str]:
    for block in blocks(content):
        match block.get("type"):
            case "text":
                yield _said(text_or(block.get("text")))
            case "thinking":
                thought = text_or(block.get("thinking"))
                if thought.strip():
                    yield f"*Thinking:*\n\n{fenced(thought)}"
            case "toolCall":
                if isinstance(block.get("id"), str):
                    calls[block["id"]] = block
                yield "\n\n".join(_call(block))
            case "image":
                yield f"*(image: {_inline(image_note(block))})*"
            case _:
                yield fenced(as_text(block))


def _call(block: Entry) -> Iterator[str]:
    yield f"**Tool call** {_code(one_line(text_or(block.get('name')), SHORT_UNITS))}"
    arguments = arguments_of(block)
    short = [f"- {_code(name)}: {_code(text)}" for name, text in arguments if _is_short(text)]
    if short:
        yield "\n".join(short)
    for name, text in arguments:
        if not _is_short(text):
            yield f"{_code(name)}:\n\n{fenced(text)}"


def _output(content: Any) -> Iterator[str]:
    """What a tool or command gave: texts in fences, images by name."""
    for block in blocks(content):
        if block.get("type") == "image":
            yield f"*(image: {_inline(image_note(block))})*"
        elif isinstance(block.get("text"), str):
            yield fenced(readable(block["text"]).strip("\n"))
        else:
            yield fenced(as_text(block))


def _is_short(text: str) -> bool:
    return len(text) <= 120 and "\n" not in text and bool(text.strip())


def _said(text: str) -> str:
    """What somebody said, in a quote, which ends with it whatever it leaves open."""
    text = readable(text).strip("\n")
    if not text.strip():
        return ""
    if len(text) <= LONGEST and is_plain(quote := _quoted(text)):
        return quote
    return _quoted(fenced(text))


def _quoted(text: str) -> str:
    # No list of lines: a text may have a million of them.
    return _BLANK.sub(">", "> " + text.replace("\n", "\n> "))


def _code(text: str) -> str:
    """A short text as a code span, which it cannot close."""
    text = " ".join(readable(text).split())
    if not text:
        return ""
    longest = max(map(len, re.findall("`+", text)), default=0)
    ticks = "`" * (longest + 1)
    blank = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{blank}{text}{blank}{ticks}"


def _inline(text: str) -> str:
    """A short text with everything escaped that Markdown would take for its own."""
    return _SPECIAL.sub(r"\\\1", " ".join(readable(text).split()))
