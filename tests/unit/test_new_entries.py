"""What may be appended, what it becomes, and what an error says of it."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.entries import ENTRY_TYPES, ZERO_USAGE, Entry
from branchline.errors import InvalidEntry
from branchline.log.format import milliseconds, record_line
from branchline.service.new_entries import (
    MAX_ID_LENGTH,
    Addition,
    EntryFactory,
    call_owner,
    make_addition,
)
from branchline.tree.index import NONE, Tree
from tests.unit.helpers import Bodies, entry, index
from tests.unit.session_files import JSON, assistant, decoded, user

CALL = {"type": "toolCall", "id": "call-1", "name": "read", "arguments": {}}


def session() -> tuple[Tree, Bodies]:
    """A root with two branches; the leaf is ``c``, and ``x`` holds a tool call."""
    return index(
        [
            user("a"),
            assistant("x", "a", [CALL], "toolUse"),
            user("y", "x"),
            assistant("b", "a", [{"type": "text", "text": "b"}]),
            entry("note", "b", "label", targetId="b", label="l"),
            user("c", "note"),
        ]
    )


def added(*fields: Any, parent: str | None = "c", **options: Any) -> Addition:
    tree, _ = session()
    at = NONE if parent is None else tree.find(parent)
    assert at is not None
    return make_addition(tree, at, fields, **options)


def one(fields: Any, parent: str | None = "c") -> Entry:
    return added(fields, parent=parent).entries[0]


def refused(*fields: Any, parent: str | None = "c") -> tuple[str, str]:
    """The field and the message of the error."""
    with pytest.raises(InvalidEntry) as error:
        added(*fields, parent=parent)
    assert error.value.message.startswith(str(error.value.facts["field"]))
    return str(error.value.facts["field"]), error.value.message


def said(role: str, **fields: Any) -> Entry:
    return {"type": "message", "message": {"role": role, **fields}}


# --- what is made ----------------------------------------------------------------------------


def test_each_entry_is_the_child_of_the_one_before() -> None:
    made = added(said("user", content="1"), {"type": "custom", "customType": "t"}, {"type": "new"})
    first, second, third = made.entries
    assert [first["parentId"], second["parentId"], third["parentId"]] == [
        "c",
        first["id"],
        second["id"],
    ]
    assert made.leaf_id == third["id"]


def test_a_root_has_no_parent() -> None:
    assert one({"type": "new"}, parent=None)["parentId"] is None


def test_the_fields_stand_in_pi_s_order() -> None:
    assert list(one({"x": 1, "type": "new"})) == ["type", "id", "parentId", "timestamp", "x"]
    custom = {"id": "own", "data": 1, "type": "custom", "customType": "t"}
    assert list(one(custom)) == ["type", "data", "customType", "id", "parentId", "timestamp"]


def test_ids_are_kept_or_made() -> None:
    assert one({"type": "new", "id": "mine"})["id"] == "mine"
    assert len(one({"type": "new"})["id"]) == 8
    assert len(one({"type": "new", "id": None})["id"]) == 8
    assert one({"type": "new", "id": "x" * MAX_ID_LENGTH})["id"] == "x" * MAX_ID_LENGTH


@pytest.mark.parametrize("entry_id", ["", "x" * 201, 7, [], {}])
def test_odd_ids_are_refused(entry_id: Any) -> None:
    assert refused({"type": "new", "id": entry_id})[0] == "entries[0].id"


def test_taken_ids_are_refused() -> None:
    field, text = refused({"type": "new", "id": "y"})
    assert (field, "'y' is taken" in text) == ("entries[0].id", True)
    assert refused({"type": "new", "id": "n"}, {"type": "new", "id": "n"})[0] == "entries[1].id"


@pytest.mark.parametrize("timestamp", ["2020-02-03T04:05:06.789Z", "2020-02-03T04:05:06+02:00"])
def test_a_valid_timestamp_is_kept(timestamp: str) -> None:
    assert one({"type": "new", "timestamp": timestamp})["timestamp"] == timestamp


@pytest.mark.parametrize("timestamp", ["yesterday", "", 7, None, {}])
def test_any_other_timestamp_is_set(timestamp: Any) -> None:
    made = one({"type": "new", "timestamp": timestamp})["timestamp"]
    assert made != timestamp
    assert milliseconds(made) is not None


@pytest.mark.parametrize("sent", [0, 1767323045678, 12.5])
def test_a_valid_time_of_a_message_is_kept(sent: float) -> None:
    assert one(said("user", content="x", timestamp=sent))["message"]["timestamp"] == sent


@pytest.mark.parametrize("sent", [None, "2020", -1, True, []])
def test_any_other_time_of_a_message_is_set(sent: Any) -> None:
    made = one(said("user", content="x", timestamp=sent))["message"]["timestamp"]
    assert isinstance(made, int)
    assert made > 1_700_000_000_000


@pytest.mark.parametrize("usage", [{}, {"usage": None}])
def test_an_answer_without_usage_is_stored_with_zeros(usage: Entry) -> None:
    made = one(said("assistant", content=[], **usage))["message"]
    assert made["usage"] == ZERO_USAGE
    assert made["usage"]["cost"]["total"] == 0


def test_an_answer_with_usage_keeps_it() -> None:
    assert one(said("assistant", content=[], usage={"input": 3}))["message"]["usage"] == {
        "input": 3
    }


def test_what_was_given_is_not_changed() -> None:
    given_fields = said("assistant", content=[])
    one(given_fields)
    assert given_fields == said("assistant", content=[])


def test_unknown_types_and_roles_are_kept_as_they_are() -> None:
    made = one({"type": "new", "targetId": 7, "summary": "", "message": "x"})
    assert (made["targetId"], made["summary"], made["message"]) == (7, "", "x")
    assert one(said("narrator", content=7))["message"]["content"] == 7


def test_a_move_back_ends_the_same_write() -> None:
    made = added({"type": "new"}, parent="b", return_to=5)
    new, move = made.entries
    assert (new["parentId"], made.leaf_id) == ("b", "c")
    assert (move["customType"], move["data"], move["parentId"]) == (
        "branchline.leaf",
        {"targetId": "c"},
        "c",
    )


def test_a_move_back_to_before_the_first_entry() -> None:
    made = added({"type": "new"}, parent=None, return_to=NONE)
    assert made.leaf_id is None
    assert (made.entries[1]["data"], made.entries[1]["parentId"]) == ({"targetId": None}, None)


# --- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "session", "id": "s"},
        {"type": "leaf", "targetId": "a"},
        {"type": "custom", "customType": "branchline.leaf", "data": {"targetId": "a"}},
        {"type": ""},
        {"type": 7},
        {},
    ],
)
def test_types_that_no_client_may_append(fields: Entry) -> None:
    assert refused(fields)[0] == "entries[0].type"


@pytest.mark.parametrize("parent_id", ["a", None, 7])
def test_a_parent_inside_an_entry_is_refused(parent_id: Any) -> None:
    field, text = refused({"type": "new"}, {"type": "new", "parentId": parent_id})
    assert (field, "parentId" in text) == ("entries[1].parentId", True)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"type": "message"}, "message"),
        ({"type": "message", "message": []}, "message"),
        ({"type": "message", "message": {}}, "message.role"),
        (said(""), "message.role"),
        (said("user"), "message.content"),
        (said("user", content=None), "message.content"),
        (said("assistant", content="text"), "message.content"),
        (said("assistant", content=[], usage=7), "message.usage"),
        (said("toolResult", toolName="read", content=[]), "message.toolCallId"),
        (said("toolResult", toolCallId="c", content=[]), "message.toolName"),
        (said("toolResult", toolCallId="c", toolName="t", content="x"), "message.content"),
        (said("bashExecution", output=""), "message.command"),
        (said("bashExecution", command="ls"), "message.output"),
        (said("custom", content="x"), "message.customType"),
        ({"type": "custom"}, "customType"),
        ({"type": "custom_message", "customType": "t"}, "content"),
        ({"type": "label"}, "targetId"),
        ({"type": "label", "targetId": "a", "label": 7}, "label"),
        ({"type": "session_info"}, "name"),
        ({"type": "session_info", "name": None}, "name"),
        ({"type": "model_change", "provider": "p"}, "modelId"),
        ({"type": "thinking_level_change", "thinkingLevel": 1}, "thinkingLevel"),
        ({"type": "active_tools_change", "activeToolNames": "read"}, "activeToolNames"),
        ({"type": "usage"}, "usage"),
        ({"type": "compaction", "firstKeptEntryId": "a"}, "summary"),
        ({"type": "compaction", "summary": "s"}, "firstKeptEntryId"),
        ({"type": "branch_summary", "summary": "s"}, "fromId"),
        ({"type": "context_edit", "targetId": "a"}, "replacement"),
        ({"type": "context_edit", "targetId": "a", "replacement": []}, "replacement"),
        ({"type": "context_edit", "targetId": "a", "replacement": {}}, "replacement.content"),
    ],
)
def test_a_field_that_is_missing_or_mistyped_is_named(fields: Entry, field: str) -> None:
    assert refused(fields)[0] == f"entries[0].{field}"


def test_every_required_field_is_required() -> None:
    for row in ENTRY_TYPES.values():
        if row.fields and row.name != "leaf":
            assert refused({"type": row.name})[0] == f"entries[0].{row.fields[0].name}"


@pytest.mark.parametrize("summary", ["", " \n\t"])
def test_a_summary_must_not_be_blank(summary: str) -> None:
    for fields in (
        {"type": "compaction", "firstKeptEntryId": "a"},
        {"type": "branch_summary", "fromId": "a"},
    ):
        assert refused({**fields, "summary": summary})[0] == "entries[0].summary"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"type": "label", "label": "x"}, "targetId"),
        ({"type": "compaction", "summary": "s"}, "firstKeptEntryId"),
        ({"type": "branch_summary", "summary": "s"}, "fromId"),
        ({"type": "context_edit", "replacement": None}, "targetId"),
    ],
)
def test_references_must_name_entries(fields: Entry, field: str) -> None:
    assert refused({**fields, field: "gone"})[0] == f"entries[0].{field}"
    assert one({**fields, field: "a"})[field] == "a"
    earlier = said("user", content="x") | {"id": "new"}
    assert added(earlier, {**fields, field: "new"}).entries[1][field] == "new"
    assert refused({**fields, field: "new"}, earlier)[0] == f"entries[0].{field}"


def test_a_compaction_may_keep_nothing_but_itself() -> None:
    fields = {"type": "compaction", "summary": "s", "id": "new", "firstKeptEntryId": "new"}
    assert one(fields)["firstKeptEntryId"] == "new"
    label = {"type": "label", "id": "new", "targetId": "new"}
    assert refused(label)[0] == "entries[0].targetId"


def test_root_is_where_a_summary_may_come_from_and_nothing_else() -> None:
    assert one({"type": "branch_summary", "summary": "s", "fromId": "root"})["fromId"] == "root"
    assert refused({"type": "label", "targetId": "root"})[0] == "entries[0].targetId"


def test_a_label_may_be_absent_or_null() -> None:
    assert "label" not in one({"type": "label", "targetId": "a"})
    assert one({"type": "label", "targetId": "a", "label": None})["label"] is None


def test_an_edit_must_be_on_the_branch_of_its_target() -> None:
    edit = {"type": "context_edit", "targetId": "y", "replacement": None}
    assert refused(edit)[0] == "entries[0].targetId"
    assert one(edit, parent="y")["targetId"] == "y"


def test_an_edit_needs_a_target_that_shows_the_model_something() -> None:
    edit = {"type": "context_edit", "targetId": "note", "replacement": {"content": "x"}}
    assert refused(edit)[0] == "entries[0].targetId"
    new = {"type": "custom", "customType": "t", "id": "new"}
    assert refused(new, {**edit, "targetId": "new"})[0] == "entries[1].targetId"


def test_a_long_id_that_names_nothing_is_not_echoed_in_full() -> None:
    assert len(refused({"type": "label", "targetId": "x" * 1_000_000})[1]) < 1000


REQUIRED = {one.name for row in ENTRY_TYPES.values() for one in row.fields}
FIELDS = st.sampled_from(sorted(REQUIRED | {"type", "id", "timestamp"}))


@given(st.dictionaries(FIELDS, JSON))
@settings(deadline=None)
def test_whatever_a_client_sends_is_stored_whole_or_refused(fields: dict[str, Any]) -> None:
    for name in [fields.get("type"), *ENTRY_TYPES]:
        try:
            made = added({**fields, "type": name})
        except InvalidEntry:
            assert refused({**fields, "type": name})[0].startswith("entries[0].")
            continue
        (record,) = made.entries
        assert decoded(record_line(record)) == record
        changed = {"type", "id", "timestamp", "message"}
        kept = {key: value for key, value in fields.items() if key not in changed}
        assert kept.items() <= record.items()


def test_the_records_of_other_writes_share_one_factory() -> None:
    tree, _ = session()
    factory = EntryFactory(tree, 5)
    with pytest.raises(InvalidEntry, match=r"^summary\.summary must not be blank"):
        factory.add({"type": "branch_summary", "fromId": "a", "summary": ""}, "summary.")
    assert (factory.made, factory.last_id) == ({}, "c")


# --- tool results ----------------------------------------------------------------------------


def result(call_id: Any = "call-1") -> Entry:
    return said("toolResult", toolCallId=call_id, toolName="read", content=[])


def owner(fields: Entry, leaf: str | None) -> str | None:
    tree, bodies = session()
    at = NONE if leaf is None else tree.find(leaf)
    assert at is not None
    found = call_owner(tree, bodies, fields, at)
    return None if found is None else tree.ids[found]


def test_a_result_goes_to_the_newest_tip_below_its_call() -> None:
    assert owner(result(), "c") == "y"
    assert owner(result(), None) == "y"


def test_a_result_whose_call_is_on_the_path_stays_there() -> None:
    assert owner(result(), "y") is None
    assert owner(result(), "x") is None


@pytest.mark.parametrize("call_id", ["nobody's", None, 7, []])
def test_a_result_whose_call_is_nowhere_stays_where_it_is(call_id: Any) -> None:
    assert owner(result(call_id), "c") is None


def test_what_is_no_result_stays_where_it_is() -> None:
    assert owner(said("user", content="x"), "c") is None


def test_of_two_calls_with_one_id_the_newer_is_answered() -> None:
    tree, bodies = index(
        [
            user("a"),
            assistant("x", "a", [CALL], "toolUse"),
            assistant("z", "a", [CALL], "toolUse"),
            user("c", "a"),
        ]
    )
    found = call_owner(tree, bodies, result(), 3)
    assert found is not None
    assert tree.ids[found] == "z"


def test_a_result_on_the_path_costs_no_look_at_other_branches() -> None:
    tree, bodies = session()
    at = tree.find("y")
    assert at is not None
    call_owner(tree, bodies, result(), at)
    assert bodies.read == {1}
