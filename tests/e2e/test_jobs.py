"""A summary being written: seen by all, ended in many ways, and nothing stored unless complete."""

import json
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

from tests.e2e.conftest import SERVE, StartDaemon
from tests.e2e.editor import CONVERSATION, FORK, GOOD, KEEP, Editor, asks, editor, gate, session
from tests.e2e.world import SLACK, lines_of, raw_daemon, user
from tests.model_server import (
    Answer,
    Then,
    calls_tool,
    delta,
    drops,
    hangs,
    model_server,
    refuses,
    refuses_echoing_key,
    replies,
    says,
    starts,
    streams,
)
from tests.unit.wire_client import DEADLINE, notification

Json = Any
CANCEL_SECONDS = 0.5
"""The promise: a cancelled request is answered by then."""
GONE_SECONDS = 5.0
SECRET = "0123456789abcdef"
KEY = f"sk-test-{SECRET}"


@pytest.fixture
def path(agent_dir: Path) -> Path:
    return session(agent_dir, *CONVERSATION)


def start(ed: Editor, kind: str, **params: Json) -> int:
    """Begin to write a summary of a kind."""
    if kind == "compaction":
        return ed.start("compact", keepRecentTokens=KEEP, **params)
    return ed.start("switchLeaf", targetId="a1", position="at", summary={"mode": "write"}, **params)


KINDS = pytest.mark.parametrize("kind", ["compaction", "branch"])


# --- events --------------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("token", ["a-token", 7])
def test_the_offline_text_is_told_piece_by_piece(
    environment: dict[str, str], path: Path, kind: str, token: str | int
) -> None:
    with editor(environment, path) as ed:
        answer = ed.wait(start(ed, kind, workDoneToken=token))["result"]
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
        start(ed, "compaction", dryRun=True, workDoneToken="t")
        start(ed, "branch", dryRun=True, workDoneToken="t")
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
        work = start(ed, "compaction", workDoneToken="t")
        server.wait_for_requests(1)
        job = ed.news("session/busy")[0]["job"]
        for kind in ("compaction", "branch"):
            error = ed.wait(start(ed, kind, workDoneToken="second"))["error"]
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
        assert ed.wait(start(ed, "branch"))["result"]["leafId"]


def test_a_session_that_is_written_for_is_kept_though_nobody_has_it_open(
    environment: dict[str, str], path: Path, tmp_path: Path
) -> None:
    wait = gate()
    with (
        model_server(says(GOOD).after(wait)) as server,
        editor(environment, path, asks(server)) as ed,
    ):
        ed.ask("close")
        work = start(ed, "compaction")
        server.wait_for_requests(1)
        for number in range(20):
            other = session(tmp_path / str(number), *FORK)
            ed.wait(ed.send("session/context", session=str(other)))
        wait.set()
        assert ed.wait(work)["result"]["entryId"] == ed.leaf()


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
        work = start(ed, kind, workDoneToken="t")
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
        assert "result" in ed.wait(start(ed, kind, workDoneToken="t"))
        assert ed.ask("cancel") == {"cancelled": False}


@CANCELS
def test_it_ends_while_it_waits_for_another_try(
    environment: dict[str, str], path: Path, cancel: Callable[[Editor, int], None]
) -> None:
    answers = [refuses(429, headers={"Retry-After": "30"})]
    with model_server(*answers) as server, editor(environment, path, asks(server)) as ed:
        work = start(ed, "compaction", workDoneToken="t")
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
        work = start(ed, "compaction", workDoneToken="t")
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
            work = start(ed, "branch", workDoneToken="t")
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


def test_both_texts_of_a_split_turn_end_together(
    environment: dict[str, str], agent_dir: Path
) -> None:
    from tests.e2e.test_compact import SPLIT

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


# --- failing -------------------------------------------------------------------------------------

MARK = "MARK-OF-THE-SERVER"
FAILURES: dict[str, tuple[list[Answer], int | None, bool, int]] = {
    # answers, status, retryable, requests
    "401": ([refuses(401, MARK)], 401, False, 1),
    "400": ([refuses(400, MARK)], 400, False, 1),
    "500 four times": ([refuses(500, MARK)] * 5, 500, True, 4),
    "429 four times": ([refuses(429, MARK)] * 5, 429, True, 4),
    "cut off twice": ([says(GOOD + MARK, finish_reason="length")] * 3, 200, True, 2),
    "empty": ([says("")] * 3, 200, True, 1),
    "whitespace": ([says(" \n\t ")] * 3, 200, True, 1),
    "only reasoning": ([says("", reasoning=[MARK])] * 3, 200, True, 1),
    "only thinking in the text": ([says(f"<think>{MARK}</think>")] * 3, 200, True, 1),
    "an error object": ([replies({"error": {"message": MARK}})], 200, False, 1),
    "a tool call": ([calls_tool(MARK)] * 3, 200, True, 1),
    "no sections twice": ([says(f"Sure! {MARK}")] * 3, 200, True, 2),
    "dropped in the middle": ([starts(GOOD, MARK, then=Then.DROP)] * 5, None, True, 4),
    "dropped at once": ([drops()] * 5, None, True, 4),
    "no end of a stream": ([streams(delta(content=GOOD), chunked=False)] * 5, 200, True, 4),
    "never an answer": ([hangs()], None, True, 1),
    "never the rest": ([starts(GOOD, MARK, then=Then.HANG)], None, True, 1),
}


@KINDS
@pytest.mark.parametrize("name", FAILURES)
def test_a_summary_that_fails_leaves_all_as_it_was(
    environment: dict[str, str], path: Path, kind: str, name: str
) -> None:
    answers, status, retryable, count = FAILURES[name]
    before = path.read_bytes()
    # Tries follow each other fast: the servers say how long to wait.
    now = [Answer(one.status, one.steps, {**one.headers, "Retry-After": "0"}, one.chunked)
           for one in answers]  # fmt: skip
    with model_server(*now) as server:
        settings = asks(server, timeoutSeconds=1 if "never" in name else 20)
        with editor(environment, path, settings) as ed:
            answer = ed.wait(start(ed, kind, workDoneToken="t"))
            error = answer["error"]
            assert (error["code"], error["data"]["kind"]) == (4010, "summaryFailed")
            assert error["data"]["provider"] == server.host
            if status is not None:
                assert error["data"]["status"] == status
            assert error["data"]["retryable"] is retryable, error
            assert MARK not in str(error)
            assert "offline" in error["message"]
            assert len(server.requests) == count
            assert (path.read_bytes(), ed.leaf()) == (before, "a4")
            ed.assert_one_job(kind)
            ed.assert_progress("t")


@KINDS
@pytest.mark.parametrize(
    "first",
    [refuses(429), refuses(503), drops(), says(GOOD, finish_reason="length"), says("no form")],
    ids=["429", "503", "dropped", "cut off", "no sections"],
)
def test_one_failure_is_mended_by_asking_again(
    environment: dict[str, str], path: Path, kind: str, first: Answer
) -> None:
    with (
        model_server(first, says(GOOD)) as server,
        editor(environment, path, asks(server)) as ed,
    ):
        count = len(lines_of(path))
        answer = ed.wait(start(ed, kind))["result"]
        assert len(server.requests) == 2
        assert len(lines_of(path)) == count + 1
    with editor(environment, path) as again:
        assert again.leaf() == answer["leafId"] == lines_of(path)[-1]["id"]


def test_after_a_failure_the_offline_writer_is_offered_and_not_taken(
    environment: dict[str, str], path: Path
) -> None:
    with model_server(refuses(401)) as server, editor(environment, path, asks(server)) as ed:
        assert ed.wait(start(ed, "compaction"))["error"]["data"]["status"] == 401
        answer = ed.ask("compact", keepRecentTokens=KEEP, summarizer="offline")
        assert answer["summarizer"]["kind"] == "offline"
        assert len(server.requests) == 1


def test_a_failed_compaction_does_not_make_usage_untrusted(
    environment: dict[str, str], path: Path
) -> None:
    with model_server(refuses(401)) as server, editor(environment, path, asks(server)) as ed:
        before = ed.ask("context")["usage"]
        ed.wait(start(ed, "compaction"))
        assert ed.ask("context")["usage"] == before


# --- secrets -------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [refuses_echoing_key(), refuses_echoing_key(500), says(GOOD)])
def test_the_key_is_sent_to_the_server_and_shown_nowhere(
    environment: dict[str, str], path: Path, tmp_path: Path, answer: Answer
) -> None:
    log_file = tmp_path / "stderr"
    with log_file.open("wb") as log, model_server(*[answer] * 4) as server:
        settings = asks(server, apiKeyEnv="MY_KEY", maxRetries=1)
        variables = {**environment, "MY_KEY": KEY}
        level = ("--log-level", "debug")
        with editor(variables, path, settings, arguments=level, stderr=log) as ed:
            ed.wait(start(ed, "compaction", workDoneToken="t"))
            ed.wait(start(ed, "branch"))
            ed.ask("summarizer")
            ed.daemon.send(notification("exit"))
            ed.daemon.process.wait(DEADLINE)
        assert {one.headers["authorization"] for one in server.requests} == {f"Bearer {KEY}"}
    assert SECRET not in json.dumps(ed.messages)
    assert SECRET not in path.read_text()
    logged = log_file.read_text()
    assert "session/compact" in logged
    assert SECRET not in logged
    assert "Traceback" not in logged
    assert "Make the parser fast" not in logged
    assert "You write checkpoints" not in logged


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
        start(ed, kind, workDoneToken="t")
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
        work = start(ed, "compaction", workDoneToken="t")
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
        work = start(ed, "branch")
        server.wait_for_requests(1)
        for _ in range(20):
            ed.ask("tree")
            ed.ask("summarizer")
        assert not [one for one in ed.messages if one.get("id") == work]
        wait.set()
        assert ed.wait(work)["result"]["summaryEntryId"]
