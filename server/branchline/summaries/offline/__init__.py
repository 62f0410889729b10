"""Summaries without a model: from the messages alone, by rules, the same for the same messages.

The parts: `languages` has the cue words, `wording` makes text safe and takes it apart, `commands`,
`progress` and `names` read tool calls and exact names, `requests` and `replies` what is said;
`reading` takes the conversation and `earlier` the summaries before it into `notes`, and `layout`
fills the sections. Nothing here asks a network, a clock or a disk.
"""

from anyio import to_thread

from branchline import codec
from branchline.summaries import sections
from branchline.summaries.offline.earlier import take_branch, take_previous
from branchline.summaries.offline.layout import fitted, lay_out
from branchline.summaries.offline.notes import Notes
from branchline.summaries.offline.reading import read, summaries_in
from branchline.summaries.writer import OnDelta, SummaryRequest, WriterKind, WrittenSummary


class OfflineWriter:
    """The writer that is always there (see `writer.Writer`). It never fails."""

    kind: WriterKind = "offline"
    model: str | None = None
    host: str | None = None

    def prompt_tokens(self, request: SummaryRequest) -> int | None:
        """None: nothing is sent anywhere."""
        return None

    async def write(self, request: SummaryRequest, on_delta: OnDelta) -> WrittenSummary:
        """Write the summary. The reading runs in a thread, so that others are not held up."""
        parts = await to_thread.run_sync(summarise, request, abandon_on_cancel=True)
        for part in parts:
            on_delta(part)
        return WrittenSummary("".join(parts))


def summarise(request: SummaryRequest) -> list[str]:
    """The summary in pieces, one a section, that join to its text."""
    notes = Notes()
    branches = dict.fromkeys((*request.pinned, *summaries_in(request.messages, "branchSummary")))
    for text in branches:
        take_branch(notes, codec.clean_text(text))
    for text in (request.previous or "", *summaries_in(request.messages, "compactionSummary")):
        if text.strip():
            take_previous(notes, codec.clean_text(text))
    read(notes, request.messages, assume_edits=request.kind == "branch")
    bodies = lay_out(notes, request.kind, request.instructions)
    texts = fitted(bodies, request.kind, request.max_tokens)
    parts = list(sections.pieces(texts, request.kind))
    return [part if at == 0 else f"\n\n{part}" for at, part in enumerate(parts)]
