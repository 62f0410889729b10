"""Who writes a summary: the client that asks, the next writer, and what there is to choose from."""

from pathlib import Path
from typing import Any

import pytest

from branchline.summaries.sections import parse
from branchline.tree.chat import BRANCH_INTRODUCTION
from tests.e2e.editor import CONVERSATION, FORK, GOOD, KEEP, SPLIT, Editor, editor
from tests.e2e.editor import session as session_of
from tests.e2e.world import lines_of
from tests.model_server import model_server, says

Json = Any
BRANCH = "## Goal\nTry regex.\n\n## What Failed\n- nesting\n"
FILES = "<read-files>\na.py\n</read-files>\n\n<modified-files>\nb.py\n</modified-files>"
LISTS = {"readFiles": ["a.py"], "modifiedFiles": ["b.py"]}
WRITE = {"mode": "write"}


@pytest.fixture
def path(agent_dir: Path) -> Path:
    return session_of(agent_dir, *FORK)


# --- the client writes ---------------------------------------------------------------------------

OFFER = {"model": "their-model", "maxInputTokens": 2000}


def test_a_client_that_offers_is_asked_first(environment: dict[str, str], agent_dir: Path) -> None:
    path = session_of(agent_dir, *CONVERSATION)
    with editor(environment, path, offer=OFFER) as ed:
        who = ed.ask("summarizer")
        assert (who["use"], who["kind"], who["model"], who["host"]) == (
            "auto", "client", "their-model", None,
        )  # fmt: skip
        work = ed.start("compact", keepRecentTokens=KEEP)
        asked_for = ed.question()["params"]
        assert asked_for.keys() == {"kind", "system", "prompt", "maxTokens", "plan"}
        assert (asked_for["kind"], asked_for["maxTokens"]) == ("compaction", 13_107)
        assert "Make the parser fast." in asked_for["prompt"]
        assert (len(asked_for["system"]) + len(asked_for["prompt"])) / 4 <= 2000
        plan = asked_for["plan"]
        assert (plan["firstKeptEntryId"], plan["readFiles"]) == ("u2", ["a.py"])
        assert plan["summarizer"] == {"kind": "client", "model": "their-model", "host": None}
        usage = {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 3}
        last = next(one for one in ed.messages if one.get("method") == "session/summarize")
        ed.reply(last, result={"text": GOOD, "model": "other", "usage": usage})
        answer = ed.wait(work)["result"]
        assert ed.texts() == {"history": parse_back(answer["summary"])}
        ed.assert_one_job("compaction")
    record = lines_of(path)[-1]
    assert (record["summary"], record["usage"]) == (answer["summary"], usage)
    assert record["details"] == LISTS
    assert "fromHook" not in record
    assert answer["summarizer"]["kind"] == "client"
    assert parse(record["summary"], "compaction").sections["Goal"] == "Make it fast."


def parse_back(summary: str) -> str:
    """A stored summary without its file lists."""
    return summary.partition("\n\n<read-files>")[0]


def test_a_client_may_have_a_form_and_details_of_its_own(
    environment: dict[str, str], path: Path
) -> None:
    with editor(environment, path, offer={}) as ed:
        work = ed.start("switchLeaf", targetId="u2", summary=WRITE)
        details = {"mine": [1, 2]}
        question = ed.question("branch")
        ed.reply(question, result={"text": "Only prose.", "details": details})
        answer = ed.wait(work)["result"]
        assert answer["summary"] == f"{BRANCH_INTRODUCTION}\n\nOnly prose.\n\n{FILES}"
        record = ed.entry(answer["leafId"])
        assert (record["details"], record["fromHook"]) == (details, True)
        # What a client keeps there is not read as file lists.
        ed.append("more")
        plan = ed.ask("switchLeaf", targetId="u1", position="at", dryRun=True)["plan"]
        assert (plan["readFiles"], plan["modifiedFiles"]) == ([], [])


ANSWERS: list[tuple[Json, int]] = [
    ({"result": {"cancel": True}}, 4011),
    ({"error": {"code": 1, "message": "sk-secret"}}, 4010),
    ({"result": {"text": " \n"}}, 4010),
    ({"result": {"text": 7}}, 4010),
    ({"result": {}}, 4010),
    ({"result": "a text"}, 4010),
    ({"result": [1]}, 4010),
    ({"result": {"text": "## Goal\nx", "cancel": True}}, 4011),
]


@pytest.mark.parametrize(("answer", "code"), ANSWERS)
def test_a_client_that_refuses_or_fails_leaves_all_as_it_was(
    environment: dict[str, str], path: Path, answer: Json, code: int
) -> None:
    before = path.read_bytes()
    with editor(environment, path, offer={}) as ed:
        work = ed.start("switchLeaf", targetId="u2", summary=WRITE, workDoneToken=1)
        ed.reply(ed.question(), **answer)
        error = ed.wait(work)["error"]
        assert error["code"] == code
        assert "sk-secret" not in str(error)
        if code == 4010:
            assert error["data"]["provider"] == "the client"
        assert (path.read_bytes(), ed.leaf()) == (before, "a4")
        ed.assert_one_job("branch")
        assert ed.assert_progress(1) == []


@pytest.mark.parametrize("next_writer", ["openai", "offline"])
def test_a_client_may_leave_it_to_the_next(
    environment: dict[str, str], path: Path, next_writer: str
) -> None:
    with model_server(says(BRANCH)) as server:
        named = {"baseUrl": server.base_url, "model": "m"} if next_writer == "openai" else {}
        with editor(environment, path, {"summarizer": named}, offer={}) as ed:
            work = ed.start("switchLeaf", targetId="u2", summary=WRITE)
            ed.reply(ed.question(), result=None)
            answer = ed.wait(work)["result"]
            ed.assert_one_job("branch")
    assert answer["plan"]["summarizer"]["kind"] == next_writer
    assert len(server.requests) == (next_writer == "openai")
    assert lines_of(path)[-1]["summary"] == answer["summary"]


def test_only_the_client_that_needs_it_is_asked_and_a_dry_run_asks_nobody(
    environment: dict[str, str], path: Path
) -> None:
    with editor(environment, path, offer={}) as ed:
        ed.ask("switchLeaf", targetId="u2", summary=WRITE, dryRun=True)
        ed.ask("switchLeaf", targetId="u2", summary={**WRITE, "summarizer": "offline"})
        assert not [one for one in ed.messages if one.get("method") == "session/summarize"]


def test_a_taken_back_request_takes_its_question_back(
    environment: dict[str, str], path: Path
) -> None:
    before = path.read_bytes()
    with editor(environment, path, offer={}) as ed:
        work = ed.start("switchLeaf", targetId="u2", summary=WRITE)
        question = ed.question()
        ed.cancel(work)
        assert ed.wait(work)["error"]["code"] == -32800
        taken_back = ed.see(lambda one: one.get("method") == "$/cancelRequest")
        assert taken_back["params"] == {"id": question["id"]}
        ed.reply(question, result={"text": BRANCH})  # too late, and no harm
        assert ed.leaf() == "a4"
        ed.assert_one_job("branch")
    assert path.read_bytes() == before


def test_when_one_of_two_texts_is_refused_the_other_is_taken_back(
    environment: dict[str, str], agent_dir: Path
) -> None:
    path = session_of(agent_dir, *SPLIT)
    with editor(environment, path, offer={}) as ed:
        work = ed.start("compact", keepRecentTokens=1)
        history, bridge = ed.question("compaction"), ed.question("turnPrefix")
        ed.reply(bridge, result={"cancel": True})
        assert ed.wait(work)["error"]["code"] == 4011
        taken_back = ed.see(lambda one: one.get("method") == "$/cancelRequest")
        assert taken_back["params"] == {"id": history["id"]}
        work = ed.start("compact", keepRecentTokens=1)
        for kind, details in (("turnPrefix", {"b": 1}), ("compaction", None)):
            ed.reply(ed.question(kind), result={"text": f"text of {kind}", "details": details})
        record = ed.entry(ed.wait(work)["result"]["entryId"])
    assert record["summary"].startswith(
        "text of compaction\n\n## The Turn in Progress\n\ntext of t"
    )
    assert (record["details"], record["fromHook"]) == ({"b": 1}, True)


# --- who writes ----------------------------------------------------------------------------------


def test_who_would_write_and_who_could(environment: dict[str, str], path: Path) -> None:
    keyed = {**environment, "OPENAI_API_KEY": "k"}
    with editor(keyed, path) as ed:
        who = ed.ask("summarizer")
        assert who.keys() == {"use", "kind", "model", "host", "available", "test"}
        assert who["test"] is None
        assert (who["use"], who["kind"], who["model"], who["host"]) == (
            "auto", "offline", None, None,
        )  # fmt: skip
        listed = {one["kind"]: one for one in who["available"]}
        assert list(listed) == ["client", "openai", "offline"]
        assert "does not offer" in listed["client"]["reason"]
        assert "summarizer.model" in listed["openai"]["reason"]  # a key alone is no consent
        assert listed["offline"]["reason"] is None
        settings = {"summarizer": {"model": "m", "baseUrl": "http://localhost:1/v1"}}
        change = {"method": "workspace/didChangeConfiguration", "params": {"settings": settings}}
        ed.daemon.send({"jsonrpc": "2.0", **change})
        who = ed.ask("summarizer")
        assert (who["kind"], who["model"], who["host"]) == ("openai", "m", "localhost:1")
        bare = ed.wait(ed.send("session/summarizer"))["result"]
        assert bare == who


@pytest.mark.parametrize(("use", "reason"), [("client", "offer"), ("openai", "summarizer.model")])
def test_a_writer_that_is_not_there_is_an_error(
    environment: dict[str, str], path: Path, use: str, reason: str
) -> None:
    def ask_for(ed: Editor, **chosen: Json) -> list[Json]:
        return [
            ed.error("switchLeaf", targetId="u2", summary={**WRITE, **chosen}),
            ed.error("compact", keepRecentTokens=KEEP, **chosen),
        ]

    with editor(environment, path) as ed:
        for error in ask_for(ed, summarizer=use):
            assert (error["code"], error["data"]["parameter"]) == (-32602, "summarizer")
            assert reason in error["message"]
        assert ed.news("session/busy") == []
    with editor(environment, path, {"summarizer": {"use": use}}) as ed:
        for error in ask_for(ed):
            assert error["code"] == -32602
        assert ed.ask("summarizer")["kind"] == "offline"
        assert ed.ask("switchLeaf", targetId="u2", summary={**WRITE, "summarizer": "auto"})


@pytest.mark.parametrize("use", ["client", "openai"])
def test_who_needs_no_writer_may_name_one_that_is_not_there(
    environment: dict[str, str], path: Path, use: str
) -> None:
    with editor(environment, path, {"summarizer": {"use": use}}) as ed:
        plan = ed.ask("switchLeaf", targetId="u1", position="at", dryRun=True)["plan"]
        assert (plan["summarizer"], plan["promptTokens"]) == (None, None)
        assert plan["messageCount"] > 0
        assert ed.ask("compact", keepRecentTokens=KEEP, dryRun=True)["plan"]["summarizer"] is None
        assert ed.ask("compact", keepRecentTokens=KEEP, summary="our own")["entryId"]
        own = {"mode": "text", "text": "our own"}
        assert ed.ask("switchLeaf", targetId="a2", summary=own)["summaryEntryId"]
        assert ed.ask("switchLeaf", targetId="a1")["leafId"] == "a1"
