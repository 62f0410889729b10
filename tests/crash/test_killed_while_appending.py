"""Killed at a random moment while it appends, a daemon has kept all that it acknowledged.

Most rounds kill a process that runs the daemon's own code below the wire, `DAEMON_ROUNDS` kill a
real daemon; a fresh one of its kind then opens the file, and is the next to be killed.
"""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from branchline import codec
from branchline.demo.client import Client
from tests.crash.victims import Victims, entry_of, text_of
from tests.e2e.conftest import SERVE, StartDaemon
from tests.e2e.world import RawDaemon, raw_daemon
from tests.unit.wire_client import request

pytestmark = pytest.mark.crash

VICTIM_ROUNDS = 170
DAEMON_ROUNDS = 30
ROUNDS_PER_FILE = 10
PIPELINED = 12
"""Requests that a client has sent before it reads the first answer."""
SEED = 20260203

CopySession = Callable[..., Path]


class Survivors:
    """What has to be in a file that is written to and killed again and again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.original = path.read_bytes()
        self.acknowledged: list[str] = []
        self.kills = 0

    def look(self) -> None:
        """Every acknowledged entry is there, whole and in order; little else is."""
        content = self.path.read_bytes()
        assert content.startswith(self.original)
        found: list[dict[str, Any]] = []
        bad = 0
        for line in content[len(self.original) :].split(b"\n"):
            try:
                found.append(codec.decode(line))
            except codec.DecodeError:
                bad += line != b""
        assert bad <= self.kills
        ids = [entry["id"] for entry in found]
        assert len(set(ids)) == len(ids)
        wanted = set(self.acknowledged)
        assert [one for one in ids if one in wanted] == self.acknowledged
        # One write in each round may have been done and not yet acknowledged when the kill came.
        assert len(ids) - len(wanted) <= self.kills
        parents = [entry["parentId"] for entry in found]
        assert parents == ["a0000004", *ids][: len(ids)]
        for entry in found:
            assert entry["message"]["content"] == text_of(entry["id"])


def hold(chance: random.Random) -> None:
    """Let the other process get on a little, by work instead of by time."""
    for _ in range(chance.randrange(40_000)):
        pass


@pytest.mark.parametrize("number", range(VICTIM_ROUNDS // ROUNDS_PER_FILE))
def test_a_killed_writer_has_kept_what_it_acknowledged(
    victims: Victims, daemon: StartDaemon, copy_session: CopySession, number: int
) -> None:
    chance = random.Random(SEED + number)
    kept = Survivors(copy_session("60-two-writers"))
    for round_number in range(ROUNDS_PER_FILE):
        victim = victims.start(do="append", path=str(kept.path), seed=f"r{round_number}")
        said = [victim.next_line() for _ in range(chance.randrange(1, PIPELINED))]
        hold(chance)
        *late, ended = victim.kill()
        assert ended == "ended -9"
        kept.kills += 1
        kept.acknowledged += [line.removeprefix("wrote ") for line in said + late]
        kept.look()
    client = daemon()
    opened = client.request("session/open", {"session": str(kept.path)})
    assert_opens(client, opened, kept)


def assert_opens(client: Client, opened: dict[str, Any], kept: Survivors) -> None:
    """A fresh daemon finds all of it, and appends at once."""
    bad = [one for one in opened["warnings"] if one["code"] in ("bad-line", "torn-tail")]
    assert len(bad) <= kept.kills
    session = {"session": str(kept.path)}
    path = client.request("session/context", {**session, "format": "none"})["path"]
    wanted = set(kept.acknowledged)
    assert [one for one in path if one in wanted] == kept.acknowledged
    (entry,) = client.request("session/append", {**session, "entries": [entry_of("last")]})[
        "entries"
    ]
    assert entry["parentId"] == opened["leafId"]
    assert json.loads(kept.path.read_bytes().splitlines()[-1])["id"] == "last"


@pytest.mark.parametrize("number", range(DAEMON_ROUNDS // ROUNDS_PER_FILE))
def test_a_killed_daemon_has_kept_what_it_acknowledged(
    environment: dict[str, str], daemon: StartDaemon, copy_session: CopySession, number: int
) -> None:
    chance = random.Random(SEED - 1 - number)
    kept = Survivors(copy_session("60-two-writers"))
    for round_number in range(ROUNDS_PER_FILE):
        with raw_daemon(SERVE, environment) as one:
            one.initialize()
            answers = append_pipelined(one, kept.path, f"r{round_number}")
            acknowledged = [answers() for _ in range(chance.randrange(PIPELINED))]
            hold(chance)
            one.process.kill()
            assert one.process.stdout is not None
            late = answered_in(one.process.stdout.read())
        kept.kills += 1
        kept.acknowledged += acknowledged + late
        kept.look()
    client = daemon()
    opened = client.request("session/open", {"session": str(kept.path)})
    assert_opens(client, opened, kept)


def answered_in(data: bytes) -> list[str]:
    """The ids in the answers that had left the daemon when it was killed, the last maybe cut."""
    return re.findall(
        r'"entries":\[\{"id":"([^"]+)","parentId":"[^"]+","timestamp":', data.decode()
    )


def append_pipelined(one: RawDaemon, path: Path, seed: str) -> Callable[[], str]:
    """Send many appends in one go; what is given reads the id of the next one acknowledged."""
    one.send(
        *(
            request(
                "session/append",
                {"session": str(path), "entries": [entry_of(f"{seed}-{number:03}")]},
                f"{seed}-{number:03}",
            )
            for number in range(PIPELINED)
        )
    )

    def acknowledged() -> str:
        answer = codec.decode(one.receive())
        (entry,) = answer["result"]["entries"]
        assert entry["id"] == answer["id"]
        name: str = entry["id"]
        return name

    return acknowledged
