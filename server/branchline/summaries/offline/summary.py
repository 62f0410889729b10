"""The whole of an offline summary. Slow to import, for the cue words are compiled."""

from branchline import codec
from branchline.summaries import sections
from branchline.summaries.offline.earlier import take_branch, take_previous
from branchline.summaries.offline.layout import fitted, lay_out
from branchline.summaries.offline.notes import Notes
from branchline.summaries.offline.reading import read, summaries_in
from branchline.summaries.writer import SummaryRequest


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
