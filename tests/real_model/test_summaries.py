"""Summaries by a real model. What it says is its own affair: the protocol is what is asserted."""

import time
from pathlib import Path
from typing import Any

import pytest

from branchline.summaries.sections import (
    BRIDGE_HEADING,
    SECTIONS,
    complete,
    parse,
    strip_file_lists,
)
from branchline.summaries.writer import SummaryKind
from branchline.tree.chat import BRANCH_INTRODUCTION
from tests.e2e.editor import (
    CANCEL_SECONDS,
    KEEP,
    KINDS,
    Editor,
    asked,
    begin,
    call,
    editor,
    result,
    said,
    session,
    told,
)
from tests.e2e.world import SLACK, lines_of
from tests.real_model.real_model import RealModel

Json = Any
SECONDS = 180.0
"""How long a daemon may serve one test."""
TALK = (
    asked("u1", None, "Make the parser fast. One file takes ten seconds."),
    told("a1", "u1", *said("The regular expressions are slow. A scan by hand would be faster.")),
    asked("u2", "a1", "Then write the scan, and keep the public API as it is."),
    told("a2", "u2", *said("I write it."), call("c1", "edit", path="parser.py")),
    result("r1", "a2", "c1", "ok"),
    told("a3", "r1", *said("The scan is written. One file takes two seconds now.")),
    asked("u3", "a3", "Good. Now the tests, please."),
    told("a4", "u3", *said("They pass.")),
)
"""A talk for `begin`: one leaves it for ``a1``, or compacts all before ``u3``."""


@pytest.fixture
def path(agent_dir: Path) -> Path:
    return session(agent_dir, *TALK)


def long_talk(turns: int) -> list[Json]:
    """A talk of about 60 tokens a turn. It ends as `TALK` does."""
    records = list(TALK[:2])
    for turn in range(turns):
        request = f"Step {turn}: look into the file with the number {turn}, and drop its bad rows."
        answer = (
            f"I looked into file {turn}. Some of its rows have no date and were dropped, the "
            "others were read and sorted by the name of the customer."
        )
        records += [
            asked(f"q{turn}", records[-1]["id"], request),
            told(f"t{turn}", f"q{turn}", *said(answer)),
        ]
    return [*records, asked("u3", records[-1]["id"], TALK[-2]["message"]["content"]), TALK[-1]]


# --- what must hold ------------------------------------------------------------------------------


def assert_stored(ed: Editor, answer: Json, before: bytes) -> Json:
    """One entry was added, which the answer tells of and which is the leaf; give the entry."""
    assert ed.path.read_bytes().startswith(before)
    added = lines_of(ed.path)[before.count(b"\n") :]
    assert len(added) == 1
    (record,) = added
    assert record["summary"] == answer["summary"]
    assert answer["leafId"] == record["id"] == ed.leaf()
    return record


def assert_refused(ed: Editor, error: Json, host: str, before: bytes, leaf: str) -> None:
    """It is an error of the right kind, and all is as it was."""
    assert (error["code"], error["data"]["kind"]) == (4010, "summaryFailed")
    assert error["data"]["provider"] == host
    assert (ed.path.read_bytes(), ed.leaf()) == (before, leaf)


def assert_all_sections(text: str, kind: SummaryKind) -> None:
    """Every section is there, in order; some say something."""
    parsed = parse(text, kind)
    assert parsed.missing == []
    titles = [section.title for section in SECTIONS[kind] if section.title in parsed.sections]
    assert list(parsed.sections) == titles
    assert any(parsed.sections.values())


def assert_counted(usage: Json, before: dict[str, int], after: dict[str, int]) -> None:
    """A usage is what the server itself counted meanwhile."""
    spent = {name: after[name] - before[name] for name in before}
    assert {name: usage[name] for name in spent} == spent
    assert min(usage["input"], usage["output"]) > 0
    assert usage["totalTokens"] == sum(spent.values())


def prompt_tokens(usage: Json) -> int:
    """What the server counted of what it was sent."""
    total: int = usage["input"] + usage["cacheRead"]
    return total


# --- a text of use -------------------------------------------------------------------------------


def test_who_writes_is_told(environment: dict[str, str], path: Path, model: RealModel) -> None:
    with editor(environment, path, model.settings()) as ed:
        who = ed.ask("summarizer")
        assert (who["use"], who["kind"]) == ("openai", "openai")
        assert (who["model"], who["host"]) == (model.name, model.host)
        plan = ed.ask("compact", keepRecentTokens=KEEP, dryRun=True)["plan"]
    assert plan["summarizer"] == {"kind": "openai", "model": model.name, "host": model.host}


def test_a_compaction_is_streamed_and_stored_with_what_it_cost(
    environment: dict[str, str], path: Path, formal_model: RealModel
) -> None:
    before, counted = path.read_bytes(), formal_model.counted()
    with editor(environment, path, formal_model.settings(), seconds=SECONDS) as ed:
        answer = ed.ask("compact", keepRecentTokens=KEEP, workDoneToken="t")
        record = assert_stored(ed, answer, before)
        ed.assert_one_job("compaction")
        ed.assert_progress("t")
        texts, pieces = ed.texts(), ed.news("session/summaryText")
        sources = ed.ask("context")["sources"]
    assert len(pieces) > 10
    assert {one["part"] for one in pieces} == {"history"}
    assert complete(texts["history"], "compaction") == strip_file_lists(record["summary"])
    assert_all_sections(record["summary"], "compaction")
    assert record["usage"] == answer["usage"]
    assert_counted(record["usage"], counted, formal_model.counted())
    assert (record["type"], record["firstKeptEntryId"]) == ("compaction", "u3")
    assert record["details"] == {"readFiles": [], "modifiedFiles": ["parser.py"]}
    assert answer["summarizer"]["model"] == formal_model.name
    assert sources == [record["id"], "u3", "a4"]


def test_a_branch_summary_is_streamed_and_stored_with_what_it_cost(
    environment: dict[str, str], path: Path, formal_model: RealModel
) -> None:
    before, counted = path.read_bytes(), formal_model.counted()
    with editor(environment, path, formal_model.settings(), seconds=SECONDS) as ed:
        answer = ed.wait(begin(ed, "branch", workDoneToken="t"))["result"]
        record = assert_stored(ed, answer, before)
        ed.assert_one_job("branch")
        ed.assert_progress("t")
        texts, pieces = ed.texts(), ed.news("session/summaryText")
    assert len(pieces) > 10
    text = record["summary"].removeprefix(f"{BRANCH_INTRODUCTION}\n\n")
    assert complete(texts["branch"], "branch") == strip_file_lists(text)
    assert_all_sections(text, "branch")
    assert_counted(record["usage"], counted, formal_model.counted())
    assert (record["type"], record["fromId"], record["parentId"]) == ("branch_summary", "a4", "a1")


def test_the_two_texts_of_a_split_turn_may_wait_for_each_other(
    environment: dict[str, str], path: Path, formal_model: RealModel
) -> None:
    before, counted = path.read_bytes(), formal_model.counted()
    with editor(environment, path, formal_model.settings(), seconds=SECONDS) as ed:
        answer = ed.ask("compact", keepRecentTokens=1)  # two requests, and it serves one at a time
        record = assert_stored(ed, answer, before)
        assert ed.texts().keys() == {"history", "turnPrefix"}
    assert answer["plan"]["isSplitTurn"] is True
    history, _, bridge = strip_file_lists(record["summary"]).partition(f"\n\n{BRIDGE_HEADING}\n\n")
    assert_all_sections(history, "compaction")
    assert_all_sections(bridge, "turnPrefix")
    assert_counted(record["usage"], counted, formal_model.counted())


# --- any text ------------------------------------------------------------------------------------

OWN_WORDS = {
    "mode": "write",
    "instructions": "Say in one sentence what the user wants.",
    "replaceInstructions": True,
}


@pytest.mark.parametrize("kind", ["compaction", "own words"])
def test_whatever_it_writes_is_stored_whole_or_not_at_all(
    environment: dict[str, str], path: Path, model: RealModel, kind: str
) -> None:
    before, counted = path.read_bytes(), model.counted()
    settings = model.settings(max_output_tokens=80)
    with editor(environment, path, settings, seconds=SECONDS) as ed:
        if kind == "compaction":
            work = begin(ed, kind)
        else:
            work = ed.start("switchLeaf", targetId="a1", position="at", summary=OWN_WORDS)
        answer = ed.wait(work)
        ed.assert_one_job("compaction" if kind == "compaction" else "branch")
        assert ed.news("session/summaryText")
        if "error" in answer:
            data = answer["error"]["data"]
            assert_refused(ed, answer["error"], model.host, before, "a4")
            assert (data["status"], data["retryable"]) == (200, True)
            assert "twice" in answer["error"]["message"]
            return
        record = assert_stored(ed, answer["result"], before)
    assert_counted(record["usage"], counted, model.counted())
    if kind == "compaction":
        assert_all_sections(record["summary"], "compaction")
    else:
        assert record["summary"].startswith(f"{BRANCH_INTRODUCTION}\n\n")


# --- limits --------------------------------------------------------------------------------------


@KINDS
def test_what_is_sent_is_cut_to_fit_the_window(
    environment: dict[str, str], agent_dir: Path, formal_model: RealModel, kind: str
) -> None:
    path = session(agent_dir, *long_talk(200))
    before = path.read_bytes()
    with editor(environment, path, formal_model.settings(), seconds=SECONDS) as ed:
        assert ed.opened["usage"]["tokens"] > 4 * formal_model.context_window
        answer = ed.wait(begin(ed, kind))["result"]
        usage = assert_stored(ed, answer, before)["usage"]
    estimate, window = answer["plan"]["promptTokens"], formal_model.context_window
    assert estimate <= window - 0.8 * window / 2  # what the answer may need
    # It was not refused: that would have halved it.
    assert 0.7 * estimate < prompt_tokens(usage) <= window


def test_a_refused_prompt_is_sent_once_more_and_shorter(
    environment: dict[str, str], agent_dir: Path, formal_model: RealModel
) -> None:
    path = session(agent_dir, *long_talk(20))
    before = path.read_bytes()
    settings = {**formal_model.settings(), "models": {}}  # its window is not known
    with editor(environment, path, settings, seconds=SECONDS) as ed:
        answer = ed.ask("compact", keepRecentTokens=KEEP)
        usage = assert_stored(ed, answer, before)["usage"]
    estimate = answer["plan"]["promptTokens"]
    assert estimate > formal_model.context_window
    assert prompt_tokens(usage) < 0.7 * estimate


def test_a_prompt_that_is_refused_twice_is_an_error(
    environment: dict[str, str], agent_dir: Path, formal_model: RealModel
) -> None:
    path = session(agent_dir, *long_talk(200))
    before, counted = path.read_bytes(), formal_model.counted()
    settings = {**formal_model.settings(), "models": {}}
    with editor(environment, path, settings, seconds=SECONDS) as ed:
        error = ed.wait(begin(ed, "compaction"))["error"]
        assert_refused(ed, error, formal_model.host, before, "a4")
        assert (error["data"]["status"], error["data"]["retryable"]) == (400, False)
        assert "shortened" in error["message"]
        assert ed.texts() == {}
    assert formal_model.counted() == counted


@pytest.mark.parametrize(
    ("kind", "limited_by"),
    [("compaction", "reserve"), ("branch", "model")],
)
def test_a_text_that_is_cut_off_is_asked_for_once_more_and_then_refused(
    environment: dict[str, str],
    path: Path,
    formal_model: RealModel,
    kind: str,
    limited_by: str,
) -> None:
    before, counted = path.read_bytes(), formal_model.counted()
    limit = 24  # some of the sections are there by then
    if limited_by == "model":
        settings = formal_model.settings(max_output_tokens=limit)
    else:
        reserve = {"reserveTokens": limit * 5 // 4}
        settings = {"compaction": reserve, "branchSummary": reserve} | formal_model.settings()
    with editor(environment, path, settings, seconds=SECONDS) as ed:
        error = ed.wait(begin(ed, kind, workDoneToken="t"))["error"]
        assert_refused(ed, error, formal_model.host, before, "a4")
        assert (error["data"]["status"], error["data"]["retryable"]) == (200, True)
        assert "twice" in error["message"]
        assert "cut off" in error["message"]
        ed.assert_one_job(kind)
        ed.assert_progress("t")
        assert 0 < len(ed.news("session/summaryText")) <= limit  # the first of the two alone
    assert formal_model.counted()["output"] - counted["output"] == 2 * limit


# --- cancelling ----------------------------------------------------------------------------------


@KINDS
def test_a_cancelled_text_frees_the_model_at_once(
    environment: dict[str, str], path: Path, endless_model: RealModel, kind: str
) -> None:
    before = path.read_bytes()
    with editor(environment, path, endless_model.settings(), seconds=SECONDS) as ed:
        for _ in range(2):  # the second finds a server that serves
            work = begin(ed, kind, workDoneToken="t")
            ed.see(lambda one: one.get("method") == "session/summaryText")
            assert endless_model.is_busy()
            started = time.monotonic()
            ed.cancel(work)
            error = ed.wait(work)["error"]
            assert time.monotonic() - started < CANCEL_SECONDS * SLACK
            assert (error["code"], error["data"]) == (-32800, {"kind": "cancelled"})
            assert endless_model.is_free_by(started + CANCEL_SECONDS * SLACK)
            assert (path.read_bytes(), ed.leaf()) == (before, "a4")
            ed.assert_one_job(kind)
            ed.assert_progress("t")
            ed.forget()
