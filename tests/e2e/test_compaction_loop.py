"""Compactions that come to nothing (case 65): they never go on for ever."""

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
from tests.e2e.conftest import CASES
from tests.e2e.editor import CONVERSATION, GOOD, LONG, Editor, asked
from tests.e2e.prompts import Desk, prompt
from tests.e2e.world import lines_of
from tests.model_server import refuses, says
from tests.unit.chat_rules import assert_sendable

Json = Any


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


@pytest.mark.parametrize("within_prompts", [True, False])
def test_three_that_leave_it_too_large_are_enough(
    desk: Desk, servers: Servers, within_prompts: bool
) -> None:
    """The server takes it all the same; by the sizes that are set it stays due."""
    system = asked("s0", None, LONG * 8)
    system["message"]["role"] = "system"
    question = asked("u1", "s0", LONG)
    servers.chat.add(*[says("Yes.", usage=None)] * 5)
    servers.writer.add(*[says(GOOD)] * 10)
    ed = desk.sit(servers.settings(SMALL), system, question)
    compactions = []
    for number in range(5):
        if within_prompts:
            assert "result" in prompt(ed, LONG)
        else:
            ended = sum(one["job"] is None for one in ed.news("session/busy"))
            ed.append(LONG)
            if number < 3:
                wait_for_jobs(ed, ended + 1)
        compactions.append(types(lines_of(ed.path)).count("compaction"))
    assert compactions == [1, 2, 3, 3, 3]
    (warning,) = shown(ed)
    assert "the context stays too large" in warning


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
