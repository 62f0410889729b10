"""Which entries are shown, and what a query finds."""

import pytest

from branchline.entries import Flag, Kind
from branchline.tree.drawing import Drawing, View
from branchline.tree.filters import Filter, visible
from tests.unit.made_sessions import MadeSession


def everything() -> MadeSession:
    session = MadeSession()
    session.message("system", "system", None, content="be brief")
    session.user("user")
    session.add("model_change", "model", provider="p", modelId="m")
    session.add("thinking_level_change", "thinking", thinkingLevel="low")
    session.add("active_tools_change", "tools", activeToolNames=["read"])
    session.tool("result")
    session.assistant("answer")
    session.message("assistant", "aborted", content=[], stopReason="aborted")
    session.message("bashExecution", "bash", command="ls")
    session.message("custom", "custom-role", content="c")
    session.add("custom_message", "custom-message", customType="t", content="c")
    session.add("compaction", "compaction", summary="s", firstKeptEntryId="user")
    session.add("branch_summary", "summary", summary="s", fromId="user")
    session.add("context_edit", "edit", targetId="user", replacement=None)
    session.add("usage", "usage", usage={})
    session.add("custom", "custom", customType="x")
    session.add("session_info", "name", name="n")
    session.label("label", "user", "start")
    session.add("leaf", "old-move", targetId="label")
    session.add("custom", "move", customType="branchline.leaf", data={"targetId": "old-move"})
    session.add("from_the_future", "unknown")
    return session


CONVERSATION = [
    "system", "user", "result", "answer", "aborted", "bash", "custom-role", "custom-message",
    "compaction", "summary", "unknown",
]  # fmt: skip


@pytest.mark.parametrize(
    ("filter_name", "shown"),
    [
        ("default", CONVERSATION),
        ("noTools", [entry_id for entry_id in CONVERSATION if entry_id != "result"]),
        ("userOnly", ["user"]),
        ("labeledOnly", ["user"]),
        ("all", [entry["id"] for entry in everything().entries]),
    ],
)
def test_each_filter_shows_what_pi_shows(filter_name: Filter, shown: list[str]) -> None:
    assert everything().picture(filter=filter_name) == shown


def test_an_assistant_message_without_text_is_shown_while_it_is_the_leaf() -> None:
    session = MadeSession()
    session.user("a", None)
    session.tool("t")
    assert session.picture("t-call") == ["a", "t-call", "  t"]
    assert session.picture("t") == ["a", "t"]


def test_a_record_whose_id_is_used_again_is_not_shown() -> None:
    session = MadeSession()
    session.user("a", None)
    session.user("b", "a", text="first")
    session.user("b", "a", text="second")
    assert [row["text"] for row in session.rows(filter="all")] == ["a", "second"]
    assert visible(session.tree(), "default") == bytearray([1, 0, 1])


def found(session: MadeSession, query: str, filter_name: Filter = "default") -> list[str]:
    return session.picture(query=query, filter=filter_name, expanded=["root"])


def test_every_word_of_a_query_must_occur_in_any_case() -> None:
    session = MadeSession()
    session.user("a", None, text="Make the PARSER fast")
    session.user("b", text="make the printer fast")
    assert found(session, "parser make") == ["a"]
    assert found(session, "  fast\tmake ") == ["a", "b"]
    assert found(session, "parser printer") == []


def test_a_query_looks_at_labels_tools_arguments_commands_and_summaries() -> None:
    session = MadeSession()
    session.user("labelled", None)
    session.tool(
        "result", name="grep", arguments={"pattern": "n", "in": [{"path": "src/deep.py"}]},
        output="found in line",
    )  # fmt: skip
    session.message("bashExecution", "bash", command="make test", output="all green")
    session.add("compaction", "compaction", summary="Goal: speed", firstKeptEntryId="bash")
    session.label("label", "labelled", "Milestone")
    assert found(session, "milestone") == ["labelled"]
    assert found(session, "grep line") == ["result"]
    assert found(session, "grep deep.py", "all") == ["result-call"]
    assert found(session, "test green") == ["bash"]
    assert found(session, "goal") == ["compaction"]


def test_a_query_reads_only_what_the_filter_lets_through_and_each_body_once() -> None:
    session = MadeSession()
    session.user("a", None, text="word")
    session.assistant("b", text="word")
    drawing = session.drawing()
    view = View(filter="userOnly", query="word")
    assert drawing.window(view, {}, limit=0)["total"] == 1
    assert drawing.window(View(filter="default", query="word"), {}, limit=0)["total"] == 2
    assert session.read == ["a", "b"]


def test_a_new_label_is_found_by_a_query_asked_before() -> None:
    session = MadeSession()
    session.user("a", None)
    session.user("b")
    session.label("l", "a", "one")
    tree = session.tree()
    drawing = Drawing(tree, session)
    view = View(query="two")
    assert drawing.window(view, {})["rows"] == []
    session.label("m", "b", "two")
    tree.append("m", tree.leaf, Kind.LABEL, Flag.EXACT, 1, {"targetId": "b", "label": "two"})
    assert [row["id"] for row in drawing.window(view, {})["rows"]] == ["b"]


def test_matches_are_utf16_offsets_in_the_preview() -> None:
    session = MadeSession()
    session.user("a", None, text="🚀 Fast parser, faster printer")
    row = session.row("a", query="fast")
    assert row["matches"] == [[3, 7], [16, 20]]
    assert session.row("a")["matches"] == []


def test_a_match_beyond_the_preview_moves_the_preview_to_it() -> None:
    session = MadeSession()
    session.user("a", None, text="far " * 5_000 + "needle " + "away " * 100)
    text = session.row("a", query="needle")["text"]
    assert text.startswith("…far")
    assert len(text) <= 200
    [[start, end]] = session.row("a", query="needle")["matches"]
    assert text[start:end] == "needle"
