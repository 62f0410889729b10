"""``branchline ask``: a question from the command line, its answer as it comes."""

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import COMMAND, Run
from tests.e2e.editor import FORK, gate
from tests.e2e.prompts import answers, texts
from tests.e2e.talk import write_session
from tests.e2e.world import lines_of
from tests.model_server import DEADLINE, ScriptedServer, Then, model_server, refuses, says, starts

Json = Any


@pytest.fixture
def server(environment: dict[str, str]) -> Iterator[ScriptedServer]:
    """The server that the user's settings name."""
    with model_server() as running:
        config = Path(environment["XDG_CONFIG_HOME"]) / "branchline" / "settings.json"
        config.parent.mkdir(parents=True)
        config.write_text(json.dumps(answers(running)))
        yield running


@pytest.fixture
def path(agent_dir: Path, project: Path) -> Path:
    """A session of the project. The leaf is on ``a4``."""
    return write_session(agent_dir / "sessions" / "--w--", *FORK, cwd=str(project))


@contextmanager
def asking(
    environment: dict[str, str], project: Path, *arguments: str, **streams: Any
) -> Iterator["subprocess.Popen[bytes]"]:
    """The command while it runs; its output is piped to us unless ``streams`` says other."""
    pipe = subprocess.PIPE
    options = {"stdin": subprocess.DEVNULL, "stdout": pipe, "stderr": pipe, **streams}
    with subprocess.Popen(
        [*COMMAND, "ask", *arguments],
        env={**environment, "TERM": "xterm", "COLUMNS": "80", "LINES": "24"},
        cwd=project,
        **options,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def read_until(descriptor: int, wanted: bytes) -> bytes:
    """What comes until the wanted is there."""
    seen = b""
    while wanted not in seen:
        piece = os.read(descriptor, 65_536)
        assert piece, seen
        seen += piece
    return seen


def last_two(path: Path) -> tuple[Json, Json]:
    """The newest question and its answer."""
    messages = [one for one in lines_of(path) if one["type"] == "message"]
    return messages[-2], messages[-1]


# --- streaming -----------------------------------------------------------------------------------


def test_an_answer_is_printed_as_it_comes(
    environment: dict[str, str], project: Path, path: Path, server: ScriptedServer
) -> None:
    wait = gate()
    server.add(says("By code \x1b[31mpo\u202eint", ".\r\n\tDone\x9b1m.", pause=wait))
    with asking(environment, project, "How?") as process:
        assert process.stdout is not None
        shown = read_until(process.stdout.fileno(), b"point")
        wait.set()
        shown += process.stdout.read()
        assert process.wait(DEADLINE) == 0
    assert shown.decode() == "By code [31mpoint.\n\tDone1m.\n"  # nothing that a terminal obeys
    question, answer = last_two(path)
    assert question["message"]["content"] == "How?"
    assert question["parentId"] == lines_of(path)[-3]["id"]
    assert lines_of(path)[-3]["parentId"] == "a4"
    assert texts(answer) == ["By code \x1b[31mpo\u202eint.\r\n\tDone\x9b1m."]


def test_on_a_terminal_a_sign_stands_until_the_answer_begins(
    environment: dict[str, str], project: Path, path: Path, server: ScriptedServer
) -> None:
    wait = gate()
    server.add(says("Answer.").after(wait))
    master, slave = pty.openpty()
    with asking(environment, project, "How?", stdout=slave, stderr=slave) as process:
        os.close(slave)
        server.wait_for_requests(1)
        before = read_until(master, b"Reading sessions")
        wait.set()
        after = read_until(master, b"Answer.")
        assert b"\x1b[2K" in after  # the sign is taken away
        assert b"Answer." not in before
        assert process.wait(DEADLINE) == 0
    os.close(master)


def test_the_result_as_json(run: Run, path: Path, server: ScriptedServer) -> None:
    server.add(says("Yes."))
    done = run("ask", "How?", "--json")
    question, answer = last_two(path)
    assert json.loads(done.stdout) == {
        "userEntryId": question["id"],
        "assistantEntryId": answer["id"],
        "leafId": answer["id"],
        "revision": 2,
        "stopReason": "stop",
        "usage": answer["message"]["usage"],
    }
    failed = json.loads(run("ask", "How?", "--json", wanted=1).stderr)["error"]
    assert (failed["code"], failed["data"]["status"]) == (4012, 404)
    assert failed["data"]["assistantEntryId"] == lines_of(path)[-1]["id"]


# --- where and what ------------------------------------------------------------------------------


def test_stdin_is_asked_and_a_new_session_begun(
    run: Run, project: Path, agent_dir: Path, path: Path, server: ScriptedServer
) -> None:
    (project / "AGENTS.md").write_text("Use tabs.")
    before = path.read_bytes()
    server.add(says("Seen."))
    assert run("ask", "--new", stdin="one\ntwo\n").stdout == "Seen.\n"
    assert path.read_bytes() == before
    (made,) = set((agent_dir / "sessions").rglob("*.jsonl")) - {path}
    head, *_ = lines_of(made)
    assert head["cwd"] == str(project)
    assert last_two(made)[0]["message"]["content"] == "one\ntwo"
    sent = server.requests[0].body["messages"]
    assert [one["role"] for one in sent] == ["system", "user"]
    assert "Use tabs." in sent[0]["content"]


def test_without_a_session_one_is_begun(run: Run, agent_dir: Path, server: ScriptedServer) -> None:
    server.add(says("Hello."), says("Again."))
    assert run("ask", "Hi").stdout == "Hello.\n"
    assert run("ask", "Hi again").stdout == "Again.\n"
    (made,) = (agent_dir / "sessions").rglob("*.jsonl")
    assert len(server.requests[1].body["messages"]) == 3
    assert texts(lines_of(made)[-1]) == ["Again."]


@pytest.mark.parametrize("wrong", [(), ("",), (" \n",), ("x", "--new", "--from", "u1"),
                                   ("x", "--new", "--session", "s-1")])  # fmt: skip
def test_what_cannot_be_asked_changes_nothing(
    run: Run, path: Path, server: ScriptedServer, wrong: tuple[str, ...]
) -> None:
    before = path.read_bytes()
    assert run("ask", *wrong, wanted=2, stdin=" \n").stderr
    assert path.read_bytes() == before
    assert server.requests == []


@pytest.mark.parametrize(
    ("origin", "below", "sent"),
    [
        ("u2", "a1", ["Make the parser fast.", "Regex or scan?"]),  # a question is asked anew
        ("u1", None, []),
        ("a1", "a1", ["Make the parser fast.", "Regex or scan?"]),
        ("root", None, []),
    ],
)
def test_from_another_place(
    run: Run, path: Path, server: ScriptedServer, origin: str, below: str | None, sent: list[str]
) -> None:
    server.add(says("Yes."))
    run("ask", "Scan.", "--from", origin)
    question, answer = last_two(path)
    change = next(one for one in lines_of(path) if one["id"] == question["parentId"])
    assert (change["type"], change["parentId"]) == ("model_change", below)
    assert answer["parentId"] == question["id"]
    assert [one["content"] for one in server.requests[0].body["messages"]] == [*sent, "Scan."]
    run("undo", wanted=1)  # messages were appended since


def test_a_question_that_was_never_answered_is_asked_anew(
    run: Run, path: Path, server: ScriptedServer
) -> None:
    server.add(says("Yes."))
    run("append", "-m", "Not answerd.")
    lost = lines_of(path)[-1]
    run("ask", "Answered.", "--from", lost["id"])
    question, _ = last_two(path)
    assert server.requests[0].body["messages"][-2]["content"] == "It does not work."
    assert question["message"]["content"] == "Answered."
    assert lost["id"] not in json.loads(run("context", "--json").stdout)["path"]


def test_a_place_that_is_not_there(run: Run, path: Path, server: ScriptedServer) -> None:
    before = path.read_bytes()
    assert "nowhere" in run("ask", "x", "--from", "nowhere", wanted=3).stderr
    assert "nowhere" in run("ask", "x", "--session", "nowhere", wanted=3).stderr
    assert path.read_bytes() == before
    assert server.requests == []


def test_another_model_and_another_session(
    run: Run, path: Path, agent_dir: Path, server: ScriptedServer
) -> None:
    other = write_session(agent_dir / "sessions" / "--x--", *FORK, cwd="/", id="other")
    server.add(says("Yes."))
    before = path.read_bytes()
    run("ask", "x", "-s", "other", "-m", "big")
    assert path.read_bytes() == before
    question, answer = last_two(other)
    assert answer["message"]["model"] == server.requests[0].body["model"] == "big"
    assert question["message"]["content"] == "x"


# --- ends ----------------------------------------------------------------------------------------


def test_a_failure_is_one_line_and_what_came_is_kept(
    run: Run, path: Path, server: ScriptedServer
) -> None:
    server.add(refuses(401), starts("Half", then=Then.DROP))
    refused = run("ask", "x", wanted=1)
    assert refused.stdout == ""
    (line,) = refused.stderr.splitlines()
    assert line.startswith(f"branchline: The prompt failed: {server.host} refused the key")
    assert lines_of(path)[-1]["message"]["stopReason"] == "error"
    broken = run("ask", "x", wanted=1)
    assert broken.stdout == "Half\n"
    assert "dropped the connection" in broken.stderr
    assert texts(lines_of(path)[-1]) == ["Half"]


def test_ctrl_c_ends_the_answer_and_keeps_what_came(
    environment: dict[str, str], project: Path, path: Path, server: ScriptedServer
) -> None:
    server.add(starts("Half an answer", then=Then.HANG))
    with asking(environment, project, "How?") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        read_until(process.stdout.fileno(), b"Half an answer")
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == b"\n"
        assert process.stderr.read() == b"branchline: The request was cancelled\n"
        assert process.wait(DEADLINE) == 130
    assert server.requests[0].left.wait(DEADLINE)
    question, answer = last_two(path)
    assert answer["parentId"] == question["id"]
    assert (answer["message"]["stopReason"], texts(answer)) == ("aborted", ["Half an answer"])


def test_who_stops_reading_loses_nothing_of_what_is_stored(
    environment: dict[str, str], project: Path, path: Path, server: ScriptedServer
) -> None:
    wait = gate()
    server.add(says("Begun,", " gone on,", " done.", pause=wait))
    with asking(environment, project, "How?") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        read_until(process.stdout.fileno(), b"Begun,")
        process.stdout.close()
        wait.set()
        assert process.stderr.read() == b""
        assert process.wait(DEADLINE) == 1
    _, answer = last_two(path)
    assert (answer["message"]["stopReason"], texts(answer)) == ("stop", ["Begun, gone on, done."])


def test_without_a_model_it_says_what_to_set(run: Run, path: Path) -> None:
    before = path.read_bytes()
    assert "prompt.model" in run("ask", "x", wanted=1).stderr
    assert path.read_bytes() == before
