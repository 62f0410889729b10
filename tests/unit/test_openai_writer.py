"""The writer that asks a model, against a real server on loopback that follows a script."""

import functools
import json
import logging
import socket
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from branchline.errors import SummaryFailed
from branchline.models.completions import Dialects, Endpoint
from branchline.summaries.openai_writer import OpenAIWriter
from branchline.summaries.prompts import CUT_OFF, MALFORMED
from branchline.summaries.writer import SummaryRequest, WrittenSummary
from tests.model_server import (
    DEADLINE,
    DONE,
    KEY,
    SECRET,
    USAGE,
    Answer,
    ScriptedServer,
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

PRIVATE = "the private words of a user"
GOOD = "## Goal\nmake it fast\n\n## Next Steps\n1. measure"
OVERFLOW = "This model's maximum context length is 8192 tokens, you asked for 9000."


class Told:
    """What a caller hears and what it waited: nothing waits in earnest."""

    def __init__(self) -> None:
        self.deltas: list[str] = []
        self.waited: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)


def request(*texts: str, **changes: Any) -> SummaryRequest:
    messages = [{"role": "user", "content": text} for text in texts or ("make it fast",)]
    whole = SummaryRequest(
        kind="compaction",
        messages=messages,
        previous=None,
        pinned=[],
        instructions=None,
        replace_instructions=False,
        max_tokens=1000,
        input_tokens=None,
    )
    return replace(whole, **changes)


def endpoint(server: ScriptedServer, **changes: Any) -> Endpoint:
    whole = Endpoint(server.base_url, KEY, "m", timeout_seconds=DEADLINE, max_retries=3)
    return replace(whole, **changes)


def write(
    server: ScriptedServer,
    asked: SummaryRequest | None = None,
    told: Told | None = None,
    dialects: Dialects | None = None,
    **changes: Any,
) -> WrittenSummary:
    told = told or Told()
    writer = OpenAIWriter(
        endpoint(server, **changes), {} if dialects is None else dialects, told.sleep
    )
    return anyio.run(writer.write, asked or request(), told.deltas.append)


def failure(server: ScriptedServer, **arguments: Any) -> SummaryFailed:
    """The error of a summary that must fail; nothing in it may come from the server."""
    with pytest.raises(SummaryFailed) as caught:
        write(server, **arguments)
    error = caught.value
    assert error.facts["provider"] == server.host
    assert error.__context__ is None
    assert SECRET not in f"{error} {error.data}"
    return error


# --- what is asked -----------------------------------------------------------------------------


def test_a_complete_text_is_given_back_in_our_form() -> None:
    told = Told()
    with model_server(says("## Goal\nmake ", "it fast\n## Next Steps\n1. measure")) as server:
        written = write(server, told=told)
    assert written.text.startswith("## Goal\nmake it fast\n\n## Constraints & Preferences\n(none)")
    assert "## Next Steps\n1. measure" in written.text
    assert written.model == "m"
    assert "".join(told.deltas) == "## Goal\nmake it fast\n## Next Steps\n1. measure"
    assert len(told.deltas) == 2


def test_the_request_is_a_streamed_chat_completion_with_a_limit() -> None:
    with model_server(says(GOOD)) as server:
        write(server, request("rename foo", max_tokens=777))
    asked = server.requests[0]
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    system, user = asked.body.pop("messages")
    assert (system["role"], user["role"]) == ("system", "user")
    assert "rename foo" in user["content"]
    assert asked.body == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_completion_tokens": 777,
    }


def test_without_a_key_none_is_sent() -> None:
    with model_server(says(GOOD)) as server:
        write(server, api_key=None)
    assert "authorization" not in server.requests[0].headers


def test_the_environment_changes_neither_host_nor_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with model_server() as other, model_server(says(GOOD)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", other.base_url)
        headers = f"authorization: Bearer env-{SECRET}\nX-Api-Key: env-{SECRET}"
        monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", headers)
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://{other.host}")
        for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID"):
            monkeypatch.setenv(f"OPENAI_{name}", f"env-{SECRET}")
        write(server, api_key=None)
        assert not other.requests
    assert SECRET not in str(server.requests[0].headers)
    assert "x-stainless-os" not in server.requests[0].headers


def test_a_key_of_ours_is_sent_whatever_the_environment_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "authorization: Bearer other")
    with model_server(says(GOOD)) as server:
        write(server)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_lone_surrogates_reach_the_server_as_valid_text() -> None:
    with model_server(says(GOOD)) as server:
        write(server, request("half \ud83d of a pair"))
    assert "half \ufffd of a pair" in server.requests[0].texts[1]


def test_usage_is_given_in_the_shape_of_an_entry() -> None:
    with model_server(says(GOOD)) as server:
        written = write(server)
    assert written.usage == {
        "input": 70,
        "output": 20,
        "cacheRead": 30,
        "cacheWrite": 0,
        "totalTokens": 120,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
    }


@pytest.mark.parametrize(
    "usage",
    [None, {}, [], {"prompt_tokens": True}, {"prompt_tokens": "many", "prompt_tokens_details": 5}],
)
def test_a_usage_that_tells_nothing_is_none(usage: Any) -> None:
    with model_server(says(GOOD, usage=usage)) as server:
        assert write(server).usage is None


def test_a_usage_that_came_before_the_end_is_kept() -> None:
    chunks = (delta(content=GOOD), event(choices=[], usage=USAGE), delta("stop"))
    with model_server(streams(*chunks, DONE)) as server:
        usage = write(server).usage
    assert usage is not None
    assert usage["totalTokens"] == 120


def test_prompt_tokens_is_the_estimate_of_what_is_sent() -> None:
    asked = request("x" * 4000)
    with model_server(says(GOOD)) as server:
        write(server, asked)
        tokens = OpenAIWriter(endpoint(server), {}).prompt_tokens(asked)
    assert tokens == -(-sum(map(len, server.requests[0].texts)) // 4)


def test_the_input_is_cut_to_its_limit_before_it_is_sent() -> None:
    with model_server(says(GOOD)) as server:
        write(server, request(*["word " * 5000] * 20, input_tokens=5000))
    assert sum(map(len, server.requests[0].texts)) <= 5000 * 4


def test_a_server_that_does_not_stream_is_understood() -> None:
    message = {"role": "assistant", "content": GOOD}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    with model_server(replies(body)) as server:
        assert "make it fast" in write(server).text


def test_instructions_in_place_of_ours_have_their_own_form() -> None:
    asked = request(instructions="Say it in one line.", replace_instructions=True)
    with model_server(says("One line.")) as server:
        assert write(server, asked).text == "One line."
    assert "## Goal" not in server.requests[0].texts[1]


def test_file_lists_that_a_model_wrote_are_cut_off() -> None:
    lists = "<read-files>\na.py\n</read-files>"
    asked = request(instructions="Say it in one line.", replace_instructions=True)
    with model_server(says(f"{GOOD}\n\n{lists}"), says(f"One line.\n{lists}")) as server:
        assert "a.py" not in write(server).text
        assert write(server, asked).text == "One line."
        server.add(says(lists), says(lists))
        assert MALFORMED in failure(server, asked=asked).message


# --- every way to fail -------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 307, 400, 401, 403, 404, 409, 422])
def test_a_refusal_is_never_tried_again(status: int) -> None:
    with model_server(refuses(status, f"secret {KEY}"), says(GOOD)) as server:
        error = failure(server)
    assert len(server.requests) == 1
    assert (error.facts["status"], error.facts["retryable"]) == (status, False)
    assert f"HTTP status {status}" in error.message


def test_a_redirect_is_not_followed() -> None:
    with model_server(says(GOOD)) as other:
        target = f"{other.base_url}/chat/completions"
        with model_server(refuses(307, headers={"Location": target})) as server:
            assert "points to another address" in failure(server).message
        assert not other.requests


@pytest.mark.parametrize("transient", [refuses(429), refuses(500), refuses(529), drops()])
def test_what_may_pass_is_tried_again(transient: Answer) -> None:
    told = Told()
    with model_server(transient, transient, says(GOOD)) as server:
        assert "make it fast" in write(server, told=told).text
    assert len(server.requests) == 3
    assert told.waited == [0.5, 1.0]


@pytest.mark.parametrize("answer", [refuses(429), refuses(503), drops()])
def test_it_is_tried_again_three_times_at_most(answer: Answer) -> None:
    with model_server(*[answer] * 9) as server:
        error = failure(server, max_retries=8)
    assert len(server.requests) == 4
    assert error.facts["retryable"] is True


def test_it_is_not_tried_again_if_the_settings_say_so() -> None:
    with model_server(refuses(500), says(GOOD)) as server:
        failure(server, max_retries=0)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("value", "waited"),
    [("7", 7.0), ("3600", 30.0), ("-5", 0.5), ("soon", 0.5), ("Thu, 01 Jan 1970 00:00:00 GMT", 0)],
)
def test_retry_after_is_honoured_up_to_a_bound(value: str, waited: float) -> None:
    told = Told()
    with model_server(refuses(429, headers={"Retry-After": value}), says(GOOD)) as server:
        write(server, told=told)
    assert told.waited == [waited]


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
    told = Told()
    writer = OpenAIWriter(Endpoint(url, KEY, "m", DEADLINE, 2), {}, told.sleep)
    with pytest.raises(SummaryFailed, match="cannot be reached") as caught:
        anyio.run(writer.write, request(), told.deltas.append)
    assert (caught.value.facts["status"], caught.value.facts["retryable"]) == (None, True)
    assert len(told.waited) == 2


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (says("", finish_reason="stop"), "gave no text"),
        (says(" \n\t ", finish_reason="stop"), "gave no text"),
        (says("", finish_reason="length"), "gave no text"),
        (says(reasoning=["I think"], finish_reason="stop"), "only reasoning"),
        (says("<think>I think", finish_reason="stop"), "only reasoning"),
        (says("<think>I think</think>\n", finish_reason="length"), "only reasoning"),
        (calls_tool(), "called a tool"),
        (calls_tool(finish_reason="stop"), "called a tool"),
        (says(GOOD, finish_reason="content_filter"), "withheld"),
        (says(GOOD, finish_reason="whatever"), "without saying that it is complete"),
        (replies({"error": {"message": f"secret {KEY}"}}), "answered with an error"),
        (replies({"error": KEY}), "answered with an error"),
        (streams(delta(content=GOOD), event(error={"message": KEY}), DONE), "with an error"),
        (streams(delta(content=GOOD), b"data: {not json\n\n"), "cannot be read"),
        (streams(b"data: " + b"[" * 5000 + b"\n\n"), "cannot be read"),
        (streams(b"data: \xff\xfe\n\n"), "cannot be read"),
        (Answer(200, (b"<html>",), {"Content-Type": "application/json"}), "cannot be read"),
        (streams(*[delta(content="x" * 9000)] * 2, DONE), "far more"),
        (streams(*[delta(reasoning_content="x" * 9000)] * 2, DONE), "far more"),
    ],
)
def test_an_answer_that_is_no_text_fails_at_once(answer: Answer, problem: str) -> None:
    with model_server(answer, says(GOOD)) as server:
        error = failure(server)
    assert problem in error.message
    assert error.facts["status"] == 200
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [
        starts(GOOD, then=Then.DROP),
        streams(delta(content=GOOD), Then.DROP, chunked=False),
        streams(delta(content=GOOD), DONE),
        says(GOOD, finish_reason=None),
        replies({"error": {"code": 503, "message": "busy"}}),
        replies({"error": {"code": "429", "message": "busy"}}),
        Answer(503, (b"{", Then.DROP), {"Content-Type": "application/json"}),
    ],
)
def test_an_answer_that_breaks_off_is_tried_again(answer: Answer) -> None:
    with model_server(answer, says(GOOD), *[answer] * 4) as server:
        assert "make it fast" in write(server).text
        failure(server)
        assert len(server.requests) == 6


@pytest.mark.parametrize(
    "chunk",
    [
        b"data: null\n\n",
        b'data: {"choices": null}\n\n',
        b'data: {"choices": [5, {"index": 1, "delta": {"content": "other"}}]}\n\n',
        b'data: {"choices": [{"index": 0, "delta": {"content": 5, "tool_calls": []}}]}\n\n',
        b'data: {"choices": [{"delta": [], "finish_reason": 7}], "usage": "x", "error": null}\n\n',
        b": a comment\n\n",
    ],
)
def test_chunks_of_odd_shape_say_nothing(chunk: bytes) -> None:
    with model_server(streams(chunk, delta(content=GOOD), chunk, delta("stop"), DONE)) as server:
        assert "other" not in write(server).text


def test_a_server_that_never_answers_is_given_up() -> None:
    with model_server(hangs(), says(GOOD)) as server:
        error = failure(server, timeout_seconds=0.3)
        assert server.requests[0].left.wait(DEADLINE)
    assert "nothing new for 0.3 seconds" in error.message
    assert (error.facts["status"], error.facts["retryable"]) == (None, True)
    assert len(server.requests) == 1


def test_a_server_that_stops_writing_is_given_up() -> None:
    with model_server(starts("## Goal", then=Then.HANG)) as server:
        assert "nothing new" in failure(server, timeout_seconds=0.3).message
        assert server.requests[0].left.wait(DEADLINE)


def test_a_text_that_the_server_has_ended_is_complete_whatever_comes_then() -> None:
    for then in (Then.DROP, Then.HANG):
        with model_server(streams(delta("stop", content=GOOD), then)) as server:
            assert "make it fast" in write(server, timeout_seconds=0.3).text


@pytest.mark.parametrize(
    "url",
    [
        "example.org",
        "ftp://example.org",
        "http://",
        "http://[::1",
        "http://a:99999/v1",
        "http://a\0b/v1",
    ],
)
def test_a_base_url_that_is_none_is_an_error(url: str) -> None:
    writer = OpenAIWriter(Endpoint(url, KEY, "m", 1, 0), {})
    assert writer.host is None
    with pytest.raises(SummaryFailed, match="base URL is not valid"):
        anyio.run(writer.write, request(), lambda _: None)


@pytest.mark.parametrize("url", [None, ""])
def test_the_official_host_is_not_called_without_a_key(url: str | None) -> None:
    writer = OpenAIWriter(Endpoint(url, None, "m", 1, 0), {})
    assert writer.host == "api.openai.com"
    with pytest.raises(SummaryFailed, match="needs a key"):
        anyio.run(writer.write, request(), lambda _: None)


def test_a_key_that_no_header_can_hold_is_an_error() -> None:
    with model_server() as server:
        assert "holds a character" in failure(server, api_key=f"{KEY}\u20ac").message
        assert not server.requests


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://user:pass@Example.org:8080/v1?key=x", "example.org:8080"),
        ("https://example.org/v1", "example.org"),
        ("http://[::1]:8080/v1", "[::1]:8080"),
    ],
)
def test_the_host_is_shown_without_what_may_be_secret(url: str, host: str) -> None:
    assert OpenAIWriter(Endpoint(url, KEY, "m", 1, 0), {}).host == host


@pytest.mark.parametrize(
    ("url", "is_local"),
    [
        ("http://localhost:1/v1", True),
        ("http://models.localhost/v1", True),
        ("http://127.8.9.1/v1", True),
        ("http://[::1]/v1", True),
        ("http://localhost.example.org/v1", False),
        ("http://10.0.0.1/v1", False),
        (None, False),
    ],
)
def test_servers_on_this_machine_are_known(url: str | None, is_local: bool) -> None:
    assert Endpoint(url, KEY, "m", 1, 0).is_local is is_local


# --- what is adapted ---------------------------------------------------------------------------


def test_a_server_that_knows_only_max_tokens_is_asked_so_and_remembered() -> None:
    message = "Unsupported parameter: 'max_completion_tokens'"
    dialects: Dialects = {}
    told = Told()
    with model_server(refuses(400, message), says(GOOD), says(GOOD), says(GOOD)) as server:
        for model in ("m", "m", "other"):
            write(server, told=told, dialects=dialects, model=model)
    limits = [sorted(key for key in one.body if key.startswith("max")) for one in server.requests]
    assert limits == [
        ["max_completion_tokens"],
        ["max_tokens"],
        ["max_tokens"],
        ["max_completion_tokens"],
    ]
    assert told.waited == []


def test_a_server_that_refuses_both_names_is_not_remembered_as_odd() -> None:
    message = "max_completion_tokens and max_tokens are too large"
    dialects: Dialects = {}
    with model_server(refuses(400, message), refuses(400, message)) as server:
        failure(server, dialects=dialects)
    assert len(server.requests) == 2
    assert dialects == {}


def test_a_server_that_does_not_report_usage_is_not_asked_for_it() -> None:
    with model_server(
        refuses(422, "stream_options: extra inputs"),
        refuses(422, "max_completion_tokens: extra inputs"),
        says(GOOD, usage=None),
    ) as server:
        assert write(server).usage is None
    assert "stream_options" not in server.requests[1].body
    assert "max_tokens" in server.requests[2].body


@pytest.mark.parametrize(
    "overflow",
    [
        refuses(400, "no", code="context_length_exceeded"),
        refuses(400, OVERFLOW),
        refuses(413, "Prompt is too long"),
        refuses(400, "the request exceeds the available context size, try increasing it"),
        refuses(
            400, "max_completion_tokens is too large. This model's maximum context length is 8"
        ),
        replies({"error": {"message": OVERFLOW}}),
    ],
)
def test_a_prompt_that_is_too_long_is_sent_once_more_shorter(overflow: Answer) -> None:
    texts = [f"message {at} " * 50 for at in range(40)]
    with model_server(overflow, says(GOOD)) as server:
        assert "make it fast" in write(server, request(*texts)).text
    first, second = (sum(map(len, one.texts)) for one in server.requests)
    assert second <= first / 2
    assert "message 0 " in server.requests[1].texts[1]
    assert "message 39 " in server.requests[1].texts[1]


def test_a_prompt_that_is_still_too_long_fails_saying_so() -> None:
    with model_server(refuses(400, OVERFLOW), refuses(400, OVERFLOW), says(GOOD)) as server:
        error = failure(server)
    assert len(server.requests) == 2
    assert "does not fit into the model's context window" in error.message
    assert "even after it was shortened" in error.message
    assert (error.facts["status"], error.facts["retryable"]) == (400, False)


RATE = "Rate limit: too many tokens per minute for this context length"


@pytest.mark.parametrize(
    ("status", "message"), [(429, OVERFLOW), (529, OVERFLOW), (429, RATE), (400, RATE)]
)
def test_a_rate_limit_is_never_taken_for_a_prompt_that_is_too_long(
    status: int, message: str
) -> None:
    with model_server(refuses(status, message), says(GOOD)) as server:
        assert "does not fit" not in failure(server, max_retries=0).message
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (says(GOOD, finish_reason="length"), CUT_OFF),
        (says("Sure, I will go on with the work."), MALFORMED),
        (says("## Goal\n(none)\n## Next Steps\n(none)"), MALFORMED),
    ],
)
def test_a_text_of_no_use_is_asked_for_once_more_saying_why(answer: Answer, complaint: str) -> None:
    with model_server(answer, says(GOOD), answer, answer, says(GOOD)) as server:
        written = write(server)
        assert "make it fast" in written.text
        assert written.usage is not None
        assert (written.usage["totalTokens"], written.usage["cacheRead"]) == (240, 60)
        error = failure(server)
        assert len(server.requests) == 4
    first, second = (one.texts[1] for one in server.requests[:2])
    assert complaint not in first
    assert complaint in second
    assert complaint in error.message


def test_tries_are_counted_over_the_whole_summary() -> None:
    bad = says(GOOD, finish_reason="length")
    with model_server(refuses(500), refuses(500), bad, *[refuses(500)] * 5) as server:
        failure(server)
    assert len(server.requests) == 5


# --- what is told meanwhile --------------------------------------------------------------------


@pytest.mark.parametrize(
    "pieces",
    [
        ("<think>a plan</think>\n\n", GOOD),
        ("  <thi", "nk>a pl", "an</th", "ink>", "\n", GOOD),
        ("<think>a plan</think><think>more</think>" + GOOD,),
        tuple("<think>a plan</think>" + GOOD),
    ],
)
def test_reasoning_before_the_text_is_left_out(pieces: tuple[str, ...]) -> None:
    told = Told()
    with model_server(says(*pieces, reasoning=["a plan, too"])) as server:
        assert "plan" not in write(server, told=told).text
    assert "".join(told.deltas) == GOOD


def test_text_that_only_looks_like_reasoning_is_kept() -> None:
    asked = request(instructions="x", replace_instructions=True)
    for text in ("<thin", "<thing>x</thing>", "a <think>b</think>"):
        with model_server(says(text)) as server:
            assert write(server, asked).text == text


def test_text_is_told_while_it_is_written() -> None:
    pause = threading.Event()
    deltas: list[str] = []

    def hear(text: str) -> None:
        deltas.append(text)
        pause.set()  # without this the rest would never come

    with model_server(says("## Goal\n", "make it fast", pause=pause)) as server:
        writer = OpenAIWriter(endpoint(server), {})
        anyio.run(writer.write, request(), hear)
    assert deltas == ["## Goal\n", "make it fast"]


@pytest.mark.parametrize(
    "answer",
    [
        starts("Well", then=Then.DROP),
        says("Well"),
        streams(delta(content="Well"), event(error={"message": OVERFLOW}), DONE),
    ],
)
def test_after_a_text_that_came_to_nothing_no_more_is_told(answer: Answer) -> None:
    told = Told()
    with model_server(refuses(500), answer, says(GOOD)) as server:
        assert "make it fast" in write(server, told=told).text
    assert told.deltas == ["Well"]


def test_an_error_of_the_listener_is_passed_on() -> None:
    def hear(_text: str) -> None:
        raise ValueError("a bug of the caller")

    with model_server(says(GOOD)) as server:
        writer = OpenAIWriter(endpoint(server), {})
        with pytest.raises(ValueError, match="a bug of the caller"):
            anyio.run(writer.write, request(), hear)


# --- cancelling --------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [hangs(), starts("## Goal", then=Then.HANG)])
def test_cancelling_closes_the_connection_at_once(answer: Answer) -> None:
    async def cancel(server: ScriptedServer) -> None:
        started = anyio.Event()
        writer = OpenAIWriter(endpoint(server), {})

        async def run() -> None:
            await writer.write(request(), lambda _: started.set())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await anyio.to_thread.run_sync(server.wait_for_requests, 1)
            if answer.status is not None:
                await started.wait()
            tasks.cancel_scope.cancel()
        left = server.requests[0].left
        assert await anyio.to_thread.run_sync(left.wait, DEADLINE)

    with model_server(answer) as server:
        anyio.run(cancel, server)
    assert len(server.requests) == 1


def test_cancelling_while_it_waits_for_the_next_try_ends_it() -> None:
    async def cancel(server: ScriptedServer) -> None:
        waiting = anyio.Event()

        async def wait(_seconds: float) -> None:
            waiting.set()
            await anyio.sleep_forever()

        writer = OpenAIWriter(endpoint(server), {}, wait)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(writer.write, request(), lambda _: None)
            await waiting.wait()
            tasks.cancel_scope.cancel()

    with model_server(refuses(500), says(GOOD)) as server:
        anyio.run(cancel, server)
    assert len(server.requests) == 1


# --- secrets -----------------------------------------------------------------------------------


@pytest.fixture
def everything_logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """All loggers at DEBUG, those of the libraries that were not loaded yet included."""
    import openai  # noqa: F401 - its loggers must exist

    names = list(logging.root.manager.loggerDict)
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
    with caplog.at_level(logging.DEBUG):
        yield caplog
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


def test_neither_key_nor_text_is_logged(everything_logged: pytest.LogCaptureFixture) -> None:
    answers = (
        refuses_echoing_key(500),
        says(f"{PRIVATE}", reasoning=[PRIVATE]),
        starts(PRIVATE, then=Then.DROP),
        says(f"## Goal\n{PRIVATE}"),
    )
    with model_server(*answers, refuses_echoing_key()) as server:
        write(server, request(PRIVATE))
        failure(server, asked=request(PRIVATE))
        assert len(server.requests) == 5
    logged = "\n".join(
        f"{record.getMessage()} {record.args} {record.exc_info}"
        for record in everything_logged.records
    )
    assert logged  # asyncio at least says something at this level
    assert SECRET not in logged
    assert PRIVATE not in logged
    assert "/chat/completions" not in logged


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_a_key_that_the_server_repeats_goes_no_further(status: int) -> None:
    with model_server(*[refuses_echoing_key(status)] * 4) as server:
        error = failure(server)
    assert SECRET in str(server.requests[0].headers)
    assert "Incorrect" not in json.dumps(error.data) + error.message


def test_the_key_is_in_no_repr() -> None:
    whole = Endpoint("http://a/v1", KEY, "m", 1, 0)
    assert SECRET not in repr(whole)
    assert SECRET not in repr(vars(OpenAIWriter(whole, {})))


def test_openai_is_not_imported_with_the_writer(tmp_path: Path) -> None:
    program = (
        "import sys, branchline.summaries.openai_writer as module\n"
        "assert not {'openai', 'httpx2'} & set(sys.modules), 'imported'\n"
    )
    run = functools.partial(anyio.run_process, [sys.executable, "-c", program], env=environment())
    assert anyio.run(run).returncode == 0


def environment() -> dict[str, str]:
    server = Path(__file__).resolve().parents[2] / "server"
    return {"PYTHONPATH": str(server)}
