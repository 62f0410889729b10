"""A conversation as one HTML page that needs nothing else: no network, no server, no script.

Everything that a session says is escaped here, or by `rich_text`. The page's policy lets run only
the script and style that are inlined, by their hashes, and fetches nothing; what a script adds is
search, filters and keys. The template is in ``page/``.
"""

import hashlib
from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, Final

from branchline import __version__
from branchline.entries import Entry, Kind, blocks, content_of, message_of, text_of
from branchline.export.conversation import Conversation
from branchline.export.mask import hidden_text
from branchline.export.order import NOTES, Step, reading_order
from branchline.export.page_tree import PageTree, class_of
from branchline.export.rich_text import rendered
from branchline.export.summary import Overview, overview
from branchline.export.text import (
    anchor,
    arguments_of,
    as_text,
    image_note,
    moment,
    readable,
    role_name,
    summary_text,
    text_or,
)
from branchline.tree.chat import is_image
from branchline.tree.index import NONE
from branchline.tree.preview import SHORT_UNITS, describe, failed, main_argument, one_line

_IMAGE_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_CHANGES: Final = {
    "oldText": "old", "old_string": "old", "old_str": "old",
    "newText": "new", "new_string": "new", "new_str": "new",
}  # fmt: skip
"""What an edit replaces, and by what: the names of arguments, and their classes."""
_LONG: Final = 4_000
"""Characters beyond which a text of a person scrolls in a box of its own."""


def html_pieces(conversation: Conversation, contexts: Mapping[int, str]) -> Iterator[str]:
    """The page, in pieces. ``contexts`` says of each entry what the model is sent of it."""
    about = overview(conversation)
    top, middle, bottom = _part("page.html").split("<!--here-->")
    style, script = _part("page.css"), _part("page.js")
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; "
        f"script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'"
    )
    for name, text in (("POLICY", policy), ("TITLE", escape(about.title)), ("STYLE", style)):
        top = top.replace(f"<!--{name}-->", text)
    yield top
    yield from PageTree(conversation, contexts).pieces()
    yield middle.replace("<!--ABOUT-->", _about(conversation, about))
    entries = _Entries(conversation)
    for step in reading_order(conversation.tree):
        yield from entries.article(step)
    yield bottom.replace("<!--VERSION-->", escape(__version__)).replace("<!--SCRIPT-->", script)


@cache
def _part(name: str) -> str:
    return files("branchline.export").joinpath("page", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _about(conversation: Conversation, about: Overview) -> str:
    branches = about.branches
    facts = {
        "Time": " to ".join(dict.fromkeys(filter(None, (about.begun, about.ended)))),
        "Folder": about.folder,
        "Model": ", ".join(about.models),
        "Messages": f"{about.messages:,}",
        "Tool calls": f"{about.tool_calls:,}" if about.tool_calls else "",
        "Tokens": f"{about.tokens:,}" if about.tokens else "",
        "Cost": about.cost,
        "Branches": f"all {branches:,}" if conversation.whole else "the active one",
    }
    listed = "".join(
        f'<div><dt>{name}</dt><dd dir="auto">{escape(value)}</dd></div>'
        for name, value in facts.items()
        if value
    )
    note = ""
    if conversation.mask is not None:
        note = f'<p class="masked">{escape(hidden_text(conversation.counts)).capitalize()}.</p>'
    return f'<h1 dir="auto">{escape(about.title)}</h1><dl class="facts">{listed}</dl>{note}'


class _Entries:
    """Makes the entries of a page, in reading order; remembers the tool calls on its way."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._tree = conversation.tree
        self._calls: dict[str, Entry] = {}

    def article(self, step: Step) -> Iterator[str]:
        """One entry, and before it what there is to say of its branch."""
        ordinal, tree = step.ordinal, self._tree
        kind = tree.kinds[ordinal]
        entry: Entry = {} if kind == Kind.PLACEHOLDER else self._conversation.entry(ordinal)
        label = tree.labels.get(ordinal)
        classes = ["entry", class_of(kind)]
        classes += ["labelled"] if label else []
        classes += ["failed"] if failed(entry, kind) else []
        classes += ["away"] if step.depth else []
        place = anchor(tree.ids[ordinal])
        yield f'{self._turn(step)}<article class="{" ".join(classes)}" id="{place}"'
        if kind in NOTES:
            text = escape(one_line(describe(entry, kind)))
            yield f'><p class="note" dir="auto">{text}</p></article>\n'
            return
        said = escape(one_line(label.text)) if label else ""
        flag = f'<span class="flag" dir="auto">{said}</span>' if label else ""
        time = moment(entry.get("timestamp"))
        stamp = f'<time datetime="{time.replace(" ", "T")}Z">{time}</time>' if time else ""
        yield (
            f' tabindex="-1"><header><h2>{escape(role_name(entry, kind))}</h2>'
            f"{_made_by(entry)}{flag}{stamp}"
            f'<a class="link" href="#{place}" aria-label="Link to this entry">#</a></header>'
        )
        yield from self._body(entry, kind)
        yield "</article>\n"

    def _turn(self, step: Step) -> str:
        """The line that says that another branch begins, or that one goes on."""
        if not (step.begins or step.returns) or (step.fork == NONE and not step.begins):
            return ""
        what = "Another branch"
        if not step.begins:
            what = "The branch goes on" if step.depth else "The active branch goes on"
        fork = ""
        if step.fork != NONE:
            kind = self._tree.kinds[step.fork]
            entry = {} if kind == Kind.PLACEHOLDER else self._conversation.entry(step.fork)
            said = escape(one_line(describe(entry, kind), SHORT_UNITS))
            at = anchor(self._tree.ids[step.fork])
            fork = f', from <a href="#{at}" dir="auto">{said}</a>'
        away = " away" if step.depth else ""
        return f'<p class="turn{away}"><span>{what}{fork}</span></p>\n'

    def _body(self, entry: Entry, kind: int) -> Iterator[str]:
        message = message_of(entry)
        match kind:
            case Kind.ASSISTANT:
                yield from self._blocks(message.get("content"), rich=True)
                error = text_or(message.get("errorMessage"))
                if error:
                    yield f'<p class="error" dir="auto">{escape(error)}</p>'
                elif message.get("stopReason") == "aborted":
                    yield '<p class="error">Aborted</p>'
            case Kind.TOOL_RESULT:
                yield self._result(entry)
            case Kind.BASH_EXECUTION:
                yield _bash(message)
            case Kind.SYSTEM:
                yield "".join(_system(message, self._blocks(message.get("content"), rich=False)))
            case Kind.COMPACTION:
                before = entry.get("tokensBefore")
                tokens = f" ({before:,} tokens)" if isinstance(before, int) else ""
                yield (
                    f'<p class="hint">What stands above{tokens} is no longer sent to the model; '
                    "this summary stands for it.</p>"
                )
                yield f'<div class="rich" dir="auto">{rendered(summary_text(entry))}</div>'
            case Kind.BRANCH_SUMMARY:
                yield '<p class="hint">What was learnt on another branch.</p>'
                yield f'<div class="rich" dir="auto">{rendered(summary_text(entry))}</div>'
            case Kind.USER | Kind.CUSTOM_ROLE | Kind.CUSTOM_MESSAGE:
                yield from self._blocks(content_of(entry), rich=False)
            case Kind.PLACEHOLDER:
                yield '<p class="hint">The file is damaged here.</p>'
            case _:
                text = text_of(content_of(entry))
                yield _plain(readable(text)) if text.strip() else _folded("Data", as_text(entry))

    def _blocks(self, content: Any, *, rich: bool) -> Iterator[str]:
        for block in blocks(content):
            match block.get("type"):
                case "text":
                    text = text_or(block.get("text"))
                    if text.strip():
                        yield (
                            f'<div class="rich" dir="auto">{rendered(text)}</div>'
                            if rich
                            else _plain(text)
                        )
                case "thinking":
                    thought = text_or(block.get("thinking"))
                    if thought.strip():
                        yield (
                            '<details class="thinking"><summary>Thinking</summary>'
                            f"{_plain(thought)}</details>"
                        )
                case "toolCall":
                    yield self._call(block)
                case "image":
                    yield _image(block)
                case other:
                    yield _folded(text_or(other, "Data"), as_text(block))

    def _call(self, block: Entry) -> str:
        if isinstance(block.get("id"), str):
            self._calls[block["id"]] = block
        name = one_line(text_or(block.get("name"), "tool"), SHORT_UNITS)
        argument = main_argument(block) or ""
        inside = "".join(map(_argument, _with_changes(block)))
        return (
            f'<details class="call"><summary><b>{escape(name)}</b> '
            f'<code dir="auto">{escape(argument)}</code></summary>{inside}</details>'
        )

    def _result(self, entry: Entry) -> str:
        message = message_of(entry)
        call_id = message.get("toolCallId")
        call = self._calls.get(call_id) if isinstance(call_id, str) else None
        name = one_line(text_or(message.get("toolName"), "tool"), SHORT_UNITS)
        text = readable(text_of(message.get("content")))
        said = f'{escape(name)}</b> <code dir="auto">{escape(main_argument(call) or "")}</code>'
        images = "".join(map(_image, blocks(message.get("content"), "image")))
        return _output(said, text, images)


def _output(said: str, text: str, images: str = "") -> str:
    """What a tool or a command gave, folded; ``said`` is HTML that begins in a ``b``."""
    lines = text.rstrip("\n").count("\n") + 1 if text.strip() else 0
    size = f"{lines:,} line{'' if lines == 1 else 's'}" if lines else "no output"
    size = "image" if images and not lines else size
    inside = f'<pre class="out" tabindex="0">{escape(text)}</pre>' if lines else ""
    is_open = " open" if images else ""
    return (
        f'<details class="result"{is_open}><summary><b>{said} <span class="size">{size}</span>'
        f"</summary>{inside}{images}</details>"
    )


def _bash(message: Entry) -> str:
    command = text_or(message.get("command"))
    code = message.get("exitCode")
    state = (
        ' <span class="mark">not sent to the model</span>'
        if message.get("excludeFromContext")
        else ""
    )
    if message.get("cancelled") is True:
        state += ' <span class="bad">cancelled</span>'
    elif isinstance(code, int) and code:
        state += f' <span class="bad">exit code {code}</span>'
    shown = f'$</b> <code dir="auto">{escape(one_line(command))}</code>{state}'
    text = text_or(message.get("output"))
    whole = f"$ {command}\n{text}" if "\n" in command or len(command) > SHORT_UNITS else text
    return _output(shown, whole)


def _system(message: Entry, said: Iterator[str]) -> Iterator[str]:
    yield '<details class="system"><summary>Instructions</summary>'
    yield from said
    sections = message.get("sections")
    if isinstance(sections, dict):
        for name, text in sections.items():
            yield f'<h3 dir="auto">{escape(one_line(name))}</h3>{_plain(as_text(text))}'
    yield "</details>"


def _plain(text: str) -> str:
    big = ' tabindex="0"' if len(text) > _LONG else ""
    return f'<div class="plain{" big" if big else ""}" dir="auto"{big}>{escape(text)}</div>'


def _folded(name: str, text: str) -> str:
    return (
        f'<details class="result"><summary><b>{escape(one_line(name))}</b></summary>'
        f'<pre class="out" tabindex="0">{escape(text)}</pre></details>'
    )


def _image(block: Entry) -> str:
    note = escape(image_note(block))
    if is_image(block) and block["mimeType"] in _IMAGE_TYPES:
        source = f"data:{block['mimeType']};base64,{block['data']}"
        return f'<img loading="lazy" decoding="async" alt="Image, {note}" src="{source}">'
    return f'<p class="hint">Image, not shown: {note}</p>'


def _with_changes(call: Entry) -> Iterator[tuple[str, str, str]]:
    """The arguments of a call as names, texts and classes; those of an edit as old and new."""
    arguments = call.get("arguments")
    groups = [arguments]
    if isinstance(arguments, dict):
        edits = arguments.get("edits")
        if isinstance(edits, list) and edits and all(isinstance(edit, dict) for edit in edits):
            groups = [{name: one for name, one in arguments.items() if name != "edits"}, *edits]
    for group in groups:
        for name, text in arguments_of({"arguments": group}):
            yield name, text, _CHANGES.get(name, "")


def _argument(argument: tuple[str, str, str]) -> str:
    name, text, kind = argument
    shown = escape(text)
    if kind or "\n" in text or len(text) > 100:
        text = f'<pre class="{kind or "out"}" tabindex="0">{shown}</pre>'
        return f'<p class="name">{escape(one_line(name))}</p>{text}'
    return f'<p class="name">{escape(one_line(name))} <code dir="auto">{shown}</code></p>'


def _made_by(entry: Entry) -> str:
    """The model of an answer, and what it cost."""
    message = message_of(entry)
    parts = []
    if message.get("role") == "assistant" and isinstance(message.get("model"), str):
        parts.append(one_line(message["model"], SHORT_UNITS))
    usage = message.get("usage") or entry.get("usage")
    if isinstance(usage, dict):
        given = [(name, usage.get(name)) for name in ("input", "cacheRead", "output")]
        numbers = [(name, n) for name, n in given if isinstance(n, int) and 0 < n < 2**53]
        words = {"input": "in", "cacheRead": "cached", "output": "out"}
        parts += [f"{n:,} {words[name]}" for name, n in numbers]
        cost = usage.get("cost")
        total = cost.get("total") if isinstance(cost, dict) else None
        if isinstance(total, int | float) and 0 < total < 2**53:
            parts.append(f"${total:.4f}")
    return f'<span class="by" dir="auto">{escape(" · ".join(parts))}</span>' if parts else ""
