"""A summary that fails, in every way: an error that says so, and all stays as it was."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.editor import CONVERSATION, GOOD, KEEP, KINDS, asks, begin, editor, session
from tests.e2e.world import lines_of
from tests.model_server import (
    KEY,
    SECRET,
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


@pytest.fixture
def path(agent_dir: Path) -> Path:
    return session(agent_dir, *CONVERSATION)


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
            answer = ed.wait(begin(ed, kind, workDoneToken="t"))
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
        answer = ed.wait(begin(ed, kind))["result"]
        assert len(server.requests) == 2
        assert len(lines_of(path)) == count + 1
    with editor(environment, path) as again:
        assert again.leaf() == answer["leafId"] == lines_of(path)[-1]["id"]


def test_after_a_failure_the_offline_writer_is_offered_and_not_taken(
    environment: dict[str, str], path: Path
) -> None:
    with model_server(refuses(401)) as server, editor(environment, path, asks(server)) as ed:
        assert ed.wait(begin(ed, "compaction"))["error"]["data"]["status"] == 401
        answer = ed.ask("compact", keepRecentTokens=KEEP, summarizer="offline")
        assert answer["summarizer"]["kind"] == "offline"
        assert len(server.requests) == 1


def test_a_failed_compaction_does_not_make_usage_untrusted(
    environment: dict[str, str], path: Path
) -> None:
    with model_server(refuses(401)) as server, editor(environment, path, asks(server)) as ed:
        before = ed.ask("context")["usage"]
        ed.wait(begin(ed, "compaction"))
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
            ed.wait(begin(ed, "compaction", workDoneToken="t"))
            ed.wait(begin(ed, "branch"))
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
