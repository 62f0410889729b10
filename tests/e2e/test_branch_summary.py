"""``session/switchLeaf`` that takes along what was learnt, and who can write that down."""

import json
from pathlib import Path
from typing import Any

import pytest

from branchline.entries import message_of
from branchline.tree.chat import BRANCH_INTRODUCTION
from tests.e2e.conftest import TESTS, StartDaemon
from tests.e2e.editor import FORK, asks, begin, chat, editor, gate
from tests.e2e.editor import session as session_of
from tests.e2e.talk import Talk
from tests.e2e.world import lines_of, user
from tests.model_server import USAGE, model_server, says
from tests.unit.helpers import entry

Json = Any
VECTORS: Json = json.loads((TESTS / "vectors" / "expected.json").read_bytes())
BRANCH = "## Goal\nTry regex.\n\n## What Failed\n- nesting\n"
FILES = "<read-files>\na.py\n</read-files>\n\n<modified-files>\nb.py\n</modified-files>"
LISTS = {"readFiles": ["a.py"], "modifiedFiles": ["b.py"]}
WRITE = {"mode": "write"}


@pytest.fixture
def talk(daemon: StartDaemon, agent_dir: Path) -> Talk:
    return Talk(daemon(), session_of(agent_dir, *FORK))


@pytest.fixture
def path(agent_dir: Path) -> Path:
    return session_of(agent_dir, *FORK)


# --- written -------------------------------------------------------------------------------------


def test_leaving_a_branch_stores_what_was_learnt_at_the_destination(
    talk: Talk, daemon: StartDaemon
) -> None:
    answer = talk.ask("switchLeaf", targetId="u2", summary=WRITE)
    record = lines_of(talk.path)[-1]
    assert list(record) == ["type", "id", "parentId", "timestamp", "fromId", "summary", "details"]
    assert (record["type"], record["parentId"], record["fromId"]) == ("branch_summary", "a1", "a4")
    assert answer["leafId"] == answer["summaryEntryId"] == record["id"]
    assert (answer["previousLeafId"], answer["draftId"]) == ("a4", None)
    assert answer["editorContent"]["text"].startswith("Try regex.")
    text = record["summary"]
    assert answer["summary"] == text
    assert text.startswith(f"{BRANCH_INTRODUCTION}\n\n## Goal\n")
    assert text.endswith(f"\n\n{FILES}")
    assert "Fails on nesting." in text
    assert record["details"] == LISTS
    context = talk.ask("context")
    assert context["sources"] == ["u1", "a1", record["id"]]
    assert talk.reopened(daemon).ask("context") == context
    sent = json.dumps(talk.ask("context", format="openai")["messages"])
    assert sent.count(BRANCH_INTRODUCTION) == 1


def test_the_plan_says_what_is_summarised(talk: Talk) -> None:
    plan = talk.ask("switchLeaf", targetId="u2", summary=WRITE, dryRun=True)["plan"]
    assert plan["commonAncestorId"] == "a1"
    assert plan["leaving"] == ["u2", "a2", "r1", "a3", "r2", "a4"]
    assert plan["summarized"] == ["u2", "a2", "a3", "a4"]
    assert plan["messageCount"] == 6
    assert {key: plan[key] for key in LISTS} == LISTS
    assert plan["summarizer"] == {"kind": "offline", "model": None, "host": None}
    assert plan["promptTokens"] is None
    before = talk.path.read_bytes()
    assert talk.ask("switchLeaf", targetId="u2", summary=WRITE, dryRun=True)["summary"] is None
    assert (talk.path.read_bytes(), talk.told("session/busy")) == (before, [])


def test_a_label_goes_on_the_summary(talk: Talk, daemon: StartDaemon) -> None:
    answer = talk.ask("switchLeaf", targetId="a1", summary=WRITE, label="regex")
    (label,) = talk.reopened(daemon).ask("branches")["labels"]
    assert (label["id"], label["label"]) == (answer["summaryEntryId"], "regex")
    assert len(talk.told()) == 1
    assert talk.leaf() == answer["leafId"] == answer["summaryEntryId"]


def test_one_can_leave_everything_and_come_from_nowhere(talk: Talk) -> None:
    answer = talk.ask("switchLeaf", targetId=None, summary=WRITE)
    record = talk.entry(answer["leafId"])
    assert (record["parentId"], record["fromId"]) == (None, "a4")
    assert answer["plan"]["summarized"] == ["u1", "a1", "u2", "a2", "a3", "a4"]
    talk.ask("switchLeaf", targetId=None)
    back = talk.ask("switchLeaf", targetId="a4", summary={"mode": "text", "text": "x"})
    assert talk.entry(back["leafId"])["fromId"] == "root"


@pytest.mark.parametrize("target", ["a4", "deep"])
def test_where_nothing_is_left_the_move_is_a_plain_one(talk: Talk, target: str) -> None:
    if target == "deep":
        talk.ask("switchLeaf", targetId="a1")
    previous, before = talk.leaf(), talk.path.read_bytes()
    talk.told()
    preview = talk.ask("switchLeaf", targetId="a4", summary=WRITE, preview=True)
    assert (preview["summary"], preview["draftId"], preview["leafId"]) == (None, None, previous)
    assert talk.path.read_bytes() == before
    answer = talk.ask("switchLeaf", targetId="a4", summary=WRITE, label="here")
    assert (answer["summaryEntryId"], answer["summary"], answer["leafId"]) == (None, None, "a4")
    assert talk.told("session/busy") == []
    assert [one["id"] for one in talk.ask("branches")["labels"]] == ["a4"]


def test_every_switch_with_a_summary_can_be_undone(talk: Talk) -> None:
    before = talk.ask("context")
    moved = talk.ask("switchLeaf", targetId="u2", summary=WRITE)
    talk.ask("switchLeaf", targetId=moved["previousLeafId"], position="at")
    assert talk.ask("context") == before


def test_a_persons_own_words_carry_the_file_lists_for_later(talk: Talk) -> None:
    own = {"mode": "text", "text": "Regex cannot nest."}
    answer = talk.ask("switchLeaf", targetId="u2", summary=own)
    record = talk.entry(answer["leafId"])
    assert (record["summary"], record["details"]) == ("Regex cannot nest.", LISTS)
    sent = json.dumps(talk.ask("context", format="openai")["messages"])
    assert sent.count(BRANCH_INTRODUCTION) == 1


# --- seen before it is stored --------------------------------------------------------------------


def test_a_preview_moves_nothing_and_its_draft_is_stored_later(talk: Talk) -> None:
    before = talk.path.read_bytes()
    preview = talk.ask("switchLeaf", targetId="u2", summary=WRITE, preview=True)
    assert (preview["leafId"], preview["summaryEntryId"], preview["revision"]) == ("a4", None, 0)
    assert preview["editorContent"]["text"].startswith("Try regex.")
    assert preview["summary"].startswith(BRANCH_INTRODUCTION)
    assert (talk.path.read_bytes(), talk.leaf()) == (before, "a4")
    draft = {"mode": "text", "draftId": preview["draftId"]}
    again = talk.ask("switchLeaf", targetId="u2", summary=draft, dryRun=True)
    assert (again["leafId"], talk.path.read_bytes()) == ("a4", before)
    again = talk.ask("switchLeaf", targetId="u2", summary=draft, preview=True)
    assert (again["leafId"], talk.path.read_bytes()) == ("a4", before)
    stored = talk.ask("switchLeaf", targetId="u2", summary=draft)
    record = talk.entry(stored["leafId"])
    assert (record["summary"], record["fromId"]) == (preview["summary"], "a4")
    assert record["details"] == LISTS
    talk.client.notifications.clear()
    assert talk.error("switchLeaf", targetId="u2", summary=draft).code == -32602


@pytest.mark.parametrize("summary", [{"mode": "none"}, {"mode": "text", "text": "x"}])
def test_a_preview_of_any_move_stores_nothing(talk: Talk, summary: Json) -> None:
    before = talk.path.read_bytes()
    answer = talk.ask("switchLeaf", targetId="u2", summary=summary, preview=True)
    assert (answer["leafId"], answer["plan"]["commonAncestorId"]) == ("a4", "a1")
    assert (talk.path.read_bytes(), talk.told()) == (before, [])


def test_an_edited_draft_keeps_its_files(talk: Talk) -> None:
    preview = talk.ask("switchLeaf", targetId="u2", summary=WRITE, preview=True)
    draft = {"mode": "text", "draftId": preview["draftId"], "text": "Regex cannot nest."}
    stored = talk.ask("switchLeaf", targetId="u2", summary=draft)
    assert stored["summary"] == f"Regex cannot nest.\n\n{FILES}"
    assert talk.entry(stored["leafId"])["details"] == LISTS


def test_a_draft_is_good_for_the_move_that_it_was_written_for(talk: Talk) -> None:
    preview = talk.ask("switchLeaf", targetId="u2", summary=WRITE, preview=True)
    draft = {"mode": "text", "draftId": preview["draftId"]}
    talk.client.notifications.clear()
    error = talk.error("switchLeaf", targetId="a3", summary=draft)
    assert (error.code, error.data["parameter"]) == (-32602, "summary.draftId")
    leaf = talk.append(user("more"))["leafId"]
    talk.client.notifications.clear()
    error = talk.error("switchLeaf", targetId="u2", summary=draft)
    assert (error.code, error.data["leafId"]) == (4004, leaf)
    talk.ask("switchLeaf", targetId="a4")
    assert talk.ask("switchLeaf", targetId="u2", summary=draft)["summary"] == preview["summary"]


@pytest.mark.parametrize(
    ("summary", "name"),
    [
        ({"mode": "write", "text": "x"}, "summary.text"),
        ({"mode": "write", "draftId": "x"}, "summary.draftId"),
        ({"mode": "none", "draftId": "x"}, "summary.draftId"),
        ({"mode": "text", "draftId": "x"}, "summary.draftId"),
        ({"mode": "write", "summarizer": "poet"}, "summary.summarizer"),
        ({"mode": "write", "instructions": 7}, "summary.instructions"),
    ],
)
def test_wrong_params_are_named(talk: Talk, summary: Json, name: str) -> None:
    error = talk.error("switchLeaf", targetId="u2", summary=summary)
    assert (error.code, error.data["parameter"]) == (-32602, name)


# --- what goes in --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in VECTORS if VECTORS[name]["switches"]][:20])
def test_what_fits_the_budget_is_what_the_vectors_say(
    daemon: StartDaemon, tmp_path: Path, name: str
) -> None:
    content = (TESTS / "vectors" / "sessions" / name).read_bytes()
    path = session_of(tmp_path)
    path.write_bytes(content)
    talk = Talk(daemon({"durability": "flush"}), path)
    entries = {one["id"]: one for one in lines_of(path)}
    checked = 0
    for switch in VECTORS[name]["switches"]:
        talk.ask("switchLeaf", targetId=switch["from"], position="at")
        for wanted in switch["budgets"]:
            settings = {
                "branchSummary": {"reserveTokens": 1},
                "contextWindow": 1 + wanted["budget"],
                "summarizer": {"use": "openai", "model": "m"} if wanted["budget"] else {},
            }
            talk.client.notify("workspace/didChangeConfiguration", {"settings": settings})
            plan = talk.ask(
                "switchLeaf", targetId=switch["target"], position="at", dryRun=True
            )["plan"]  # fmt: skip
            assert [role_of(entries[one]) for one in plan["summarized"]] == wanted["roles"]
            for key in LISTS:
                assert plan[key] == wanted[key]
            checked += 1
    assert checked


def role_of(one: Json) -> str:
    shown = {
        "compaction": "compactionSummary",
        "branch_summary": "branchSummary",
        "custom_message": "custom",
    }
    role: str = shown.get(one["type"]) or message_of(one)["role"]
    return role


def test_a_session_that_is_only_read_is_not_written_for(daemon: StartDaemon, path: Path) -> None:
    reader = Talk(daemon(), path, readOnly=True)
    for preview in (False, True):
        error = reader.error("switchLeaf", targetId="u2", summary=WRITE, preview=preview)
        assert error.code == 4006
    assert reader.ask("switchLeaf", targetId="u2", summary=WRITE, dryRun=True)["plan"]["leaving"]


def test_a_branch_that_says_nothing_is_left_without_a_summary(
    daemon: StartDaemon, agent_dir: Path
) -> None:
    quiet = entry("q1", "a1", "model_change", provider="local", modelId="other")
    talk = Talk(daemon(), session_of(agent_dir, *FORK[:2], quiet))
    answer = talk.ask("switchLeaf", targetId="a1", summary=WRITE)
    assert (answer["plan"]["leaving"], answer["plan"]["summarized"]) == (["q1"], [])
    assert (answer["summaryEntryId"], answer["leafId"]) == (None, "a1")


# --- a model writes ------------------------------------------------------------------------------


@pytest.mark.parametrize("replaced", [False, True])
def test_a_model_writes_with_a_focus_or_by_other_instructions(
    environment: dict[str, str], path: Path, replaced: bool
) -> None:
    text = "One line only: regex fails." if replaced else BRANCH
    wish = {"mode": "write", "instructions": "MIND-THIS", "replaceInstructions": replaced}
    with (
        model_server(says(text)) as server,
        editor(environment, path, asks(server)) as ed,
    ):
        answer = ed.ask("switchLeaf", targetId="u2", summary=wish)
        assert ed.texts() == {"branch": text}
        ed.assert_one_job("branch")
        sent = chat(server, 0)
    assert "MIND-THIS" in sent
    assert ("why it was left" in sent) is not replaced
    assert "not shown to a branch summary" not in sent
    record = lines_of(path)[-1]
    assert record["summary"] == answer["summary"]
    assert record["summary"].startswith(f"{BRANCH_INTRODUCTION}\n\n{text.splitlines()[0]}")
    assert record["summary"].endswith(FILES)
    assert record["usage"]["totalTokens"] == USAGE["total_tokens"]
    assert answer["plan"]["summarizer"] == {"kind": "openai", "model": "m", "host": server.host}


def test_it_is_dropped_if_the_leaf_moved_meanwhile(environment: dict[str, str], path: Path) -> None:
    wait = gate()
    with (
        model_server(says(BRANCH).after(wait)) as server,
        editor(environment, path, asks(server)) as ed,
    ):
        work = ed.start("switchLeaf", targetId="u2", summary=WRITE)
        server.wait_for_requests(1)
        added = ed.append()
        wait.set()
        error = ed.wait(work)["error"]
        assert (error["code"], error["data"]["leafId"]) == (4004, added)
        assert ed.leaf() == added
        ed.assert_one_job("branch")


def test_a_repair_while_the_text_is_written_does_no_harm(
    environment: dict[str, str], agent_dir: Path
) -> None:
    path = session_of(agent_dir, *FORK)
    head, first, rest = path.read_bytes().split(b"\n", 2)
    first = first.replace(b'"parentId":null', b'"parentId":"u0"')
    damaged = b'{"type":"message","id":"u0","parentId":null,"times'
    path.write_bytes(b"\n".join([head, damaged, first, rest]))
    with editor(environment, path, offer={}) as ed:
        # The placeholder of the damaged record stands last in the index, and first in the new file.
        work = begin(ed, "branch")
        question = ed.question("branch")
        assert ed.ask("repair")["backup"]
        ed.reply(question, result={"text": "What was learnt."})
        answer = ed.wait(work)["result"]
        assert answer["previousLeafId"] == "a4"
        record = ed.entry(answer["summaryEntryId"])
    assert (record["fromId"], record["parentId"]) == ("a4", "a1")
