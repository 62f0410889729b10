"""Creating, opening, closing and deleting sessions."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from branchline.demo.client import Client, DaemonError
from tests.e2e.conftest import StartDaemon
from tests.e2e.talk import SAMPLE, Talk, said, text, write_session
from tests.e2e.world import lines_of, snapshot
from tests.unit.session_files import text_of_file, user


def failure(client: Client, method: str, **params: Any) -> DaemonError:
    with pytest.raises(DaemonError) as error:
        client.request(f"session/{method}", params)
    return error.value


# --- create ----------------------------------------------------------------------------------


def test_a_new_session_has_no_file_until_something_is_said(
    daemon: StartDaemon, agent_dir: Path, tmp_path: Path
) -> None:
    client = daemon(folder=tmp_path)
    made = client.request("session/create", {})
    assert (made["leafId"], made["revision"]) == (None, 0)
    info = made["session"]
    assert (info["cwd"], info["name"], info["version"]) == (str(tmp_path), None, 3)
    assert (info["entryCount"], info["sizeBytes"], info["parentSession"]) == (0, 0, None)
    path = Path(info["path"])
    name = "--" + str(tmp_path)[1:].replace("/", "-") + "--"
    assert path.parent == agent_dir / "sessions" / name
    assert path.name.endswith(f"_{info['id']}.jsonl")
    assert not path.parent.exists()


def test_the_file_appears_with_the_first_append(daemon: StartDaemon) -> None:
    umask = os.umask(0)
    try:
        client = daemon()
    finally:
        os.umask(umask)
    made = client.request("session/create", {"parentSession": "/s/parent.jsonl"})["session"]
    answer = client.request("session/append", {"session": made["id"], "entries": [said("one")]})
    path = Path(made["path"])
    head, first = lines_of(path)
    assert head == {
        "type": "session",
        "version": 3,
        "id": made["id"],
        "timestamp": made["createdAt"],
        "cwd": made["cwd"],
        "parentSession": "/s/parent.jsonl",
    }
    assert list(head)[:2] == ["type", "version"]
    assert answer["entries"] == [
        {"id": first["id"], "parentId": None, "timestamp": first["timestamp"]}
    ]
    assert (answer["leafId"], answer["revision"]) == (first["id"], 1)
    modes = [stat.S_IMODE(one.stat().st_mode) for one in (path, path.parent, path.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]


def test_a_name_stands_before_the_first_entry(daemon: StartDaemon) -> None:
    client = daemon()
    made = client.request("session/create", {"name": " Parser\nspeed "})["session"]
    assert made["name"] == "Parser speed"
    client.request("session/append", {"session": made["id"], "entries": [said("one")]})
    _, named, first = lines_of(Path(made["path"]))
    assert (named["type"], named["name"], named["parentId"]) == (
        "session_info",
        "Parser speed",
        None,
    )
    assert first["parentId"] == named["id"]
    assert (
        client.request("session/open", {"session": made["path"]})["session"]["name"]
        == "Parser speed"
    )


@pytest.mark.parametrize("session_id", ["a", "A-1.b_c", "0" * 128, "x--y"])
def test_an_id_of_one_s_own(daemon: StartDaemon, session_id: str) -> None:
    made = daemon().request("session/create", {"id": session_id})["session"]
    assert made["id"] == session_id


@pytest.mark.parametrize(
    "session_id", ["", "-a", "a-", ".", "a/b", "../x", "a b", "é", "0" * 129, "a\n"]
)
def test_an_id_that_is_no_name_is_refused(daemon: StartDaemon, session_id: str) -> None:
    error = failure(daemon(), "create", id=session_id)
    assert (error.code, error.data["parameter"]) == (-32602, "id")


def test_an_id_that_is_taken_is_refused(daemon: StartDaemon) -> None:
    client = daemon()
    client.request("session/create", {"id": "mine"})
    assert failure(client, "create", id="mine").code == -32602
    client.request("session/append", {"session": "mine", "entries": [said()]})
    assert failure(client, "create", id="mine").code == -32602


def test_a_cwd_must_be_absolute(daemon: StartDaemon, tmp_path: Path) -> None:
    client = daemon()
    for cwd in ("relative", "", "/a\0b"):
        assert failure(client, "create", cwd=cwd).data["parameter"] == "cwd"
    assert client.request("session/create", {"cwd": str(tmp_path)})["session"]["cwd"] == str(
        tmp_path
    )


def test_a_sessions_dir_of_one_s_own_is_flat(daemon: StartDaemon, tmp_path: Path) -> None:
    client = daemon({"sessionsDir": str(tmp_path / "mine")})
    made = client.request("session/create", {})["session"]
    assert Path(made["path"]).parent == tmp_path / "mine"


def test_a_new_session_can_be_looked_at(daemon: StartDaemon) -> None:
    client = daemon()
    made = client.request("session/create", {})["session"]
    opened = client.request("session/open", {"session": made["id"]})
    assert (opened["leafId"], opened["revision"], opened["warnings"]) == (None, 0, [])
    assert opened["usage"]["tokens"] == 0
    for method, key in (("tree", "rows"), ("branches", "branches"), ("context", "messages")):
        assert client.request(f"session/{method}", {"session": made["id"]})[key] == []
    assert client.request("session/entries", {"session": made["id"], "ids": []}) == {"entries": []}
    assert client.request("session/stats", {"session": made["id"]})["whole"]["entries"] == 0
    assert client.request("session/check", {"session": made["id"]})["warnings"] == []
    assert client.request("session/close", {"session": made["id"]}) == {}
    assert not Path(made["path"]).exists()


# --- open and close --------------------------------------------------------------------------


def test_a_session_is_opened_by_path_uri_or_id(talk: Talk) -> None:
    for name in (str(talk.path), talk.path.as_uri(), "s-1"):
        opened = talk.client.request("session/open", {"session": name})
        assert opened["session"]["path"] == str(talk.path)
        assert (opened["leafId"], opened["revision"], opened["warnings"]) == ("d", 0, [])


def test_what_opening_says(talk: Talk) -> None:
    assert talk.opened.keys() == {"session", "leafId", "revision", "usage", "warnings", "settings"}
    usage = talk.opened["usage"]
    assert usage == {"tokens": 10, "contextWindow": 128_000, "reserveTokens": 16_384, "due": False}
    assert talk.opened["settings"]["durability"] == "fsync"
    info = talk.opened["session"]
    assert (info["entryCount"], info["branchCount"], info["firstMessage"]) == (
        6,
        2,
        "first question",
    )


def test_a_uri_may_have_escapes(daemon: StartDaemon, agent_dir: Path) -> None:
    path = write_session(agent_dir / "sessions" / "--w--", *SAMPLE, name="a b%é.jsonl")
    assert "%20" in path.as_uri()
    opened = daemon().request("session/open", {"session": path.as_uri()})
    assert opened["session"]["path"] == str(path)


def test_an_id_that_several_files_have_names_them(talk: Talk) -> None:
    other = write_session(talk.path.parent, *SAMPLE, name="other.jsonl")
    error = failure(talk.client, "entries", session="s-1", ids=[])
    assert (error.code, error.data["parameter"]) == (-32602, "session")
    assert error.data["paths"] == sorted([str(talk.path), str(other)])
    assert all(path in error.message for path in error.data["paths"])


@pytest.mark.parametrize("session", ["nobody", "/nowhere/x.jsonl", "file:///nowhere/x.jsonl"])
def test_a_session_that_is_not_there(daemon: StartDaemon, session: str) -> None:
    error = failure(daemon(), "open", session=session)
    assert (error.code, error.data["kind"]) == (4001, "notFound")
    assert session in error.message


@pytest.mark.parametrize(
    "session", ["", "a/b", "./x.jsonl", "file://other/x.jsonl", "a\0b", None, 7]
)
def test_what_names_no_session(daemon: StartDaemon, session: Any) -> None:
    error = failure(daemon(), "open", session=session)
    assert (error.code, error.data["parameter"]) == (-32602, "session")


@pytest.mark.parametrize("content", [b"hello\n", b"\n" * 100, text_of_file(user("a"))])
def test_what_is_no_session_is_left_alone(
    daemon: StartDaemon, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    client = daemon()
    for method in ("open", "check", "delete", "repair"):
        error = failure(client, method, session=str(path))
        assert (error.code, error.data["kind"]) == (4002, "invalidSession")
    assert path.read_bytes() == content


def test_opening_changes_nothing(talk: Talk) -> None:
    before = snapshot(talk.path.parent)
    for method in ("open", "tree", "branches", "context", "stats", "check", "close"):
        talk.ask(method)
    assert snapshot(talk.path.parent) == before


def test_an_empty_file_becomes_a_session_with_the_first_append(
    daemon: StartDaemon, tmp_path: Path
) -> None:
    path = tmp_path / "t_empty-1.jsonl"
    path.touch(0o600)
    talk = Talk(daemon(), path)
    assert (talk.opened["leafId"], talk.opened["session"]["id"]) == (None, "empty-1")
    assert path.read_bytes() == b""
    talk.append(said("one"))
    head, first = lines_of(path)
    assert (head["type"], head["id"], first["message"]["content"]) == ("session", "empty-1", "one")


def test_a_session_opened_to_read_is_not_written(talk: Talk) -> None:
    opened = talk.ask("open", readOnly=True)
    assert opened["session"]["readOnly"]
    for method, params in (
        ("append", {"entries": [said()]}),
        ("label", {"targetId": "a", "label": "x"}),
        ("rename", {"name": "x"}),
        ("edit", {"targetId": "a", "replacement": None}),
        ("switchLeaf", {"targetId": "b"}),
        ("repair", {}),
        ("delete", {}),
    ):
        error = talk.error(method, **params)
        assert (error.code, error.data["kind"]) == (4006, "readOnly"), method
    assert not talk.ask("open")["session"]["readOnly"]
    talk.append(said())


def test_a_newer_version_is_read_only(daemon: StartDaemon, agent_dir: Path) -> None:
    path = write_session(agent_dir / "sessions" / "--w--", *SAMPLE, version=4)
    talk = Talk(daemon(), path)
    assert talk.opened["session"]["readOnly"]
    assert [one["code"] for one in talk.opened["warnings"]] == ["newer-version"]
    for method, params in (
        ("append", {"entries": [said()]}),
        ("repair", {}),
        ("rename", {"name": ""}),
    ):
        assert talk.error(method, **params).code == 4006


def test_after_closing_nothing_is_told(talk: Talk) -> None:
    assert talk.ask("close") == {}
    talk.append(said())
    assert talk.told() == []
    talk.ask("open")
    talk.append(said())
    assert len(talk.told()) == 1


def test_closing_twice_is_closing(talk: Talk) -> None:
    assert talk.ask("close") == talk.ask("close") == {}


def test_a_relative_session_is_found_by_its_link(talk: Talk, tmp_path: Path) -> None:
    link = tmp_path / "link.jsonl"
    link.symlink_to(talk.path)
    assert talk.client.request("session/open", {"session": str(link)})["session"]["path"] == str(
        talk.path
    )


# --- delete ----------------------------------------------------------------------------------


def test_delete_moves_the_file_to_the_trash(talk: Talk, environment: dict[str, str]) -> None:
    content = talk.path.read_bytes()
    assert talk.ask("delete") == {"trashed": str(talk.path)}
    trash = Path(environment["XDG_DATA_HOME"]) / "Trash"
    assert not talk.path.exists()
    (info,) = (trash / "info").iterdir()
    assert f"Path={talk.path}" in info.read_text()
    (kept,) = (trash / "files").iterdir()
    assert kept.read_bytes() == content


def test_a_deleted_session_is_gone_for_everybody(talk: Talk) -> None:
    talk.ask("delete")
    (reset,) = talk.told("session/reset")
    assert (reset["session"], reset["path"], reset["reason"]) == ("s-1", str(talk.path), "deleted")
    for method in ("open", "tree", "delete"):
        assert talk.error(method).data["kind"] == "notFound"
    assert talk.client.request("session/list", {"scope": "all"})["total"] == 0


def test_deleting_a_session_without_a_file_forgets_it(daemon: StartDaemon) -> None:
    client = daemon()
    made = client.request("session/create", {"id": "new"})["session"]
    assert client.request("session/delete", {"session": "new"}) == {"trashed": None}
    assert failure(client, "open", session="new").data["kind"] == "notFound"
    assert not Path(made["path"]).exists()


def test_a_folder_or_another_file_is_never_deleted(daemon: StartDaemon, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("mine\n")
    client = daemon()
    for path in (notes, tmp_path):
        assert failure(client, "delete", session=str(path)).code in (4002, 4008)
    assert notes.read_text() == "mine\n"


def test_text_is_json_on_disk(talk: Talk) -> None:
    answer = talk.append(said(text("é \u2028 \ud83d end")))
    line = talk.path.read_bytes().splitlines()[-1]
    assert json.loads(line)["message"]["content"][0]["text"].startswith("é \u2028 ")
    assert talk.entry(answer["leafId"])["message"]["content"][0]["text"] == "é \u2028 \ufffd end"


@pytest.mark.parametrize(("method", "params"), [("tree", {}), ("append", {"entries": [said()]})])
def test_an_empty_file_that_somebody_else_fills_is_to_be_opened_again(
    daemon: StartDaemon, agent_dir: Path, method: str, params: dict[str, Any]
) -> None:
    path = write_session(agent_dir / "sessions" / "--w--", *SAMPLE)
    content = path.read_bytes()
    path.write_bytes(b"")
    talk = Talk(daemon(), path)
    path.write_bytes(content)
    with pytest.raises(DaemonError) as error:
        talk.ask(method, **params)
    assert error.value.data["kind"] == "fileChanged"
    assert [name for name, _ in talk.client.notifications] == ["session/reset"]
    assert path.read_bytes() == content
    assert talk.ask("open")["leafId"] == "d"


def test_opening_sees_at_once_that_an_empty_file_was_filled(
    daemon: StartDaemon, agent_dir: Path
) -> None:
    path = write_session(agent_dir / "sessions" / "--w--", *SAMPLE)
    content = path.read_bytes()
    path.write_bytes(b"")
    talk = Talk(daemon(), path)
    path.write_bytes(content)
    assert talk.ask("open")["leafId"] == "d"


def test_read_only_ends_with_closing(daemon: StartDaemon, agent_dir: Path) -> None:
    path = write_session(agent_dir / "sessions" / "--w--", *SAMPLE)
    talk = Talk(daemon(), path, readOnly=True)
    assert talk.error("append", entries=[said()]).data["kind"] == "readOnly"
    talk.ask("close")
    assert talk.append(said())["leafId"]
