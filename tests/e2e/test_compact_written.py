"""``session/compact`` with a model: what it is sent, what is stored of it, and at which leaf."""

from pathlib import Path
from typing import Any

import pytest

from branchline.summaries.sections import BRIDGE_HEADING, parse
from tests.e2e.editor import (
    CONVERSATION,
    GOOD,
    KEEP,
    KEPT,
    KINDS,
    LONG,
    SPLIT,
    Editor,
    asked,
    asks,
    begin,
    chat,
    editor,
    gate,
    session,
)
from tests.e2e.world import lines_of
from tests.model_server import USAGE, model_server, says
from tests.unit.helpers import entry

Json = Any
FILES = "<read-files>\na.py\n</read-files>\n\n<modified-files>\nb.py\n</modified-files>"


def test_a_model_writes_what_is_stored_with_its_cost(
    environment: dict[str, str], agent_dir: Path
) -> None:
    path = session(agent_dir, *CONVERSATION)
    with model_server(says(GOOD[:20], GOOD[20:])) as server:
        with editor(environment, path, asks(server)) as ed:
            answer = ed.ask("compact", keepRecentTokens=KEEP, instructions="Mind the edge cases.")
            assert ed.texts() == {"history": GOOD}
            ed.assert_one_job("compaction")
        (request,) = server.requests
    summarizer = {"kind": "openai", "model": "m", "host": server.host}
    assert answer["summarizer"] == answer["plan"]["summarizer"] == summarizer
    record = lines_of(path)[-1]
    assert record["usage"] == answer["usage"]
    assert record["usage"]["totalTokens"] == USAGE["total_tokens"]
    assert record["summary"] == answer["summary"]
    assert "### Blocked\n(none)" in record["summary"]
    assert record["summary"].endswith(FILES)
    assert request.body["stream_options"] == {"include_usage": True}
    sent = "\n".join(request.texts)
    assert "Mind the edge cases." in sent
    assert "Make the parser fast." in sent
    assert "Now the tests, please." not in sent
    assert abs(answer["plan"]["promptTokens"] - len(sent) / 4) < 50


def test_a_split_turn_asks_for_both_texts_at_once(
    environment: dict[str, str], agent_dir: Path
) -> None:
    path = session(agent_dir, *SPLIT)
    both = "## Request\nPort the lexer.\n\n## Goal\nMake it fast.\n"  # either text has its section
    wait = gate()
    with (
        model_server(says(both).after(wait), says(both).after(wait)) as server,
        editor(environment, path, asks(server)) as ed,
    ):
        plan = ed.ask("compact", keepRecentTokens=1, dryRun=True)["plan"]
        assert (plan["isSplitTurn"], plan["turnPrefix"]) == (True, ["u3", "a5", "r3"])
        assert (plan["summarized"][-1], plan["kept"]) == ("a4", ["a6"])
        work = ed.start("compact", keepRecentTokens=1)
        server.wait_for_requests(2)  # both came, though none was answered
        wait.set()
        stored = ed.wait(work)["result"]
        assert ed.texts() == {"history": both, "turnPrefix": both}
        limits = {request.body["max_completion_tokens"] for request in server.requests}
    assert limits == {16_384 * 8 // 10, 16_384 // 2}
    record = lines_of(path)[-1]
    history, _, rest = record["summary"].partition(f"\n\n{BRIDGE_HEADING}\n\n")
    assert parse(history, "compaction").sections["Goal"] == "Make it fast."
    assert parse(rest, "turnPrefix").sections["Request"].startswith("Port the lexer.")
    assert "lexer.py" in record["details"]["modifiedFiles"]
    assert record["usage"]["totalTokens"] == 240  # of both
    assert stored["usage"] == record["usage"]
    assert set(record["usage"]["cost"]) == {"input", "output", "cacheRead", "cacheWrite", "total"}


def test_no_more_is_asked_for_than_the_model_writes_at_most(
    environment: dict[str, str], agent_dir: Path
) -> None:
    path = session(agent_dir, *SPLIT)
    both = "## Request\nPort the lexer.\n\n## Goal\nMake it fast.\n"
    settings = {
        "models": {"local/m": {"contextWindow": 4000, "maxOutputTokens": 900}},
        "compaction": {"reserveTokens": 1600},
        "branchSummary": {"reserveTokens": 1600},
    }
    with (
        model_server(says(both), says(both), says(both)) as server,
        editor(environment, path, {**asks(server), **settings}) as ed,
    ):
        ed.ask("compact", keepRecentTokens=1)
        ed.ask("switchLeaf", targetId="u1", position="at", summary={"mode": "write"})
        limits = [request.body["max_completion_tokens"] for request in server.requests]
    assert sorted(limits[:2]) == [800, 900]  # half of the reserve; not its four fifths, 1280
    assert limits[2] == 900


@KINDS
def test_a_reserve_leaves_half_of_a_small_window(
    environment: dict[str, str], agent_dir: Path, kind: str
) -> None:
    path = session(agent_dir, *CONVERSATION)
    settings = {"models": {"local/m": {"contextWindow": 8192}}}  # half of the usual reserve
    with (
        model_server(says(GOOD)) as server,
        editor(environment, path, {**asks(server), **settings}) as ed,
    ):
        answer = ed.wait(begin(ed, kind))["result"]
        assert server.requests[0].body["max_completion_tokens"] == 4096 * 8 // 10
        sent = chat(server, 0)
    assert answer["summary"]
    assert f"The first part is done. {LONG.strip()}" in sent  # nothing was cut


def test_the_next_one_updates_the_one_before(environment: dict[str, str], agent_dir: Path) -> None:
    path = session(agent_dir, *CONVERSATION)
    with (
        model_server(says(GOOD), says(GOOD.replace("fast", "faster"))) as server,
        editor(environment, path, asks(server)) as ed,
    ):
        first = ed.ask("compact", keepRecentTokens=KEEP)
        ed.append("Once more.")
        second = ed.ask("compact", keepRecentTokens=1)
        sent = chat(server, 1)
    assert second["plan"]["previousCompactionId"] == first["entryId"]
    assert second["plan"]["summarized"] == KEPT
    assert "Make it fast." in sent  # the earlier checkpoint,
    assert "<read-files>" not in sent  # without its file lists,
    assert "Now the tests, please." in sent  # what is new,
    assert "I look." not in sent  # and nothing that the earlier one covers
    assert second["plan"]["modifiedFiles"] == ["b.py"]
    assert lines_of(path)[-1]["details"]["readFiles"] == ["a.py"]


@pytest.mark.parametrize("writer", ["openai", "client", "offline"])
def test_an_excluded_command_is_in_no_request(
    environment: dict[str, str], agent_dir: Path, writer: str
) -> None:
    shell = {
        "role": "bashExecution",
        "command": "cat TOP-SECRET-VALUE",
        "output": "TOP-SECRET-VALUE",
        "exitCode": 0,
        "excludeFromContext": True,
        "timestamp": 1,
    }
    secret = entry("x1", "a4", "message", message=shell)
    path = session(agent_dir, *CONVERSATION, secret, asked("u3", "x1", "Go on."))
    with (
        model_server(says(GOOD), says(GOOD)) as server,
        editor(environment, path, asks(server), offer={}) as ed,
    ):
        params = {"keepRecentTokens": 1, "summarizer": writer}
        work = ed.start("compact", **params)
        if writer == "client":
            question = ed.question()
            assert "TOP-SECRET-VALUE" not in str(question)
            ed.reply(question, result={"text": GOOD})
        assert "x1" in ed.wait(work)["result"]["plan"]["summarized"]
        left = ed.start(
            "switchLeaf", targetId="u1", position="at",
            summary={"mode": "write", "summarizer": writer},
        )  # fmt: skip
        if writer == "client":
            question = ed.question()
            assert "TOP-SECRET-VALUE" not in str(question)
            ed.reply(question, result={"text": GOOD})
        ed.wait(left)
        assert "TOP-SECRET-VALUE" not in str([one.body for one in server.requests])
    written = [one["summary"] for one in lines_of(path) if "summary" in one]
    assert written
    assert "TOP-SECRET-VALUE" not in str(written)


# --- while it is written -------------------------------------------------------------------------


def writing(ed: Editor, **params: Json) -> int:
    return ed.start("compact", keepRecentTokens=KEEP, **params)


def test_appending_goes_on_and_it_is_stored_behind_that(
    environment: dict[str, str], agent_dir: Path
) -> None:
    path = session(agent_dir, *CONVERSATION)
    wait = gate()
    with (
        model_server(says(GOOD).after(wait)) as server,
        editor(environment, path, asks(server)) as ed,
    ):
        work = writing(ed)
        server.wait_for_requests(1)
        added = ed.append()
        assert ed.ask("tree")["leafId"] == added
        wait.set()
        answer = ed.wait(work)["result"]
        assert ed.entry(answer["entryId"])["parentId"] == added
        assert ed.ask("context")["sources"] == [answer["entryId"], *KEPT, added]


def test_it_is_dropped_if_the_leaf_left_its_path(
    environment: dict[str, str], agent_dir: Path
) -> None:
    path = session(agent_dir, *CONVERSATION)
    wait = gate()
    with (
        model_server(says(GOOD).after(wait)) as server,
        editor(environment, path, asks(server)) as ed,
    ):
        work = writing(ed, workDoneToken="t")
        server.wait_for_requests(1)
        ed.ask("switchLeaf", targetId="a3", position="at")
        before = path.read_bytes()
        wait.set()
        error = ed.wait(work)["error"]
        assert (error["code"], error["data"]["leafId"]) == (4004, "a3")
        assert (path.read_bytes(), ed.leaf()) == (before, "a3")
        ed.assert_one_job("compaction")
        ed.assert_progress("t")


# --- branch summaries that were covered ----------------------------------------------------------


def test_covered_branch_summaries_are_given_to_it_and_stay_in_sight(
    environment: dict[str, str], agent_dir: Path
) -> None:
    learnt = entry("b1", "u1", "branch_summary", fromId="u1", summary="LEARNT: icu is too big.")
    records = [dict(one) for one in CONVERSATION]
    records[records.index(next(one for one in records if one["id"] == "a1"))]["parentId"] = "b1"
    records.insert(3, learnt)
    path = session(agent_dir, *records)
    with (
        model_server(says(GOOD), says(GOOD)) as server,
        editor(environment, path, asks(server)) as ed,
    ):
        first = ed.ask("compact", keepRecentTokens=KEEP)
        assert ed.ask("context")["sources"] == [first["entryId"], "b1", *KEPT]
        ed.append("Once more.")
        second = ed.ask("compact", keepRecentTokens=1)
        assert "LEARNT: icu is too big." in chat(server, 1)
        assert "b1" not in second["plan"]["summarized"]
        context = ed.ask("context")
        assert context["sources"][:2] == [second["entryId"], "b1"]
        assert context["messages"][2]["role"] == "branchSummary"
