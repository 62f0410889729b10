"""Methods that look, over the protocol: entries, context, branches, stats and the drawing.

What they compute is tested beside the functions that do; here it is that the answers arrive whole.
"""

from typing import Any

import pytest

from tests.e2e.talk import CALL, SAMPLE, Talk
from tests.unit.session_files import text_line, user

# --- entries ---------------------------------------------------------------------------------


def test_entries_are_as_stored_in_the_order_asked_for(talk: Talk) -> None:
    by_id = {one["id"]: one for one in SAMPLE}
    assert talk.ask("entries", ids=["f", "a", "f"])["entries"] == [
        by_id["f"],
        by_id["a"],
        by_id["f"],
    ]
    assert talk.ask("entries", ids=[]) == {"entries": []}


def test_an_entry_that_is_not_there_is_named(talk: Talk) -> None:
    error = talk.error("entries", ids=["a", "gone"])
    assert (error.code, error.data) == (4001, {"kind": "notFound", "entryId": "gone"})


@pytest.mark.parametrize("ids", [None, "a", [7], [None]])
def test_ids_are_texts(talk: Talk, ids: Any) -> None:
    error = talk.error("entries", ids=ids)
    assert error.code == -32602
    assert error.data["parameter"].startswith("ids")


# --- context ---------------------------------------------------------------------------------


def test_the_context_at_the_leaf(talk: Talk) -> None:
    context = talk.ask("context")
    assert context.keys() == {
        "leafId",
        "path",
        "sources",
        "messages",
        "tools",
        "model",
        "thinkingLevel",
        "activeTools",
        "usage",
        "warnings",
    }
    assert (context["leafId"], context["path"], context["sources"]) == (
        "d",
        list("abcd"),
        list("abcd"),
    )
    assert [one["role"] for one in context["messages"]] == ["user", "assistant"] * 2
    assert context["model"] == {"provider": "local", "modelId": "m"}
    assert (context["thinkingLevel"], context["activeTools"]) == ("off", None)
    assert (context["usage"], context["warnings"]) == (talk.opened["usage"], [])


def test_the_context_elsewhere(talk: Talk) -> None:
    there = talk.ask("context", leafId="f")
    assert (there["leafId"], there["path"]) == ("f", ["a", "b", "e", "f"])
    before = talk.ask("context", leafId=None)
    assert (before["leafId"], before["path"], before["messages"]) == (None, [], [])
    assert before["usage"]["tokens"] == 0
    assert talk.leaf() == "d"


def test_the_context_as_chat_completions(talk: Talk) -> None:
    messages = talk.ask("context", leafId="f", format="openai")["messages"]
    assert [one["role"] for one in messages] == ["user", "assistant", "user", "assistant", "tool"]
    (call,) = messages[3]["tool_calls"]
    assert (call["id"], call["function"]["name"]) == (CALL["id"], "read")
    assert messages[4]["tool_call_id"] == "call-1"
    images = talk.ask("context", format="openai")["messages"][2]["content"]
    assert images[1]["image_url"]["url"].startswith("data:")


def test_the_context_without_messages(talk: Talk) -> None:
    context = talk.ask("context", format="none")
    assert (context["messages"], context["path"]) == (None, list("abcd"))


def test_what_is_no_context(talk: Talk) -> None:
    assert talk.error("context", leafId="gone").code == 4001
    assert talk.error("context", format="xml").data["parameter"] == "format"
    assert talk.error("context", leafId=7).data["parameter"] == "leafId"


def test_a_compaction_covers_what_is_before_it(talk: Talk) -> None:
    compaction = {
        "type": "compaction",
        "id": "k",
        "summary": "so far",
        "firstKeptEntryId": "c",
        "tokensBefore": 10,
    }
    talk.append(compaction)
    context = talk.ask("context")
    assert context["sources"] == ["k", "c", "d"]
    assert context["messages"][0]["role"] == "compactionSummary"
    rows = {row["id"]: row["context"] for row in talk.ask("tree")["rows"]}
    assert (rows["a"], rows["c"]) == ("covered", "in")


# --- branches and stats ----------------------------------------------------------------------


def test_branches_and_labels(talk: Talk) -> None:
    talk.ask("label", targetId="f", label="dead end")
    talk.ask("switchLeaf", targetId="d")
    answer = talk.ask("branches")
    found = {one["tipId"]: one for one in answer["branches"]}
    assert found.keys() == {"d", "f"}
    assert (found["d"]["active"], found["f"]["active"]) == (True, False)
    assert (found["f"]["forkId"], found["f"]["name"]) == ("b", "dead end")
    assert (found["d"]["name"], found["d"]["messageCount"]) == ("second question", 2)
    (label,) = answer["labels"]
    assert (label["id"], label["label"]) == ("f", "dead end")
    assert label.keys() == {"id", "label", "timestamp"}


def test_stats_of_the_active_branch_and_of_everything(talk: Talk) -> None:
    stats = talk.ask("stats")
    active, whole = stats["active"], stats["whole"]
    assert active["messages"] == {"user": 2, "assistant": 2}
    assert whole["messages"] == {"user": 3, "assistant": 3}
    assert (active["toolCalls"], whole["toolCalls"]) == ({}, {"read": 1})
    assert (active["entries"], whole["entries"]) == (4, 6)
    assert whole["tokens"] == {
        "input": 27,
        "output": 3,
        "cacheRead": 0,
        "cacheWrite": 0,
        "total": 30,
    }
    (model,) = whole["models"]
    assert (model["provider"], model["model"], model["tokens"]) == ("local", "m", 30)


# --- tree, locate and overview ---------------------------------------------------------------


def test_the_tree_with_the_other_branch_folded(talk: Talk) -> None:
    answer = talk.ask("tree")
    assert [row["id"] for row in answer["rows"]] == ["a", "b", "e", "c", "d"]
    assert (answer["total"], answer["offset"], answer["leafRow"]) == (5, 0, 4)
    assert (answer["leafId"], answer["revision"]) == ("d", 0)
    folded = answer["rows"][2]
    assert (folded["folded"], folded["depth"], folded["hidden"]["entries"]) == (True, 1, 2)
    expanded = talk.ask("tree", expanded=["e"])
    assert [row["id"] for row in expanded["rows"]] == ["a", "b", "e", "f", "c", "d"]


def test_the_tail_of_a_small_session_is_its_tree(talk: Talk) -> None:
    tree = talk.ask("tree", filter="all")
    tail = talk.ask("tail", filter="all")
    assert tail.keys() == {"session", "rows", "leafRow", "leafId", "whole"}
    assert tail["rows"] == tree["rows"]
    assert (tail["leafRow"], tail["leafId"]) == (tree["leafRow"], tree["leafId"])
    assert (tail["session"]["entryCount"], tail["whole"]) == (len(SAMPLE), True)
    few = talk.ask("tail", filter="all", limit=2)
    assert few["rows"] == tree["rows"][-2:]
    assert few["rows"][few["leafRow"]]["isLeaf"]
    assert not few["whole"]
    assert talk.error("tail", limit=0).data["parameter"] == "limit"


def test_the_tail_of_a_session_whose_file_was_replaced_is_that_of_the_new_one(talk: Talk) -> None:
    talk.ask("stats")
    other = talk.path.with_name("other")
    other.write_bytes(talk.path.read_bytes() + text_line(user("new", "d")) + b"\n")
    other.replace(talk.path)
    assert talk.ask("tail")["leafId"] == "new"


def test_a_window_of_the_tree(talk: Talk) -> None:
    window = talk.ask("tree", offset=1, limit=2)
    assert ([row["id"] for row in window["rows"]], window["total"]) == (["b", "e"], 5)
    around = talk.ask("tree", around="d", limit=1)
    assert ([row["id"] for row in around["rows"]], around["offset"]) == (["d"], 4)
    assert talk.error("tree", around="gone").code == 4001
    assert talk.error("tree", limit=0).data["parameter"] == "limit"
    assert talk.error("tree", filter="most").data["parameter"] == "filter"


def test_the_leaf_is_marked_after_a_move(talk: Talk) -> None:
    talk.ask("switchLeaf", targetId="f")
    rows = talk.ask("tree")["rows"]
    assert [row["id"] for row in rows if row["isLeaf"]] == ["f"]
    assert [row["id"] for row in rows if row["onActivePath"]] == ["a", "b", "e", "f"]


@pytest.mark.parametrize(
    ("start", "to", "found"),
    [
        ("d", "parent", "c"),
        ("d", "fork", "b"),
        ("a", "leaf", "d"),
        ("a", "nextUser", "e"),
        ("d", "previousUser", "c"),
        ("a", "parent", None),
        ("d", "nextLabel", None),
    ],
)
def test_locate(talk: Talk, start: str, to: str, found: str | None) -> None:
    answer = talk.ask("locate", **{"from": start, "to": to})
    if found is None:
        assert answer is None
    else:
        assert answer["id"] == found
        rows = talk.ask("tree")["rows"]
        assert rows[answer["offset"]]["id"] == found


def test_find(talk: Talk) -> None:
    hit = talk.ask("find", query="SECOND", **{"from": "c"})
    assert hit == {"id": "d", "number": 2, "total": 2, "wrapped": False}
    assert talk.ask("find", query="second", **{"from": "d"})["wrapped"] is True
    assert talk.ask("find", query="second", backwards=True)["id"] == "d"
    assert talk.ask("find", query="second", filter="labeledOnly") is None
    talk.ask("label", targetId="b", label="second to none")
    assert talk.ask("find", query="second", filter="labeledOnly")["id"] == "b"
    assert talk.error("find", query="second", **{"from": "gone"}).code == 4001
    assert talk.error("find").data["parameter"] == "query"


def test_locate_hits_and_labels(talk: Talk) -> None:
    talk.ask("label", targetId="b", label="start")
    assert talk.ask("locate", **{"from": "a", "to": "nextLabel"})["id"] == "b"
    hit = talk.ask("locate", **{"from": "c", "to": "nextHit", "query": "second"})
    assert hit == {"id": "d", "offset": 1}
    assert talk.ask("locate", **{"from": "d", "to": "nextHit", "query": "second"}) is None
    assert talk.error("locate", **{"from": "gone", "to": "leaf"}).code == 4001
    assert talk.error("locate", **{"from": "a", "to": "up"}).data["parameter"] == "to"
    assert talk.error("locate", to="leaf").data["parameter"] == "from"


def test_the_overview(talk: Talk) -> None:
    talk.ask("label", targetId="f", label="in a fold")
    assert talk.ask("overview", query="second") == {
        "total": 5,
        "leafRow": 4,
        "labels": [2],
        "forks": [2],
        "hits": [3, 4],
    }
    assert talk.error("overview", filter="most").data["parameter"] == "filter"


# --- what no method may lose -----------------------------------------------------------------


def test_a_damaged_entry_is_shown_as_a_placeholder(talk: Talk) -> None:
    with talk.path.open("ab") as file:
        file.write(text_line(user("lost", "d", "long text"))[:90] + b"\n")
        file.write(text_line(user("kept", "lost")) + b"\n")
    assert talk.entry("lost") == {"type": "placeholder", "id": "lost"}
    assert talk.ask("context", leafId="kept")["path"] == [*"abcd", "lost", "kept"]


@pytest.mark.parametrize(
    "method", ["tree", "branches", "context", "stats", "check", "entries", "close", "repair"]
)
def test_unknown_params_are_ignored(talk: Talk, method: str) -> None:
    params: dict[str, Any] = {"ids": []} if method == "entries" else {}
    talk.ask(method, **params, color="red", jsonrpc="1.0")
