"""Markdown of a session, which is hostile: as HTML without any of its own, or checked to be plain.

Rendered by markdown-it: HTML in the text is shown as text, links lead to http, https and mailto
only, and a picture becomes a link, so that nothing is fetched. Very long texts are not parsed.
"""

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

LONGEST: Final = 60_000
"""Characters beyond which a text is shown as it is: one made to be slow would take minutes."""

_LINK: Final = re.compile(r"(?:https?://|mailto:)[^\s\x00-\x20]{1,4000}", re.IGNORECASE)
_NEEDS_LOOK: Final = re.compile(r"[<\]]")


def rendered(text: str) -> str:
    """The text as HTML."""
    if len(text) > LONGEST:
        return f'<div class="plain">{escape(text)}</div>'
    html: str = _markdown().render(text)
    return html


def is_plain(text: str) -> bool:
    """Whether Markdown holds nothing that a page made of it would fetch, run or hide.

    That is HTML, pictures, and links to anything but http, https and mailto. Not for texts longer
    than `LONGEST`.
    """
    if not _NEEDS_LOOK.search(text):
        return True
    pending: list[Token] = list(_checker().parse(text))
    while pending:
        token = pending.pop()
        if token.type in ("html_block", "html_inline", "image"):
            return False
        if token.type == "link_open" and not _LINK.fullmatch(str(token.attrs.get("href", ""))):
            return False
        pending += token.children or ()
    return True


@cache
def _markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    _guard(markdown, _LINK.fullmatch)
    markdown.add_render_rule("image", _image)
    markdown.add_render_rule("link_open", _link)
    markdown.add_render_rule("fence", _code)
    markdown.add_render_rule("code_block", _code)
    for level in ("heading_open", "heading_close"):
        markdown.add_render_rule(level, _heading)
    return markdown


@cache
def _checker() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    _guard(markdown, lambda _: True)
    return markdown


def _guard(markdown: MarkdownIt, allows: Any) -> None:
    """Make a link only of what is allowed; all else stays text."""
    markdown.validateLink = lambda url: bool(allows(url))  # type: ignore[method-assign]


def _link(_self: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    href = escape(str(tokens[index].attrs.get("href", "")))
    return f'<a href="{href}" rel="noopener noreferrer nofollow" target="_blank">'


def _image(_self: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    token = tokens[index]
    href = escape(str(token.attrs.get("src", "")))
    alt = escape(token.content) or href
    return (
        f'<a href="{href}" rel="noopener noreferrer nofollow" target="_blank">[picture: {alt}]</a>'
    )


def _code(_self: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    return f'<pre tabindex="0"><code>{escape(tokens[index].content)}</code></pre>\n'


def _heading(_self: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    """Headings of a text stand below those of the page."""
    token = tokens[index]
    level = min(6, int(token.tag[1:]) + 2)
    return f"<h{level}>" if token.nesting == 1 else f"</h{level}>\n"
