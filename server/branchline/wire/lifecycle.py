"""The life of a connection: what its owner is told, and the params of the LSP messages behind it.

Only the params that matter here are read. A client's long list of capabilities is passed on as it
came, so that no new or wrong one can keep it out.

    NEW ──initialize──▶ INITIALIZING ──answered──▶ READY ──shutdown──▶ SHUT_DOWN
     ▲                        │ failed
     └────────────────────────┘
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol

from pygls.uris import to_fs_path

from branchline.wire.params import Range


class State(enum.Enum):
    """Where the connection is in the LSP lifecycle."""

    NEW = "new"
    INITIALIZING = "initializing"
    READY = "ready"
    SHUT_DOWN = "shut down"


class Lifecycle(Protocol):
    """What a connection tells its owner. The callbacks that are not async must not block."""

    async def initialize(
        self,
        initialization_options: object,
        folders: list[str],
        capabilities: Mapping[str, Any],
        client_name: str | None,
    ) -> None:
        """The client introduced itself.

        ``folders`` are absolute paths; options and capabilities are as the client sent them;
        ``client_name`` is what it calls itself. A
        `BranchlineError` becomes the answer, and the client may try again.
        """
        ...

    def folders_changed(self, folders: list[str]) -> None:
        """The client now has these workspace folders."""
        ...

    def configuration_changed(self, settings: object) -> None:
        """The client has new settings. The message of a `BranchlineError` is shown to the user."""
        ...

    def closed(self) -> None:
        """The connection is over. Called once, last, whatever happened before."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A workspace folder as the client names it."""

    uri: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InitializeParams:
    """Params of ``initialize``. The process is the one that started us, in its own numbering."""

    process_id: Annotated[int, Range(-(2**31), 2**31 - 1)] | None = None
    root_uri: str | None = None
    root_path: str | None = None
    workspace_folders: list[Folder] | None = None
    client_info: dict[str, Any] | None = None
    capabilities: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldersEvent:
    """Which workspace folders came and went."""

    added: list[Folder] = field(default_factory=list)
    removed: list[Folder] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldersParams:
    """Params of ``workspace/didChangeWorkspaceFolders``."""

    event: FoldersEvent


def path_of(uri: str) -> str | None:
    """The absolute path of a ``file:`` URI; None for any other text."""
    try:
        path = to_fs_path(uri)
    except ValueError:  # not a URI at all
        return None
    return path if path and path.startswith("/") and "\0" not in path else None
