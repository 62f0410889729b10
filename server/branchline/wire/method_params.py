"""The params of each method, one class a method: names, types, defaults, bounds.

Meaning is the protocol reference's; `params` reads decoded JSON into them.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from branchline.absent import ABSENT, Absent
from branchline.settings import SummarizerUse
from branchline.wire.params import NotEmpty, Range

_LARGEST_INTEGER = 2**53 - 1  # beyond it a client written in JavaScript cannot count

Limit = Annotated[int, Range(1, 20_000)]
"""How many rows, sessions or hits one answer may hold."""

Tokens = Annotated[int, Range(0, _LARGEST_INTEGER)]

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
class SearchParams:
    """Params of ``session/search``. ``per_session``: at most so many hits of one session."""

    query: str
    scope: Literal["workspace", "all"]
    cursor: str | None = None
    limit: Limit = 50
    per_session: Limit | None = None
    wait: bool = False


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
class DrawingParams(SessionParams):
    """How the tree is drawn: which rows there are and in what order."""

    filter: Filter = "default"
    layout: Literal["pinned", "pi"] = "pinned"
    runs: Literal["none", "tools"] = "none"
    folded: list[str] = field(default_factory=list)
    expanded: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class TailParams(DrawingParams):
    """Params of ``session/tail``: the rows around the leaf, before all of the file is read."""

    limit: Limit = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewParams(DrawingParams):
    """The same, of the rows that a query leaves."""

    query: str | None = None


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
class FindParams(SessionParams):
    """Params of ``session/find``: which entry with words is next. No ``from_`` is the beginning."""

    query: str
    from_: str | None = None
    backwards: bool = False
    filter: Filter = "default"


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
    summarizer: SummarizerUse | None = None


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
class UndoParams(SessionParams):
    """Params of ``session/undo``."""

    expected_leaf_id: str | Absent | None = ABSENT


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactParams(SessionParams):
    """Params of ``session/compact``."""

    instructions: str | None = None
    keep_recent_tokens: Tokens | None = None
    summarizer: SummarizerUse | None = None
    summary: str | None = None
    draft_id: str | None = None
    dry_run: bool = False
    preview: bool = False
    expected_leaf_id: str | Absent | None = ABSENT
    work_done_token: str | int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptParams(SessionParams):
    """Params of ``session/prompt``. ``content`` is a text, or blocks of text and images."""

    content: str | list[dict[str, Any]]
    model: str | None = None
    expected_leaf_id: str | Absent | None = ABSENT
    work_done_token: str | int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarizerParams:
    """Params of ``session/summarizer``. ``test`` has the writer write a small summary."""

    session: str | None = None
    test: bool = False


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportParams(SessionParams):
    """Params of ``session/export``. Without ``path`` the answer holds the export itself."""

    format: Literal["html", "markdown", "jsonl"]
    branches: Literal["active", "all"] = "active"
    mask: bool = False
    path: str | None = None
