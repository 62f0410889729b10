"""What the tests of prompts share: settings, one daemon for many of them, and what must hold."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Timer
from typing import Any

from tests.e2e.conftest import SECONDS, isolated
from tests.e2e.editor import Editor, asked, editor, said, told
from tests.e2e.editor import session as session_of
from tests.e2e.talk import write_session
from tests.e2e.world import lines_of
from tests.model_server import ScriptedServer, Then, starts

Json = Any

TALK = (
    asked("u1", None, "Make the parser fast."),
    told("a1", "u1", *said("Regex or scan?")),
)
"""A short conversation with the model ``local/m``; the leaf is on ``a1``."""
HALF = starts("Half an", " answer", then=Then.HANG)
"""An answer that is never finished."""
ZEROS = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0}
NO_COST = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}


def answers(server: ScriptedServer, **prompt: Json) -> Json:
    """Settings by which this server answers prompts."""
    return {"prompt": {"baseUrl": server.base_url, "model": "m", **prompt}}


class Desk:
    """One daemon at which many tests sit down, one after the other."""

    def __init__(self, ed: Editor, folder: Path) -> None:
        self._ed = ed
        self._folder = folder
        self._taken = count()
        self._watchdog = Timer(0, ed.daemon.process.kill)

    def sit(self, settings: Json, *records: Json, **header: Json) -> Editor:
        """The editor with a session of its own, of these records (else `TALK`)."""
        self.leave()
        self._watchdog = Timer(SECONDS, self._ed.daemon.process.kill)
        self._watchdog.start()
        folder = self._folder / f"w{next(self._taken)}"
        self._ed.take_up(write_session(folder, *(records or TALK), **header), settings)
        return self._ed

    def leave(self) -> None:
        """Nobody sits there; who sits too long is stuck, and loses the daemon."""
        self._watchdog.cancel()


@contextmanager
def desk_in(folder: Path) -> Iterator[Desk]:
    """A desk, for as long as the block runs."""
    (folder / "agent").mkdir(mode=0o700)
    with editor(isolated(folder), session_of(folder, *TALK), seconds=30 * SECONDS) as ed:
        desk = Desk(ed, folder)
        yield desk
        desk.leave()


def prompt(ed: Editor, content: Json = "Scan, please.", **params: Json) -> Json:
    """The whole answer to a prompt."""
    return ed.wait(ed.start("prompt", content=content, **params))


def streamed(ed: Editor) -> str:
    """What was told of answers, put together."""
    return "".join(one["delta"] for one in ed.news("session/messageText"))


def new_records(ed: Editor, before: bytes) -> list[Json]:
    """The records that were added since the file held this; each write is whole lines."""
    content = ed.path.read_bytes()
    assert content.startswith(before)
    return lines_of(ed.path)[len(before.splitlines()) :]


def texts(record: Json) -> list[str]:
    """The text blocks of an assistant's record."""
    return [one["text"] for one in record["message"]["content"] if one["type"] == "text"]


def wire(ed: Editor, leaf_id: str | None) -> list[Json]:
    """What a model would be sent at an entry."""
    found: list[Json] = ed.ask("context", leafId=leaf_id, format="openai")["messages"]
    return found


def see_half(ed: Editor) -> None:
    """Wait until the half answer is there."""
    ed.see(lambda one: one.get("params", {}).get("delta") == " answer")


def assert_broken_off(records: list[Json], stop_reason: str, *said: str) -> Json:
    """The question is stored, and below it an answer that ended so; give the answer's record."""
    question, answer = records[-2:]
    assert question["message"]["role"] == "user"
    assert answer["parentId"] == question["id"]
    message = answer["message"]
    assert (message["role"], message["stopReason"]) == ("assistant", stop_reason)
    assert texts(answer) == list(said)
    assert ("errorMessage" in message) == (stop_reason == "error")
    return answer
