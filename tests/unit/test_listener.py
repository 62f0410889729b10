"""The shared daemon's end of its socket, in this process: when it leaves, and what it survives."""

import asyncio
import json
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from branchline.wire import listener as module
from branchline.wire.daemon_socket import DaemonPlace, DaemonSocket
from branchline.wire.hello import Hello, hello_line
from branchline.wire.listener import Listener
from branchline.wire.transport import ForwardedTransport
from tests.unit.short_folder import short_folder

SECONDS = 20.0


class Place:
    """A listener to be run, and callers for it.

    Attributes:
        served: the roles that clients came in, in order.
    """

    def __init__(self, folder: Path, idle_seconds: float) -> None:
        self.served: list[Hello] = []
        self.own_socket = DaemonSocket(DaemonPlace(folder, "s"))
        self.path = folder / "s"
        self.listener = Listener(self.own_socket, self.serve, lambda: {"told": 1}, idle_seconds)

    async def serve(self, transport: ForwardedTransport, hello: Hello) -> None:
        self.served.append(hello)
        try:
            while data := await transport.read():
                if data == b"fail":
                    raise ValueError("secret")
                transport.write(data)
        finally:
            with anyio.CancelScope(shield=True):
                await transport.close(7)

    async def call(
        self, role: str
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, dict[str, Any]]:
        reader, writer = await asyncio.open_unix_connection(self.path)
        writer.write(hello_line(role, {}))
        return reader, writer, json.loads(await reader.readline())


def run(folder: Path, scene: Callable[[Place], Awaitable[None]], idle_seconds: float = 60) -> Place:
    """Run a scene beside a listener, until the listener has left."""

    async def both() -> Place:
        place = Place(folder, idle_seconds)
        async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as tasks:
            tasks.create_task(place.listener.run())
            await scene(place)
        return place

    place = asyncio.run(both())
    assert list(folder.iterdir()) == []
    return place


@pytest.fixture
def folder() -> Iterator[Path]:
    with short_folder() as made:
        yield made


def test_it_waits_for_the_first_client_longer_than_for_the_next(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FIRST_SECONDS", 0.2)

    async def nobody_comes(_place: Place) -> None:
        return

    run(folder, nobody_comes, idle_seconds=0)

    monkeypatch.setattr(module, "_FIRST_SECONDS", SECONDS)

    async def one_comes(place: Place) -> None:
        for _ in range(3):  # meanwhile no seconds at all are over
            _, writer, _ = await place.call("status")
            writer.close()
        _, writer, answer = await place.call("client")
        assert answer["pid"] == os.getpid()
        writer.close()

    assert len(run(folder, one_comes, idle_seconds=0).served) == 1


def test_it_stays_as_long_as_somebody_is_there(folder: Path) -> None:
    async def scene(place: Place) -> None:
        _, first, _ = await place.call("client")
        first.close()
        _, second, _ = await place.call("client")
        over = asyncio.get_running_loop().time() + 0.3
        while asyncio.get_running_loop().time() < over:
            _, writer, _ = await place.call("status")
            writer.close()
        second.close()

    assert len(run(folder, scene, idle_seconds=0.1).served) == 2


def test_who_looks_or_does_not_greet_is_no_client(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FIRST_SECONDS", 0.3)
    monkeypatch.setattr(module, "_HELLO_SECONDS", 0.1)

    async def scene(place: Place) -> None:
        reader, writer = await asyncio.open_unix_connection(place.path)
        assert json.loads(await reader.readline()) == {
            "refused": "there is no greeting (TimeoutError)"
        }
        writer.close()
        _, writer, answer = await place.call("status")
        assert answer["told"] == 1
        writer.close()

    assert run(folder, scene, idle_seconds=0.1).served == []


def test_a_fault_in_serving_one_is_logged_and_harms_no_other(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(place: Place) -> None:
        reader, writer, _ = await place.call("client")
        other_reader, other_writer, _ = await place.call("client")
        writer.write(b"fail")
        assert await reader.read() == b"\x007"
        other_writer.write(b"still there")
        assert await other_reader.read(100) == b"still there"
        place.listener.leave("enough")
        place.listener.leave("enough, really")
        # Who is there when it leaves is told why.
        assert await other_reader.read() == b"\x007The daemon was stopped"
        for one in (writer, other_writer):
            one.close()

    caplog.set_level(logging.INFO)
    run(folder, scene)
    assert "Serving failed: ValueError at" in caplog.text
    assert "secret" not in caplog.text
    assert caplog.text.count("Leaving") == 1


def test_it_goes_on_when_it_cannot_accept(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failures = [OSError(24, "Too many open files")] * 2
    accept = asyncio.SelectorEventLoop.sock_accept

    async def sock_accept(
        loop: asyncio.SelectorEventLoop, listening: socket.socket
    ) -> tuple[socket.socket, Any]:
        if failures:
            raise failures.pop()
        return await accept(loop, listening)

    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_accept", sock_accept)

    async def scene(place: Place) -> None:
        _, writer, _ = await place.call("stop")
        writer.close()

    run(folder, scene)
    assert caplog.text.count("Accepting a caller failed: Too many open files") == 2
