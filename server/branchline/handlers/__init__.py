"""What each method does: params in, one call of the service, its result as JSON out.

One file per family; `HANDLERS` is the table that `app` binds to a connection. A handler decides
nothing: rules live in `service` and below.
"""

from branchline.handlers import changes, exports, prompts, sessions, summaries, views
from branchline.handlers.connection import Handler

HANDLERS: dict[str, Handler] = {
    "session/list": sessions.list_sessions,
    "session/search": sessions.search,
    "session/create": sessions.create,
    "session/open": sessions.open_session,
    "session/close": sessions.close,
    "session/fork": sessions.fork,
    "session/delete": sessions.delete,
    "session/append": changes.append,
    "session/label": changes.label,
    "session/rename": changes.rename,
    "session/edit": changes.edit,
    "session/undo": changes.undo,
    "session/switchLeaf": summaries.switch,
    "session/prompt": prompts.prompt,
    "session/compact": summaries.compaction,
    "session/summarizer": summaries.summarizer,
    "session/cancel": summaries.cancel,
    "session/repair": changes.repair,
    "session/tree": views.tree,
    "session/tail": views.tail,
    "session/locate": views.locate,
    "session/find": views.find,
    "session/overview": views.overview,
    "session/branches": views.branches,
    "session/entries": views.entries,
    "session/context": views.context,
    "session/stats": views.stats,
    "session/check": views.check,
    "session/export": exports.export,
}
