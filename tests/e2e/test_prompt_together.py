"""Two clients of one daemon in one session: what each sees of a prompt, and whose settings count.

In this process: a daemon on stdio has one client only.
"""

import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from branchline.errors import BranchlineError, Busy, Cancelled
from branchline.handlers import HANDLERS
from branchline.handlers.connection import Connection
from branchline.service.client import Client, Silence
from branchline.service.service import Service
from branchline.wire.methods import METHODS
from branchline.wire.params import parse_params
from tests.e2e.editor import CONVERSATION, GOOD, LONG, session
from tests.e2e.prompts import TALK, answers, texts
from tests.e2e.world import lines_of, user
from tests.model_server import ScriptedServer, Then, model_server, says, starts

Json = Any
DEADLINE = 20.0
AUTO: Json = {"contextWindow": 1500, "compaction": {"reserveTokens": 100, "keepRecentTokens": 10}}


class Heard(Silence):
    """The port of a client: what it was told, in order, and a way to wait for it."""

    def __init__(self) -> None:
        self.news: list[tuple[str, Json]] = []
        self.warnings: list[str] = []
        self._came = anyio.Event()

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        self.news.append((method, params))
        self._came.set()
        self._came = anyio.Event()

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    async def wait_for(self, method: str, **wanted: Json) -> Json:
        """The first notification of a method that holds this."""
        while True:
            for name, params in self.news:
                if name == method and wanted.items() <= params.items():
                    return params
            await self._came.wait()

    def told(self, method: str) -> list[Json]:
        """All of a method, but what differs by client."""
        return [
            {key: value for key, value in params.items() if key != "usage"}
            for name, params in self.news
            if name == method
        ]


class Person:
    """One client that has the session open."""

    def __init__(self, service: Service, path: Path, name: str, settings: Json) -> None:
        self.heard = Heard()
        self._client = Client(self.heard, os.environ)
        self._client.name = name
        self._client.configure(settings, [])
        self._connection = Connection(self._client, service)
        self._path = path

    async def ask(self, method: str, **params: Json) -> Json:
        """The result of a method."""
        name = f"session/{method}"
        given = {"session": str(self._path), **params}
        return await HANDLERS[name](self._connection, parse_params(METHODS[name].params, given))


async def _together(path: Path, first: Json, second: Json, talk: "Talk") -> None:
    with anyio.fail_after(DEADLINE):
        async with anyio.create_task_group() as tasks:
            service = Service.begin(os.environ, tasks)
            people = [
                Person(service, path, name, settings)
                for name, settings in (("one", first), ("two", second))
            ]
            for person in people:
                await person.ask("open")
            await talk(*people)
            tasks.cancel_scope.cancel()
            service.registry.close()


Talk = Callable[[Person, Person], Awaitable[None]]


def together(path: Path, first: Json, second: Json, talk: Talk) -> None:
    """Let two clients, each with its settings, talk in one session."""
    anyio.run(_together, path, first, second, talk)


@pytest.fixture
def path(agent_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(agent_dir))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(agent_dir / "config"))
    return session(agent_dir, *TALK)


def test_both_see_all_of_it_and_only_one_may_ask(path: Path) -> None:
    with model_server(says("By ", "code ", "point.")) as server:

        async def talk(one: Person, two: Person) -> None:
            done = await one.ask("prompt", content="How?")
            for method in ("session/busy", "session/messageText", "session/changed"):
                assert one.heard.told(method) == two.heard.told(method) != []
            news = two.heard.told("session/changed")
            assert [change["leafId"] for change in news] == [
                done["userEntryId"], done["assistantEntryId"],
            ]  # fmt: skip
            pieces = [piece["delta"] for piece in two.heard.told("session/messageText")]
            assert pieces == ["By ", "code ", "point."]
            begun, ended = two.heard.told("session/busy")
            assert begun["job"]["startedBy"] == "one"
            assert ended["job"] is None

        together(path, answers(server), {}, talk)


def test_the_other_may_stop_it_and_not_ask_meanwhile(path: Path) -> None:
    with model_server(starts("Half", then=Then.HANG)) as server:

        async def talk(one: Person, two: Person) -> None:
            async def stop() -> None:
                await two.heard.wait_for("session/messageText", delta="Half")
                with pytest.raises(Busy):
                    await two.ask("prompt", content="Me too!")
                assert await two.ask("cancel") == {"cancelled": True}

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(stop)
                with pytest.raises(Cancelled) as cancelled:
                    await one.ask("prompt", content="How?")
            assert cancelled.value.facts["assistantEntryId"] == lines_of(path)[-1]["id"]
            assert two.heard.told("session/busy")[-1]["job"] is None

        together(path, answers(server), answers(server), talk)
        assert texts(lines_of(path)[-1]) == ["Half"]


def test_each_asks_the_model_of_its_own_settings(path: Path) -> None:
    with model_server(says("one")) as first, model_server(says("two")) as second:

        async def talk(one: Person, two: Person) -> None:
            await one.ask("prompt", content="?")
            await two.ask("prompt", content="?")

        together(path, answers(first, model="a"), answers(second, model="b"), talk)
        assert [len(first.requests), len(second.requests)] == [1, 1]
        named = [one["modelId"] for one in lines_of(path) if one["type"] == "model_change"]
        assert named == ["a", "b"]


def settings_for(server: ScriptedServer, *, auto: bool) -> Json:
    writer = {"use": "openai", "baseUrl": server.base_url, "model": "w"}
    return {**AUTO, "compaction": AUTO["compaction"] | {"auto": auto}, "summarizer": writer}


@pytest.mark.parametrize("wants_it", [True, False])
def test_who_appends_decides_whether_it_is_compacted(
    agent_dir: Path, path: Path, wants_it: bool
) -> None:
    """Of both, one wants it: it is done if that one's append made it due, and by its writer."""
    path = session(agent_dir / "large", *CONVERSATION)
    with model_server(says(GOOD)) as wanted, model_server(says(GOOD)) as unwanted:

        async def talk(one: Person, two: Person) -> None:
            await (one if wants_it else two).ask("append", entries=[user(LONG)])
            if wants_it:
                await two.heard.wait_for("session/busy", job=None)
            for _ in range(3):
                await one.ask("context", format="none")
            assert len(one.heard.told("session/busy")) == (2 if wants_it else 0)

        first, second = settings_for(wanted, auto=True), settings_for(unwanted, auto=False)
        together(path, first, second, talk)
        assert (len(wanted.requests), len(unwanted.requests)) == (int(wants_it), 0)
        kinds = [one["type"] for one in lines_of(path)]
        assert kinds.count("compaction") == wants_it


def test_who_made_it_due_is_told_that_it_is_given_up(agent_dir: Path, path: Path) -> None:
    path = session(agent_dir / "large", *CONVERSATION)
    with model_server() as server:

        async def talk(one: Person, two: Person) -> None:
            for number in range(4):
                one.heard.news.clear()
                await one.ask("append", entries=[user("x")])
                if number < 3:
                    await one.heard.wait_for("session/busy", job=None)
            for _ in range(3):
                await one.ask("context", format="none")
            assert len(one.heard.warnings) == 1
            assert two.heard.warnings == []

        settings = settings_for(server, auto=True)
        together(path, settings, settings, talk)
        assert len(server.requests) == 3


def test_a_client_that_offers_writes_its_own_compaction(agent_dir: Path, path: Path) -> None:
    """Within a prompt the client whose prompt it is is asked; it may refuse, and is answered."""
    path = session(agent_dir / "large", *CONVERSATION)

    class Refuses(Heard):
        async def request(self, method: str, params: Mapping[str, Any]) -> Any:
            self.news.append((method, params))
            return {"cancel": True}

    with model_server(says("Yes.")) as server:

        async def talk(one: Person, two: Person) -> None:
            port = Refuses()
            one._client.port = port
            one._client.take_offer({"experimental": {"branchline": {"summarize": {}}}})
            done = await one.ask("prompt", content="?")
            assert done["stopReason"] == "stop"
            assert len(port.told("session/summarize")) == 1
            assert two.heard.told("session/summarize") == []

        settings = {**settings_for(server, auto=True), **answers(server)}
        settings["summarizer"] = {"use": "auto"}
        together(path, settings, settings, talk)
        assert "compaction" not in [one["type"] for one in lines_of(path)]


def test_an_error_of_a_prompt_says_what_is_stored(path: Path) -> None:
    with model_server() as server:

        async def talk(one: Person, _two: Person) -> None:
            with pytest.raises(BranchlineError) as failed:
                await one.ask("prompt", content="?")
            ids = [one["id"] for one in lines_of(path)[-2:]]
            facts = failed.value.facts
            assert [facts["userEntryId"], facts["assistantEntryId"]] == ids
            assert facts["leafId"] == ids[1]

        together(path, answers(server), {}, talk)
