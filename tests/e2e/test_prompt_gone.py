"""A prompt whose client, daemon, session or disk is gone before its answer."""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import SERVE, StartDaemon
from tests.e2e.editor import Editor, editor, session
from tests.e2e.prompts import (
    HALF,
    TALK,
    Desk,
    answers,
    assert_broken_off,
    prompt,
    see_half,
)
from tests.e2e.talk import Talk
from tests.e2e.world import SLACK, lines_of, raw_daemon
from tests.model_server import model_server, says
from tests.unit.wire_client import DEADLINE, notification

Json = Any
GONE_SECONDS = 5.0


@pytest.fixture
def path(agent_dir: Path) -> Path:
    return session(agent_dir, *TALK)


def close_stdin(ed: Editor) -> None:
    assert ed.daemon.process.stdin is not None
    ed.daemon.process.stdin.close()


def close_stdout(ed: Editor) -> None:
    assert ed.daemon.process.stdout is not None
    ed.daemon.process.stdout.close()
    ed.start("tree")


def exit_at_once(ed: Editor) -> None:
    ed.daemon.send(notification("exit"))


@pytest.mark.parametrize("leave", [close_stdin, close_stdout, exit_at_once])
def test_what_came_is_stored_when_its_client_leaves(
    environment: dict[str, str], path: Path, tmp_path: Path, leave: Callable[[Editor], None]
) -> None:
    log_file = tmp_path / "stderr"
    with (
        log_file.open("wb") as log,
        model_server(HALF) as server,
        editor(environment, path, answers(server), stderr=log) as ed,
    ):
        ed.start("prompt", content="?", workDoneToken="t")
        see_half(ed)
        leave(ed)
        ed.daemon.process.wait(GONE_SECONDS * SLACK)
        assert server.requests[0].left.wait(DEADLINE)
    assert_broken_off(lines_of(path), "aborted", "Half an answer")
    assert "Traceback" not in log_file.read_text()


def test_what_came_is_stored_when_its_editor_dies(environment: dict[str, str], path: Path) -> None:
    with (
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as parent,
        model_server(HALF) as server,
        raw_daemon(SERVE, environment) as raw,
    ):
        raw.initialize(processId=parent.pid, initializationOptions=answers(server))
        raw.ask("session/open", {"session": str(path)})
        params = {"session": str(path), "content": "?"}
        raw.send({"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": params})
        while b'" answer"' not in raw.receive():
            pass
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait(DEADLINE)
        assert raw.process.wait(GONE_SECONDS * SLACK) == 1
    assert_broken_off(lines_of(path), "aborted", "Half an answer")


def test_shutdown_ends_an_answer_and_answers_it(environment: dict[str, str], path: Path) -> None:
    with model_server(HALF) as server, editor(environment, path, answers(server)) as ed:
        work = ed.start("prompt", content="?")
        see_half(ed)
        shutdown = ed.send("shutdown")
        assert ed.wait(work)["error"]["code"] == -32800
        assert "error" not in ed.wait(shutdown)
        ed.daemon.send(notification("exit"))
        assert ed.daemon.process.wait(GONE_SECONDS * SLACK) == 0
    assert_broken_off(lines_of(path), "aborted", "Half an answer")


def test_a_killed_daemon_leaves_the_question_and_no_half_answer(
    environment: dict[str, str], path: Path, daemon: StartDaemon
) -> None:
    with model_server(HALF, says("Whole.")) as server:
        with editor(environment, path, answers(server)) as ed:
            ed.start("prompt", content="?")
            see_half(ed)
            ed.daemon.process.send_signal(signal.SIGKILL)
            ed.daemon.process.wait(DEADLINE)
        question = lines_of(path)[-1]
        assert question["message"]["content"] == "?"
        talk = Talk(daemon(answers(server)), path)
        assert talk.opened["leafId"] == question["id"]
        assert talk.opened["warnings"] == []
        done = talk.ask("prompt", content="Are you there?")
        assert talk.entry(done["userEntryId"])["parentId"] == question["id"]
        sent = [one["content"] for one in server.requests[1].body["messages"]]
        assert sent[2:] == ["?", "Are you there?"]


def test_it_ends_with_its_session(desk: Desk) -> None:
    with model_server(HALF) as server:
        ed = desk.sit(answers(server))
        work = ed.start("prompt", content="?")
        see_half(ed)
        ed.wait(ed.start("delete"))
        error = ed.wait(work)["error"]
        assert (error["code"], error["data"]["kind"]) == (4005, "fileChanged")
        assert error["data"]["userEntryId"]
        assert error["data"]["assistantEntryId"] is None
        assert server.requests[0].left.wait(DEADLINE)
        assert not ed.path.exists()


def test_a_file_that_was_taken_away_is_not_made_anew(desk: Desk) -> None:
    with model_server(HALF) as server:
        ed = desk.sit(answers(server))
        work = ed.start("prompt", content="?")
        see_half(ed)
        ed.path.unlink()
        ed.cancel(work)
        assert ed.wait(work)["error"]["code"] == 4005
        assert not ed.path.exists()


@pytest.mark.skipif(
    not hasattr(resource, "prlimit"), reason="another process's limits can be set on Linux only"
)
@pytest.mark.parametrize("room", [20, 600])
def test_a_full_disk_is_told_and_leaves_no_half_entry(
    environment: dict[str, str], path: Path, daemon: StartDaemon, room: int
) -> None:
    """There is room for a part of the question; for the question, and a part of its answer."""
    with (
        model_server(says("x" * 5000)) as server,
        editor(environment, path, answers(server)) as ed,
    ):
        before = path.read_bytes()
        limit = (len(before) + room, resource.RLIM_INFINITY)
        resource.prlimit(ed.daemon.process.pid, resource.RLIMIT_FSIZE, limit)
        error = prompt(ed, "?")["error"]
        assert (error["code"], error["data"]["kind"]) == (4008, "storage")
        asked_for = ed.leaf() != "a1"
        assert len(server.requests) == asked_for == (room == 600)
        if asked_for:
            assert error["data"]["userEntryId"] == error["data"]["leafId"] == ed.leaf()
            assert error["data"]["assistantEntryId"] is None
        else:
            assert "userEntryId" not in error["data"]
        resource.prlimit(ed.daemon.process.pid, resource.RLIMIT_FSIZE, (-1, -1))
        server.add(says("Whole."))
        done = prompt(ed, "Again?")["result"]
    again = Talk(daemon(), path)
    assert again.opened["leafId"] == done["leafId"]
    assert again.ask("context")["sources"][-1] == done["leafId"]
