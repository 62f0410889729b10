"""Exported Markdown: readable anywhere, and nothing that a session says gets out of its place."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.unit.exports import as_markdown, exported
from tests.unit.helpers import entry, message
from tests.unit.session_files import assistant, user

CALL = {
    "type": "toolCall",
    "id": "c1",
    "name": "edit",
    "arguments": {"path": "a.py", "newText": "one\ntwo", "n": 3},
}


def text(said: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": said}]


def shown(*records: dict[str, object], **options: bool) -> str:
    return exported(list(records), as_markdown, **options)


def test_a_conversation_has_a_head_and_headings() -> None:
    made = shown(
        user("a", None, "make it *fast*"),
        assistant("b", "a", [{"type": "thinking", "thinking": "hm"}, *text("Sure."), CALL]),
        message("c", "b", "toolResult", text("done"), toolCallId="c1", toolName="edit"),
        entry("d", "c", "session_info", name="Parser [speed]"),
        entry("e", "d", "label", targetId="a", label="start_here"),
        entry("f", "e", "model_change", provider="p", modelId="m2"),
    )
    assert made.startswith("# Parser \\[speed\\]\n")
    assert "- **Models:** `local/m`" in made
    assert "- **Branches:** the active one" in made
    assert "## User · 2026-01-02 03:04 · ⚑ start\\_here\n\n> make it *fast*\n" in made
    assert "*Thinking:*\n\n```\nhm\n```" in made
    assert "> Sure." in made
    assert "**Tool call** `edit`\n\n- `path`: `a.py`\n- `n`: `3`\n" in made
    assert "`newText`:\n\n```\none\ntwo\n```" in made
    assert "## Tool result · `edit a.py` · 2026-01-02 03:04\n\n```\ndone\n```" in made
    assert "*model: p/m2*" in made


def test_images_are_named_with_type_and_size() -> None:
    data = "eHh4eA=="
    made = shown(
        message("a", None, "user", [{"type": "image", "mimeType": "image/png", "data": data}])
    )
    assert "*(image: image/png, 4 bytes)*" in made
    assert data not in made


def test_a_command_kept_from_the_model_is_marked() -> None:
    fields = {"command": "env", "output": "A=1", "exitCode": 1, "excludeFromContext": True}
    made = shown(message("a", None, "bashExecution", None, **fields))
    assert "failed" in made
    assert "*Not sent to the model.*\n\n```\n$ env\n```\n\n```\nA=1\n```" in made


def test_summaries_and_their_files() -> None:
    said = "## Goal\nx\n\n<read-files>\n/a.py\n</read-files>"
    made = shown(
        user("a", None),
        entry("b", "a", "compaction", summary=said, firstKeptEntryId="a", tokensBefore=9),
        entry("c", "b", "branch_summary", summary="learnt", fromId="a"),
    )
    assert "## Compaction" in made
    assert "> ## Goal" in made
    assert "> **Files read**\n>\n> - `/a.py`" in made
    assert "## Branch summary" in made
    assert "> learnt" in made


def test_other_branches_are_there_only_when_asked_for() -> None:
    records = [
        user("a", None, "first"),
        user("x", "a", "elsewhere"),
        user("b", "a", "second"),
        user("y", "b", "sideways"),
        user("c", "b", "third"),
    ]
    active = shown(*records)
    assert "elsewhere" not in active
    assert "sideways" not in active
    every = shown(*records, whole=True)
    order = ["first", "# Another branch, from `a`", "elsewhere", "goes on, from `a`", "second"]
    places = [every.index(one) for one in order]
    assert places == sorted(places)
    assert every.count("# Another branch") == 2
    assert "- **Branches:** all 3" in every


HOSTILE = [
    "# Not a heading of ours",
    "```\nnever closed",
    "~~~~\nnor this",
    "<script>mark()</script>",
    "<details><summary>x",
    "<!-- and so on",
    "![x](http://e.test/pixel.png)",
    "[x](javascript:mark())",
    "[x]: http://e.test 'title\n\n[x]",
    "> quoted\n\n---\n\n## User\n\nI said so",
    "a\n===\n\n| a |\n|---|\n| b |",
    "\u202eabc\x1b[31mred\x1b[0m\x00",
    "    code\n\n\ttabs",
]


@pytest.mark.parametrize("said", HOSTILE)
@pytest.mark.parametrize("role", ["user", "assistant", "toolResult", "thinking", "summary"])
def test_nothing_gets_out_of_its_place(said: str, role: str) -> None:
    held = {
        "user": user("b", "a", said),
        "assistant": assistant("b", "a", text(said)),
        "toolResult": message("b", "a", "toolResult", text(said), toolName=said, toolCallId="c"),
        "thinking": assistant("b", "a", [{"type": "thinking", "thinking": said}]),
        "summary": entry("b", "a", "branch_summary", summary=said, fromId="a"),
    }[role]
    made = shown(user("a", None, "before"), held, user("c", "b", "behind"))
    assert headings(made) == ["before", "User", headings(made)[2], "User"]
    check(made)


@settings(deadline=None)  # the first example imports
@given(st.lists(st.sampled_from([*HOSTILE, "\n", "`", "~", "<", ">", "- ", "x"]), max_size=6))
def test_no_mix_of_marks_gets_out(parts: list[str]) -> None:
    said = "".join(parts)
    made = shown(user("a", None, "before"), assistant("b", "a", text(said)), user("c", "b", "end"))
    assert headings(made) == ["before", "User", "Assistant · 2026-01-02 03:04", "User"]
    check(made)


def headings(made: str) -> list[str]:
    """The headings outside of quotes, the times of users' left out."""
    tokens = MarkdownIt("commonmark").enable("table").parse(made)
    found = [
        after.content
        for token, after in pairwise(tokens)
        if token.type == "heading_open" and token.level == 0
    ]
    return ["User" if one.startswith("User ·") else one for one in found]


def check(made: str) -> None:
    """Nothing in it runs, is fetched, or turns the order of text around."""
    pending = list(MarkdownIt("commonmark").enable("table").parse(made))
    while pending:
        token = pending.pop()
        assert token.type not in ("html_block", "html_inline", "image")
        assert not str(token.attrs.get("href", "")).startswith(("javascript:", "data:", "command:"))
        pending += token.children or []
    assert not set(made) & {"\x1b", "\x00", "\u202e"}
