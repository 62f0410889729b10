"""Two daemons and a program without locks write to one file: no record is lost or fused."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from branchline.demo.client import Client
from tests.e2e.conftest import StartDaemon
from tests.e2e.world import add_bytes, foreign, lines_of, user

EACH = 500
FLUSH = {"durability": "flush"}


@pytest.fixture
def path(copy_session: Callable[..., Path]) -> Path:
    """Four messages, a0000001 to a0000004, one below the other."""
    return copy_session("60-two-writers")


@pytest.fixture
def names(path: Path, tmp_path: Path) -> list[str]:
    """Other names of the same file: a link, and a path that goes up and down again."""
    link = tmp_path / "link.jsonl"
    link.symlink_to(os.path.relpath(path, tmp_path))
    return [str(link), f"{path.parent}/../{path.parent.name}/./{path.name}"]


def append(client: Client, name: str, text: str, **params: Any) -> dict[str, Any]:
    """Append a message; give the whole answer."""
    answer: dict[str, Any] = client.request(
        "session/append", {"session": name, "entries": [user(text)], **params}
    )
    return answer


def test_what_another_process_wrote_is_seen_before_we_write(
    daemon: StartDaemon, path: Path
) -> None:
    client = daemon()
    client.request("session/open", {"session": str(path)})
    add_bytes(path, foreign("b0000001", "a0000004"))
    answer = append(client, str(path), "ours")
    assert answer["entries"][0]["parentId"] == "b0000001"
    changes = [params for name, params in client.notifications if name == "session/changed"]
    assert [change["origin"] for change in changes] == ["external", "client"]
    assert [change["leafId"] for change in changes] == ["b0000001", answer["leafId"]]
    ids = [record["id"] for record in lines_of(path)[-2:]]
    assert ids == ["b0000001", answer["leafId"]]


def test_two_daemons_take_turns_under_any_name(
    daemon: StartDaemon, path: Path, names: list[str]
) -> None:
    first, second = daemon(), daemon()
    opened = [
        client.request("session/open", {"session": name})
        for client, name in zip((first, second), names, strict=True)
    ]
    assert [one["session"]["path"] for one in opened] == [str(path), str(path)]
    leaf_id = "a0000004"
    for turn in range(6):
        client, name = ((first, names[0]), (second, names[1]))[turn % 2]
        answer = append(client, name, f"turn {turn}")
        assert answer["entries"][0]["parentId"] == leaf_id
        leaf_id = answer["leafId"]
    for client in (first, second):
        context = client.request("session/context", {"session": str(path)})
        assert len(context["messages"]) == 10


def test_a_daemon_knows_one_session_by_all_its_names(
    daemon: StartDaemon, path: Path, names: list[str]
) -> None:
    client = daemon()
    client.request("session/open", {"session": str(path)})
    for name in (*names, path.as_uri(), "5e550000-0000-4000-8000-000000000001"):
        client.notifications.clear()
        answer = append(client, name, "again")
        (change,) = [params for _, params in client.notifications]
        assert change["path"] == str(path)
        assert change["revision"] == answer["revision"]
    assert answer["revision"] == 4


def test_a_thousand_appends_of_two_daemons_are_a_thousand_lines(
    daemon: StartDaemon, path: Path, names: list[str]
) -> None:
    original = path.read_bytes()
    clients = [daemon(FLUSH, seconds=240), daemon(FLUSH, seconds=240)]

    def write(number: int) -> list[str]:
        client, name = clients[number], names[number]
        return [append(client, name, f"{number}: {n}")["leafId"] for n in range(EACH)]

    with ThreadPoolExecutor(2) as pool:
        acknowledged = list(pool.map(write, range(2)))
    assert path.read_bytes().startswith(original)
    added = lines_of(path)[5:]
    assert {entry["id"] for entry in added} == {*acknowledged[0], *acknowledged[1]}
    assert len(added) == 2 * EACH
    for number, ids in enumerate(acknowledged):
        ours = [e["id"] for e in added if e["message"]["content"].startswith(f"{number}:")]
        assert ours == ids
    # Each saw the other's entries before it wrote, so all of them are one chain.
    parents = ["a0000004", *(entry["id"] for entry in added)][:-1]
    assert [entry["parentId"] for entry in added] == parents


def test_a_program_without_locks_loses_nothing_either(daemon: StartDaemon, path: Path) -> None:
    client = daemon(FLUSH, seconds=240)
    client.request("session/open", {"session": str(path)})

    def write_foreign() -> list[str]:
        ids = [f"f{number:07x}" for number in range(EACH)]
        for entry_id in ids:
            add_bytes(path, foreign(entry_id, "a0000002", "x" * 20_000))
        return ids

    with ThreadPoolExecutor(1) as pool:
        theirs = pool.submit(write_foreign)
        ours = [append(client, str(path), f"ours {n}")["leafId"] for n in range(200)]
        written = theirs.result()
    added = lines_of(path)[5:]
    assert sorted(entry["id"] for entry in added) == sorted([*ours, *written])
    parents = {entry["id"]: entry["parentId"] for entry in added}
    assert [parents[one] for one in ours] == ["a0000004", *ours[:-1]]
    opened = client.request("session/open", {"session": str(path)})
    assert opened["leafId"] == ours[-1]
    assert opened["session"]["entryCount"] == 4 + len(added)
    assert [warning["code"] for warning in opened["warnings"]] == ["cwd-missing"]
