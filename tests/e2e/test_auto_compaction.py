"""Compactions that nobody asked for: when they are made, and that they never go on for ever.

The chat and the summaries have a server each, so that it is seen who asks for what.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.e2e.conftest import CASES, StartDaemon
from tests.e2e.editor import CONVERSATION, GOOD, LONG, Editor, asked, gate
from tests.e2e.prompts import Desk, answers, desk_in, new_records, prompt, texts
from tests.e2e.talk import Talk
from tests.e2e.world import lines_of, user
from tests.model_server import Answer, ScriptedServer, Then, model_server, refuses, says, starts
from tests.unit.chat_rules import assert_sendable

Json = Any
OVERFLOW = refuses(400, "too long", code="context_length_exceeded")
SMALL = {"contextWindow": 1500, "compaction": {"reserveTokens": 100, "keepRecentTokens": 10}}
"""Settings by which `CONVERSATION` is too large, and no longer once it is compacted."""
LARGE = {"contextWindow": 100_000, "compaction": {"reserveTokens": 1000, "keepRecentTokens": 10}}
"""Settings by which it is not."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with desk_in(tmp_path_factory.mktemp("compactions")) as made:
        yield made


class Servers:
    """A server for prompts and one for summaries."""

    def __init__(self, chat: ScriptedServer, writer: ScriptedServer) -> None:
        self.chat = chat
        self.writer = writer

    def settings(self, sizes: Json, *, auto: bool = True) -> Json:
        """Settings by which these two are asked."""
        compaction = sizes["compaction"] | {"auto": auto}
        writer = {"use": "openai", "baseUrl": self.writer.base_url, "model": "w", "maxRetries": 0}
        own = {**answers(self.chat, maxRetries=0), "summarizer": writer}
        return {**sizes, **own, "compaction": compaction}

    @property
    def asked(self) -> tuple[int, int]:
        """How often each was asked: for answers, for summaries."""
        return len(self.chat.requests), len(self.writer.requests)


@pytest.fixture
def servers() -> Iterator[Servers]:
    with ExitStack() as running:
        yield Servers(*(running.enter_context(model_server()) for _ in range(2)))


def types(records: list[Json]) -> list[str]:
    """What the records are: a message by its role, and how it ended if not well."""
    found = []
    for one in records:
        message = one.get("message", {})
        ended = message.get("stopReason", "stop")
        kind = message.get("role", one["type"])
        found.append(kind if ended == "stop" else f"{kind}:{ended}")
    return [kind for kind in found if kind != "model_change"]


def wait_for_jobs(ed: Editor, count: int) -> None:
    """Wait until so many have ended since the messages were last forgotten."""
    ended = 0

    def is_last(one: Json) -> bool:
        nonlocal ended
        ended += one.get("method") == "session/busy" and one["params"]["job"] is None
        return ended == count

    ed.see(is_last)


def assert_quiet(ed: Editor) -> None:
    """Nothing has begun by itself: what was started before has had its turn since."""
    for _ in range(3):
        ed.ask("context", format="none")
    assert ed.news("session/busy") == []


def shown(ed: Editor) -> list[str]:
    """What a person was shown."""
    return [one["message"] for one in ed.news("window/showMessage")]


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
    ed.assert_one_job("compaction")
    assert types(lines_of(ed.path)).count("compaction") == 1


def test_an_append_and_a_prompt_make_one(desk: Desk, servers: Servers) -> None:
    servers.chat.add(says("Yes."))
    settings = servers.settings(SMALL) | {"summarizer": {"use": "offline"}}
    ed = desk.sit(settings, *CONVERSATION)
    ed.start("append", entries=[user("x")])
    assert "result" in prompt(ed)
    assert types(lines_of(ed.path)).count("compaction") == 1
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


# --- it comes to nothing (case 65) ---------------------------------------------------------------


def case_65(desk: Desk, servers: Servers, sizes: Json, *before: Json) -> Editor:
    """The case's session behind some entries; a server that finds everything too long."""
    lines = (CASES / "65-compaction-loop.jsonl").read_bytes().splitlines()[1:]
    servers.chat.add(*[OVERFLOW] * 20)
    servers.writer.add(*[says(GOOD)] * 20)
    return desk.sit(servers.settings(sizes), *before, *lines)


def test_three_times_in_a_row_is_enough(desk: Desk, servers: Servers) -> None:
    ed = case_65(desk, servers, LARGE)
    asked_before = (0, 0)
    for number, wanted in enumerate([(2, 1), (2, 1), (2, 1), (1, 0), (1, 0)]):
        ed.append(f"{number} {LONG}")
        error = prompt(ed)["error"]
        assert (error["code"], error["data"]["kind"]) == (4012, "promptFailed")
        assert error["data"]["largest"][0]["tokens"] > 0
        asked_now = servers.asked
        assert (asked_now[0] - asked_before[0], asked_now[1] - asked_before[1]) == wanted
        asked_before = asked_now
        assert len(shown(ed)) == (number >= 2)
    (warning,) = shown(ed)
    assert "no longer compacted by itself after 3 failures" in warning
    assert "the context stays too large" in warning
    for request in (*servers.chat.requests, *servers.writer.requests):
        assert_sendable(request.body["messages"])
    # A person's own call begins the count anew.
    assert ed.ask("compact")["entryId"] == ed.leaf()
    ed.append(LONG)
    prompt(ed)
    assert servers.asked == (asked_before[0] + 2, asked_before[1] + 2)


def test_an_answer_begins_the_count_anew(desk: Desk, servers: Servers) -> None:
    servers.chat.add(OVERFLOW, OVERFLOW, OVERFLOW, OVERFLOW, OVERFLOW, says("Yes."))
    ed = case_65(desk, servers, LARGE)
    for number in range(6):
        assert ("result" in prompt(ed)) is (number == 2)
    assert servers.asked == (12, 6)
    assert len(shown(ed)) == 1


def test_where_there_is_nothing_to_compact_the_largest_are_named(
    desk: Desk, servers: Servers
) -> None:
    sizes = {**LARGE, "compaction": {"keepRecentTokens": 20_000}}
    ed = case_65(desk, servers, sizes)
    for _ in range(4):
        assert len(prompt(ed)["error"]["data"]["largest"]) == 5
    assert servers.asked == (4, 0)
    assert shown(ed) == []
    assert types(lines_of(ed.path))[-3:] == ["user", "assistant:error", "context_edit"]


def test_a_kept_tail_that_is_too_large_is_no_loop(desk: Desk, servers: Servers) -> None:
    tail = asked("u9", "a0000004", LONG * 8)
    lines = (CASES / "65-compaction-loop.jsonl").read_bytes().splitlines()[1:]
    servers.chat.add(*[OVERFLOW] * 20)
    servers.writer.add(*[says(GOOD)] * 20)
    ed = desk.sit(servers.settings({**SMALL, "compaction": {
        "reserveTokens": 100, "keepRecentTokens": 3000}}), *lines, tail)  # fmt: skip
    for number in range(4):
        largest = prompt(ed)["error"]["data"]["largest"]
        assert (largest[0]["id"], largest[0]["role"]) == ("u9", "user")
        assert servers.asked == (number + 1, 1)


def test_a_system_prompt_that_is_too_large_is_no_loop(desk: Desk, servers: Servers) -> None:
    system = asked("s0", None, LONG * 8)
    system["message"]["role"] = "system"
    lines = (CASES / "65-compaction-loop.jsonl").read_bytes().splitlines()[1:]
    first = lines[0].replace(b'"parentId":null', b'"parentId":"s0"')
    servers.chat.add(*[OVERFLOW] * 20)
    servers.writer.add(*[says(GOOD)] * 20)
    ed = desk.sit(servers.settings(SMALL), system, first, *lines[1:])
    compactions = []
    for _ in range(5):
        largest = prompt(ed)["error"]["data"]["largest"]
        assert (largest[0]["id"], largest[0]["role"]) == ("s0", "system")
        compactions.append(types(lines_of(ed.path)).count("compaction"))
    assert compactions == [1, 2, 3, 3, 3]
    assert servers.asked == (6, 3)
    assert len(shown(ed)) == 1


def test_a_summary_request_that_is_too_long_fails_and_the_model_is_asked(
    desk: Desk, servers: Servers
) -> None:
    servers.chat.add(*[says("Yes.", usage=None)] * 5)
    servers.writer.add(*[OVERFLOW] * 20)
    ed = desk.sit(servers.settings(SMALL), *CONVERSATION)
    requests = []
    for number in range(5):
        assert "result" in prompt(ed)
        requests.append(servers.asked[1])
        assert len(shown(ed)) == (number >= 2)
    assert servers.asked[0] == 5
    assert requests[2:] == [requests[2]] * 3
    first, second = servers.writer.requests[:2]
    assert sum(map(len, second.texts)) < sum(map(len, first.texts))
    assert "compaction" not in types(lines_of(ed.path))
    assert servers.writer.host in shown(ed)[0]


def test_three_appends_whose_compaction_fails_are_enough(desk: Desk, servers: Servers) -> None:
    servers.writer.add(*[refuses(401)] * 3)
    ed = desk.sit(servers.settings(SMALL), *CONVERSATION)
    for number in range(3):
        ed.forget()
        ed.append("x")
        wait_for_jobs(ed, 1)
        assert len(shown(ed)) == (number == 2)
    ed.forget()
    ed.append("x")
    assert_quiet(ed)
    assert servers.asked == (0, 3)
    # A person's own call turns it on again, even one that fails.
    servers.writer.add(refuses(401), says(GOOD))
    assert ed.wait(ed.start("compact"))["error"]["code"] == 4010
    ed.forget()
    ed.append("x")
    wait_for_jobs(ed, 1)
    assert types(lines_of(ed.path))[-1] == "compaction"
    assert shown(ed) == []


def test_a_look_at_the_plan_turns_nothing_on(desk: Desk, servers: Servers) -> None:
    servers.writer.add(*[refuses(401)] * 4)
    ed = desk.sit(servers.settings(SMALL), *CONVERSATION)
    for _ in range(3):
        ed.forget()
        ed.append("x")
        wait_for_jobs(ed, 1)
    ed.ask("compact", dryRun=True)
    ed.forget()
    ed.append("x")
    assert_quiet(ed)
