"""Very long lines and very long chains: time, memory, and answers that stay flat."""

import json
import re
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from branchline.demo.client import Client
from tests.e2e.conftest import SERVE, StartDaemon
from tests.e2e.world import SLACK, raw_daemon, record, strict, user

CHARACTERS = 5_000_000
DEEP = 50_000
TIMESTAMP = "2026-02-03T10:00:01.000Z"
HEADER = record(type="session", version=3, id="large", timestamp=TIMESTAMP, cwd="/w/demo")


def message(entry_id: str, parent_id: str | None, **body: Any) -> bytes:
    return record(
        type="message", id=entry_id, parentId=parent_id, timestamp=TIMESTAMP, message=body
    )


def answer(content: list[dict[str, Any]], stop_reason: str) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "stopReason": stop_reason, "timestamp": 1}


def huge_line() -> Iterator[bytes]:
    """A tool result of five million characters between small messages."""
    call = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "log"}}
    text = {"type": "text", "text": "0123456789abcde\n" * (CHARACTERS // 16)}
    result = {"role": "toolResult", "toolCallId": "c1", "toolName": "read", "isError": False}
    yield HEADER
    yield message("b0000001", None, role="user", content="show the log", timestamp=1)
    yield message("b0000002", "b0000001", **answer([call], "toolUse"))
    yield message("b0000003", "b0000002", **result, content=[text], timestamp=1)
    yield message("b0000004", "b0000003", role="user", content="thanks", timestamp=1)


def deep_chain() -> Iterator[bytes]:
    """Questions and answers, each the child of the one before."""
    yield HEADER
    parent_id: str | None = None
    for number in range(DEEP):
        entry_id = entry_name(number)
        body: dict[str, Any] = {"role": "user", "content": f"q{number}", "timestamp": 1}
        if number % 2:
            body = answer([{"type": "text", "text": f"a{number}"}], "stop")
        yield message(entry_id, parent_id, **body)
        parent_id = entry_id


def entry_name(number: int) -> str:
    return f"{0xB0000000 + number:08x}"


def peak_memory(pid: int) -> int:
    """The most resident memory that a process ever had, in bytes."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        pytest.skip("peak memory is read from /proc")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
    assert found
    return int(found[1]) * 1024


def make(agent_dir: Path, name: str, lines: Iterator[bytes]) -> Path:
    path = agent_dir / "sessions" / "--w-demo--" / name
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.writelines(lines)
    return path


class TestAHugeLine:  # 26
    def test_opening_takes_little_time_and_memory(
        self, agent_dir: Path, environment: dict[str, str]
    ) -> None:
        path = make(agent_dir, "huge.jsonl", huge_line())
        small = path.with_name("small.jsonl")
        small.write_bytes(HEADER + message("b0000001", None, role="user", content="q"))
        with raw_daemon(SERVE, environment) as daemon:
            daemon.initialize()
            daemon.ask("session/open", {"session": str(small)})
            before = peak_memory(daemon.process.pid)
            started = time.monotonic()
            opened = strict(daemon.ask("session/open", {"session": str(path)}))["result"]
            assert time.monotonic() - started < 1 * SLACK
            assert opened["leafId"] == "b0000004"
            assert opened["session"]["entryCount"] == "4"
            daemon.ask("session/list", {"scope": "all"})
            grown = peak_memory(daemon.process.pid) - before
        assert grown < 6 * path.stat().st_size

    def test_rows_hold_a_preview_and_entries_the_whole(
        self, agent_dir: Path, daemon: StartDaemon
    ) -> None:
        path = make(agent_dir, "huge.jsonl", huge_line())
        client = daemon()
        drawn = client.request("session/tree", {"session": str(path), "filter": "all"})
        assert len(json.dumps(drawn)) < 20_000
        assert [row["id"] for row in drawn["rows"]] == [f"b000000{n}" for n in range(1, 5)]
        assert all(len(row["text"]) <= 200 for row in drawn["rows"])
        stored = client.request("session/entries", {"session": str(path), "ids": ["b0000003"]})[
            "entries"
        ][0]
        assert len(stored["message"]["content"][0]["text"]) == CHARACTERS
        usage = client.request("session/context", {"session": str(path)})["usage"]
        assert usage["tokens"] > CHARACTERS / 4  # the estimate counts the whole result


@pytest.fixture
def deep(agent_dir: Path) -> Path:
    """A session that is one chain of fifty thousand entries."""
    return make(agent_dir, "deep.jsonl", deep_chain())


class TestADeepChain:  # 27
    def test_open_and_context_are_quick(self, daemon: StartDaemon, deep: Path) -> None:
        client = daemon()
        started = time.monotonic()
        opened = client.request("session/open", {"session": str(deep)})
        context = client.request("session/context", {"session": str(deep)})
        assert time.monotonic() - started < 2 * SLACK
        assert opened["session"]["entryCount"] == DEEP
        assert context["path"] == [entry_name(number) for number in range(DEEP)]
        assert len(context["messages"]) == DEEP

    def test_an_append_does_not_grow_with_the_file(self, daemon: StartDaemon, deep: Path) -> None:
        client = daemon({"durability": "flush"})
        client.request("session/open", {"session": str(deep)})
        times = []
        for number in range(40):
            started = time.monotonic()
            append(client, deep, f"more {number}")
            times.append(time.monotonic() - started)
        assert statistics.median(times) < 0.005 * SLACK

    def test_the_tree_is_flat_and_comes_in_windows(self, daemon: StartDaemon, deep: Path) -> None:
        client = daemon()
        for layout in ("pinned", "pi"):
            view = {"session": str(deep), "layout": layout, "limit": 200}
            first = client.request("session/tree", view)
            assert first["total"] == DEEP
            assert first["leafRow"] == DEEP - 1
            assert [row["id"] for row in first["rows"]] == [entry_name(n) for n in range(200)]
            around = client.request("session/tree", {**view, "around": entry_name(30_000)})
            numbers = range(around["offset"], around["offset"] + 200)
            assert 30_000 in numbers
            assert [row["id"] for row in around["rows"]] == list(map(entry_name, numbers))
            assert {row["depth"] for row in around["rows"]} == {0}

    def test_every_other_method_walks_it_too(self, daemon: StartDaemon, deep: Path) -> None:
        client = daemon()
        session = {"session": str(deep)}
        (branch,) = client.request("session/branches", session)["branches"]
        assert branch["messageCount"] == DEEP
        assert client.request("session/stats", session)["active"]["entries"] == DEEP
        moved = client.request("session/switchLeaf", {**session, "targetId": entry_name(0)})
        assert len(moved["plan"]["leaving"]) == DEEP
        fork = client.request(
            "session/fork",
            {**session, "entryId": entry_name(DEEP - 1), "position": "at", "cwd": "/w/demo"},
        )
        assert fork["session"]["entryCount"] == DEEP


def append(client: Client, path: Path, text: str) -> None:
    client.request("session/append", {"session": str(path), "entries": [user(text)]})
