"""``session/append``: what is written, where, and what is refused."""

import re
from typing import Any

import pytest

from tests.e2e.talk import SAMPLE, Talk, said, text
from tests.e2e.world import lines_of


def result(call_id: str = "call-1") -> dict[str, Any]:
    body = {
        "role": "toolResult",
        "toolCallId": call_id,
        "toolName": "read",
        "content": text("done"),
    }
    return {"type": "message", "message": body}


def test_entries_go_below_the_leaf_one_below_the_other(talk: Talk) -> None:
    before = talk.path.read_bytes()
    answer = talk.append(
        said("one"), {"type": "custom", "customType": "t"}, {"type": "new", "x": 1}
    )
    written = lines_of(talk.path)[-3:]
    assert answer == {
        "entries": [{key: one[key] for key in ("id", "parentId", "timestamp")} for one in written],
        "leafId": written[-1]["id"],
        "revision": 1,
    }
    assert [one["parentId"] for one in written] == ["d", written[0]["id"], written[1]["id"]]
    assert talk.path.read_bytes().startswith(before)
    assert all(re.fullmatch("[0-9a-f]{8}", one["id"]) for one in written)
    assert talk.leaf() == written[-1]["id"]


def test_the_revision_goes_up_with_each_write(talk: Talk) -> None:
    assert [talk.append(said())["revision"] for _ in range(3)] == [1, 2, 3]
    assert talk.ask("tree")["revision"] == 3


def test_what_is_stored_is_what_is_relayed(talk: Talk) -> None:
    given = {"type": "new", "n": 2**70, "deep": {"jsonrpc": "2.0", "class": {"a-b": [None, 1.5]}}}
    (entry,) = talk.append(given)["entries"]
    assert talk.entry(entry["id"]) == {**entry, **given}


def test_ids_are_kept_if_new(talk: Talk) -> None:
    assert talk.append(said(id="mine"))["leafId"] == "mine"
    error = talk.error("append", entries=[said(id="fresh"), said(id="mine")])
    assert (error.code, error.data["kind"], error.data["field"]) == (
        4003,
        "invalidEntry",
        "entries[1].id",
    )
    assert "mine" in error.message


def test_timestamps_are_kept_if_valid_else_set(talk: Talk) -> None:
    kept, made = talk.append(
        said(timestamp="2020-01-02T03:04:05.678Z"), said(timestamp="yesterday")
    )["entries"]
    assert kept["timestamp"] == "2020-01-02T03:04:05.678Z"
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", made["timestamp"])
    assert isinstance(talk.entry(kept["id"])["message"]["timestamp"], int)


def test_an_answer_without_usage_is_stored_with_zeros(talk: Talk) -> None:
    answer = {"type": "message", "message": {"role": "assistant", "content": text("x")}}
    usage = talk.entry(talk.append(answer)["leafId"])["message"]["usage"]
    assert (usage["totalTokens"], usage["cost"]["total"]) == (0, 0)


def test_another_parent_makes_a_branch_there(talk: Talk) -> None:
    answer = talk.append(said("three"), parentId="b")
    assert answer["entries"][0]["parentId"] == "b"
    assert talk.leaf() == answer["leafId"]
    assert len(talk.ask("branches")["branches"]) == 3


def test_a_null_parent_makes_a_root(talk: Talk) -> None:
    answer = talk.append(said("afresh"), parentId=None)
    assert answer["entries"][0]["parentId"] is None
    assert talk.ask("context")["path"] == [answer["leafId"]]


def test_the_leaf_stays_if_asked(talk: Talk) -> None:
    answer = talk.append(said("aside"), parentId="b", moveLeaf=False)
    assert (answer["leafId"], len(answer["entries"])) == ("d", 1)
    entry, move = lines_of(talk.path)[-2:]
    assert entry["parentId"] == "b"
    assert (move["customType"], move["data"], move["parentId"]) == (
        "branchline.leaf",
        {"targetId": "d"},
        "d",
    )
    assert talk.leaf() == "d"


def test_the_leaf_stays_without_a_parent_too(talk: Talk) -> None:
    answer = talk.append(said("aside"), moveLeaf=False)
    assert (answer["leafId"], answer["entries"][0]["parentId"]) == ("d", "d")
    assert talk.leaf() == "d"


def test_a_result_goes_to_the_branch_of_its_call(talk: Talk) -> None:
    answer = talk.append(result())
    assert (answer["entries"][0]["parentId"], answer["leafId"]) == ("f", "d")
    assert talk.leaf() == "d"
    assert lines_of(talk.path)[-1]["customType"] == "branchline.leaf"


def test_a_result_whose_call_is_on_the_path_goes_below_the_leaf(talk: Talk) -> None:
    talk.ask("switchLeaf", targetId="f")
    answer = talk.append(result())
    assert (answer["entries"][0]["parentId"], answer["leafId"]) == ("f", answer["entries"][0]["id"])


def test_a_result_of_nobody_s_call_goes_below_the_leaf(talk: Talk) -> None:
    assert talk.append(result("unknown"))["entries"][0]["parentId"] == "d"


def test_a_parent_that_is_given_counts_for_a_result_too(talk: Talk) -> None:
    assert talk.append(result(), parentId="a")["entries"][0]["parentId"] == "a"


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ({"type": "session", "id": "s"}, "type"),
        ({"type": "leaf", "targetId": "a"}, "type"),
        ({"type": "custom", "customType": "branchline.leaf", "data": {}}, "type"),
        ({"id": "x"}, "type"),
        (said(parentId="a"), "parentId"),
        ({"type": "label", "targetId": "gone", "label": "x"}, "targetId"),
        ({"type": "compaction", "summary": "s", "firstKeptEntryId": "gone"}, "firstKeptEntryId"),
        ({"type": "branch_summary", "summary": "s", "fromId": "gone"}, "fromId"),
        ({"type": "branch_summary", "summary": " ", "fromId": "root"}, "summary"),
        ({"type": "message", "message": {"role": "assistant", "content": "x"}}, "message.content"),
        ({"type": "message"}, "message"),
        ({"type": "context_edit", "targetId": "f", "replacement": None}, "targetId"),
    ],
)
def test_what_may_not_be_appended_is_refused_whole(talk: Talk, entry: Any, field: str) -> None:
    error = talk.error("append", entries=[said("good"), entry])
    assert (error.code, error.data["kind"]) == (4003, "invalidEntry")
    assert error.data["field"] == f"entries[1].{field}"
    assert error.message.startswith(f"entries[1].{field} ")
    assert talk.ask("tree")["revision"] == 0


def test_references_may_name_earlier_entries_of_the_request(talk: Talk) -> None:
    label = {"type": "label", "targetId": "new", "label": "here"}
    talk.append(said(id="new"), label)
    assert talk.ask("branches")["labels"][0]["id"] == "new"
    compaction = {"type": "compaction", "id": "k", "summary": "s", "firstKeptEntryId": "k"}
    assert talk.append(compaction)["leafId"] == "k"
    assert talk.ask("context")["sources"] == ["k"]


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({"entries": []}, "entries"),
        ({"entries": "x"}, "entries"),
        ({"entries": ["x"]}, "entries[0]"),
        ({}, "entries"),
        ({"entries": [said()], "parentId": 7}, "parentId"),
        ({"entries": [said()], "moveLeaf": None}, "moveLeaf"),
        ({"entries": [said()], "expectedLeafId": []}, "expectedLeafId"),
    ],
)
def test_wrong_params_are_named(talk: Talk, params: dict[str, Any], name: str) -> None:
    error = talk.error("append", **params)
    assert (error.code, error.data["parameter"]) == (-32602, name)


def test_a_parent_that_is_not_there(talk: Talk) -> None:
    error = talk.error("append", entries=[said()], parentId="gone")
    assert (error.code, error.data["kind"], error.data["entryId"]) == (4001, "notFound", "gone")


@pytest.mark.parametrize("expected", ["c", None])
def test_the_leaf_must_be_where_it_is_expected(talk: Talk, expected: str | None) -> None:
    error = talk.error("append", entries=[said()], expectedLeafId=expected)
    assert (error.code, error.data["kind"], error.data["leafId"]) == (4004, "leafChanged", "d")
    assert talk.append(said(), expectedLeafId="d")["revision"] == 1


def test_a_retry_with_ids_is_safe(talk: Talk) -> None:
    talk.append(said(id="once"))
    assert talk.error("append", entries=[said(id="once")]).data["entryId"] == "once"
    assert [one.get("id") for one in lines_of(talk.path)].count("once") == 1


def test_many_entries_in_one_write(talk: Talk) -> None:
    answer = talk.append(*(said(f"{number}") for number in range(500)))
    assert len({one["id"] for one in answer["entries"]}) == 500
    assert len(lines_of(talk.path)) == 1 + len(SAMPLE) + 500
    assert (len(talk.told()), answer["revision"]) == (1, 1)


@pytest.mark.parametrize("durability", ["flush", "fsync"])
def test_both_ways_of_durability_write(daemon: Any, talk: Talk, durability: str) -> None:
    other = Talk(daemon({"durability": durability}), talk.path)
    assert other.opened["settings"]["durability"] == durability
    leaf = other.append(said("kept"))["leafId"]
    assert lines_of(talk.path)[-1]["id"] == leaf
