"""A prompt that ends before its answer: what came is stored, marked, and sent to nobody again."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.editor import CANCEL_SECONDS, Editor, editor, session
from tests.e2e.prompts import (
    HALF,
    NO_COST,
    TALK,
    ZEROS,
    Desk,
    answers,
    assert_broken_off,
    new_records,
    prompt,
    see_half,
    wire,
)
from tests.e2e.world import SLACK, lines_of, user
from tests.model_server import (
    KEY,
    SECRET,
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
MARK = "MARK-OF-THE-SERVER"


@pytest.fixture
def path(agent_dir: Path) -> Path:
    return session(agent_dir, *TALK)


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
    "dropped at once": ([drops()] * 5, None, True, 2, []),
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
        timeout, retries = 1 if "never" in name else 20, 1 if "at once" in name else 3
        ed = desk.sit(answers(server, timeoutSeconds=timeout, maxRetries=retries))
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
