"""Writing an export, piece by piece, while the session goes on.

What is exported is the session as it is when the export begins. The pieces are made in slices, each
a turn in the session's queue, so that an append never waits for a large export. Nothing is
changed in the session.
"""

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from anyio import to_thread

from branchline import codec
from branchline.errors import FileChanged, InvalidParams
from branchline.export.conversation import Conversation, Source, labels_of
from branchline.export.jsonl import session_lines
from branchline.export.mask import Finder, Mask
from branchline.log.new_file import NewFile
from branchline.log.rewrite import header_line
from branchline.service.client import Client
from branchline.service.session import Session
from branchline.tree.context_states import context_states

MOST_CONTENT_BYTES: Final = 48 * 1024 * 1024
"""The longest export that an answer holds, as JSON: well below what a message may have."""

_SLICE_SECONDS: Final = 0.05

_Pieces = Generator[bytes, None, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to export, and as what."""

    format: Literal["html", "markdown", "jsonl"]
    whole: bool
    mask: bool


@dataclass(frozen=True, slots=True)
class Exported:
    """What was hidden (``[{kind, count}]``), and the export itself if it went to no file."""

    masked: list[dict[str, Any]]
    content: str | None


async def export_session(
    session: Session, client: Client, wanted: Wanted, path: Path | None
) -> Exported:
    """Export to a new file, or without ``path`` into the answer.

    Raises `InvalidParams` if that would be too long for an answer, `StorageFailure` (also if there
    is a file already) or `FileChanged`; then there is no file.
    """
    # A large file may turn out to be damaged, and then is read anew: not in the middle of this.
    if session.file is not None and not session.file.verified:
        await session.verify(pause_seconds=0)
    source = await session.read(lambda: _source(session, wanted))
    pieces = _pieces(source, client, wanted)
    if path is None:
        answer = _Answer()
        masked = await _run(session, source, pieces, answer.write)
        return Exported(masked, answer.content())
    with await to_thread.run_sync(NewFile, path) as file:
        masked = await _run(session, source, pieces, file.write)
        await to_thread.run_sync(file.finish)
    return Exported(masked, None)


async def _run(
    session: Session, source: Source, pieces: _Pieces, write: Callable[[bytes], None]
) -> list[dict[str, Any]]:
    """Make the pieces and pass them on; give what was hidden."""

    def work() -> list[dict[str, Any]] | None:
        """One slice of it; what was hidden when all is done."""
        if session.tree is not source.tree:
            raise FileChanged(session.path, "read anew")
        end = time.monotonic() + _SLICE_SECONDS
        while time.monotonic() < end:
            try:
                piece = next(pieces)
            except StopIteration as done:
                masked: list[dict[str, Any]] = done.value
                return masked
            if piece:
                write(piece)
        return None

    while (masked := await session.read(work)) is None:
        pass
    return masked


def _pieces(source: Source, client: Client, wanted: Wanted) -> _Pieces:
    """The export in pieces, some of them empty; gives at its end what was hidden."""
    mask: Mask | None = None
    if wanted.mask:
        finder = Finder()
        for _ in source.find_secrets(finder):
            yield b""
        mask = finder.mask()
    if wanted.format == "jsonl":
        yield from session_lines(source, mask)
    else:
        conversation = Conversation(source, mask)
        for text in _document(conversation, client, wanted):
            yield text.encode("utf-8", "replace")
    return [] if mask is None else mask.counts


def _document(conversation: Conversation, client: Client, wanted: Wanted) -> Iterator[str]:
    # Imported when used: a Markdown parser is a lot to load for every start of a daemon.
    if wanted.format == "markdown":
        from branchline.export.markdown import markdown_pieces

        return markdown_pieces(conversation)
    from branchline.export.html import html_pieces

    tree = conversation.tree
    pinned = client.settings.branch_summary.pinned_tokens
    return html_pieces(conversation, context_states(tree, tree.leaf, pinned, conversation))


def _source(session: Session, wanted: Wanted) -> Source:
    tree, file = session.tree, session.file
    if not wanted.whole:
        ordinals = tree.path(tree.leaf)
    elif wanted.format == "jsonl" and file is not None:  # every record, as they stand in the file
        ordinals = sorted(range(len(tree)), key=file.places.offsets.__getitem__)
    else:
        ordinals = list(tree.entries())
    header = session.header.line() if file is None else header_line(file)
    return Source(
        tree,
        session,
        tree.leaf,
        labels_of(tree, ordinals),
        tree.name,
        codec.decode(header),
        header,
        ordinals,
        wanted.whole,
    )


class _Answer:
    """An export that is kept until it is answered, as long as it can be."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Add to it. Raises `InvalidParams` if it is too long now."""
        self._size += len(codec.encode(data.decode("utf-8", "replace")))
        if self._size > MOST_CONTENT_BYTES:
            most = MOST_CONTENT_BYTES // (1024 * 1024)
            raise InvalidParams("path", f"is needed: this export has more than {most} MiB")
        self._pieces.append(data)

    def content(self) -> str:
        """All of it; bytes that are no UTF-8 are replaced."""
        return b"".join(self._pieces).decode("utf-8", "replace")
