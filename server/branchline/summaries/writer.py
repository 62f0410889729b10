"""Who writes a summary: the one protocol that all writers follow.

A writer is given what to summarise and gives back a complete text, or raises `SummaryFailed`.
It stores nothing, decides no boundary and knows no session.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from branchline.entries import Entry

SummaryKind = Literal["compaction", "turnPrefix", "branch"]
"""A checkpoint; a bridge over the beginning of a split turn; a branch left behind."""

WriterKind = Literal["client", "openai", "offline"]

OnDelta = Callable[[str], None]
"""Told each piece of text as it is written. What it was told is void if the writer raises."""


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """What a writer is to summarise.

    Attributes:
        kind: which of the three summaries.
        messages: in order, edits applied, as `tree.messages.shown_message` shapes them. System
            messages are never among them. An excluded ``bashExecution`` may be: no writer may use
            its text.
        previous: the summary that is to be updated, file lists cut off; None for a first one.
        pinned: covered branch summaries, whole, that the new summary must keep the gist of.
        instructions: what the person asked for besides.
        replace_instructions: whether these take the place of the standard ones.
        max_tokens: the most that may be written.
        input_tokens: the most that may be sent to a model, the prompt included; None: no limit.
    """

    kind: SummaryKind
    messages: list[Entry]
    previous: str | None
    pinned: list[str]
    instructions: str | None
    replace_instructions: bool
    max_tokens: int
    input_tokens: int | None


@dataclass(frozen=True, slots=True)
class WrittenSummary:
    """A complete summary.

    Attributes:
        text: with all its sections, without file lists.
        model: the model that wrote it, if one did.
        usage: what it cost, in the shape of an entry's ``usage``; None if nobody said.
        details: what a client wants stored with it; None otherwise.
    """

    text: str
    model: str | None = None
    usage: dict[str, Any] | None = None
    details: dict[str, Any] | None = None


class Writer(Protocol):
    """Writes summaries. ``model`` and ``host`` are for people: what the text would be sent to."""

    kind: WriterKind
    model: str | None
    host: str | None

    def prompt_tokens(self, request: SummaryRequest) -> int | None:
        """About how many tokens would be sent; None if nothing is sent anywhere."""
        ...

    async def write(self, request: SummaryRequest, on_delta: OnDelta) -> WrittenSummary:
        """Write it. Raises `SummaryFailed`; cancelling ends it at once."""
        ...
