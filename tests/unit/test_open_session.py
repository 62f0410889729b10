"""A session that is let go, lost or not to be read: who is told, and what is given back."""

import os
import resource
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from branchline.errors import FileChanged, NotFound
from branchline.log.session_file import SessionFile
from branchline.service import registry as registry_module
from branchline.service.client import Client, Silence
from branchline.service.jobs import Jobs
from branchline.service.registry import Registry
from branchline.service.session import Session
from branchline.service.summarising import Limits, limits_of
from branchline.service.writers import server_writer
from tests.e2e.talk import SAMPLE, write_session
from tests.unit.session_files import header, text_of_file, user


class Ears(Silence):
    """Keeps what the client is told."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        self.heard.append(method)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_session(tmp_path / "sessions", *SAMPLE)


@pytest.fixture
def ears() -> Ears:
    return Ears()


def open_session(path: Path) -> Session:
    locks = path.parent / "locks"
    file = SessionFile(path, locks)
    return Session(path, file.header, file, locks, lambda *_: None)


@contextmanager
def no_more_files() -> Iterator[None]:
    """Within, the process can open nothing."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_session_let_go_while_a_summary_is_written_gives_its_file_back(path: Path) -> None:
    async def work() -> None:
        session = open_session(path)
        async with Jobs().work(session, "branch", Client(Silence(), {}), None):
            session.close()
            assert session.file is None

    anyio.run(work)


def test_a_session_let_go_while_others_wait_for_it_gives_its_file_back(path: Path) -> None:
    async def work() -> None:
        session = open_session(path)
        refused: list[FileChanged] = []

        async def wait_and_read() -> None:
            with pytest.raises(FileChanged) as error:
                await session.read(lambda: None)
            refused.append(error.value)

        async with anyio.create_task_group() as tasks, session._queue:
            tasks.start_soon(wait_and_read)
            tasks.start_soon(wait_and_read)
            await anyio.wait_all_tasks_blocked()
            session.close()
            assert session.file is not None  # whoever has the turn may be reading it
        assert len(refused) == 2
        assert session.file is None

    anyio.run(work)


def test_a_lost_file_is_told_of_once(path: Path, ears: Ears) -> None:
    async def work() -> None:
        async with anyio.create_task_group() as tasks:
            registry, client = Registry({}, tasks), Client(ears, {})
            session = await registry.subscribe(client, str(path), lambda found: found)
            registry.forget(session, "replaced or deleted")
            registry.forget(session, "closed")
            tasks.cancel_scope.cancel()

    anyio.run(work)
    assert ears.heard == ["session/reset"]


def test_who_gets_an_error_is_not_subscribed(path: Path, ears: Ears) -> None:
    def fail(session: Session) -> None:
        raise NotFound.entry("x")

    async def work() -> None:
        async with anyio.create_task_group() as tasks:
            registry, client = Registry({}, tasks), Client(ears, {})
            with pytest.raises(NotFound):
                await registry.subscribe(client, str(path), fail, read_only=True)
            session = await registry.find(client, str(path))
            assert (session.subscribers, client.read_only) == (set(), set())
            await registry.subscribe(client, str(path), lambda _: None)
            with pytest.raises(NotFound):
                await registry.subscribe(client, str(path), fail)
            assert session.subscribers == {client}  # as it was before
            tasks.cancel_scope.cancel()
            registry.close()

    anyio.run(work)


@pytest.mark.parametrize(("most_bytes", "kept"), [(0, 1), (3 * 400, 3), (1 << 30, 4)])
def test_idle_sessions_are_let_go_by_the_memory_they_take(
    path: Path, ears: Ears, monkeypatch: pytest.MonkeyPatch, most_bytes: int, kept: int
) -> None:
    monkeypatch.setattr(registry_module, "_IDLE_BYTES", most_bytes)
    monkeypatch.setattr(registry_module, "_IDLE_KEPT", 4)

    async def work() -> None:
        async with anyio.create_task_group() as tasks:
            registry, client = Registry({}, tasks), Client(ears, {})
            found = []
            for number in range(6):
                other = path.with_name(f"{number}.jsonl")
                other.write_bytes(text_of_file(header(), user("a")))  # one entry: 400 bytes
                found.append(await registry.find(client, str(other)))
            assert registry.sessions == found[-kept:]
            assert [len(session.tree) for session in found] == [0] * (6 - kept) + [1] * kept
            tasks.cancel_scope.cancel()
            registry.close()

    anyio.run(work)


def test_a_session_that_cannot_be_read_anew_is_lost(path: Path) -> None:
    lost: list[str] = []

    async def work() -> None:
        locks = path.parent / "locks"
        file = SessionFile(path, locks)
        session = Session(path, file.header, file, locks, lambda _, what: lost.append(what))
        assert await session.read(lambda: session.leaf_id) == "d"
        with path.open("ab") as other:  # an id used again: the index cannot simply grow
            other.write(text_of_file(user("a", None, "again"), user("z", "d", "more")))
        with no_more_files(), pytest.raises(FileChanged):
            await session.read(lambda: session.leaf_id)
        session.close()

    anyio.run(work)
    assert len(lost) == 1


def test_a_model_s_own_name_may_hold_slashes() -> None:
    client = Client(Silence(), {})
    client.configure(
        {
            "summarizer": {"model": "meta/llama", "baseUrl": "http://localhost:1/v1"},
            "models": {
                "other/llama": {"contextWindow": 5, "maxOutputTokens": 2},
                "local/meta/llama": {"contextWindow": 9, "maxOutputTokens": 3},
            },
        }
    )
    assert limits_of(client.settings, server_writer(client)) == Limits(9, 3)
