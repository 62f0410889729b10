"""A prompt that ends before its answer: what came is stored, marked, and sent to nobody again."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import SERVE, StartDaemon
from tests.e2e.editor import Editor, editor, session
from tests.e2e.prompts import (
    NO_COST,
    TALK,
    ZEROS,
    Desk,
    answers,
    desk_in,
    new_records,
    prompt,
    texts,
    wire,
)
from tests.e2e.talk import Talk
from tests.e2e.world import SLACK, lines_of, raw_daemon, user
from tests.model_server import (
    USAGE,
    Answer,
    Then,
    calls_tool,
    delta,
    drops,
    event,
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
MARK = "MARK-OF-THE-SERVER"
HALF = starts("Half an", " answer", then=Then.HANG)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with desk_in(tmp_path_factory.mktemp("ends")) as made:
        yield made


@pytest.fixture
def path(agent_dir: Path) -> Path:
    return session(agent_dir, *TALK)


def see_half(ed: Editor) -> None:
    """Wait until the half answer is there."""
    ed.see(lambda one: one.get("params", {}).get("delta") == " answer")


def assert_broken_off(records: list[Json], stop_reason: str, *said: str) -> Json:
    """The question is stored, and below it an answer that ended so; give the answer's record."""
    question, answer = records[-2:]
    assert question["message"]["role"] == "user"
    assert answer["parentId"] == question["id"]
    message = answer["message"]
    assert (message["role"], message["stopReason"]) == ("assistant", stop_reason)
    assert texts(answer) == list(said)
    assert ("errorMessage" in message) == (stop_reason == "error")
    return answer


# --- cancelling ----------------------------------------------------------------------------------


def cancel_request(ed: Editor, work: int) -> None:
    ed.cancel(work)


def cancel_progress(ed: Editor, _work: int) -> None:
    ed.cancel_progress("t")


def cancel_session(ed: Editor, _work: int) -> None:
    assert ed.ask("cancel") == {"cancelled": True}


CANCELS = pytest.mark.parametrize("cancel", [cancel_request, cancel_progress, cancel_session])


@CANCELS
def test_what_came_is_stored_when_it_is_cancelled(
    desk: Desk, cancel: Callable[[Editor, int], None]
) -> None:
    with model_server(HALF) as server:
        ed = desk.sit(answers(server))
        before = ed.path.read_bytes()
        work = ed.start("prompt", content="?", workDoneToken="t")
        see_half(ed)
        started = time.monotonic()
        cancel(ed, work)
        error = ed.wait(work)["error"]
        assert time.monotonic() - started < CANCEL_SECONDS * SLACK
        assert server.requests[0].left.wait(DEADLINE)
        answer = assert_broken_off(new_records(ed, before), "aborted", "Half an answer")
        assert answer["message"]["usage"] == {**ZEROS, "cost": NO_COST}
        assert error["code"] == -32800
        assert error["data"] == {
            "kind": "cancelled",
            "userEntryId": answer["parentId"],
            "assistantEntryId": answer["id"],
            "leafId": answer["id"],
            "revision": 2,
        }
        assert ed.leaf() == answer["id"]
        ed.assert_one_job("prompt")
        ed.assert_progress("t")
        # After it ended nothing is left to cancel, and the session is free again.
        cancel_request(ed, work)
        cancel_progress(ed, work)
        assert ed.ask("cancel") == {"cancelled": False}
        server.add(says("Whole."))
        assert "result" in prompt(ed, "again")
        sent = [one["content"] for one in server.requests[1].body["messages"]]
        assert sent[2:] == ["?", "again"]


@CANCELS
def test_it_ends_while_it_waits_for_another_try(
    desk: Desk, cancel: Callable[[Editor, int], None]
) -> None:
    with model_server(refuses(429, headers={"Retry-After": "30"})) as server:
        ed = desk.sit(answers(server))
        work = ed.start("prompt", content="?", workDoneToken="t")
        server.wait_for_requests(1)
        started = time.monotonic()
        cancel(ed, work)
        assert ed.wait(work)["error"]["code"] == -32800
        assert time.monotonic() - started < CANCEL_SECONDS * SLACK
        assert_broken_off(lines_of(ed.path), "aborted")
        assert len(server.requests) == 1


def test_what_is_cancelled_before_it_starts_is_not_asked(desk: Desk) -> None:
    with model_server() as server:
        ed = desk.sit(answers(server))
        # All in one piece: the cancellation is there before the append is done.
        append = ed.start("append", entries=[user("x")])
        work = ed.start("prompt", content="?", workDoneToken="t")
        ed.cancel(work)
        assert "result" in ed.wait(append)
        error = ed.wait(work)["error"]
        assert error["code"] == -32800
        stored = [one for one in lines_of(ed.path)[len(TALK) + 2 :] if "message" in one]
        assert len(stored) in (0, 2), "the question and how it ended, or nothing"
        assert ("userEntryId" in error["data"]) is bool(stored)
        assert server.requests == []


def test_what_is_cancelled_too_late_is_answered_as_stored(desk: Desk) -> None:
    with model_server(*[says("x")] * 6) as server:
        ed = desk.sit(answers(server))
        for _ in range(6):
            work = ed.start("prompt", content="?")
            ed.see(lambda one: one.get("method") == "session/messageText")
            cancel = ed.start("cancel")
            answer = ed.wait(work)
            stored = lines_of(ed.path)[-1]["message"]["stopReason"]
            assert ("result" in answer) is (stored == "stop")
            cancelled = ed.wait(cancel)["result"]["cancelled"]
            assert cancelled is (stored == "aborted")
            ed.forget()


# --- failures ------------------------------------------------------------------------------------


OVERFLOW = f"This model's maximum context length is 8 tokens. {MARK}"
FAILURES: dict[str, tuple[list[Answer], int | None, bool, int, list[str]]] = {
    # answers, status, retryable, requests, the texts that are stored
    "401": ([refuses(401, MARK)], 401, False, 1, []),
    "400": ([refuses(400, MARK)], 400, False, 1, []),
    "404": ([refuses(404, MARK)], 404, False, 1, []),
    "too long": ([refuses(400, OVERFLOW)], 400, False, 1, []),
    "500 four times": ([refuses(500, MARK)] * 5, 500, True, 4, []),
    "429 four times": ([refuses(429, MARK)] * 5, 429, True, 4, []),
    "a redirect": ([Answer(302, (), {"Location": "http://127.0.0.1:9/"})], 302, False, 1, []),
    "empty": ([says("")] * 3, 200, True, 1, []),
    "whitespace": ([says(" \n\t ")] * 3, 200, True, 1, []),
    "only reasoning": ([says("", reasoning=["hm"])] * 3, 200, True, 1, []),
    "only thinking in the text": ([says("<think>hm</think>")] * 3, 200, True, 1, []),
    "an error object": ([replies({"error": {"message": MARK}})], 200, False, 1, []),
    "no JSON": (
        [Answer(200, (b"<html>",), {"Content-Type": "application/json"})], 200, True, 1, [],
    ),
    "a tool call": ([calls_tool(MARK)] * 3, 200, True, 1, []),
    "a filter": ([says("Half", finish_reason="content_filter")], 200, False, 1, ["Half"]),
    "an unknown end": ([says("Half", finish_reason=MARK)], 200, True, 1, ["Half"]),
    "an error in the middle": (
        [streams(delta(content="Half"), event(error={"message": MARK}), Then.DROP)],
        200, False, 1, ["Half"],
    ),
    "dropped in the middle": ([starts("Half", then=Then.DROP)] * 5, None, True, 1, ["Half"]),
    "dropped while thinking": (
        [streams(delta(reasoning_content="hm"), Then.DROP)] * 5, None, True, 1, [],
    ),
    "dropped at once": ([drops()] * 5, None, True, 4, []),
    "no end of a stream": (
        [streams(delta(content="Half"), chunked=False)] * 5, 200, True, 1, ["Half"],
    ),
    "never an answer": ([hangs()], None, True, 1, []),
    "never the rest": ([starts("Half", then=Then.HANG)], None, True, 1, ["Half"]),
}  # fmt: skip


def soon(answers_: list[Answer]) -> list[Answer]:
    """The same from servers that want to be asked again at once."""
    return [
        Answer(one.status, one.steps, {**one.headers, "Retry-After": "0"}, one.chunked)
        for one in answers_
    ]


@pytest.mark.parametrize("name", FAILURES)
def test_what_came_is_stored_when_it_fails(desk: Desk, name: str) -> None:
    script, status, retryable, count, said = FAILURES[name]
    with model_server(*soon(script)) as server:
        ed = desk.sit(answers(server, timeoutSeconds=1 if "never" in name else 20))
        before = ed.path.read_bytes()
        error = prompt(ed, "?", workDoneToken="t")["error"]
        answer = assert_broken_off(new_records(ed, before), "error", *said)
        assert error["code"] == 4012
        data = error["data"]
        largest = data.pop("largest", None)
        assert data == {
            "kind": "promptFailed",
            "provider": server.host,
            "status": status,
            "retryable": retryable,
            "userEntryId": answer["parentId"],
            "assistantEntryId": answer["id"],
            "leafId": answer["id"],
            "revision": 2,
        }
        assert (largest is not None) is (name == "too long")
        assert len(server.requests) == count
        assert MARK not in json.dumps(ed.messages)
        assert MARK not in ed.path.read_text()
        thoughts = [one for one in answer["message"]["content"] if one["type"] == "thinking"]
        assert bool(thoughts) is ("reasoning" in name or "thinking" in name)
        ed.assert_one_job("prompt")
        ed.assert_progress("t")
        assert [one["content"] for one in wire(ed, ed.leaf())][2:] == ["?"]


@pytest.mark.parametrize("first", [refuses(429), refuses(503), refuses(408), drops()])
def test_one_failure_is_mended_by_asking_again(desk: Desk, first: Answer) -> None:
    with model_server(*soon([first]), says("Whole.")) as server:
        ed = desk.sit(answers(server))
        before = ed.path.read_bytes()
        assert "result" in prompt(ed)
        assert len(server.requests) == 2
        assert [one["type"] for one in new_records(ed, before)] == [
            "model_change",
            *["message"] * 2,
        ]


def test_what_a_broken_answer_cost_is_counted(desk: Desk) -> None:
    half = streams(delta(content="Half"), event(choices=[], usage=USAGE), Then.DROP)
    with model_server(half) as server:
        ed = desk.sit(answers(server))
        assert "error" in prompt(ed)
        assert ed.ask("stats")["whole"]["tokens"]["total"] == 120


@pytest.mark.parametrize("answer", [refuses_echoing_key(), refuses_echoing_key(500), says("x")])
def test_the_key_is_sent_to_the_server_and_shown_nowhere(
    environment: dict[str, str], path: Path, tmp_path: Path, answer: Answer
) -> None:
    log_file = tmp_path / "stderr"
    with log_file.open("wb") as log, model_server(*soon([answer] * 4)) as server:
        settings = answers(server, apiKeyEnv="MY_KEY", maxRetries=1)
        level = ("--log-level", "debug")
        with editor(
            {**environment, "MY_KEY": KEY}, path, settings, arguments=level, stderr=log
        ) as ed:
            prompt(ed, f"private words {MARK}", workDoneToken="t")
            ed.ask("open")
            ed.daemon.send(notification("exit"))
            ed.daemon.process.wait(DEADLINE)
        assert {one.headers["authorization"] for one in server.requests} == {f"Bearer {KEY}"}
    assert SECRET not in json.dumps(ed.messages)
    assert SECRET not in path.read_text()
    logged = log_file.read_text()
    assert "session/prompt" in logged
    for private in (SECRET, MARK, "Traceback"):
        assert private not in logged


# --- the end of the client, the session, the disk ------------------------------------------------


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
