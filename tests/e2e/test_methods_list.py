"""``session/list``: which sessions, in which order, page by page."""

from pathlib import Path
from typing import Any

import pytest

from branchline.demo.client import Client, DaemonError
from tests.e2e.conftest import StartDaemon
from tests.e2e.talk import write_session
from tests.unit.helpers import entry, message


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def sessions(agent_dir: Path, project: Path) -> Path:
    """Four sessions, the newest ``below``; three belong to the project."""
    folder = agent_dir / "sessions" / "--project--"

    def made(name: str, cwd: Path, hour: int, *more: Any, **fields: Any) -> None:
        sent = 1_778_000_000_000 + hour * 3_600_000
        first = message("a", None, "user", f"hello {name}", timestamp=sent)
        write_session(folder, first, *more, name=f"{name}.jsonl", id=name, cwd=str(cwd), **fields)

    made("root", project, 1, entry("n", "a", "session_info", name="The Parser"))
    made("fork", project, 2, parentSession=str(folder / "root.jsonl"))
    made("below", project / "sub", 4)
    made("beside", project.with_name("project-2"), 3)
    return folder


def ids(client: Client, **params: Any) -> list[str]:
    answer = client.request("session/list", {"scope": "workspace", **params})
    return [info["id"] for info in answer["sessions"]]


@pytest.fixture
def client(daemon: StartDaemon, sessions: Path, project: Path) -> Client:
    return daemon(folder=project)


def test_the_workspace_has_the_sessions_of_its_folder_and_below(client: Client) -> None:
    assert ids(client) == ["below", "fork", "root"]
    assert ids(client, scope="all") == ["below", "beside", "fork", "root"]


def test_membership_is_the_header_s_not_the_folder_s(
    daemon: StartDaemon, sessions: Path, project: Path
) -> None:
    other = project.with_name("project-2")
    other.mkdir()
    assert ids(daemon(folder=other)) == ["beside"]
    assert (sessions / "beside.jsonl").parent.name == "--project--"


def test_a_folder_that_is_added_later_counts(client: Client, project: Path) -> None:
    folder = {"uri": project.with_name("project-2").as_uri(), "name": "2"}
    gone = {"uri": project.as_uri(), "name": "project"}
    event = {"added": [folder], "removed": []}
    client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    assert ids(client) == ["below", "beside", "fork", "root"]
    event = {"added": [], "removed": [gone]}
    client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    assert ids(client) == ["beside"]


def test_a_query(client: Client) -> None:
    assert ids(client, query="PARSER") == ["root"]
    assert ids(client, query="hello") == ["below", "fork", "root"]
    assert ids(client, query="hello below") == ["below"]
    assert ids(client, query="no such words") == []


def test_only_named_ones(client: Client) -> None:
    assert ids(client, named=True) == ["root"]


def test_threads(client: Client) -> None:
    assert ids(client, order="threaded") == ["below", "root", "fork"]


def test_pages(client: Client) -> None:
    params: dict[str, Any] = {"scope": "all", "limit": 3}
    first = client.request("session/list", params)
    second = client.request("session/list", {**params, "cursor": first["nextCursor"]})
    found = [info["id"] for info in first["sessions"] + second["sessions"]]
    assert found == ["below", "beside", "fork", "root"]
    assert (first["total"], second["total"], second["nextCursor"]) == (4, 4, None)


def test_what_a_list_says(client: Client, sessions: Path) -> None:
    (info,) = client.request("session/list", {"scope": "all", "query": "parser"})["sessions"]
    path = sessions / "root.jsonl"
    assert (info["id"], info["path"], info["name"]) == ("root", str(path), "The Parser")
    assert (info["entryCount"], info["messageCount"], info["branchCount"]) == (2, 1, 1)
    assert (info["firstMessage"], info["sizeBytes"]) == ("hello root", path.stat().st_size)
    assert (info["readable"], info["readOnly"], info["version"]) == (True, False, 3)


def test_a_new_session_is_listed_before_it_has_a_file(client: Client, project: Path) -> None:
    made = client.request("session/create", {"id": "new", "name": "Fresh"})["session"]
    assert ids(client) == ["new", "below", "fork", "root"]
    assert ids(client, named=True) == ["new", "root"]
    assert not Path(made["path"]).exists()
    assert made["cwd"] == str(project)


def test_files_that_are_no_sessions_hide_no_others(client: Client, sessions: Path) -> None:
    (sessions / "junk.jsonl").write_text("junk\n")
    (sessions / "empty.jsonl").touch()
    (sessions / "folder.jsonl").mkdir()
    assert ids(client, scope="all") == ["below", "beside", "fork", "root"]


def test_without_any_folder_of_sessions_there_are_none(daemon: StartDaemon) -> None:
    answer = daemon().request("session/list", {"scope": "all"})
    assert answer == {"sessions": [], "total": 0, "nextCursor": None}


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({}, "scope"),
        ({"scope": "some"}, "scope"),
        ({"scope": "all", "limit": 0}, "limit"),
        ({"scope": "all", "limit": "many"}, "limit"),
        ({"scope": "all", "order": "size"}, "order"),
        ({"scope": "all", "cursor": "never given"}, "cursor"),
        ({"scope": "all", "query": 7}, "query"),
        ({"scope": "all", "named": "yes"}, "named"),
    ],
)
def test_wrong_params_are_named(client: Client, params: dict[str, Any], name: str) -> None:
    with pytest.raises(DaemonError) as error:
        client.request("session/list", params)
    assert (error.value.code, error.value.data["parameter"]) == (-32602, name)
    assert name in error.value.message
