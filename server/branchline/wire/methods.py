"""The one table of methods: their params, the keys of their results, and what clients are told.

Meaning and shapes are the protocol reference's; a test compares this table with it and with the
clients' own copies. What a method does is not known here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from branchline.wire.method_params import (
    AppendParams,
    CompactParams,
    ContextParams,
    CreateParams,
    EditParams,
    EntriesParams,
    ExportParams,
    FindParams,
    ForkParams,
    LabelParams,
    ListParams,
    LocateParams,
    OpenParams,
    PromptParams,
    RenameParams,
    SearchParams,
    SessionParams,
    SummarizerParams,
    SwitchLeafParams,
    TailParams,
    TreeParams,
    UndoParams,
    ViewParams,
)

PROTOCOL_VERSION = 1


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
                "session/search",
                SearchParams,
                ("hits", "nextCursor", "indexing"),
                "Entries of all sessions in which words occur.",
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
                "session/tail",
                TailParams,
                ("session", "rows", "leafRow", "leafId", "whole"),
                "The rows around the leaf, of a large file before all of it is read.",
            ),
            Method(
                "session/locate",
                LocateParams,
                ("id", "offset"),
                "The row that lies in a direction from another; null if there is none.",
            ),
            Method(
                "session/find",
                FindParams,
                ("id", "number", "total", "wrapped"),
                "The next entry that holds words; null if there is none.",
            ),
            Method(
                "session/overview",
                ViewParams,
                ("total", "leafRow", "labels", "forks", "hits"),
                "Where in the whole drawing leaf, labels, forks and hits lie.",
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
                "session/undo",
                UndoParams,
                ("undoneId", *_POSITION),
                "Take back the last move of the leaf, or the last compaction.",
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
                "session/prompt",
                PromptParams,
                ("userEntryId", "assistantEntryId", *_POSITION, "stopReason", "usage"),
                "Append a message and the model's answer to it.",
            ),
            Method(
                "session/summarizer",
                SummarizerParams,
                ("use", "kind", "model", "host", "available", "test"),
                "Who writes summaries for this client.",
            ),
            Method(
                "session/cancel",
                SessionParams,
                ("cancelled",),
                "End the summary or answer that is being written.",
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
                ("warnings", "summary", "repairable"),
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
            Method(
                "session/export",
                ExportParams,
                ("path", "content", "masked"),
                "Write a session as a page, Markdown or records, to hand on.",
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
                "session/listChanged",
                ("created", "changed", "deleted"),
                "Sessions that came, changed or went in the client's session folders.",
            ),
            Notification(
                "session/indexing",
                ("sessions", "ofSessions", "bytes", "ofBytes"),
                "How much can be searched yet.",
            ),
            Notification(
                "session/busy",
                ("session", "job"),
                "A summary or an answer is being written, or is not any more.",
            ),
            Notification(
                "session/summaryText",
                ("session", "jobId", "part", "delta"),
                "A piece of a summary as it is written.",
            ),
            Notification(
                "session/messageText",
                ("session", "jobId", "delta"),
                "A piece of the answer to a prompt as it is written.",
            ),
        )
    }
)
"""Every notification from the daemon to its clients, by name."""
