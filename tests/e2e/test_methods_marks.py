"""Labels, names and context edits."""

from typing import Any

import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.talk import Talk, text
from tests.e2e.world import lines_of


def labels(talk: Talk) -> dict[str, str]:
    return {one["id"]: one["label"] for one in talk.ask("branches")["labels"]}


def test_a_label_is_set_and_becomes_the_leaf(talk: Talk, daemon: StartDaemon) -> None:
    position = talk.ask("label", targetId="b", label=" start \n")
    record = lines_of(talk.path)[-1]
    assert position == {"leafId": record["id"], "revision": 1}
    assert (record["type"], record["targetId"], record["label"], record["parentId"]) == (
        "label",
        "b",
        "start",
        "d",
    )
    assert labels(talk) == labels(talk.reopened(daemon)) == {"b": "start"}


@pytest.mark.parametrize("nothing", [None, "", " \n"])
def test_a_blank_label_clears_it(talk: Talk, nothing: str | None) -> None:
    talk.ask("label", targetId="b", label="start")
    talk.told()
    talk.ask("label", targetId="b", label=nothing)
    assert labels(talk) == {}
    assert "label" not in lines_of(talk.path)[-1]
    (change,) = talk.told()
    assert change["labels"] == {"b": None}


def test_a_label_changes_nothing_for_the_model(talk: Talk) -> None:
    before = talk.ask("context")
    talk.ask("label", targetId="f", label="other branch")
    after = talk.ask("context")
    assert (before["messages"], before["sources"]) == (after["messages"], after["sources"])


def test_a_label_of_nothing(talk: Talk) -> None:
    error = talk.error("label", targetId="gone", label="x")
    assert (error.code, error.data) == (4001, {"kind": "notFound", "entryId": "gone"})


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({"targetId": "a"}, "label"),
        ({"label": "x"}, "targetId"),
        ({"targetId": None, "label": "x"}, "targetId"),
        ({"targetId": "a", "label": 7}, "label"),
    ],
)
def test_wrong_params_of_a_label_are_named(talk: Talk, params: dict[str, Any], name: str) -> None:
    assert talk.error("label", **params).data["parameter"] == name


def test_a_session_is_named_in_one_line(talk: Talk, daemon: StartDaemon) -> None:
    position = talk.ask("rename", name="  Parser\n speed ")
    record = lines_of(talk.path)[-1]
    assert position == {"leafId": record["id"], "revision": 1}
    assert (record["type"], record["name"]) == ("session_info", "Parser speed")
    (change,) = talk.told()
    assert change["name"] == "Parser speed"
    assert talk.reopened(daemon).opened["session"]["name"] == "Parser speed"


@pytest.mark.parametrize("blank", ["", " \n\t"])
def test_a_blank_name_clears_it(talk: Talk, blank: str) -> None:
    talk.ask("rename", name="Parser")
    talk.ask("rename", name=blank)
    assert talk.told()[-1]["name"] is None
    assert talk.ask("open")["session"]["name"] is None


@pytest.mark.parametrize("params", [{}, {"name": None}, {"name": 7}])
def test_a_name_must_be_a_text(talk: Talk, params: dict[str, Any]) -> None:
    assert talk.error("rename", **params).data["parameter"] == "name"


def contents(talk: Talk) -> list[Any]:
    return [message["content"] for message in talk.ask("context")["messages"]]


def test_an_edit_omits_an_entry(talk: Talk) -> None:
    answer = talk.ask("edit", targetId="b", replacement=None)
    record = lines_of(talk.path)[-1]
    assert answer == {"entryId": record["id"], "leafId": record["id"], "revision": 1}
    assert (record["type"], record["targetId"], record["replacement"]) == (
        "context_edit",
        "b",
        None,
    )
    assert talk.ask("context")["sources"] == ["a", "c", "d"]
    row = next(one for one in talk.ask("tree")["rows"] if one["id"] == "b")
    assert row["context"] == "omitted"


def test_an_edit_replaces_what_an_entry_says(talk: Talk) -> None:
    talk.ask("edit", targetId="a", replacement={"content": "other question"})
    assert contents(talk)[0] == "other question"
    assert talk.entry("a")["message"]["content"] == "first question"


def test_a_text_for_an_answer_becomes_a_block(talk: Talk) -> None:
    talk.ask("edit", targetId="b", replacement={"content": "other answer"})
    assert contents(talk)[1] == text("other answer")


def test_the_last_edit_of_an_entry_counts(talk: Talk) -> None:
    talk.ask("edit", targetId="a", replacement=None)
    talk.ask("edit", targetId="a", replacement={"content": "back"})
    assert contents(talk)[0] == "back"


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"targetId": "f", "replacement": None}, "targetId"),
        ({"targetId": "label", "replacement": None}, "targetId"),
        ({"targetId": "a", "replacement": {}}, "replacement.content"),
        ({"targetId": "a", "replacement": {"content": 7}}, "replacement.content"),
    ],
)
def test_what_cannot_be_edited_is_named(talk: Talk, params: dict[str, Any], field: str) -> None:
    talk.append({"type": "label", "id": "label", "targetId": "a", "label": "x"})
    error = talk.error("edit", **params)
    assert (error.code, error.data["kind"]) == (4003, "invalidEntry")
    assert error.data["field"] == field


def test_an_edit_of_nothing(talk: Talk) -> None:
    assert talk.error("edit", targetId="gone", replacement=None).code == 4001
    assert talk.error("edit", targetId="a").data["parameter"] == "replacement"
    assert talk.error("edit", targetId="a", replacement="x").data["parameter"] == "replacement"
