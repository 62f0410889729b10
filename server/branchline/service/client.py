"""One connected client, as the service sees it: its settings, its folders, its port."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from branchline.models.completions import Dialects
from branchline.settings import LoadedSettings, SessionsRoot, Settings, load_settings, sessions_root


class Progress(Protocol):
    """The progress of one piece of work, as a client shows it."""

    def report(self, percent: int) -> None:
        """So much is done."""
        ...

    def end(self) -> None:
        """It is over, in whatever way. Called once."""
        ...


class Port(Protocol):
    """The way to the client. Everything goes out in the order in which it is given."""

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Put a notification on its way."""
        ...

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """Ask the client; give its result. Raises `ClientFailure` if it answers with an error."""
        ...

    def warn(self, text: str) -> None:
        """Show a person one line that they should know of."""
        ...

    def begin_progress(
        self, token: str | int, title: str, on_cancel: Callable[[], object], *, measured: bool
    ) -> Progress:
        """Begin to show the progress of work; ``on_cancel`` is called if the person ends it.

        ``measured``: it will be told how much is done.
        """
        ...


class ClientFailure(Exception):
    """The client answered a request of ours with an error."""


class Silence:
    """The port of a client that listens to nothing and cannot be asked."""

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Nobody hears it."""

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """Nobody answers."""
        raise ClientFailure(method)

    def warn(self, text: str) -> None:
        """Nobody reads it."""

    def begin_progress(
        self,
        token: str | int,
        title: str,
        on_cancel: Callable[[], object],
        *,
        measured: bool,
    ) -> Progress:
        """Nobody watches."""
        return _NoProgress()


class _NoProgress:
    def report(self, percent: int) -> None:
        """Nobody watches."""

    def end(self) -> None:
        """Nobody watches."""


@dataclass(frozen=True, slots=True)
class SummaryOffer:
    """A client's word that it can write summaries itself (``capabilities.experimental``)."""

    model: str | None
    max_input_tokens: int | None


class Client:
    """A connection's own view. Settings and folders change while it lives.

    Attributes:
        port: the way to it.
        name: what it calls itself.
        offer: set if it can write summaries.
        settings: in force for this client.
        folders: its workspace folders.
        read_only: sessions that it opened to look at only.
        environment: the variables it came with; kept in memory only.
        created: sessions that it made; their files appear with the first append.
        dialects: what was learnt about the model servers that it uses.
    """

    def __init__(
        self,
        port: Port,
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        """A client behind ``port``. Environment and cwd are our own where none is given."""
        self.port = port
        self.name: str | None = None
        self.offer: SummaryOffer | None = None
        self.environment = os.environ if environment is None else environment
        self._cwd = cwd
        self.dialects = Dialects()
        self.folders: list[Path] = []
        self.read_only: set[Path] = set()
        self.created: set[Path] = set()
        self._given: object = None
        self.settings: Settings = load_settings(None, (), self.environment).settings

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell the client something, in order with its answers."""
        self.port.notify(method, params)

    def take_offer(self, capabilities: Mapping[str, Any]) -> None:
        """See whether the client's capabilities offer to write summaries."""
        match capabilities:
            case {"experimental": {"branchline": {"summarize": dict() as offer}}}:
                model, limit = offer.get("model"), offer.get("maxInputTokens")
                self.offer = SummaryOffer(
                    model if isinstance(model, str) else None,
                    limit if isinstance(limit, int) and limit > 0 else None,
                )
            case _:
                self.offer = None

    def configure(self, given: object, folders: Sequence[Path] | None = None) -> list[str]:
        """Take over settings, and folders if given; give what a person should know of them.

        Raises `InvalidParams` for a value of the wrong type; then nothing changes.
        """
        folders = self.folders if folders is None else folders
        loaded: LoadedSettings = load_settings(given, folders, self.environment)
        self.folders = list(folders)
        self._given = given
        self.settings = loaded.settings
        return loaded.problems

    def move_to(self, folders: Sequence[Path]) -> list[str]:
        """Take over new workspace folders; the settings are read again, for theirs count too."""
        return self.configure(self._given, folders)

    @property
    def cwd(self) -> Path:
        """The folder that the client was started in."""
        return self._cwd or Path.cwd()

    @property
    def home(self) -> Path:
        """The folder that relative settings start from: the first workspace folder, or the cwd."""
        return self.folders[0] if self.folders else self.cwd

    def roots(self) -> list[SessionsRoot]:
        """Where this client's sessions are: once for each folder that has a place of its own."""
        homes = self.folders or [self.cwd]
        found = {sessions_root(self.settings, self.environment, home): None for home in homes}
        return list(found)

    def root_for(self, cwd: Path) -> SessionsRoot:
        """Where a new session of the folder ``cwd`` goes."""
        return sessions_root(self.settings, self.environment, cwd)
