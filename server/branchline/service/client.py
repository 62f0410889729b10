"""One connected client, as the service sees it: its settings, its folders, and its ear."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from branchline.settings import LoadedSettings, SessionsRoot, Settings, load_settings, sessions_root

Notify = Callable[[str, Mapping[str, Any]], None]


class Client:
    """A connection's own view. Settings and folders change while it lives.

    Attributes:
        settings: in force for this client.
        folders: its workspace folders.
        read_only: sessions that it opened to look at only.
        environment: the variables it came with; kept in memory only.
        notify: puts a notification on its way, in order with its answers.
    """

    def __init__(self, notify: Notify, environment: Mapping[str, str] | None = None) -> None:
        self.notify = notify
        self.environment = os.environ if environment is None else environment
        self.folders: list[Path] = []
        self.read_only: set[Path] = set()
        self._given: object = None
        self.settings: Settings = load_settings(None, (), self.environment).settings

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
    def home(self) -> Path:
        """The folder that relative settings start from: the first workspace folder, or the cwd."""
        return self.folders[0] if self.folders else Path.cwd()

    def roots(self) -> list[SessionsRoot]:
        """Where this client's sessions are: once for each folder that has a place of its own."""
        homes = self.folders or [Path.cwd()]
        found = {sessions_root(self.settings, self.environment, home): None for home in homes}
        return list(found)

    def root_for(self, cwd: Path) -> SessionsRoot:
        """Where a new session of the folder ``cwd`` goes."""
        return sessions_root(self.settings, self.environment, cwd)
