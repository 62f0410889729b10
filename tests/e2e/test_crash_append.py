"""A daemon killed while it appends has lost nothing that it acknowledged."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import SERVE
from tests.e2e.world import RawDaemon, raw_daemon, strict
from tests.unit.wire_client import DEADLINE, request

ROUNDS = 15
APPENDS = 300
"""Appends sent at once, of which a few dozen are answered before the end."""


def batch(path: Path, round_number: int, number: int, size: int) -> dict[str, Any]:
    """An append of two entries, with ids that tell where they belong."""
    entries = [
        {
            "type": "custom",
            "customType": "crash",
            "id": f"{round_number}-{number}-{part}",
            "data": "é" * size,
        }
        for part in ("first", "second")
    ]
    return request("session/append", {"session": str(path), "entries": entries}, number)


def acknowledged(daemon: RawDaemon, wanted: int) -> list[str]:
    """Kill the daemon once ``wanted`` appends are answered; give the ids of all that ever were."""
    for _ in range(wanted):
        daemon.receive()
    daemon.process.kill()
    daemon.process.wait(DEADLINE)
    assert daemon.process.stdout is not None
    rest = daemon.process.stdout.read()
    bodies = list(daemon.bodies)
    while b"\r\n\r\n" in rest:
        header, _, rest = rest.partition(b"\r\n\r\n")
        length = int(header.removeprefix(b"Content-Length: "))
        if len(rest) >= length:
            bodies.append(rest[:length])
        rest = rest[length:]
    results = [strict(body).get("result") or {} for body in bodies]
    return [entry["id"] for result in results for entry in result.get("entries", [])]


def whole_records(data: bytes) -> list[dict[str, Any]]:
    """The records in what was added; only the last one may have been cut by the kill."""
    lines = data.lstrip(b"\n").split(b"\n")
    return [json.loads(line) for line in lines[:-1]]


@pytest.mark.crash
def test_every_acknowledged_entry_outlives_the_daemon(
    environment: dict[str, str], copy_session: Callable[..., Path]
) -> None:
    path = copy_session("60-two-writers")
    known = path.read_bytes()
    last_id = "a0000004"
    chance = random.Random(1)
    for round_number in range(ROUNDS):
        with raw_daemon(SERVE, environment) as daemon:
            daemon.initialize()
            opened = strict(daemon.ask("session/open", {"session": str(path)}))["result"]
            daemon.ask("session/close", {"session": str(path)})  # answers only, no news
            assert opened["leafId"] == last_id
            size = chance.choice([10, 1_000, 100_000])
            wanted = chance.randrange(1, 40)
            some = APPENDS if size < 100_000 else wanted + 10
            daemon.send(*(batch(path, round_number, number, size) for number in range(some)))
            ids = acknowledged(daemon, wanted)
        content = path.read_bytes()
        assert content.startswith(known)
        added = whole_records(content[len(known) :])
        found = [entry["id"] for entry in added]
        assert len(ids) >= 2 * wanted
        assert found[: len(ids)] == ids
        assert [entry["parentId"] for entry in added] == [last_id, *found[:-1]]
        known, last_id = content, found[-1]
