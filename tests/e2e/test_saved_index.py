"""A large session opens by its saved index as it does without, whatever became of either."""

from pathlib import Path
from typing import Any

import pytest

from branchline.demo.client import Client
from tests.e2e.conftest import SERVE, StartDaemon
from tests.e2e.shared import wait_until
from tests.e2e.test_large_files import peak_memory
from tests.e2e.world import add_bytes, foreign, raw_daemon, record

TIMESTAMP = "2026-02-03T10:00:01.000Z"
SMALL, LARGE = 400, 5_000
"""Messages of 4 kB: a session that is parsed whole at opening, and one that is verified later."""


def make(agent_dir: Path, messages: int) -> Path:
    """A session with labels, a move, damage, and branches."""
    path = agent_dir / "sessions" / "--w-demo--" / "s.jsonl"
    path.parent.mkdir(parents=True)
    common = {"parentId": "e000000a", "timestamp": TIMESTAMP}
    with path.open("wb") as file:
        file.write(record(type="session", version=3, id="s", timestamp=TIMESTAMP, cwd="/w/demo"))
        for number in range(messages):
            parent_id = f"e{number - 1 - number % 7:07x}" if number else None
            file.write(foreign(f"e{number:07x}", parent_id, f"{number} " * 1000))
        file.write(b'{"type":"message","id":"broken00","par\n')
        file.write(record(type="label", id="l0000001", targetId="e000000b", label="b", **common))
        file.write(record(type="session_info", id="n0000001", name="a name", **common))
        file.write(foreign("f0000001", "e0000010", "where the leaf is"))
    path.chmod(0o600)
    return path


def answers(client: Client, path: Path) -> dict[str, Any]:
    """What a client is told of a session once all of it was parsed."""
    session = {"session": str(path)}
    checked = client.request("session/check", session)
    opened = client.request("session/open", session)
    view = {**session, "around": opened["leafId"], "filter": "all", "limit": 200}
    some = ["l0000001", "f0000001", "e0000011"]
    told = {
        "check": checked,
        "open": opened,
        "context": client.request("session/context", session),
        "tree": client.request("session/tree", view),
        "branches": client.request("session/branches", session),
        "stats": client.request("session/stats", session),
        "entries": client.request("session/entries", {**session, "ids": some}),
    }
    for answer in told.values():
        answer.pop("revision", None)  # a verification that found damage was a change
        if "warnings" in answer:
            answer["warnings"].sort(key=str)
    return told


def index_of(environment: dict[str, str]) -> list[Path]:
    """The saved indexes there are."""
    folder = Path(environment["XDG_CACHE_HOME"]) / "branchline" / "index"
    return sorted(folder.glob("*.index"))


@pytest.mark.parametrize("messages", [SMALL, LARGE], ids=["parsed at once", "verified later"])
def test_a_session_is_the_same_by_its_index(
    daemon: StartDaemon, agent_dir: Path, environment: dict[str, str], messages: int
) -> None:
    path = make(agent_dir, messages)
    told = answers(daemon(), path)
    assert {one["code"] for one in told["open"]["warnings"]} >= {"bad-line"}
    wait_until(lambda: len(index_of(environment)) == 1)
    (file,) = index_of(environment)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    saved = file.read_bytes()

    for added in (b"", foreign("a0000001", "f0000001", "one more")):
        add_bytes(path, added)
        made = file.stat().st_mtime_ns
        by_index = answers(daemon(), path)
        assert file.stat().st_mtime_ns > made, "it was not used"
        file.unlink()
        assert answers(daemon(), path) == by_index
        assert added or by_index == told
        file.write_bytes(saved)
        file.chmod(0o600)

    flipped = bytearray(saved)
    flipped[len(flipped) // 2] ^= 1
    file.write_bytes(flipped)
    assert answers(daemon(), path) == by_index


def test_a_session_that_was_checked_is_not_read_once_more_for_its_index(
    daemon: StartDaemon, agent_dir: Path, environment: dict[str, str]
) -> None:
    path = make(agent_dir, LARGE)
    client = daemon()
    io = Path(f"/proc/{client._process.pid}/io")
    if not io.exists():
        pytest.skip("only Linux tells how much a process reads")

    def read_bytes() -> int:
        return int(io.read_text().split()[1])

    before = read_bytes()
    client.request("session/open", {"session": str(path)})
    client.request("session/check", {"session": str(path)})
    wait_until(lambda: len(index_of(environment)) == 1)
    # Once to scan it, once to parse it, and once anew because that showed damage.
    assert 2.9 < (read_bytes() - before) / path.stat().st_size < 3.5


def test_the_index_of_a_deleted_session_goes_with_it(
    daemon: StartDaemon, agent_dir: Path, environment: dict[str, str]
) -> None:
    path = make(agent_dir, SMALL)
    client = daemon()
    client.request("session/open", {"session": str(path)})
    wait_until(lambda: len(index_of(environment)) == 1)
    client.request("session/delete", {"session": str(path)})
    assert index_of(environment) == []


def test_an_index_that_leads_to_wrong_places_is_thrown_away(
    daemon: StartDaemon, agent_dir: Path, environment: dict[str, str]
) -> None:
    path = make(agent_dir, SMALL)
    daemon().request("session/open", {"session": str(path)})
    wait_until(lambda: len(index_of(environment)) == 1)
    content = path.read_bytes().replace(b'"id":"e0000100"', b'"id":"e00001ff"')
    with path.open("r+b") as file:  # the middle is another, and the file has grown
        file.write(content + foreign("a0000001", "f0000001", "one more"))
    client = daemon()
    client.request("session/open", {"session": str(path)})
    with pytest.raises(Exception, match="overwritten"):
        client.request("session/entries", {"session": str(path), "ids": ["e0000100"]})
    assert index_of(environment) == []
    found = client.request("session/entries", {"session": str(path), "ids": ["e00001ff"]})
    assert [one["id"] for one in found["entries"]] == ["e00001ff"]


def chain(path: Path, entries: int) -> None:
    """A session of short messages: as much index for its bytes as there can be."""
    with path.open("wb") as file:
        file.write(record(type="session", version=3, id=path.stem, timestamp=TIMESTAMP, cwd="/w"))
        for number in range(entries):
            file.write(foreign(f"{number:08x}", f"{number - 1:08x}" if number else None))
    path.chmod(0o600)


def test_many_large_sessions_one_after_the_other_take_bounded_memory(
    environment: dict[str, str], tmp_path: Path
) -> None:
    peaks = []
    with raw_daemon(SERVE, environment) as daemon:
        daemon.initialize()
        for number in range(50):
            path = tmp_path / f"{number}.jsonl"
            chain(path, 8_000)
            session = {"session": str(path)}
            daemon.ask("session/open", session)
            daemon.ask("session/tree", {**session, "limit": 200})
            daemon.ask("session/close", session)
            path.unlink()
            peaks.append(peak_memory(daemon.process.pid))
    # They take 160 MB if all of them are kept, and 50 if those used last are.
    assert peaks[-1] - peaks[0] < 100_000_000
