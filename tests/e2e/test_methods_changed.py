"""``session/changed``: what is told of a change, when, and to whom."""

from typing import Any

import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.talk import Talk, said
from tests.e2e.world import add_bytes, foreign

KEYS = {
    "session",
    "path",
    "revision",
    "previousRevision",
    "leafId",
    "previousLeafId",
    "appended",
    "labels",
    "name",
    "usage",
    "origin",
    "externalBranch",
}


def test_what_is_told_of_an_append(talk: Talk) -> None:
    answer = talk.append(said("one\ntwo", id="x"), {"type": "custom", "id": "y", "customType": "t"})
    (change,) = talk.told()  # it came before the answer: nothing was asked since
    assert change.keys() == KEYS
    assert (change["session"], change["path"]) == ("s-1", str(talk.path))
    assert (change["revision"], change["previousRevision"]) == (answer["revision"], 0)
    assert (change["leafId"], change["previousLeafId"]) == ("y", "d")
    first, second = change["appended"]
    assert first == {
        "id": "x",
        "parentId": "d",
        "type": "message",
        "role": "user",
        "text": "one two",
    }
    assert (second["id"], second["parentId"], second["type"], second["role"]) == (
        "y",
        "x",
        "custom",
        None,
    )
    assert (change["labels"], change["name"]) == ({}, None)
    assert (change["origin"], change["externalBranch"]) == ("client", None)
    assert change["usage"] == talk.ask("open")["usage"]


def test_what_is_told_is_short_and_plain_however_long_what_was_said(talk: Talk) -> None:
    long = "x\ny\x1b[31m" * 100_000
    talk.append(
        said(long),
        {"type": "label", "targetId": "a", "label": long},
        {"type": "session_info", "name": long},
    )
    (change,) = talk.told()
    for text in (change["appended"][0]["text"], change["labels"]["a"], change["name"]):
        assert len(text) <= 200
        assert text.isprintable()


@pytest.mark.parametrize(
    ("method", "params", "kinds"),
    [
        ("label", {"targetId": "a", "label": "x"}, ["label"]),
        ("rename", {"name": "n"}, ["session_info"]),
        ("edit", {"targetId": "a", "replacement": None}, ["context_edit"]),
        ("switchLeaf", {"targetId": "f"}, ["custom"]),
        (
            "switchLeaf",
            {"targetId": "f", "label": "x", "summary": {"mode": "text", "text": "s"}},
            ["branch_summary", "label", "custom"],
        ),
        (
            "append",
            {"entries": [said()], "parentId": "a", "moveLeaf": False},
            ["message", "custom"],
        ),
    ],
)
def test_each_write_is_told_once_before_its_answer(
    talk: Talk, method: str, params: Any, kinds: list[str]
) -> None:
    answer = talk.ask(method, **params)
    (change,) = talk.told()
    assert change.keys() == KEYS
    assert [one["type"] for one in change["appended"]] == kinds
    assert (change["revision"], change["previousRevision"]) == (1, 0)
    assert (change["leafId"], change["previousLeafId"]) == (answer["leafId"], "d")


def test_revisions_count_without_a_gap(talk: Talk) -> None:
    for number in range(5):
        talk.append(said(f"{number}"))
    steps = [(one["previousRevision"], one["revision"]) for one in talk.told()]
    assert steps == [(number, number + 1) for number in range(5)]


def test_what_only_looks_is_not_told(talk: Talk) -> None:
    for method in ("tree", "branches", "context", "stats", "check", "open", "fork"):
        talk.ask(method)
    talk.ask("switchLeaf", targetId="f", dryRun=True)
    talk.ask("switchLeaf", targetId="d")
    assert talk.told() == []


def test_only_who_has_it_open_is_told(daemon: StartDaemon, talk: Talk) -> None:
    client = daemon()
    params = {"session": str(talk.path), "entries": [said()]}
    assert client.request("session/append", params)["revision"] == 1
    assert client.notifications == []


def test_opening_twice_is_told_once(talk: Talk) -> None:
    talk.ask("open")
    talk.append(said())
    assert len(talk.told()) == 1


def test_the_other_program_is_told_what_it_did_not_do(daemon: StartDaemon, talk: Talk) -> None:
    other = talk.reopened(daemon)
    talk.append(said("from the first", id="x"))
    answer = other.append(said("from the second", id="y"))
    external, own = other.told()
    assert (external["origin"], [one["id"] for one in external["appended"]]) == ("external", ["x"])
    assert (external["leafId"], external["externalBranch"]) == ("x", None)
    assert (own["origin"], own["appended"][0]["parentId"]) == ("client", "x")
    assert (external["revision"], own["revision"]) == (1, answer["revision"]) == (1, 2)


def test_a_branch_of_the_other_program_leaves_our_leaf(daemon: StartDaemon, talk: Talk) -> None:
    other = talk.reopened(daemon)
    other.append(said("aside", id="x"), parentId="b")
    assert talk.leaf() == "d"
    (change,) = talk.told()
    assert change["externalBranch"] == {"forkId": "b", "tipId": "x"}
    assert (change["leafId"], change["previousLeafId"]) == ("d", "d")


def test_a_move_of_the_other_program_leaves_our_leaf(daemon: StartDaemon, talk: Talk) -> None:
    other = talk.reopened(daemon)
    other.ask("switchLeaf", targetId="f")
    assert talk.leaf() == "d"
    (change,) = talk.told()
    assert (change["origin"], change["externalBranch"]) == ("external", None)
    other.append(said("there", id="x"))
    assert talk.leaf() == "d"
    (change,) = talk.told()
    assert change["externalBranch"] == {"forkId": "b", "tipId": "x"}


def test_warnings_are_told_when_they_come_and_when_they_go(talk: Talk) -> None:
    line = foreign("x", "d")
    add_bytes(talk.path, line[:50])
    talk.ask("branches")
    (change,) = talk.told()
    assert [one["code"] for one in change["warnings"]] == ["torn-tail"]
    assert (change["revision"], change["previousRevision"], change["appended"]) == (0, 0, [])
    add_bytes(talk.path, line[50:])
    talk.ask("branches")
    (change,) = talk.told()
    assert (change["warnings"], change["revision"], change["leafId"]) == ([], 1, "x")


def test_names_and_labels_of_the_other_program(daemon: StartDaemon, talk: Talk) -> None:
    other = talk.reopened(daemon)
    other.ask("rename", name="Theirs")
    other.ask("label", targetId="a", label="start")
    talk.ask("branches")
    (change,) = talk.told()
    assert (change["name"], change["labels"]) == ("Theirs", {"a": "start"})
    assert len(change["appended"]) == 2
