"""Forty random sessions give, over the protocol, the numbers that the real Pi gives."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from branchline.demo.client import Client
from tests.e2e.conftest import SERVE, TESTS, isolated

VECTORS: dict[str, Any] = json.loads((TESTS / "vectors" / "expected.json").read_bytes())
SAID = {"message", "custom_message", "compaction", "branch_summary", "future_type"}
"""Types of entries that are part of the conversation; an unknown one may be."""

pytestmark = pytest.mark.parametrize("name", VECTORS)


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a private copy of each session."""
    folder = tmp_path_factory.mktemp("vectors") / "agent" / "sessions" / "--w-demo--"
    folder.mkdir(parents=True)
    for name in VECTORS:
        shutil.copyfile(TESTS / "vectors" / "sessions" / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def client(sessions: Path) -> Iterator[Client]:
    """The daemon that answers for all of them, without pinned summaries as Pi has none."""
    with Client(SERVE, environment=isolated(sessions.parents[2]), seconds=120) as one:
        one.initialize(sessions, {"branchSummary": {"pinnedTokens": 0}, "durability": "flush"})
        yield one


def test_what_a_session_holds(client: Client, sessions: Path, name: str) -> None:
    wanted, session = VECTORS[name], {"session": str(sessions / name)}
    opened = client.request("session/open", session)
    assert opened["session"]["entryCount"] == wanted["entryCount"]
    assert opened["leafId"] == wanted["leafId"]
    assert opened["session"]["name"] == wanted["name"]
    found = client.request("session/branches", session)
    assert {label["id"]: label["label"] for label in found["labels"]} == wanted["labels"]
    ends = {branch["tipId"] for branch in found["branches"]}
    assert ends == conversation_ends(
        sessions / name,
        # A leaf record behind the last message hides it from Pi's tips, and is none itself.
        [*wanted["tips"], wanted["leafId"]],
    )


def conversation_ends(path: Path, tips: list[str]) -> set[str]:
    """Where branches end when a label or a setting behind the last message does not count.

    Pi's tips are entries of any type without children.
    """
    entries = {entry["id"]: entry for entry in map(json.loads, path.read_text().splitlines()[1:])}
    ends, passed = set(), set()
    for tip in tips:
        current: str | None = tip
        while current is not None and entries[current]["type"] not in SAID:
            current = entries[current]["parentId"]
        if current is None:
            continue
        ends.add(current)
        while (current := entries[current]["parentId"]) is not None:
            passed.add(current)
    return ends - passed


def test_every_context(client: Client, sessions: Path, name: str) -> None:
    for wanted in VECTORS[name]["contexts"]:
        params = {"session": str(sessions / name), "leafId": wanted["leafId"]}
        found = client.request("session/context", params)
        for key in ("leafId", "path", "sources", "model", "thinkingLevel"):
            assert found[key] == wanted[key]
        assert [message["role"] for message in found["messages"]] == wanted["roles"]
        assert found["usage"]["tokens"] == wanted["tokens"]


def test_every_switch(client: Client, sessions: Path, name: str, tmp_path: Path) -> None:
    session = {"session": str(tmp_path / name), "position": "at"}
    shutil.copyfile(sessions / name, tmp_path / name)
    for wanted in VECTORS[name]["switches"]:
        client.request("session/switchLeaf", {**session, "targetId": wanted["from"]})
        planned = client.request(
            "session/switchLeaf", {**session, "targetId": wanted["target"], "dryRun": True}
        )
        assert planned["plan"]["commonAncestorId"] == wanted["commonAncestorId"]
        assert planned["plan"]["leaving"] == wanted["leaving"]
        assert planned["leafId"] == wanted["from"]
