"""Exports of made sessions, for the unit tests."""

from collections.abc import Callable
from typing import Any, TypeVar

from branchline import codec
from branchline.entries import Entry
from branchline.export.conversation import Conversation, Source
from branchline.export.html import html_pieces
from branchline.export.jsonl import session_lines
from branchline.export.markdown import markdown_pieces
from branchline.export.mask import Finder, Mask
from branchline.tree.context_states import context_states
from tests.unit.session_files import header, opened_content, text_of_file

Result = TypeVar("Result")


def exported(
    records: list[Entry | bytes],
    make: Callable[[Source, Mask | None], Result],
    *,
    whole: bool = False,
    mask: bool = False,
    **fields: Any,
) -> Result:
    """What ``make`` gives of a session of these records; ``fields`` are the header's."""
    with opened_content(text_of_file(header(**fields), *records)) as file:
        tree = file.tree
        source = Source(
            tree,
            file,
            tree.leaf,
            tree.labels,
            tree.name,
            codec.decode(file.header_record),
            file.header_record + b"\n",
            list(tree.entries()) if whole else tree.path(tree.leaf),
            whole,
        )
        hiding: Mask | None = None
        if mask:
            finder = Finder()
            for _ in source.find_secrets(finder):
                pass
            hiding = finder.mask()
        return make(source, hiding)


def as_html(source: Source, mask: Mask | None) -> str:
    """The page."""
    conversation = Conversation(source, mask)
    tree = conversation.tree
    return "".join(html_pieces(conversation, context_states(tree, tree.leaf, 0, conversation)))


def as_markdown(source: Source, mask: Mask | None) -> str:
    """The Markdown document."""
    return "".join(markdown_pieces(Conversation(source, mask)))


def as_jsonl(source: Source, mask: Mask | None) -> bytes:
    """The records."""
    return b"".join(session_lines(source, mask))
