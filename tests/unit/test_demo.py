import sys
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from branchline import codec
from branchline.demo.__main__ import private_environment, write_session
from branchline.demo.client import Client, DaemonError, DaemonGone
from branchline.entries import Kind, content_of, kind_of, message_of, tool_calls

DAEMON = """
import json, sys

def receive():
    length = int(sys.stdin.buffer.readline().split(b":")[1])
    sys.stdin.buffer.readline()
    return json.loads(sys.stdin.buffer.read(length))

def send(**message):
    body = json.dumps(message, ensure_ascii=False).encode()
    sys.stdout.buffer.write(b"content-length: %d\\r\\n\\r\\n" % len(body) + body)
    sys.stdout.buffer.flush()

while (message := receive())["method"] != "exit":
    match message["method"]:
        case "ask":
            send(id="theirs", method="window/workDoneProgress/create", params={})
            send(method="session/changed", params={"name": "Köln"})
            send(id=message["id"], result=[message.get("params"), receive()])
        case "fail":
            send(id=message["id"], error={"code": 4001, "message": "no", "data": {"kind": "k"}})
        case "die":
            sys.exit(3)
        case "hang":
            sys.stdin.buffer.read()
        case _ if "id" in message:
            send(id=message["id"], result=None)
sys.exit(7)
"""


def client(seconds: float = 20) -> Client:
    return Client([sys.executable, "-c", DAEMON], seconds=seconds)


def test_the_client_gets_its_answer_whatever_else_the_daemon_says() -> None:
    with client() as daemon:
        params, reply = daemon.request("ask", {"text": "Zürich"})
        assert params == {"text": "Zürich"}
        assert reply == {"jsonrpc": "2.0", "id": "theirs", "result": None}
        assert daemon.notifications == [("session/changed", {"name": "Köln"})]
        assert daemon.request("ask")[0] is None


def test_an_error_is_raised_with_its_code_and_data() -> None:
    with client() as daemon:
        with pytest.raises(DaemonError, match=r"fail: no \(4001\)") as caught:
            daemon.request("fail")
        assert caught.value.data == {"kind": "k"}
        assert daemon.request("anything") is None


def test_close_ends_the_daemon_and_gives_its_exit_code() -> None:
    with client() as daemon:
        daemon.initialize(Path.cwd(), {})
        assert daemon.close() == 7


def test_a_daemon_that_ends_or_hangs_does_not_hold_up_the_client() -> None:
    with client() as daemon, pytest.raises(DaemonGone):
        daemon.request("die")
    with client(seconds=0.5) as daemon, pytest.raises(DaemonGone):
        daemon.request("hang")


def sample() -> list[dict[str, Any]]:
    text = resources.files("branchline.demo").joinpath("session.jsonl").read_bytes()
    return [codec.decode(line) for line in text.splitlines()]


def test_the_sample_session_is_whole() -> None:
    header, *entries = sample()
    assert (header["type"], header["version"]) == ("session", 3)
    known: set[str | None] = {None}
    calls: set[str] = set()
    for entry in entries:
        assert entry["parentId"] in known
        assert entry["id"] not in known
        known.add(entry["id"])
        calls |= {call["id"] for call in tool_calls(content_of(entry))}
        if kind_of(entry) is Kind.TOOL_RESULT:
            calls.remove(message_of(entry)["toolCallId"])
    assert not calls, "every call has one result"
    assert [entry["timestamp"] for entry in entries] == sorted(e["timestamp"] for e in entries)


def test_the_sample_session_has_what_the_walk_shows() -> None:
    entries = sample()[1:]
    kinds = {kind_of(entry) for entry in entries}
    assert kinds >= {Kind.SYSTEM, Kind.BRANCH_SUMMARY, Kind.LABEL, Kind.SESSION_INFO}
    assert any(message_of(entry).get("isError") for entry in entries)
    parents = {entry["parentId"] for entry in entries}
    said = [entry for entry in entries if kind_of(entry) is not Kind.LABEL]
    assert len([entry for entry in entries if entry["id"] not in parents]) == 3
    assert "Done" in content_of(said[-1])[0]["text"]


def test_the_walks_copy_belongs_to_its_project_and_to_nobody_else(tmp_path: Path) -> None:
    path = write_session(tmp_path / "sessions", tmp_path / "project")
    header, _, rest = path.read_bytes().partition(b"\n")
    assert codec.decode(header)["cwd"] == str(tmp_path / "project")
    original = resources.files("branchline.demo").joinpath("session.jsonl").read_bytes()
    assert rest == original.partition(b"\n")[2]
    assert path.stat().st_mode & 0o077 == 0


def test_the_walk_sees_no_key_and_no_folder_of_the_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("OPENAI_API_KEY", "PI_CODING_AGENT_DIR", "PI_X", "XDG_CONFIG_HOME", "HOME"):
        monkeypatch.setenv(name, "/users-own")
    environment = private_environment(tmp_path)
    assert "/users-own" not in environment.values()
    assert "PATH" in environment
