"""What the tests of automatic compaction share: two servers, sizes, and what was done by itself.

The chat and the summaries have a server each, so that it is seen who asks for what.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from tests.e2e.editor import Editor
from tests.e2e.prompts import answers
from tests.model_server import ScriptedServer, model_server, refuses

Json = Any
OVERFLOW = refuses(400, "too long", code="context_length_exceeded")
SMALL = {"contextWindow": 1500, "compaction": {"reserveTokens": 100, "keepRecentTokens": 10}}
"""Settings by which `CONVERSATION` is too large, and no longer once it is compacted."""
LARGE = {"contextWindow": 100_000, "compaction": {"reserveTokens": 1000, "keepRecentTokens": 10}}
"""Settings by which it is not."""


class Servers:
    """A server for prompts and one for summaries."""

    def __init__(self, chat: ScriptedServer, writer: ScriptedServer) -> None:
        self.chat = chat
        self.writer = writer

    def settings(self, sizes: Json, *, auto: bool = True) -> Json:
        """Settings by which these two are asked."""
        compaction = sizes["compaction"] | {"auto": auto}
        writer = {"use": "openai", "baseUrl": self.writer.base_url, "model": "w", "maxRetries": 0}
        own = {**answers(self.chat, maxRetries=0), "summarizer": writer}
        return {**sizes, **own, "compaction": compaction}

    @property
    def asked(self) -> tuple[int, int]:
        """How often each was asked: for answers, for summaries."""
        return len(self.chat.requests), len(self.writer.requests)


@contextmanager
def two_servers() -> Iterator[Servers]:
    """Both of them, for as long as the block runs."""
    with ExitStack() as running:
        yield Servers(*(running.enter_context(model_server()) for _ in range(2)))


def types(records: list[Json]) -> list[str]:
    """What the records are: a message by its role, and how it ended if not well."""
    found = []
    for one in records:
        message = one.get("message", {})
        ended = message.get("stopReason", "stop")
        kind = message.get("role", one["type"])
        found.append(kind if ended == "stop" else f"{kind}:{ended}")
    return [kind for kind in found if kind != "model_change"]


def wait_for_jobs(ed: Editor, count: int) -> None:
    """Wait until so many have ended since the messages were last forgotten."""
    ended = 0

    def is_last(one: Json) -> bool:
        nonlocal ended
        ended += one.get("method") == "session/busy" and one["params"]["job"] is None
        return ended == count

    ed.see(is_last)


def assert_quiet(ed: Editor) -> None:
    """Nothing has begun by itself: what was started before has had its turn since."""
    for _ in range(3):
        ed.ask("context", format="none")
    assert ed.news("session/busy") == []


def shown(ed: Editor) -> list[str]:
    """What a person was shown."""
    return [one["message"] for one in ed.news("window/showMessage")]
