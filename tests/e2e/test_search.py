"""``session/search`` over the real daemon, with the process that indexes for it."""

import os
from pathlib import Path
from typing import Any

import pytest

from branchline.catalogue.database import Database
from branchline.demo.client import Client, DaemonError
from tests.e2e.conftest import StartDaemon
from tests.e2e.talk import said, write_session
from tests.unit.helpers import message
from tests.unit.session_files import text_line, user

LARGE = 1_000_000
"""Characters of a message; nine of them, and a file is not scanned whole for a list."""


@pytest.fixture
def sessions(agent_dir: Path, project: Path) -> Path:
    """Two sessions of the project and one of another folder."""
    folder = agent_dir / "sessions" / "--project--"
    for name, cwd in (("one", project), ("two", project / "sub"), ("three", project.parent)):
        path = write_session(
            folder,
            user(f"{name}-a", None, f"find the {name} needle"),
            message(f"{name}-b", f"{name}-a", "assistant", [{"type": "text", "text": "hay"}]),
            name=f"{name}.jsonl",
            id=name,
            cwd=str(cwd),
        )
        assert path.exists()
    return folder


@pytest.fixture
def client(daemon: StartDaemon, sessions: Path, project: Path) -> Client:
    return daemon(folder=project)


def search(client: Client, query: str, **params: Any) -> Any:
    """The answer once all is indexed."""
    answer = client.request(
        "session/search", {"query": query, "scope": "all", "wait": True, **params}
    )
    assert answer["indexing"] is None
    return answer


def found(client: Client, query: str, **params: Any) -> list[str]:
    """The entry of each hit."""
    return sorted(hit["entryId"] for hit in search(client, query, **params)["hits"])


def catalogue(tmp_path: Path) -> Path:
    return Database(tmp_path / "home" / "cache" / "branchline").path


def test_a_hit_names_its_session_and_entry(client: Client, sessions: Path) -> None:
    (hit,) = search(client, "two needle")["hits"]
    listed = client.request("session/list", {"scope": "workspace", "query": "two"})["sessions"]
    assert hit == {
        "session": listed[0],
        "entryId": "two-a",
        "role": "user",
        "snippet": "find the two needle",
        "matches": [[9, 12], [13, 19]],
        "timestamp": "2026-01-02T03:04:05.678Z",
    }
    row = client.request("session/tree", {"session": hit["session"]["path"], "around": "two-a"})
    assert [one["id"] for one in row["rows"]] == ["two-a", "two-b"]


def test_the_workspace_and_beyond(client: Client) -> None:
    assert found(client, "needle", scope="workspace") == ["one-a", "two-a"]
    assert found(client, "needle", scope="all") == ["one-a", "three-a", "two-a"]


def test_pages(client: Client) -> None:
    first = search(client, "needle", limit=2)
    second = search(client, "needle", limit=2, cursor=first["nextCursor"])
    hits = [hit["entryId"] for page in (first, second) for hit in page["hits"]]
    assert (sorted(hits), second["nextCursor"]) == (["one-a", "three-a", "two-a"], None)


def test_what_was_just_written_is_found(client: Client, sessions: Path) -> None:
    assert found(client, "fresh") == []
    path = sessions / "one.jsonl"
    answer = client.request(
        "session/append", {"session": str(path), "entries": [said("a fresh thought")]}
    )
    assert found(client, "fresh") == [answer["entries"][0]["id"]]
    with path.open("ab") as file:  # Pi writes, too
        file.write(text_line(user("pi", "one-b", "a fresh one of Pi's")) + b"\n")
    assert "pi" in found(client, "fresh")
    write_session(sessions, user("new", None, "fresh session"), name="four.jsonl", id="four")
    assert "new" in found(client, "fresh")


def test_what_is_gone_is_not_found(client: Client, sessions: Path) -> None:
    assert found(client, "needle") == ["one-a", "three-a", "two-a"]
    (sessions / "two.jsonl").unlink()
    write_session(sessions, user("z", None, "nothing"), name="three.jsonl", id="three")
    assert found(client, "needle") == ["one-a"]
    assert found(client, "nothing") == ["z"]


@pytest.mark.parametrize("query", ["", "->", "role:king x", "before:soon x"])
def test_what_is_no_query(client: Client, query: str) -> None:
    with pytest.raises(DaemonError) as error:
        client.request("session/search", {"query": query, "scope": "all"})
    assert (error.value.code, error.value.data["parameter"]) == (-32602, "query")


def test_another_daemon_finds_what_one_indexed(
    daemon: StartDaemon, sessions: Path, project: Path, tmp_path: Path
) -> None:
    assert found(daemon(folder=project), "needle") == ["one-a", "three-a", "two-a"]
    before = catalogue(tmp_path).stat()
    assert found(daemon(folder=project), "needle") == ["one-a", "three-a", "two-a"]
    after = catalogue(tmp_path).stat()
    assert (before.st_ino, before.st_size) == (after.st_ino, after.st_size)


def test_two_daemons_index_the_same_new_files(
    daemon: StartDaemon, sessions: Path, project: Path
) -> None:
    one, other = daemon(folder=project), daemon(folder=project)
    for number in range(20):
        name = f"new{number}"
        write_session(sessions, user(name, None, "twice"), name=f"{name}.jsonl", id=name)
        asking = one if number % 2 else other
        asking.request("session/search", {"query": "twice", "scope": "all"})
    wanted = sorted(f"new{number}" for number in range(20))
    assert found(one, "twice") == found(other, "twice") == wanted


def test_a_catalogue_that_is_spoilt_is_made_anew(
    client: Client, sessions: Path, tmp_path: Path
) -> None:
    assert found(client, "needle") == ["one-a", "three-a", "two-a"]
    with catalogue(tmp_path).open("r+b") as file:
        file.write(b"\xff" * 8192)
    Path(f"{catalogue(tmp_path)}-wal").unlink(missing_ok=True)
    write_session(sessions, user("z", None, "needle"), name="four.jsonl", id="four")
    assert found(client, "needle") == ["one-a", "three-a", "two-a", "z"]


def test_where_no_catalogue_can_be_made_a_search_says_so(
    daemon: StartDaemon, sessions: Path, project: Path, tmp_path: Path
) -> None:
    catalogue(tmp_path).parent.parent.mkdir(parents=True)
    catalogue(tmp_path).parent.write_text("in the way")
    client = daemon(folder=project)
    with pytest.raises(DaemonError) as error:
        client.request("session/search", {"query": "needle", "scope": "all"})
    assert error.value.data["kind"] == "storage"
    listed = client.request("session/list", {"scope": "all"})["sessions"]
    assert sorted(info["id"] for info in listed) == ["one", "three", "two"]


def test_the_process_that_indexes_is_killed_and_comes_back(
    client: Client, sessions: Path, tmp_path: Path
) -> None:
    assert found(client, "needle") == ["one-a", "three-a", "two-a"]
    ended = [pid for pid in children_of(client) if b"catalogue" in command_of(pid)]
    assert len(ended) == 1
    os.kill(ended[0], 9)
    write_session(sessions, user("z", None, "needle"), name="four.jsonl", id="four")
    assert found(client, "needle") == ["one-a", "three-a", "two-a", "z"]


def test_it_ends_with_the_daemon(client: Client) -> None:
    search(client, "needle")
    (pid,) = children_of(client)
    client.close()
    assert not Path(f"/proc/{pid}").exists()


def test_counts_of_large_files_come_later(client: Client, sessions: Path) -> None:
    records = [user(f"{at}", None, "x" * LARGE) for at in range(9)]
    path = write_session(sessions, *records, name="large.jsonl", id="large")
    assert count_of_large(client) is None
    search(client, "needle")
    told = [
        info
        for method, params in client.notifications
        if method == "session/listChanged"
        for info in params["changed"]
    ]
    assert [(info["path"], info["entryCount"]) for info in told] == [(str(path), 9)]
    assert count_of_large(client) == 9


def test_who_searches_is_told_how_far_it_is(client: Client) -> None:
    search(client, "needle")
    told = [params for method, params in client.notifications if method == "session/indexing"]
    assert told[-1]["sessions"] == told[-1]["ofSessions"]


def test_the_catalogue_holds_no_message(client: Client, sessions: Path, tmp_path: Path) -> None:
    write_session(
        sessions,
        user("a", None, "first"),
        user("b", "a", "swordfish lies in the vault"),
        name="secret.jsonl",
        id="secret",
    )
    assert found(client, "swordfish") == ["b"]
    stored = [path.read_bytes() for path in catalogue(tmp_path).parent.iterdir()]
    assert any(b"swordfish" in content for content in stored)
    assert not any(b"swordfish lies" in content for content in stored)
    assert catalogue(tmp_path).stat().st_mode & 0o777 == 0o600


def count_of_large(client: Client) -> object:
    listed = client.request("session/list", {"scope": "all"})["sessions"]
    return {info["id"]: info["entryCount"] for info in listed}["large"]


def children_of(client: Client) -> list[int]:
    pid = client._process.pid
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in found for child in path.read_text().split()]


def command_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()
