"""The one table of methods: their params, the keys of their results, and what clients are told.

Meaning and shapes are the protocol reference's; a test compares this table with it and with the
clients' own copies. What a method does is not known here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any, Literal

from branchline.absent import ABSENT, Absent
from branchline.wire.params import NotEmpty, Range

PROTOCOL_VERSION = 1

_LARGEST_INTEGER = 2**53 - 1  # beyond it a client written in JavaScript cannot count

Limit = Annotated[int, Range(1, 20_000)]
"""How many rows, sessions or hits one answer may hold."""

Tokens = Annotated[int, Range(0, _LARGEST_INTEGER)]

Summarizer = Literal["auto", "client", "openai", "offline"]

Offset = Annotated[int, Range(0, _LARGEST_INTEGER)]

Filter = Literal["default", "noTools", "userOnly", "labeledOnly", "all"]
Direction = Literal[
    "parent",
    "fork",
    "nextSibling",
    "previousSibling",
    "nextUser",
    "previousUser",
    "nextLabel",
    "previousLabel",
    "nextHit",
    "previousHit",
    "leaf",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionParams:
    """Params that name a session: its absolute path, its ``file:`` URI or its id."""

    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListParams:
    """Params of ``session/list``."""

    scope: Literal["workspace", "all"]
    query: str | None = None
    named: bool = False
    order: Literal["recent", "threaded"] = "recent"
    cursor: str | None = None
    limit: Limit = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateParams:
    """Params of ``session/create``."""

    cwd: str | None = None
    id: str | None = None
    name: str | None = None
    parent_session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenParams(SessionParams):
    """Params of ``session/open``."""

    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendParams(SessionParams):
    """Params of ``session/append``. No ``parent_id`` is the leaf; null makes a new root."""

    entries: Annotated[list[dict[str, Any]], NotEmpty()]
    parent_id: str | Absent | None = ABSENT
    move_leaf: bool = True
    expected_leaf_id: str | Absent | None = ABSENT


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewParams(SessionParams):
    """How the tree is drawn: which rows there are and in what order."""

    filter: Filter = "default"
    query: str | None = None
    layout: Literal["pinned", "pi"] = "pinned"
    runs: Literal["none", "tools"] = "none"
    folded: list[str] = field(default_factory=list)
    expanded: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeParams(ViewParams):
    """Params of ``session/tree``: a window of rows. ``around`` takes the place of ``offset``."""

    offset: Offset = 0
    around: str | None = None
    limit: Limit = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class LocateParams(ViewParams):
    """Params of ``session/locate``: which row is next to another, in one direction."""

    from_: str
    to: Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class EntriesParams(SessionParams):
    """Params of ``session/entries``."""

    ids: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextParams(SessionParams):
    """Params of ``session/context``. A null ``leaf_id`` is the place before the first entry."""

    leaf_id: str | Absent | None = ABSENT
    format: Literal["messages", "openai", "none"] = "messages"


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryChoice:
    """What becomes of the branch that a move of the leaf leaves behind."""

    mode: Literal["none", "text", "write"]
    text: str | None = None
    draft_id: str | None = None
    instructions: str | None = None
    replace_instructions: bool = False
    summarizer: Summarizer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchLeafParams(SessionParams):
    """Params of ``session/switchLeaf``. A null target is the place before the first entry."""

    target_id: str | None
    position: Literal["auto", "at"] = "auto"
    summary: SummaryChoice = SummaryChoice(mode="none")
    label: str | None = None
    dry_run: bool = False
    preview: bool = False
    expected_leaf_id: str | Absent | None = ABSENT
    work_done_token: str | int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactParams(SessionParams):
    """Params of ``session/compact``."""

    instructions: str | None = None
    keep_recent_tokens: Tokens | None = None
    summarizer: Summarizer | None = None
    summary: str | None = None
    draft_id: str | None = None
    dry_run: bool = False
    preview: bool = False
    expected_leaf_id: str | Absent | None = ABSENT
    work_done_token: str | int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarizerParams:
    """Params of ``session/summarizer``."""

    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelParams(SessionParams):
    """Params of ``session/label``. A null label clears it."""

    target_id: str
    label: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameParams(SessionParams):
    """Params of ``session/rename``."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EditParams(SessionParams):
    """Params of ``session/edit``. A null replacement leaves the entry out of the context."""

    target_id: str
    replacement: dict[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkParams(SessionParams):
    """Params of ``session/fork``. Without ``entry_id`` the active branch is copied."""

    entry_id: str | None = None
    position: Literal["before", "at"] = "before"
    cwd: str | None = None


@dataclass(frozen=True, slots=True)
class Method:
    """A request that the daemon answers.

    ``result`` names the top-level keys of the result; it is empty for ``{}``.
    """

    name: str
    params: type
    result: tuple[str, ...]
    summary: str


@dataclass(frozen=True, slots=True)
class Notification:
    """What the daemon tells its clients unasked. ``params`` names the top-level keys."""

    name: str
    params: tuple[str, ...]
    summary: str


_POSITION = ("leafId", "revision")

METHODS: Mapping[str, Method] = MappingProxyType(
    {
        method.name: method
        for method in (
            Method(
                "session/list",
                ListParams,
                ("sessions", "total", "nextCursor"),
                "The sessions of the workspace folders, or all.",
            ),
            Method(
                "session/create",
                CreateParams,
                ("session", "leafId", "revision"),
                "Begin a session; its file appears with the first append.",
            ),
            Method(
                "session/open",
                OpenParams,
                ("session", "leafId", "revision", "usage", "warnings", "settings"),
                "Open a session and subscribe to its changes.",
            ),
            Method("session/close", SessionParams, (), "End the subscription to a session."),
            Method(
                "session/append",
                AppendParams,
                ("entries", *_POSITION),
                "Append entries, all in one write or none.",
            ),
            Method(
                "session/tree",
                TreeParams,
                ("rows", "offset", "total", "leafRow", *_POSITION),
                "A window of the rows of the drawn tree.",
            ),
            Method(
                "session/locate",
                LocateParams,
                ("id", "offset"),
                "The row that lies in a direction from another; null if there is none.",
            ),
            Method(
                "session/branches",
                SessionParams,
                ("branches", "labels"),
                "The branches and the labels.",
            ),
            Method("session/entries", EntriesParams, ("entries",), "Entries as stored."),
            Method(
                "session/context",
                ContextParams,
                (
                    "leafId",
                    "path",
                    "sources",
                    "messages",
                    "tools",
                    "model",
                    "thinkingLevel",
                    "activeTools",
                    "usage",
                    "warnings",
                ),
                "What the model sees at a leaf.",
            ),
            Method(
                "session/switchLeaf",
                SwitchLeafParams,
                (
                    "leafId",
                    "previousLeafId",
                    "revision",
                    "summaryEntryId",
                    "summary",
                    "draftId",
                    "editorContent",
                    "plan",
                ),
                "Move the leaf, with or without a summary of the branch that is left.",
            ),
            Method(
                "session/compact",
                CompactParams,
                (
                    "entryId",
                    "leafId",
                    "revision",
                    "summary",
                    "draftId",
                    "tokensAfter",
                    "summarizer",
                    "usage",
                    "plan",
                ),
                "Put a summary in the place of the branch's past.",
            ),
            Method(
                "session/summarizer",
                SummarizerParams,
                ("use", "kind", "model", "host", "available"),
                "Who writes summaries for this client.",
            ),
            Method(
                "session/cancel",
                SessionParams,
                ("cancelled",),
                "End the summary that is being written.",
            ),
            Method("session/label", LabelParams, _POSITION, "Set or clear the label of an entry."),
            Method("session/rename", RenameParams, _POSITION, "Name the session."),
            Method(
                "session/edit",
                EditParams,
                ("entryId", *_POSITION),
                "Replace or omit an entry in the context.",
            ),
            Method(
                "session/check",
                SessionParams,
                ("warnings", "summary"),
                "Read the whole file and say what is wrong with it.",
            ),
            Method(
                "session/repair",
                SessionParams,
                ("backup", "warnings"),
                "Mend what a check names; the old file is kept beside it.",
            ),
            Method(
                "session/fork",
                ForkParams,
                ("session", *_POSITION, "editorContent"),
                "Copy the path up to an entry into a new session.",
            ),
            Method("session/delete", SessionParams, ("trashed",), "Move a session to the trash."),
            Method(
                "session/stats",
                SessionParams,
                ("active", "whole"),
                "Counts, tokens and cost of the active branch and of the whole session.",
            ),
        )
    }
)
"""Every request, by name."""

NOTIFICATIONS: Mapping[str, Notification] = MappingProxyType(
    {
        notification.name: notification
        for notification in (
            Notification(
                "session/changed",
                (
                    "session",
                    "path",
                    "revision",
                    "previousRevision",
                    "leafId",
                    "previousLeafId",
                    "appended",
                    "labels",
                    "name",
                    "usage",
                    "warnings",
                    "origin",
                    "externalBranch",
                ),
                "One write, to every client that has the session open.",
            ),
            Notification(
                "session/reset",
                ("session", "path", "reason"),
                "The file was replaced; open it again.",
            ),
            Notification(
                "session/busy",
                ("session", "job"),
                "A summary is being written, or is not any more.",
            ),
            Notification(
                "session/summaryText",
                ("session", "jobId", "part", "delta"),
                "A piece of a summary as it is written.",
            ),
        )
    }
)
"""Every notification from the daemon to its clients, by name."""
