"""Compactions that nobody asked for: when they are made, and for whom."""

from typing import Any

import pytest

from tests.e2e.compactions import (
    LARGE,
    OVERFLOW,
    SMALL,
    Servers,
    assert_quiet,
    shown,
    types,
    wait_for_jobs,
)
from tests.e2e.conftest import StartDaemon
from tests.e2e.editor import CONVERSATION, GOOD, LONG, Editor, gate
from tests.e2e.prompts import Desk, new_records, prompt, texts
from tests.e2e.talk import Talk
from tests.e2e.world import lines_of, user
from tests.model_server import Answer, Then, refuses, says, starts
from tests.unit.chat_rules import assert_sendable

Json = Any


# --- before a prompt, after an append ------------------------------------------------------------


def test_before_a_prompt_what_is_due_is_compacted(desk: Desk, servers: Servers) -> None:
    servers.chat.add(says("Yes."))
    servers.writer.add(says(GOOD))
    ed = desk.sit(servers.settings(SMALL), *CONVERSATION)
    assert ed.opened["usage"]["due"]
    before = ed.path.read_bytes()
    done = prompt(ed, "Faster?", workDoneToken="t")["result"]
    records = new_records(ed, before)
    assert types(records) == ["user", "compaction", "assistant"]
    assert ed.ask("context")["path"][-3:] == [one["id"] for one in records[-3:]]
    assert done["leafId"] == records[-1]["id"]
    sent = servers.chat.requests[0].body["messages"]
    assert_sendable(sent)
    assert "Make it fast." in sent[1]["content"]
    assert [one["content"] for one in sent[2:]] == [
        "Now the tests, please.", "They pass.", "Faster?",
    ]  # fmt: skip
    assert servers.asked == (1, 1)
    prompt_tokens = sum(map(len, servers.writer.requests[0].texts)) / 4
    assert prompt_tokens <= 1500  # cut to what the model takes before it is sent
    ed.assert_one_job("prompt")
    assert ed.assert_progress("t") == []
    assert "Make it fast." in ed.texts()["history"]
    assert ed.ask("stats")["active"]["tokens"]["total"] == 2 * 120


def test_after_an_append_that_makes_it_due_it_is_compacted(desk: Desk, servers: Servers) -> None:
    servers.writer.add(says(GOOD))
    ed = desk.sit(servers.settings({**SMALL, "contextWindow": 2000}), *CONVERSATION)
    ed.append("not yet")
    assert_quiet(ed)
    ed.append(LONG)
    ed.see(lambda one: one.get("method") == "session/busy")
    wait_for_jobs(ed, 1)
    ed.assert_one_job("compaction")
    assert lines_of(ed.path)[-1]["id"] == ed.leaf()
    assert types(lines_of(ed.path))[-2:] == ["user", "compaction"]
    ed.forget()
    ed.append("and now")
    assert_quiet(ed)
    assert servers.asked == (0, 1)


def test_a_window_too_small_for_the_usual_sizes_has_room_for_half(
    desk: Desk, servers: Servers
) -> None:
    """The usual reserve is 16,384 tokens, and 20,000 are kept."""
    small = {"contextWindow": 4000, "compaction": {"auto": True}}
    settings = servers.settings(small) | {"summarizer": {"use": "offline"}}
    ed = desk.sit(settings, *CONVERSATION)
    assert ed.opened["usage"]["tokens"] < 2000
    ed.append("still half empty")
    assert_quiet(ed)
    ed.append(LONG * 3)
    ed.see(lambda one: one.get("method") == "session/busy")
    wait_for_jobs(ed, 1)
    assert types(lines_of(ed.path))[-1] == "compaction"
    assert ed.ask("context")["usage"]["tokens"] < 2000 + 500
    assert shown(ed) == []


def test_what_others_append_makes_nothing_of_itself(
    desk: Desk, servers: Servers, daemon: StartDaemon
) -> None:
    ed = desk.sit(servers.settings(SMALL), *CONVERSATION[:6])
    Talk(daemon(), ed.path).append(*[user(LONG)] * 4)
    assert ed.ask("context")["usage"]["due"]
    assert_quiet(ed)
    ed.ask("label", targetId="u1", label="x")
    assert_quiet(ed)
    assert servers.asked == (0, 0)


def test_two_appends_make_one(desk: Desk, servers: Servers) -> None:
    settings = servers.settings(SMALL) | {"summarizer": {"use": "offline"}}
    ed = desk.sit(settings, *CONVERSATION)
    appends = [ed.start("append", entries=[user(f"{at}")]) for at in range(5)]
    for one in appends:
        assert "result" in ed.wait(one)
    wait_for_jobs(ed, 1)
    assert_no_more(ed)


def assert_no_more(ed: Editor) -> None:
    """Exactly one was made, and nobody takes those that were not for failures."""
    for _ in range(3):
        ed.ask("context", format="none")
    assert types(lines_of(ed.path)).count("compaction") == 1
    assert len(ed.news("session/busy")) == 2
    assert shown(ed) == []


def test_an_append_and_a_prompt_make_one(desk: Desk, servers: Servers) -> None:
    servers.chat.add(says("Yes."))
    settings = servers.settings(SMALL) | {"summarizer": {"use": "offline"}}
    ed = desk.sit(settings, *CONVERSATION)
    ed.start("append", entries=[user("x")])
    assert "result" in prompt(ed)
    assert_no_more(ed)
    assert_sendable(servers.chat.requests[0].body["messages"])


def test_a_prompt_waits_for_one_that_is_under_way(desk: Desk, servers: Servers) -> None:
    wait = gate()
    servers.writer.add(says(GOOD).after(wait))
    servers.chat.add(says("Yes."))
    ed = desk.sit(servers.settings(SMALL), *CONVERSATION)
    ed.append("x")
    servers.writer.wait_for_requests(1)
    cancelled = ed.start("prompt", content="Never mind.")
    work = ed.start("prompt", content="Well?")
    refused = ed.wait(ed.start("compact"))["error"]
    assert (refused["code"], refused["data"]["job"]["kind"]) == (4007, "compaction")
    ed.cancel(cancelled)
    assert ed.wait(cancelled)["error"]["data"] == {"kind": "cancelled"}
    assert not [one for one in ed.messages if one.get("id") == work]
    assert servers.asked == (0, 1)
    wait.set()
    assert ed.wait(work)["result"]["leafId"] == ed.leaf()
    assert types(lines_of(ed.path))[-4:] == ["user", "compaction", "user", "assistant"]
    assert servers.asked == (1, 1)


@pytest.mark.parametrize(
    ("model", "first_kept"),
    [("big", None), ("local/small", "u2"), ("tight", "a3"), ("unknown", None)],
)
def test_each_model_has_sizes_of_its_own(
    desk: Desk, servers: Servers, model: str, first_kept: str | None
) -> None:
    servers.chat.add(says("Yes."))
    url = servers.chat.base_url
    settings = servers.settings(LARGE) | {
        "models": {
            "local/big": {"baseUrl": url, "contextWindow": 50_000},
            "local/small": {"baseUrl": url, "contextWindow": 2500},
            "local/tight": {"baseUrl": url, "contextWindow": 50_000},
        },
        "summarizer": {"use": "offline"},
    }
    tight = {"reserveTokens": 48_600, "keepRecentTokens": 300}
    settings["compaction"] |= {"modelOverrides": {"local/tight": tight}}
    ed = desk.sit(settings, *CONVERSATION)
    assert "result" in prompt(ed, model=model)
    made = [one for one in lines_of(ed.path) if one["type"] == "compaction"]
    assert [one["firstKeptEntryId"] for one in made] == ([first_kept] if first_kept else [])
    assert servers.chat.requests[0].body["model"] == model.removeprefix("local/")


# --- overflow ------------------------------------------------------------------------------------


def test_after_an_overflow_it_is_compacted_and_asked_once_more(
    desk: Desk, servers: Servers
) -> None:
    servers.chat.add(OVERFLOW, says("Yes."))
    servers.writer.add(says(GOOD))
    ed = desk.sit(servers.settings(LARGE), *CONVERSATION)
    before = ed.path.read_bytes()
    done = prompt(ed, "Faster?")["result"]
    records = new_records(ed, before)
    assert types(records) == ["user", "assistant:error", "context_edit", "compaction", "assistant"]
    question, failed, edit, compaction, answer = records[-5:]
    assert (edit["targetId"], edit["replacement"]) == (failed["id"], None)
    assert [one["parentId"] for one in records[-4:]] == [one["id"] for one in records[-5:-1]]
    assert (done["userEntryId"], done["leafId"]) == (question["id"], answer["id"])
    assert compaction["firstKeptEntryId"] == "u2"
    assert texts(answer) == ["Yes."]
    sent = servers.chat.requests[1].body["messages"]
    assert_sendable(sent)
    assert [one["content"] for one in sent[2:]] == [
        "Now the tests, please.", "They pass.", "Faster?",
    ]  # fmt: skip
    assert servers.asked == (2, 1)


@pytest.mark.parametrize("sizes", [SMALL, LARGE], ids=["due", "not due"])
def test_who_did_not_ask_for_it_gets_none(desk: Desk, servers: Servers, sizes: Json) -> None:
    servers.chat.add(OVERFLOW)
    ed = desk.sit(servers.settings(sizes, auto=False), *CONVERSATION)
    ed.append("x")
    assert_quiet(ed)
    before = ed.path.read_bytes()
    error = prompt(ed)["error"]
    assert (error["code"], error["data"]["status"], error["data"]["retryable"]) == (
        4012,
        400,
        False,
    )
    largest = error["data"]["largest"]
    assert [one["id"] for one in largest[:3]] == ["u1", "a3", "r1"]
    assert [one["role"] for one in largest[:3]] == ["user", "assistant", "toolResult"]
    assert all(one["tokens"] > 490 for one in largest[:3])
    assert "u1" in error["message"]
    assert types(new_records(ed, before)) == ["user", "assistant:error"]
    assert servers.asked == (1, 0)


RATES = [refuses(429, "too many tokens per minute", headers={"Retry-After": "0"}),
         refuses(529, "prompt is too long"), refuses(400, "rate limit: the input is too long"),
         refuses(413, "Request too large: tokens per minute (TPM)")]  # fmt: skip


@pytest.mark.parametrize("refusal", RATES)
def test_a_rate_limit_is_no_overflow(desk: Desk, servers: Servers, refusal: Answer) -> None:
    servers.chat.add(refusal)
    ed = desk.sit(servers.settings(LARGE), *CONVERSATION)
    before = ed.path.read_bytes()
    error = prompt(ed)["error"]
    assert error["data"]["status"] == refusal.status
    assert "largest" not in error["data"]
    assert types(new_records(ed, before)) == ["user", "assistant:error"]
    assert servers.asked == (1, 0)


def test_who_went_elsewhere_gets_no_compaction_there(desk: Desk, servers: Servers) -> None:
    wait = gate()
    servers.chat.add(OVERFLOW.after(wait))
    ed = desk.sit(servers.settings(LARGE), *CONVERSATION)
    work = ed.start("prompt", content="?")
    servers.chat.wait_for_requests(1)
    ed.ask("switchLeaf", targetId="a3", position="at")
    wait.set()
    error = ed.wait(work)["error"]
    assert error["data"]["largest"][0]["id"] == "u1"
    assert ed.leaf() == error["data"]["leafId"] == "a3"
    kinds = types(lines_of(ed.path))
    assert kinds[-3:] == ["assistant:error", "context_edit", "custom"]
    assert "compaction" not in kinds
    assert servers.asked == (1, 0)


@pytest.mark.parametrize("sizes", [SMALL, LARGE], ids=["before", "after an overflow"])
def test_it_is_cancelled_with_its_prompt(desk: Desk, servers: Servers, sizes: Json) -> None:
    servers.chat.add(OVERFLOW)
    servers.writer.add(starts("## Goal\n", then=Then.HANG))
    ed = desk.sit(servers.settings(sizes), *CONVERSATION)
    work = ed.start("prompt", content="?")
    ed.see(lambda one: one.get("method") == "session/summaryText")
    assert ed.ask("cancel") == {"cancelled": True}
    error = ed.wait(work)["error"]
    assert error["code"] == -32800
    assert error["data"]["assistantEntryId"] == error["data"]["leafId"] == ed.leaf()
    kinds = types(lines_of(ed.path))
    assert kinds[-1] == "assistant:aborted"
    assert "compaction" not in kinds
    assert servers.asked[1] == 1
