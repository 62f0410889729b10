"""An editor for the tests of summaries: asks without waiting, and answers what it is asked.

It speaks frames to a daemon of its own and keeps every message in the order in which it came.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import SERVE
from tests.e2e.talk import write_session
from tests.e2e.world import RawDaemon, raw_daemon
from tests.model_server import ScriptedServer
from tests.unit.helpers import entry, message
from tests.unit.session_files import assistant, decoded
from tests.unit.wire_client import notification, request

Json = Any
CANCEL_SECONDS = 0.5
"""The promise: a cancelled request is answered by then."""
LONG = "word " * 400
"""About 500 tokens."""
GOOD = (
    "## Goal\nMake it fast.\n\n## Progress\n### Done\n- Read `a.py`\n\n## Next Steps\n1. Measure\n"
)
"""A summary as a model writes it."""


def call(call_id: str, name: str, **arguments: Json) -> Json:
    """A tool call."""
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def said(text: str) -> list[Json]:
    """Content of one text block."""
    return [{"type": "text", "text": text}]


def result(entry_id: str, parent_id: str, call_id: str, text: str) -> Json:
    """A tool result."""
    return message(
        entry_id, parent_id, "toolResult", said(text), toolCallId=call_id, toolName="read",
        isError=False, timestamp=1767323045678,
    )  # fmt: skip


def asked(entry_id: str, parent_id: str | None, text: str) -> Json:
    """A user message."""
    return message(entry_id, parent_id, "user", text, timestamp=1767323045678)


def told(entry_id: str, parent_id: str, *content: Json) -> Json:
    """An assistant message whose usage counts nothing, so that the texts are estimated."""
    zero = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "totalTokens"), 0)
    made = assistant(entry_id, parent_id, list(content))
    made["message"]["usage"] = zero
    return made


CONVERSATION = (
    message("s1", None, "system", "You are careful.", timestamp=1767323045678,
            toolsAdded=[{"name": "read", "description": "d", "parameters": {"type": "object"}}]),
    entry("m1", "s1", "model_change", provider="local", modelId="m"),
    asked("u1", "m1", f"Make the parser fast. {LONG}"),
    told("a1", "u1", *said("I look."), call("c1", "read", path="a.py")),
    result("r1", "a1", "c1", LONG),
    told("a2", "r1", *said("I write."), call("c2", "edit", path="b.py")),
    result("r2", "a2", "c2", "ok"),
    told("a3", "r2", *said(f"The first part is done. {LONG}")),
    asked("u2", "a3", "Now the tests, please."),
    told("a4", "u2", *said("They pass.")),
)  # fmt: skip
"""Compacted with ``keepRecentTokens`` 5, everything before ``u2`` is covered."""
KEEP = 5
KEPT = ["u2", "a4"]

SPLIT = (
    *CONVERSATION,
    asked("u3", "a4", "Port the lexer."),
    told("a5", "u3", *said(f"I begin. {LONG}"), call("c3", "write", path="lexer.py")),
    result("r3", "a5", "c3", "ok"),
    told("a6", "r3", *said("It is ported.")),
)
"""Compacted with 1 token to keep, the cut is inside of the last turn."""

FORK = (
    asked("u1", None, "Make the parser fast."),
    told("a1", "u1", *said("Regex or scan?")),
    asked("u2", "a1", f"Try regex. {LONG}"),
    told("a2", "u2", *said("I try."), call("c1", "read", path="a.py")),
    result("r1", "a2", "c1", "not shown to a branch summary"),
    told("a3", "r1", *said("Fails on nesting."), call("c2", "write", path="b.py")),
    result("r2", "a3", "c2", "ok"),
    told("a4", "r2", *said("It does not work.")),
)
"""A conversation whose regex branch, from ``u2`` on, one leaves for ``a1``."""


class Editor:
    """One editor with one session open.

    Attributes:
        messages: all that the daemon sent.
        path: the session.
    """

    def __init__(self, daemon: RawDaemon, path: Path, settings: Json, capabilities: Json) -> None:
        self.daemon = daemon
        self.path = path
        self.messages: list[Json] = []
        self._asked = 0
        self._looked = 0
        options = {"initializationOptions": settings, "clientInfo": {"name": "ed"}}
        self.wait(self.send("initialize", capabilities=capabilities, **options))
        daemon.send(notification("initialized", {}))
        self.opened = self.ask("open")

    def take_up(self, path: Path, settings: Json) -> None:
        """Go on with another session and other settings, as if newly started."""
        self.wait(self.start("close"))
        self.forget()
        self.path = path
        self.daemon.send(notification("workspace/didChangeConfiguration", {"settings": settings}))
        self.opened = self.ask("open")

    # --- asking ------------------------------------------------------------------------------

    def send(self, method: str, **params: Json) -> int:
        """Ask without waiting; give the id of the request."""
        self._asked += 1
        self.daemon.send(request(method, params, self._asked))
        return self._asked

    def start(self, method: str, **params: Json) -> int:
        """Ask about our session without waiting."""
        return self.send(f"session/{method}", session=str(self.path), **params)

    def wait(self, request_id: int) -> Json:
        """The whole answer to a request."""
        return self.see(lambda one: one.get("id") == request_id and "method" not in one)

    def ask(self, method: str, **params: Json) -> Json:
        """The result of a method of our session."""
        answer = self.wait(self.start(method, **params))
        assert "error" not in answer, answer
        return answer["result"]

    def error(self, method: str, **params: Json) -> Json:
        """The error of a method that must fail; the file and the leaf stay as they are."""
        before, leaf = self.path.read_bytes(), self.leaf()
        answer = self.wait(self.start(method, **params))
        assert "error" in answer, answer
        assert (self.path.read_bytes(), self.leaf()) == (before, leaf)
        return answer["error"]

    def cancel(self, request_id: int) -> None:
        """Take a request back."""
        self.daemon.send(notification("$/cancelRequest", {"id": request_id}))

    def cancel_progress(self, token: str | int) -> None:
        """End work at its progress."""
        self.daemon.send(notification("window/workDoneProgress/cancel", {"token": token}))

    # --- hearing -----------------------------------------------------------------------------

    def see(self, wanted: Callable[[Json], bool]) -> Json:
        """The first message that is wanted, of those that came or the next to come."""
        for one in self.messages:
            if wanted(one):
                return one
        while True:
            one = decoded(self.daemon.receive())
            self.messages.append(one)
            if wanted(one):
                return one

    def question(self, kind: str | None = None) -> Json:
        """The next question that we have not seen, of a kind of summary."""
        found = self.see(
            lambda one: (
                one.get("method") == "session/summarize"
                and not one.get("seen")
                and kind in (None, one["params"]["kind"])
            )
        )
        found["seen"] = True
        return found

    def reply(self, question: Json, **answer: Json) -> None:
        """Answer a question with ``result`` or ``error``."""
        self.daemon.send({"jsonrpc": "2.0", "id": question["id"], **answer})

    def news(self, method: str) -> list[Json]:
        """The params of all notifications of a method so far, after a round trip."""
        self.ask("summarizer")
        return [one["params"] for one in self.messages if one.get("method") == method]

    def forget(self) -> None:
        """Forget what came."""
        self.messages.clear()

    # --- the session -------------------------------------------------------------------------

    def leaf(self) -> str | None:
        """Where the leaf is."""
        found: str | None = self.ask("context", format="none")["leafId"]
        return found

    def entry(self, entry_id: str) -> Json:
        """One entry as it is stored."""
        return self.ask("entries", ids=[entry_id])["entries"][0]

    def append(self, text: str = "meanwhile") -> str:
        """Say something; give its id."""
        user = {"type": "message", "message": {"role": "user", "content": text}}
        (made,) = self.ask("append", entries=[user])["entries"]
        entry_id: str = made["id"]
        return entry_id

    # --- what must hold ----------------------------------------------------------------------

    def assert_one_job(self, kind: str) -> None:
        """Exactly one job has begun and ended, and everybody was told."""
        busy = self.news("session/busy")
        assert [one["job"] is None for one in busy] == [False, True]
        assert busy[0]["session"] == self.opened["session"]["id"]
        job = busy[0]["job"]
        assert (job["kind"], job["startedBy"], job["percent"]) == (kind, "ed", 0)

    def assert_progress(self, token: str | int) -> list[int]:
        """One begin, rising reports, one end; give the reports."""
        steps = [one["value"] for one in self.news("$/progress") if one["token"] == token]
        kinds = [one["kind"] for one in steps]
        assert kinds == ["begin", *["report"] * (len(steps) - 2), "end"]
        assert steps[0]["cancellable"] is True
        percents = [one["percentage"] for one in steps[1:-1]]
        assert percents == sorted(set(percents))
        return percents

    def texts(self) -> dict[str, str]:
        """What was told of each text, put together."""
        found: dict[str, str] = {}
        for one in self.news("session/summaryText"):
            found[one["part"]] = found.get(one["part"], "") + one["delta"]
        return found


@contextmanager
def editor(
    environment: Mapping[str, str],
    path: Path,
    settings: Json = None,
    *,
    offer: Json = None,
    arguments: tuple[str, ...] = (),
    **streams: Any,
) -> Iterator[Editor]:
    """An editor with a daemon of its own. ``offer``: how it offers to write summaries."""
    capabilities = {} if offer is None else {"experimental": {"branchline": {"summarize": offer}}}
    with raw_daemon([*SERVE, *arguments], environment, **streams) as daemon:
        yield Editor(daemon, path, settings or {}, capabilities)


def asks(server: ScriptedServer, **summarizer: Json) -> Json:
    """Settings by which this server writes the summaries."""
    return {
        "summarizer": {
            "use": "openai",
            "baseUrl": server.base_url,
            "model": "m",
            **summarizer,
        }
    }


def session(folder: Path, *records: Json) -> Path:
    """A session of these records."""
    return write_session(folder / "sessions" / "--w--", *records)


def chat(server: ScriptedServer, at: int) -> str:
    """All that the server was sent with one request."""
    return "\n".join(server.requests[at].texts)


def gate() -> threading.Event:
    """What an answer waits for; the server sets it at its end."""
    return threading.Event()


def begin(ed: Editor, kind: str, **params: Json) -> int:
    """Begin to write a summary of a kind."""
    if kind == "compaction":
        return ed.start("compact", keepRecentTokens=KEEP, **params)
    return ed.start("switchLeaf", targetId="a1", position="at", summary={"mode": "write"}, **params)


KINDS = pytest.mark.parametrize("kind", ["compaction", "branch"])
