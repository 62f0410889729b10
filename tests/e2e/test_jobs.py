"""A summary being written: seen by all, ended in many ways, and nothing stored unless complete."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from branchline.folders import locks_dir
from branchline.log.lock import SessionLock
from tests.e2e.conftest import SERVE, StartDaemon
from tests.e2e.editor import (
    CANCEL_SECONDS,
    CONVERSATION,
    FORK,
    GOOD,
    KEEP,
    KINDS,
    SPLIT,
    Editor,
    asks,
    begin,
    editor,
    gate,
    session,
)
from tests.e2e.world import SLACK, lines_of, raw_daemon, user
from tests.model_server import (
    Then,
    hangs,
    model_server,
    refuses,
    says,
    starts,
)
from tests.unit.wire_client import DEADLINE, notification

Json = Any
GONE_SECONDS = 5.0


@pytest.fixture
def path(agent_dir: Path) -> Path:
    return session(agent_dir, *CONVERSATION)


# --- events --------------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("token", ["a-token", 7])
def test_the_offline_text_is_told_piece_by_piece(
    environment: dict[str, str], path: Path, kind: str, token: str | int
) -> None:
    with editor(environment, path) as ed:
        answer = ed.wait(begin(ed, kind, workDoneToken=token))["result"]
        (text,) = ed.texts().values()
        assert text in answer["summary"]
        assert len(ed.news("session/summaryText")) > 5
        ed.assert_one_job(kind)
        reports = ed.assert_progress(token)
        assert reports
        assert 0 < max(reports) < 100
        methods = [one.get("method", "answer") for one in ed.messages]
        order = ["$/progress", "session/busy", "session/summaryText", "session/changed"]
        places = [methods.index(name) for name in order]
        assert places == sorted(places)
        jobs = {one["jobId"] for one in ed.news("session/summaryText")}
        assert jobs == {ed.news("session/busy")[0]["job"]["id"]}
        (part,) = {one["part"] for one in ed.news("session/summaryText")}
    assert part == {"compaction": "history", "branch": "branch"}[kind]


def test_nobody_is_told_of_a_plan_or_of_nothing(environment: dict[str, str], path: Path) -> None:
    with editor(environment, path) as ed:
        begin(ed, "compaction", dryRun=True, workDoneToken="t")
        begin(ed, "branch", dryRun=True, workDoneToken="t")
        ed.wait(ed.start("compact", workDoneToken="t"))  # nothing to compact
        ed.wait(ed.start("compact", keepRecentTokens=KEEP, summary="own", workDoneToken="t"))
        for method in ("session/busy", "session/summaryText", "$/progress"):
            assert ed.news(method) == []


def test_others_go_on_and_a_second_summary_waits_its_turn(
    environment: dict[str, str], path: Path, tmp_path: Path
) -> None:
    wait = gate()
    other = session(tmp_path / "other", *FORK)
    with (
        model_server(says(GOOD).after(wait), says(GOOD), says(GOOD)) as server,
        editor(environment, path, asks(server)) as ed,
    ):
        work = begin(ed, "compaction", workDoneToken="t")
        server.wait_for_requests(1)
        job = ed.news("session/busy")[0]["job"]
        for kind in ("compaction", "branch"):
            error = ed.wait(begin(ed, kind, workDoneToken="second"))["error"]
            assert (error["code"], error["data"]["kind"]) == (4007, "busy")
            assert error["data"]["job"] == job
            assert job["id"] in error["message"]
        assert ed.ask("tree")["total"] > 0
        assert ed.ask("context")["leafId"] == "a4"
        ed.append()
        ed.ask("label", targetId="a1", label="x")
        ed.ask("rename", name="n")
        # Only summaries of this session have to wait.
        elsewhere = {"session": str(other), "targetId": "a1", "summary": {"mode": "write"}}
        assert ed.wait(ed.send("session/switchLeaf", **elsewhere))["result"]["summaryEntryId"]
        wait.set()
        assert ed.wait(work)["result"]["entryId"]
        ed.assert_one_job("compaction")
        ed.assert_progress("t")
        assert [one for one in ed.news("$/progress") if one["token"] == "second"] == []
        ed.forget()
        assert ed.wait(begin(ed, "branch"))["result"]["leafId"]


def test_a_session_that_is_written_for_is_kept_though_nobody_has_it_open(
    environment: dict[str, str], path: Path, tmp_path: Path
) -> None:
    wait = gate()
    with (
        model_server(says(GOOD).after(wait)) as server,
        editor(environment, path, asks(server)) as ed,
    ):
        ed.ask("close")
        work = begin(ed, "compaction")
        server.wait_for_requests(1)
        for number in range(20):
            other = session(tmp_path / str(number), *FORK)
            ed.wait(ed.send("session/context", session=str(other)))
        wait.set()
        assert ed.wait(work)["result"]["entryId"] == ed.leaf()


@KINDS
def test_it_ends_when_its_session_is_deleted(
    environment: dict[str, str], path: Path, kind: str
) -> None:
    with (
        model_server(starts("## Goal\n", then=Then.HANG)) as server,
        editor(environment, path, asks(server)) as ed,
    ):
        work = begin(ed, kind)
        ed.see(lambda one: one.get("method") == "session/summaryText")
        ed.wait(ed.start("delete"))
        assert ed.wait(work)["error"]["code"] == 4005
        assert server.requests[0].left.wait(DEADLINE)
        assert not path.exists()


# --- cancelling ----------------------------------------------------------------------------------


def cancel_request(ed: Editor, work: int) -> None:
    ed.cancel(work)


def cancel_progress(ed: Editor, _work: int) -> None:
    ed.cancel_progress("t")


def cancel_session(ed: Editor, _work: int) -> None:
    assert ed.ask("cancel") == {"cancelled": True}


CANCELS = pytest.mark.parametrize("cancel", [cancel_request, cancel_progress, cancel_session])


@KINDS
@CANCELS
def test_it_ends_at_once_when_it_is_cancelled(
    environment: dict[str, str],
    path: Path,
    kind: str,
    cancel: Callable[[Editor, int], None],
) -> None:
    before = path.read_bytes()
    with (
        model_server(starts("## Goal\n", then=Then.HANG)) as server,
        editor(environment, path, asks(server)) as ed,
    ):
        work = begin(ed, kind, workDoneToken="t")
        ed.see(lambda one: one.get("method") == "session/summaryText")  # the first token is there
        started = time.monotonic()
        cancel(ed, work)
        error = ed.wait(work)["error"]
        assert time.monotonic() - started < CANCEL_SECONDS * SLACK
        assert (error["code"], error["data"]) == (-32800, {"kind": "cancelled"})
        assert server.requests[0].left.wait(DEADLINE)
        assert (path.read_bytes(), ed.leaf()) == (before, "a4")
        ed.assert_one_job(kind)
        ed.assert_progress("t")
        # After it ended nothing is left to cancel, and nothing breaks.
        cancel_request(ed, work)
        cancel_progress(ed, work)
        assert ed.ask("cancel") == {"cancelled": False}
        ed.assert_one_job(kind)
        ed.assert_progress("t")
        # The session is free again.
        server.add(says(GOOD))
        assert "result" in ed.wait(begin(ed, kind, workDoneToken="t"))
        assert ed.ask("cancel") == {"cancelled": False}


@CANCELS
def test_it_ends_while_it_waits_for_another_try(
    environment: dict[str, str], path: Path, cancel: Callable[[Editor, int], None]
) -> None:
    answers = [refuses(429, headers={"Retry-After": "30"})]
    with model_server(*answers) as server, editor(environment, path, asks(server)) as ed:
        work = begin(ed, "compaction", workDoneToken="t")
        server.wait_for_requests(1)
        started = time.monotonic()
        cancel(ed, work)
        assert ed.wait(work)["error"]["code"] == -32800
        assert time.monotonic() - started < CANCEL_SECONDS * SLACK
        ed.assert_progress("t")
        assert len(server.requests) == 1


def test_what_is_cancelled_before_it_starts_is_not_run(
    environment: dict[str, str], path: Path
) -> None:
    with model_server(says(GOOD)) as server, editor(environment, path, asks(server)) as ed:
        # All in one piece: the cancellation is there before the append is done.
        append = ed.start("append", entries=[user("x")])
        work = begin(ed, "compaction", workDoneToken="t")
        ed.cancel(work)
        assert "result" in ed.wait(append)
        assert ed.wait(work)["error"]["code"] == -32800
        before = path.read_bytes()
        kinds = [one["value"]["kind"] for one in ed.news("$/progress")]
        assert kinds in ([], ["begin", "end"])
        jobs = [one["job"] is None for one in ed.news("session/busy")]
        assert jobs in ([], [False, True])
        assert ed.ask("cancel") == {"cancelled": False}
        assert path.read_bytes() == before
        assert lines_of(path)[-1]["type"] == "message"


def test_what_is_cancelled_too_late_is_answered_as_stored(
    environment: dict[str, str], path: Path
) -> None:
    with editor(environment, path) as ed:
        for _ in range(6):
            count = len(lines_of(path))
            work = begin(ed, "branch", workDoneToken="t")
            ed.start("cancel")
            ed.cancel_progress("t")
            answer = ed.wait(work)
            stored = len(lines_of(path)) > count
            assert ("result" in answer) is stored, answer
            cancelled = [one["result"] for one in ed.messages if one.get("id") == work + 1]
            assert (cancelled == [{"cancelled": True}]) <= ("error" in answer)
            ed.assert_progress("t")
            ed.forget()
            ed.ask("switchLeaf", targetId="a4", position="at")


@KINDS
def test_until_the_write_itself_it_can_be_cancelled(
    environment: dict[str, str], path: Path, kind: str
) -> None:
    before = path.read_bytes()
    lock = SessionLock(locks_dir(environment), path.resolve())
    with editor(environment, path) as ed:
        lock.acquire()  # so that the write waits
        try:
            work = begin(ed, kind)
            ed.see(lambda one: "Critical Context" in str(one.get("params")))
            assert ed.wait(ed.start("cancel"))["result"] == {"cancelled": True}
        finally:
            lock.close()
        assert ed.wait(work)["error"]["code"] == -32800
        assert (path.read_bytes(), ed.leaf()) == (before, "a4")
        ed.assert_one_job(kind)


def test_both_texts_of_a_split_turn_end_together(
    environment: dict[str, str], agent_dir: Path
) -> None:
    path = session(agent_dir, *SPLIT)
    before = path.read_bytes()
    with (
        model_server(hangs(), hangs(), hangs(), refuses(401)) as server,
        editor(environment, path, asks(server)) as ed,
    ):
        work = ed.start("compact", keepRecentTokens=1)
        server.wait_for_requests(2)
        ed.cancel(work)
        assert ed.wait(work)["error"]["code"] == -32800
        assert ed.wait(ed.start("compact", keepRecentTokens=1))["error"]["code"] == 4010
        assert all(request.left.wait(DEADLINE) for request in server.requests[:3])
    assert path.read_bytes() == before


# --- the end -------------------------------------------------------------------------------------


def close_stdin(ed: Editor) -> None:
    assert ed.daemon.process.stdin is not None
    ed.daemon.process.stdin.close()


def close_stdout(ed: Editor) -> None:
    assert ed.daemon.process.stdout is not None
    ed.daemon.process.stdout.close()
    ed.daemon.send(notification("window/workDoneProgress/cancel", {"token": "none"}))
    ed.start("tree")


def exit_at_once(ed: Editor) -> None:
    ed.daemon.send(notification("exit"))


def kill(ed: Editor) -> None:
    ed.daemon.process.send_signal(signal.SIGKILL)


@KINDS
@pytest.mark.parametrize("leave", [close_stdin, close_stdout, exit_at_once, kill])
def test_a_daemon_that_ends_leaves_no_half_written_summary(
    environment: dict[str, str],
    path: Path,
    tmp_path: Path,
    kind: str,
    leave: Callable[[Editor], None],
) -> None:
    before = path.read_bytes()
    log_file = tmp_path / "stderr"
    with (
        log_file.open("wb") as log,
        model_server(starts("## Goal\n", then=Then.HANG)) as server,
        editor(environment, path, asks(server), stderr=log) as ed,
    ):
        begin(ed, kind, workDoneToken="t")
        ed.see(lambda one: one.get("method") == "session/summaryText")
        leave(ed)
        ed.daemon.process.wait(GONE_SECONDS * SLACK)
        assert server.requests[0].left.wait(DEADLINE)
    assert path.read_bytes() == before
    assert "Traceback" not in log_file.read_text()


def test_it_ends_with_its_editor_and_gives_the_lock_back(
    environment: dict[str, str], path: Path, daemon: StartDaemon
) -> None:
    before = path.read_bytes()
    with (
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as parent,
        model_server(hangs()) as server,
        raw_daemon(SERVE, environment) as raw,
    ):
        raw.initialize(processId=parent.pid, initializationOptions=asks(server))
        params = {"session": str(path), "keepRecentTokens": KEEP}
        raw.send({"jsonrpc": "2.0", "id": 1, "method": "session/compact", "params": params})
        server.wait_for_requests(1)
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait(DEADLINE)
        assert raw.process.wait(GONE_SECONDS * SLACK) == 1
        assert server.requests[0].left.wait(DEADLINE)
    assert path.read_bytes() == before
    daemon().request("session/append", {"session": str(path), "entries": [user("after")]})


def test_shutdown_ends_a_summary_and_answers_it(environment: dict[str, str], path: Path) -> None:
    with model_server(hangs()) as server, editor(environment, path, asks(server)) as ed:
        work = begin(ed, "compaction", workDoneToken="t")
        server.wait_for_requests(1)
        shutdown = ed.send("shutdown")
        assert ed.wait(work)["error"]["code"] == -32800
        assert "error" not in ed.wait(shutdown)
        ed.daemon.send(notification("exit"))
        assert ed.daemon.process.wait(GONE_SECONDS * SLACK) == 0


def test_reading_and_writing_do_not_wait_for_a_model(
    environment: dict[str, str], path: Path
) -> None:
    wait = threading.Event()
    with (
        model_server(says(GOOD).after(wait)) as server,
        editor(environment, path, asks(server)) as ed,
    ):
        work = begin(ed, "branch")
        server.wait_for_requests(1)
        for _ in range(20):
            ed.ask("tree")
            ed.ask("summarizer")
        assert not [one for one in ed.messages if one.get("id") == work]
        wait.set()
        assert ed.wait(work)["result"]["summaryEntryId"]
