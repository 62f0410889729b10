"""``session/switchLeaf``: where the leaf goes, what is left, what is summed up."""

from typing import Any

import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.talk import Talk, said
from tests.e2e.world import add_bytes, foreign, lines_of

KEYS = {
    "leafId",
    "previousLeafId",
    "revision",
    "summaryEntryId",
    "summary",
    "draftId",
    "editorContent",
    "plan",
}


def test_picking_an_answer_puts_the_leaf_on_it(talk: Talk, daemon: StartDaemon) -> None:
    answer = talk.ask("switchLeaf", targetId="f")
    assert answer.keys() == KEYS
    assert (answer["leafId"], answer["previousLeafId"], answer["revision"]) == ("f", "d", 1)
    assert (answer["editorContent"], answer["summary"], answer["summaryEntryId"]) == (None,) * 3
    move = lines_of(talk.path)[-1]
    assert (move["type"], move["customType"], move["data"], move["parentId"]) == (
        "custom",
        "branchline.leaf",
        {"targetId": "f"},
        "f",
    )
    assert talk.leaf() == talk.reopened(daemon).opened["leafId"] == "f"


def test_picking_a_question_takes_it_back_to_be_edited(talk: Talk) -> None:
    answer = talk.ask("switchLeaf", targetId="c")
    assert answer["leafId"] == "b"
    assert answer["editorContent"]["text"] == "second question"
    assert [one["type"] for one in answer["editorContent"]["images"]] == ["image"]


def test_picking_the_first_question_goes_before_everything(talk: Talk, daemon: StartDaemon) -> None:
    answer = talk.ask("switchLeaf", targetId="a")
    assert (answer["leafId"], answer["editorContent"]["text"]) == (None, "first question")
    assert talk.reopened(daemon).opened["leafId"] is None
    assert talk.append(said())["entries"][0]["parentId"] is None


def test_a_custom_message_is_taken_back_too(talk: Talk) -> None:
    custom = {"type": "custom_message", "customType": "t", "content": "note"}
    (entry,) = talk.append(custom)["entries"]
    talk.append(said())
    answer = talk.ask("switchLeaf", targetId=entry["id"])
    assert (answer["leafId"], answer["editorContent"]) == ("d", {"text": "note", "images": []})


def test_at_puts_it_exactly_there(talk: Talk) -> None:
    answer = talk.ask("switchLeaf", targetId="c", position="at")
    assert (answer["leafId"], answer["editorContent"]) == ("c", None)


def test_null_is_before_the_first_entry(talk: Talk) -> None:
    answer = talk.ask("switchLeaf", targetId=None, position="at")
    assert (answer["leafId"], answer["plan"]["commonAncestorId"]) == (None, None)
    assert answer["plan"]["leaving"] == ["a", "b", "c", "d"]
    assert talk.ask("context")["messages"] == []
    back = talk.ask("switchLeaf", targetId="d", position="at")
    assert (back["leafId"], back["previousLeafId"]) == ("d", None)


@pytest.mark.parametrize("position", ["auto", "at"])
def test_picking_the_leaf_does_nothing(talk: Talk, position: str) -> None:
    before = talk.path.read_bytes()
    answer = talk.ask("switchLeaf", targetId="d", position=position)
    assert (answer["leafId"], answer["previousLeafId"], answer["revision"]) == ("d", "d", 0)
    assert (answer["plan"]["leaving"], answer["editorContent"]) == ([], None)
    assert (talk.path.read_bytes(), talk.told()) == (before, [])


def test_a_leaf_that_is_a_question_stays_when_picked(talk: Talk) -> None:
    leaf = talk.append(said("last"))["leafId"]
    assert talk.ask("switchLeaf", targetId=leaf)["leafId"] == leaf


def test_going_on_after_a_move_makes_a_branch_there(talk: Talk) -> None:
    talk.ask("switchLeaf", targetId="b")
    answer = talk.append(said("third way"))
    assert answer["entries"][0]["parentId"] == "b"
    assert talk.ask("context")["path"] == ["a", "b", answer["leafId"]]


def test_every_move_can_be_undone(talk: Talk) -> None:
    before = talk.ask("context")
    moved = talk.ask("switchLeaf", targetId="f")
    talk.ask("switchLeaf", targetId=moved["previousLeafId"], position="at")
    after = talk.ask("context")
    assert (before["path"], before["messages"]) == (after["path"], after["messages"])


def test_a_plan_says_what_is_left_behind(talk: Talk) -> None:
    plan = talk.ask("switchLeaf", targetId="f", dryRun=True)["plan"]
    assert (plan["commonAncestorId"], plan["leaving"], plan["messageCount"]) == ("b", ["c", "d"], 2)
    assert plan["tokens"] > 0
    assert plan["targetUsage"]["contextWindow"] == 128_000
    plan = talk.ask("switchLeaf", targetId="c", dryRun=True)["plan"]
    assert (plan["commonAncestorId"], plan["leaving"]) == ("b", ["c", "d"])
    forward = talk.ask("switchLeaf", targetId="e", position="at", dryRun=True)["plan"]
    assert forward["commonAncestorId"] == "b"


def test_a_dry_run_stores_nothing(talk: Talk) -> None:
    before = talk.path.read_bytes()
    summary = {"mode": "text", "text": "what was learnt"}
    answer = talk.ask("switchLeaf", targetId="c", dryRun=True, summary=summary, label="x")
    assert answer.keys() == KEYS
    assert (answer["leafId"], answer["previousLeafId"], answer["revision"]) == ("d", "d", 0)
    assert (answer["summaryEntryId"], answer["draftId"]) == (None, None)
    assert answer["editorContent"]["text"] == "second question"
    assert (talk.path.read_bytes(), talk.told(), talk.leaf()) == (before, [], "d")


def test_a_summary_is_stored_at_the_destination_and_is_the_leaf(talk: Talk) -> None:
    answer = talk.ask("switchLeaf", targetId="f", summary={"mode": "text", "text": "learnt: x"})
    record = lines_of(talk.path)[-1]
    assert (record["type"], record["parentId"], record["fromId"], record["summary"]) == (
        "branch_summary",
        "f",
        "d",
        "learnt: x",
    )
    assert (answer["leafId"], answer["summaryEntryId"], answer["summary"]) == (
        record["id"],
        record["id"],
        "learnt: x",
    )
    assert answer["plan"]["leaving"] == ["c", "d"]
    last = talk.ask("context")["messages"][-1]
    assert (last["role"], "learnt: x" in str(last)) == ("branchSummary", True)


def test_a_summary_from_before_the_first_entry_comes_from_root(talk: Talk) -> None:
    talk.ask("switchLeaf", targetId=None)
    talk.ask("switchLeaf", targetId="f", summary={"mode": "text", "text": "x"})
    assert lines_of(talk.path)[-1]["fromId"] == "root"


def test_a_summary_of_a_question_taken_back(talk: Talk) -> None:
    answer = talk.ask("switchLeaf", targetId="e", summary={"mode": "text", "text": "x"})
    assert answer["editorContent"]["text"] == "another way"
    assert talk.entry(answer["leafId"])["parentId"] == "b"


def test_a_label_goes_on_the_target(talk: Talk, daemon: StartDaemon) -> None:
    answer = talk.ask("switchLeaf", targetId="f", label=" here ")
    assert (answer["leafId"], answer["revision"]) == ("f", 1)
    (label,) = talk.ask("branches")["labels"]
    assert (label["id"], label["label"]) == ("f", "here")
    (change,) = talk.told()
    assert (change["labels"], change["leafId"]) == ({"f": "here"}, "f")
    assert talk.reopened(daemon).opened["leafId"] == "f"


def test_a_label_goes_on_the_summary_if_there_is_one(talk: Talk, daemon: StartDaemon) -> None:
    summary = {"mode": "text", "text": "x"}
    answer = talk.ask("switchLeaf", targetId="f", label="here", summary=summary)
    (label,) = talk.ask("branches")["labels"]
    assert label["id"] == answer["summaryEntryId"] == answer["leafId"]
    assert len(talk.told()) == 1
    assert talk.reopened(daemon).opened["leafId"] == answer["leafId"]


@pytest.mark.parametrize("dry_run", [False, True])
def test_the_leaf_must_be_where_it_is_expected(talk: Talk, dry_run: bool) -> None:
    error = talk.error("switchLeaf", targetId="f", expectedLeafId="c", dryRun=dry_run)
    assert (error.code, error.data["leafId"]) == (4004, "d")
    assert talk.ask("switchLeaf", targetId="f", expectedLeafId="d")["leafId"] == "f"


@pytest.mark.parametrize("blank", ["", " \n"])
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_blank_summary_is_refused(talk: Talk, blank: str, dry_run: bool) -> None:
    summary = {"mode": "text", "text": blank}
    error = talk.error("switchLeaf", targetId="f", summary=summary, dryRun=dry_run)
    assert (error.code, error.data["field"]) == (4003, "summary.text")


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({}, "targetId"),
        ({"targetId": 7}, "targetId"),
        ({"targetId": "f", "position": "near"}, "position"),
        ({"targetId": "f", "summary": {"mode": "poem"}}, "summary.mode"),
        ({"targetId": "f", "summary": {}}, "summary.mode"),
        ({"targetId": "f", "summary": {"mode": "text"}}, "summary.text"),
        ({"targetId": "f", "summary": {"mode": "none", "text": "x"}}, "summary.text"),
        ({"targetId": "f", "label": 7}, "label"),
        ({"targetId": "f", "dryRun": "yes"}, "dryRun"),
    ],
)
def test_wrong_params_are_named(talk: Talk, params: dict[str, Any], name: str) -> None:
    error = talk.error("switchLeaf", **params)
    assert (error.code, error.data["parameter"]) == (-32602, name)


def test_a_target_that_is_not_there(talk: Talk) -> None:
    for dry_run in (False, True):
        error = talk.error("switchLeaf", targetId="gone", dryRun=dry_run)
        assert (error.code, error.data["entryId"]) == (4001, "gone")


# --- undo ----------------------------------------------------------------------------------------


def test_the_last_move_is_taken_back_in_one_write(talk: Talk) -> None:
    before = talk.ask("context")
    talk.ask("switchLeaf", targetId="f", position="at", label="tried")
    talk.told()
    undone = talk.ask("undo", expectedLeafId="f")
    (news,) = talk.told()
    assert (news["leafId"], news["previousLeafId"]) == ("d", "f")
    assert (undone["leafId"], undone["revision"]) == ("d", news["revision"])
    assert talk.entry(undone["undoneId"])["targetId"] == "f"  # the label of the move
    after = talk.ask("context")
    assert (after["messages"], after["path"]) == (before["messages"], before["path"])


def test_an_undo_is_refused_where_the_leaf_is_another(talk: Talk) -> None:
    talk.ask("switchLeaf", targetId="f", position="at")
    error = talk.error("undo", expectedLeafId="d")
    assert (error.code, error.data["leafId"]) == (4004, "f")
    assert talk.ask("undo")["leafId"] == "d"


def test_what_another_program_appended_since_is_not_undone(talk: Talk) -> None:
    talk.ask("switchLeaf", targetId="f", position="at")
    add_bytes(talk.path, foreign("x1", "f"))
    assert talk.leaf() == "x1"
    error = talk.error("undo")
    assert (error.code, error.data["cameFromId"], error.data["messagesSince"]) == (4013, "d", 1)


def test_an_undo_is_the_same_for_who_comes_later(talk: Talk, daemon: StartDaemon) -> None:
    talk.ask("switchLeaf", targetId="f", position="at")
    later = talk.reopened(daemon)
    assert later.ask("undo")["leafId"] == "d"
    assert later.ask("undo")["leafId"] == "f"
