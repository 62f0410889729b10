"""Summaries without a model: from the messages alone, by rules, the same for the same messages.

The parts: `languages` has the cue words, `wording` makes text safe and takes it apart, `commands`,
`progress` and `names` read tool calls and exact names, `requests` and `replies` what is said;
`reading` takes the conversation and `earlier` the summaries before it into `notes`, and `layout`
fills the sections. Nothing here asks a network, a clock or a disk.
"""

from anyio import to_thread

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
        parts = await to_thread.run_sync(_summarise, request, abandon_on_cancel=True)
        for part in parts:
            on_delta(part)
        return WrittenSummary("".join(parts))


def _summarise(request: SummaryRequest) -> list[str]:
    from branchline.summaries.offline.summary import summarise  # when first used: it is slow

    return summarise(request)
