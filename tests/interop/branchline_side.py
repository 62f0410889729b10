"""Our side of the comparison: the real daemon with one session in hand.

It owns the daemon it starts.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from branchline.demo.client import Client
from tests.e2e.conftest import SERVE

SETTINGS: Final = {"branchSummary": {"pinnedTokens": 0}, "durability": "flush"}
"""Without pins the context is exactly Pi's."""
HARMLESS: Final = frozenset({"cwd-missing", "readable-by-others"})
"""Warnings about the world around a file, not about the file."""


class Branchline:
    """A daemon and a session. A context manager.

    Attributes:
        path: the file of the session.
    """

    def __init__(self, environment: Mapping[str, str], folder: Path, *, seconds: float) -> None:
        """Start a daemon whose workspace is ``folder``; it may run for so many seconds."""
        self.path = folder / "none"
        self._environment = environment
        self._folder = folder
        self._seconds = seconds
        self._opened: set[Path] = set()
        self._client = self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._client.__exit__(kind, error, traceback)

    def restart(self) -> None:
        """Go on with a daemon that remembers nothing."""
        self._client.close()
        self._client.__exit__(None, None, None)
        self._client = self._start()
        self._opened.clear()

    def close(self) -> None:
        """Let all sessions go."""
        for path in self._opened:
            self._client.request("session/close", {"session": str(path)})
        self._opened.clear()
        self._client.notifications.clear()

    def create(self) -> None:
        """Take up a new session; its file appears with the first append."""
        made = self._client.request("session/create", {"cwd": str(self._folder)})
        self.path = Path(made["session"]["path"])

    def open(self, path: Path) -> dict[str, Any]:
        """Take up the session of a file, and subscribe to it."""
        self.path = path
        opened: dict[str, Any] = self.ask("open")
        self._opened.add(path)
        return opened

    def ask(self, method: str, **params: Any) -> Any:
        """Ask for something to be done with the session."""
        return self._client.request(f"session/{method}", {"session": str(self.path), **params})

    def changes(self) -> list[dict[str, Any]]:
        """The ``session/changed`` since the last look; the daemon looks at the file first."""
        self.ask("branches")
        told = [what for name, what in self._client.notifications if name == "session/changed"]
        self._client.notifications.clear()
        return told

    def look(self) -> dict[str, Any]:
        """All that the daemon says of the session, in the form in which the driver says it."""
        opened = self.open(self.path)
        context = self.ask("context")
        tree = self.ask("tree", layout="pi", limit=5_000)
        assert len(tree["rows"]) == tree["total"]
        return {
            "leafId": opened["leafId"],
            "path": context["path"],
            "labels": {one["id"]: one["label"] for one in self.ask("branches")["labels"]},
            "name": opened["session"]["name"],
            "messages": [one for one in context["messages"] if one["role"] != "system"],
            "system": next((one for one in context["messages"] if one["role"] == "system"), None),
            "model": context["model"],
            "thinkingLevel": context["thinkingLevel"],
            "activeTools": context["activeTools"],
            "rows": tree["rows"],
            "warnings": {one["code"] for one in opened["warnings"]} - HARMLESS,
        }

    def look_at_copy(self) -> dict[str, Any]:
        """The same of a file with the same content that it has never seen."""
        path = self.path
        copy = path.with_name(f"copy-of-{path.name}")
        shutil.copy(path, copy)
        self.path = copy
        found = self.look()
        self.path = path
        return found

    def _start(self) -> Client:
        client = Client(SERVE, environment=self._environment, seconds=self._seconds)
        client.initialize(self._folder, SETTINGS)
        return client
