from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline import entries
from branchline.entries import (
    ENTRY_TYPES,
    ROLES,
    STRUCTURAL,
    Flag,
    Kind,
    facts_of,
    flags_of,
    kind_of,
    single_spaced,
)
from tests.unit.helpers import entry, message
from tests.unit.session_files import JSON, assistant


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        (message("a", None, "user", ""), Kind.USER),
        (message("a", None, "assistant", []), Kind.ASSISTANT),
        (message("a", None, "toolResult", []), Kind.TOOL_RESULT),
        (message("a", None, "bashExecution", None), Kind.BASH_EXECUTION),
        (message("a", None, "system", ""), Kind.SYSTEM),
        (message("a", None, "custom", ""), Kind.CUSTOM_ROLE),
        (message("a", None, "narrator", ""), Kind.UNKNOWN_ROLE),
        (entry("a", None, "message"), Kind.UNKNOWN_ROLE),
        (entry("a", None, "message", message={"role": ["user"]}), Kind.UNKNOWN_ROLE),
        (entry("a", None, "custom", customType="note"), Kind.CUSTOM),
        (entry("a", None, "custom", customType="branchline.leaf"), Kind.MOVE),
        (entry("a", None, "leaf", targetId=None), Kind.LEAF),
        (entry("a", None, "from-the-future"), Kind.UNKNOWN),
        ({"type": ["message"]}, Kind.UNKNOWN),
        ({}, Kind.UNKNOWN),
    ],
)
def test_the_kind_is_the_type_or_a_message_s_role(made: dict[str, Any], kind: Kind) -> None:
    assert kind_of(made) is kind


def test_every_type_of_the_table_has_a_kind_of_its_own() -> None:
    kinds = [row.kind for row in ENTRY_TYPES.values()]
    assert len(set(kinds)) == len(kinds)
    assert {*kinds, *ROLES.values(), Kind.MOVE, Kind.PLACEHOLDER, Kind.UNKNOWN} == set(Kind)


def test_structural_kinds_are_those_with_facts_and_our_move() -> None:
    with_facts = {row.kind for row in ENTRY_TYPES.values() if row.facts}
    assert with_facts | {Kind.MOVE} == STRUCTURAL


@pytest.mark.parametrize(
    ("made", "facts"),
    [
        (
            entry("a", None, "label", targetId="b", label="x"),
            {"targetId": "b", "label": "x", "timestamp": "2026-01-02T03:04:05.678Z"},
        ),
        (
            entry("a", None, "branch_summary", fromId="root", summary=" \n"),
            {"fromId": "root", "blank": True},
        ),
        (
            entry("a", None, "branch_summary", fromId="b", summary="s", fromHook=True),
            {"fromId": "b", "blank": False, "fromHook": True},
        ),
        (
            entry("a", None, "compaction", summary="s", firstKeptEntryId="b", systemMessage={}),
            {"firstKeptEntryId": "b", "hasSystemMessage": True},
        ),
        (
            entry("a", None, "custom", customType="branchline.leaf", data={"targetId": None}),
            {"targetId": None},
        ),
        (entry("a", None, "custom", customType="branchline.leaf", data="b"), {}),
        (entry("a", None, "session_info", name="n"), {"name": "n"}),
    ],
)
def test_facts_are_the_small_fields(made: dict[str, Any], facts: dict[str, Any]) -> None:
    assert facts_of(made, kind_of(made)) == facts


@pytest.mark.parametrize(
    ("content", "reason", "flags"),
    [
        ([{"type": "text", "text": "x"}], "stop", Flag.HAS_TEXT),
        ([{"type": "text", "text": " \n"}], "stop", Flag(0)),
        ([{"type": "text", "text": ""}, {"type": "text", "text": "x"}], "toolUse", Flag.HAS_TEXT),
        ([{"type": "thinking", "thinking": "x"}], "stop", Flag(0)),
        ([], "length", Flag.ENDED_BADLY),
        ([], "error", Flag.ENDED_BADLY),
        ([], "aborted", Flag.ENDED_BADLY),
        ([], ["stop"], Flag.ENDED_BADLY),
        ("x", None, Flag.HAS_TEXT),
        (None, None, Flag(0)),
    ],
)
def test_flags_of_an_answer(content: Any, reason: Any, flags: Flag) -> None:
    made = assistant("a", None, content, reason)
    assert flags_of(made, Kind.ASSISTANT) == flags | Flag.EXACT


def test_only_answers_have_flags_of_their_own() -> None:
    made = message("a", None, "user", "text", stopReason="error")
    assert flags_of(made, Kind.USER) == Flag.EXACT


def test_texts_of_a_content_are_joined() -> None:
    content = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
    assert entries.text_of(content) == "a\nb"
    assert entries.text_of(content, " ") == "a b"
    assert entries.text_of("plain") == "plain"


def test_a_tool_call_needs_an_id_and_a_name() -> None:
    good = {"type": "toolCall", "id": "c", "name": "read"}
    bad = [
        {"type": "toolCall", "id": 1, "name": "read"},
        {"type": "toolCall", "id": "c"},
        "x",
        None,
    ]
    assert list(entries.tool_calls([*bad, good])) == [good]


def test_a_move_record_is_a_child_of_its_target() -> None:
    made = entries.move_record("m", "t", "now")
    assert (made["parentId"], kind_of(made), facts_of(made, Kind.MOVE)) == (
        "t",
        Kind.MOVE,
        {"targetId": "t"},
    )


@given(JSON, JSON, JSON)
@settings(deadline=None)
def test_no_shape_of_an_entry_is_too_odd_to_be_read(one: Any, two: Any, three: Any) -> None:
    for name in [*ENTRY_TYPES, "unknown", one]:
        made: dict[str, Any] = {"type": name, "message": two, "content": one, "summary": two}
        made |= {"data": three, "targetId": one, "customType": two, "systemMessage": three}
        kind = kind_of(made)
        flags_of(made, kind)
        if kind in STRUCTURAL:
            facts_of(made, kind)
        for content in (one, two, entries.content_of(made)):
            assert isinstance(entries.text_of(content), str)
            list(entries.tool_calls(content))
    for role in ROLES:
        made = {"type": "message", "message": {"role": role, "content": one, "stopReason": two}}
        flags_of(made, kind_of(made))


@given(st.text(st.sampled_from(" \t\n\x1c\x85\u2003\u200bab"), max_size=12))
def test_a_name_has_single_blanks_between_its_words(text: str) -> None:
    assert single_spaced(text) == " ".join(text.split())
