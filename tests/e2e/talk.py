"""A session that one client has open, for the tests of the methods, and the sample they work on.

The sample, with the leaf on ``d``::

    a ─ b ─┬─ e ─ f      (f calls a tool)
           └─ c ─ d
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from branchline.demo.client import Client, DaemonError
from tests.unit.helpers import message
from tests.unit.session_files import assistant, header, text_of_file, user

CALL = {"type": "toolCall", "id": "call-1", "name": "read", "arguments": {"path": "x.py"}}


IMAGE = {"type": "image", "data": "eA==", "mimeType": "image/png"}


def text(said: str) -> list[dict[str, Any]]:
    """Content of one text block."""
    return [{"type": "text", "text": said}]


SAMPLE = (
    user("a", None, "first question"),
    assistant("b", "a", text("first answer")),
    user("e", "b", "another way"),
    assistant("f", "e", [*text("reading"), CALL], "toolUse"),
    message("c", "b", "user", [*text("second question"), IMAGE]),
    assistant("d", "c", text("second answer")),
)


def said(content: Any = "ours", **fields: Any) -> dict[str, Any]:
    """A user message as a client gives it to ``session/append``."""
    return {"type": "message", "message": {"role": "user", "content": content}, **fields}


def write_session(folder: Path, *records: Any, name: str = "t_s-1.jsonl", **fields: Any) -> Path:
    """A private session file of the records; its folder exists, so nothing is to be warned of."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(text_of_file(header(**{"cwd": str(folder), "id": "s-1", **fields}), *records))
    path.chmod(0o600)
    return path


class Talk:
    """One client and one session that it has open.

    Attributes:
        opened: the answer to ``session/open``.
    """

    def __init__(self, client: Client, path: Path, **options: Any) -> None:
        self.client = client
        self.path = path
        self.opened = self.ask("open", **options)

    def ask(self, method: str, **params: Any) -> Any:
        """The result of a method of this session."""
        return self.client.request(f"session/{method}", {"session": str(self.path), **params})

    def error(self, method: str, **params: Any) -> DaemonError:
        """The error of a method that must fail; nothing may be written and nobody told."""
        content = self.path.read_bytes() if self.path.exists() else None
        self.client.notifications.clear()
        with pytest.raises(DaemonError) as error:
            self.ask(method, **params)
        assert (self.path.read_bytes() if self.path.exists() else None) == content
        assert self.client.notifications == []
        return error.value

    def append(self, *entries: Any, **params: Any) -> Any:
        """Append entries; give the whole answer."""
        return self.ask("append", entries=list(entries), **params)

    def entry(self, entry_id: str) -> Any:
        """One entry as it is stored."""
        (found,) = self.ask("entries", ids=[entry_id])["entries"]
        return found

    def leaf(self) -> str | None:
        """Where the leaf is now."""
        found: str | None = self.ask("context", format="none")["leafId"]
        return found

    def told(self, method: str = "session/changed") -> list[dict[str, Any]]:
        """What the daemon said since the last look."""
        found = [params for name, params in self.client.notifications if name == method]
        self.client.notifications.clear()
        return found

    def reopened(self, start: Callable[..., Client]) -> "Talk":
        """The same file as another program sees it."""
        return Talk(start(), self.path)
