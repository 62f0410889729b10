"""What a row says of its entry."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchline.codec import utf16_length
from branchline.entries import Flag, Kind
from branchline.tree.drawing import Drawing, View
from branchline.tree.index import Columns, Tree
from branchline.tree.preview import matches, one_line, word_pattern
from branchline.tree.rows import Row
from tests.unit.made_sessions import MadeSession, forked


def only_row(type_name: str, **fields: Any) -> Row:
    session = MadeSession()
    session.user("before", None)
    session.add(type_name, "entry", "before", **fields)
    return session.row("entry", filter="all")


def message_row(role: str, **fields: Any) -> Row:
    return only_row("message", message={"role": role} | fields)


def test_a_row_has_exactly_the_fields_of_the_protocol() -> None:
    assert list(forked().rows()[0]) == [
        "id", "parentId", "type", "role", "text", "label", "labelTimestamp", "timestamp", "depth",
        "guides", "last", "position", "siblings", "onActivePath", "isLeaf", "childCount",
        "foldable", "folded", "context", "tokens", "error", "tool", "hidden", "matches",
    ]  # fmt: skip


def test_a_row_tells_its_place() -> None:
    session = forked()
    session.label("l", "c", "turning point", parent="e")
    row = session.row("c", "d")
    assert row["label"] == "turning point"
    assert row["labelTimestamp"] == "2026-01-01T00:08:00.000Z"
    assert (row["id"], row["parentId"], row["childCount"]) == ("c", "b", 2)
    assert (row["type"], row["role"], row["tokens"]) == ("message", "user", 1)
    assert row["timestamp"] == "2026-01-01T00:04:00.000Z"
    assert (row["onActivePath"], row["isLeaf"]) == (True, False)
    assert session.row("d", "d")["isLeaf"]
    assert not session.row("z", "d")["onActivePath"]


def test_the_nearest_shown_ancestor_of_a_hidden_leaf_is_marked() -> None:
    session = forked()
    session.add("custom", "hidden", customType="x")
    assert [row["id"] for row in session.rows() if row["isLeaf"]] == ["e"]
    assert session.drawing().window(View(filter="labeledOnly"), {})["leafRow"] is None


def test_the_context_of_each_entry_is_passed_on() -> None:
    rows = forked().drawing().window(View(), {0: "covered", 1: "in"}, limit=3)["rows"]
    assert [row["context"] for row in rows] == ["covered", "in", None]


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (message_row("user", content=" two\n\n lines\t"), "two lines"),
        (message_row("user", content=[{"type": "image"}, {"type": "image"}]), "(2 images)"),
        (message_row("assistant", content="plain"), "plain"),
        (message_row("assistant", content=[], stopReason="aborted"), "(aborted)"),
        (message_row("assistant", stopReason="error", errorMessage="429 wait"), "429 wait"),
        (message_row("assistant", stopReason="error"), "(error)"),
        (message_row("assistant", content={"odd": 1}), "(no text)"),
        (
            message_row(
                "assistant",
                content=[
                    {"type": "toolCall", "id": str(number), "name": name, "arguments": {}}
                    for number, name in enumerate(["read", "edit", "read"])
                ],
            ),
            "(3 tool calls: read, edit)",
        ),
        (message_row("bashExecution", command="make\ncheck"), "$ make check"),
        (message_row("system", content="be brief"), "be brief"),
        (message_row("system", sections={"rules": "x", "env": None}), "sections: rules, env"),
        (message_row("custom", content="from an extension"), "from an extension"),
        (message_row("oracle", content="?"), "?"),
        (only_row("custom_message", customType="t", content="plan"), "plan"),
        (only_row("compaction", summary="## Goal\n\n- speed\nmore"), "compacted: speed"),
        (
            only_row(
                "branch_summary",
                summary="The user explored a different conversation branch before returning here."
                "\n\ntoo big",
            ),
            "too big",
        ),
        (only_row("branch_summary", summary=["odd"]), ""),
        (only_row("branch_summary", summary="## Goal\n\n- try pandas\nmore"), "try pandas"),
        (only_row("branch_summary", summary="## Goal"), "## Goal"),
        (only_row("label", targetId="before", label="x"), "label: x"),
        (only_row("label", targetId="before"), "label removed"),
        (only_row("session_info", name="n"), "name: n"),
        (only_row("model_change", provider="p", modelId="m"), "model: p/m"),
        (only_row("thinking_level_change", thinkingLevel="high"), "thinking: high"),
        (only_row("active_tools_change", activeToolNames=["a", 1, "b"]), "tools: a, b"),
        (only_row("context_edit", targetId="before", replacement=None), "omits before"),
        (only_row("context_edit", targetId="before", replacement={}), "replaces before"),
        (only_row("leaf", targetId="before"), "moved to before"),
        (
            only_row("custom", customType="branchline.leaf", data={"targetId": None}),
            "moved before the first entry",
        ),
        (only_row("usage", provider="p", model="m", usage={}), "usage: p/m"),
        (only_row("custom", customType="todo"), "custom: todo"),
        (only_row("from_the_future"), "from_the_future"),
    ],
    ids=lambda value: value if isinstance(value, str) else value["type"],
)
def test_each_kind_of_entry_has_its_preview(row: Row, text: str) -> None:
    assert row["text"] == text


def test_a_placeholder_is_a_damaged_record_and_its_body_is_not_read() -> None:
    columns = Columns()
    columns.add("p", None, Kind.PLACEHOLDER, Flag(0), 0)
    tree = Tree(columns)
    session = MadeSession()
    [row] = Drawing(tree, session).window(View(), {})["rows"]
    assert (row["type"], row["role"], row["text"]) == ("placeholder", None, "damaged record")
    assert row["timestamp"] is None


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({"limit": 3, "text": "no", "path": "src/a.py"}, "src/a.py"),
        ({"first": "taken", "second": "not"}, "taken"),
        ({"command": "a\n\nb" + "c" * 100}, "a b" + "c" * 77),
        ({"count": 3}, None),
        ("not an object", None),
        (None, None),
    ],
)
def test_a_tool_row_tells_the_main_argument_of_its_call(
    arguments: object, argument: str | None
) -> None:
    session = MadeSession()
    session.user("a", None)
    session.tool("t", name="look", arguments=arguments)
    row = session.row("t")
    assert row["tool"] == {"name": "look", "argument": argument}
    assert row["text"] == ("look" if argument is None else f"look {argument}")


def test_the_call_is_found_above_other_results_of_the_same_message() -> None:
    session = MadeSession()
    calls = [
        {"type": "toolCall", "id": f"c{number}", "name": "read", "arguments": {"path": f"{number}"}}
        for number in range(3)
    ]
    session.message("assistant", "calls", None, content=calls)
    for number in range(3):
        session.message("toolResult", f"r{number}", toolCallId=f"c{number}", toolName="read")
    assert [row["text"] for row in session.rows()[-3:]] == ["read 0", "read 1", "read 2"]


def test_a_call_far_above_is_not_looked_for() -> None:
    session = MadeSession()
    session.tool("t", None, arguments={"path": "far"})
    result = session.entries.pop()
    for number in range(250):
        session.assistant(f"a{number}")
    session.entries.append(result | {"parentId": "a249"})
    row = session.row("t")
    assert row["tool"] == {"name": "read", "argument": None}


def test_a_failed_tool_row_tells_the_first_line_of_the_error() -> None:
    session = MadeSession()
    session.user("a", None)
    session.tool("t", arguments={"path": "x"}, output="\nno such file\ntrace", is_error=True)
    row = session.row("t")
    assert (row["text"], row["error"]) == ("read x: no such file", True)


@pytest.mark.parametrize(
    ("row", "error"),
    [
        (message_row("assistant", stopReason="error"), True),
        (message_row("assistant", stopReason="aborted"), True),
        (message_row("assistant", stopReason="length", content="x"), False),
        (message_row("bashExecution", command="x", exitCode=0), False),
        (message_row("bashExecution", command="x", exitCode=2), True),
        (message_row("bashExecution", command="x", cancelled=True), True),
        (message_row("toolResult", isError="yes"), False),
        (message_row("user", isError=True), False),
    ],
)
def test_a_row_tells_whether_its_entry_failed(row: Row, error: bool) -> None:
    assert row["error"] is error


def test_a_folded_row_sums_up_everything_below_it_hidden_entries_included() -> None:
    session = forked()
    session.message("system", "sys", "y", content="s")
    session.add("custom_message", "cm", "y", customType="t", content="c")
    session.add("custom", "book", "cm", customType="t")
    row = session.row("x", "e")
    assert row["tokens"] == 1
    assert row["hidden"] == {
        "entries": 5,
        "messages": 3,
        "tokens": 1 + 1 + 3 + 2 + 4,
        "branches": 2,
        "lastTimestamp": "2026-01-01T00:10:00.000Z",
    }


def test_previews_hold_no_control_character_no_escape_and_no_override() -> None:
    assert (
        one_line("\x1b[32mPASS\x1b[0m \x00\x1b]0;t\x07 \x9b1m a\u202eb\u2066c")
        == "PASS ]0;t 1m abc"
    )
    assert one_line("half \ud83d pair") == "half \ufffd pair"


def test_a_preview_is_never_cut_inside_a_surrogate_pair() -> None:
    assert one_line("a" + "🚀" * 150) == "a" + "🚀" * 99


@given(st.text(st.characters(codec=None), max_size=300), st.text(max_size=5))
def test_every_preview_is_one_short_plain_line(text: str, word: str) -> None:
    line = one_line(text)
    assert utf16_length(line) <= 200
    assert line == line.strip()
    line.encode()
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in line)
    units = line.encode("utf-16-le")
    for start, end in matches(line, word_pattern(word.split())):
        assert 0 <= start < end <= len(units) // 2
        units[start * 2 : end * 2].decode("utf-16-le")


PIECES = st.sampled_from(
    ["\x1b[31m", "\x1b[1;", "\x1b[", "\x1b", "[", "m", "   ", "\n", "\u202e", "word", "é", "🙂"]
)


@given(st.lists(PIECES, max_size=80).map("".join), st.integers(1, 20))
def test_a_short_preview_is_the_beginning_of_a_long_one(text: str, units: int) -> None:
    long = one_line(text, 4_000).encode("utf-16-le")
    assert one_line(text, units) == long[: 2 * units].decode("utf-16-le", "ignore").rstrip()


def test_only_the_beginning_of_a_long_text_is_looked_at_unless_it_says_too_little() -> None:
    assert one_line("a" * 300 + "\x1b[31m" + "b" * 300, 200) == "a" * 200
    assert one_line("\x1b[31m" * 300 + "red", 200) == "red"
    assert one_line(" \n" * 300 + "a" + " \n" * 300 + "b" + " " * 10_000 + "c", 200) == "a b"
