"""What stands at the head of an export: title, times, models, totals."""

from dataclasses import dataclass

from branchline.entries import Kind
from branchline.export.conversation import Conversation
from branchline.export.text import moment, text_or
from branchline.tree.index import NONE
from branchline.tree.preview import SHORT_UNITS, describe, one_line
from branchline.tree.rows import COUNTED, body_of


@dataclass(frozen=True, slots=True)
class Overview:
    """Texts are plain; one that is not known is empty.

    Attributes:
        title: the session's name, else the first thing the user said.
        folder: the header's cwd.
        begun, ended: to the minute; the second is the newest entry's.
        models: ``provider/model``, the most used first.
        tokens, cost: as the providers counted.
        branches: how many ways the conversation went, as far as it is exported.
    """

    title: str
    session_id: str
    folder: str
    begun: str
    ended: str
    models: list[str]
    messages: int
    tool_calls: int
    tokens: int
    cost: str
    branches: int


def overview(conversation: Conversation) -> Overview:
    """Read every entry once and sum up."""
    tree, header = conversation.tree, conversation.header
    totals = conversation.totals()
    first = next((at for at in tree.entries() if tree.kinds[at] == Kind.USER), NONE)
    said = describe(conversation.entry(first), Kind.USER) if first != NONE else ""
    newest = len(tree) - 1
    ended = body_of(tree, conversation, newest).get("timestamp") if newest >= 0 else None
    cost = totals["cost"]
    return Overview(
        title=one_line(tree.name or said, SHORT_UNITS) or "Session",
        session_id=one_line(text_or(header.get("id"))),
        folder=one_line(text_or(header.get("cwd"))),
        begun=moment(header.get("timestamp")),
        ended=moment(ended),
        models=[f"{use['provider']}/{use['model']}" for use in totals["models"][:4]],
        messages=sum(1 for kind in tree.kinds if kind in COUNTED),
        tool_calls=sum(totals["toolCalls"].values()),
        tokens=int(totals["tokens"]["total"]),
        cost=f"${cost:,.2f}" if cost >= 0.01 else f"${cost:.4f}" if cost else "",
        branches=max(1, len(tree.tips())),
    )
