from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from branchline.terminal.rows import draw_rows, plain_text, short_age, short_count

NOW = datetime(2026, 3, 3, 12, tzinfo=UTC)
TWO_DAYS_AGO = "2026-03-01T11:00:00.000Z"


def row(name: str, text: str, **changes: Any) -> dict[str, Any]:
    """A row of the protocol: a user message on the active path, unless said otherwise."""
    return {
        "id": name,
        "parentId": None,
        "type": "message",
        "role": "user",
        "text": text,
        "label": None,
        "labelTimestamp": None,
        "timestamp": TWO_DAYS_AGO,
        "depth": 0,
        "guides": [],
        "last": False,
        "position": 1,
        "siblings": 1,
        "onActivePath": True,
        "isLeaf": False,
        "childCount": 1,
        "foldable": False,
        "folded": False,
        "context": "in",
        "tokens": 12,
        "error": False,
        "tool": None,
        "hidden": None,
        "matches": [],
    } | changes


def hidden(messages: int, tokens: int) -> dict[str, Any]:
    return {
        "entries": messages,
        "messages": messages,
        "tokens": tokens,
        "branches": 1,
        "lastTimestamp": "2026-03-03T07:00:00Z",
    }


def branch(name: str, text: str, parent: str, depth: int = 1, **changes: Any) -> dict[str, Any]:
    """A row off the active path, with the trunk passing it."""
    off_path = {"onActivePath": False, "context": None, "guides": [0]}
    return row(name, text, parentId=parent, depth=depth, **(off_path | changes))


PARSER = [
    row("a", "make the parser fast", context="covered", label="start", tokens=2000),
    row("b", "two ways: regex or scan", parentId="a", role="assistant", context="covered"),
    branch(
        "c",
        "try regex: fails on nesting",
        "b",
        foldable=True,
        folded=True,
        last=True,
        hidden=hidden(38, 22_000),
    ),
    row(
        "d",
        "3 steps: 2 read 1 bash",
        parentId="b",
        type="run",
        role=None,
        context="covered",
        foldable=True,
        folded=True,
        hidden=hidden(3, 70_000),
    ),
    row("e", "compacted: the parser", parentId="d2", type="compaction", role=None),
    branch("f", "use ICU instead", "e", foldable=True),
    branch("g", "40 MB, slower start", "f", role="assistant", guides=[0, 1]),
    branch("h", "hand tables", "e", foldable=True, folded=True, last=True, hidden=hidden(1, 9)),
    row("i", "the bindings are too big", parentId="e", type="branch_summary", role=None),
    row("j", "done, tests pass", parentId="i", role="assistant", isLeaf=True, last=True),
]


def draw(
    rows: list[dict[str, Any]],
    header: str | None = None,
    width: int = 72,
    unicode: bool = True,
    color: bool = False,
    show_ids: bool = False,
) -> list[str]:
    return draw_rows(
        rows,
        header=header,
        width=width,
        unicode=unicode,
        color=color,
        show_ids=show_ids,
        now=NOW,
    )


def test_the_pinned_tree_is_drawn_with_the_active_path_in_the_first_column() -> None:
    assert draw(PARSER, header="Parser speed") == [
        "Parser speed",
        "┆ ● make the parser fast                               ⚑start    2k   2d",
        "┆ · two ways: regex or scan                                      12   2d",
        "┆ └╴⊞ try regex: fails on nesting · 38 messages                 22k   5h",
        "┆ ⚙ 3 steps: 2 read 1 bash                                      70k   5h",
        "◆ compacted: the parser                                          12   2d",
        "┃ ├╴⊟ ○ use ICU instead                                          12   2d",
        "┃ │  · 40 MB, slower start                                       12   2d",
        "┃ └╴⊞ hand tables · 1 message                                     9   5h",
        "┃ ⇄ the bindings are too big                                     12   2d",
        "◉ · done, tests pass                                   ◀ here    12   2d",
    ]


def test_without_unicode_every_line_is_ascii() -> None:
    lines = draw([*PARSER, row("k", "Köln 🙂", parentId="j")], header="Größe", unicode=False)
    assert all(line.isascii() for line in lines)
    assert lines[0] == "Gr??e"
    assert lines[3].startswith(": `-+ try regex: fails on nesting - 38 messages ")
    assert lines[6].startswith("| |-- o use ICU instead ")
    assert lines[10].startswith("@ . done, tests pass ")
    assert "< here" in lines[10]
    assert lines[11].startswith("| * K?ln ? ")


def test_ids_stand_first_and_line_up() -> None:
    lines = draw([row("a1b2c3d4", "one"), row("x", "two", parentId="a1b2c3d4")], show_ids=True)
    assert lines[0].startswith("a1b2c3d4 ┃ ● one ")
    assert lines[1].startswith("x        ┃ ● two ")


def test_after_a_run_a_branch_hangs_from_the_run_and_the_path_goes_on() -> None:
    run = row("r", "3 steps", type="run", role=None, folded=True, hidden=hidden(3, 1))
    head = branch("s", "other way", "r3", foldable=False, last=True)
    lines = draw([run, head, row("t", "on", parentId="r3")])
    assert [line.split("  ")[0] for line in lines] == ["┃ ⚙ 3 steps", "┃ └╴○ other way", "┃ ● on"]


def test_a_window_that_begins_inside_a_branch_draws_its_lanes() -> None:
    inside = branch("g", "inside", "far above", guides=[0, 1], foldable=True)
    head = branch("h", "next branch", "farther above", foldable=True, last=True)
    lines = draw([inside, head])
    assert lines[0].startswith("┃ │  ○ inside ")
    assert lines[1].startswith("┃ └╴⊟ ○ next branch ")


def test_in_layout_pi_a_deep_leaf_is_marked_and_no_trunk_is_drawn_beside_it() -> None:
    lines = draw(
        [
            row("a", "root"),
            row("b", "here", parentId="a", depth=1, isLeaf=True, guides=[]),
            branch("c", "there", "a", guides=[], last=True),
        ]
    )
    assert lines[1].startswith("  ├╴◉ here ")
    assert "◀ here" in lines[1]
    assert lines[2].startswith("  └╴○ there ")


@pytest.mark.parametrize(
    ("changes", "drawn"),
    [
        ({"role": "toolResult", "error": True}, "⚙ text ✗"),
        ({"role": "bashExecution"}, "⚙ text"),
        ({"context": "omitted"}, "● text (omitted)"),
        ({"context": "replaced"}, "● text (replaced)"),
        ({"type": "custom_message", "role": None}, "◦ text"),
        ({"type": "compaction", "role": None, "isLeaf": True}, "◆ text"),
        ({"text": ""}, "●"),
    ],
)
def test_a_row_says_what_it_is(changes: dict[str, Any], drawn: str) -> None:
    (line,) = draw([row("a", **({"text": "text"} | changes))])
    assert line[2:].split("  ")[0].rstrip() == drawn


def test_a_long_name_of_a_folded_branch_is_cut_and_what_it_hides_is_not() -> None:
    folded = branch("b", "long " * 40, "a", folded=True, hidden=hidden(7, 100))
    line = draw([row("a", "root"), folded])[1]
    assert "… · 7 messages" in line
    assert cell_len(line) <= 72


def test_a_failure_is_seen_however_long_the_text_is() -> None:
    (line,) = draw([row("a", "long " * 40, role="toolResult", error=True)])
    assert "… ✗ " in line


def test_a_long_label_is_cut() -> None:
    (line,) = draw([row("a", "text", label="x" * 100, isLeaf=True)])
    assert "⚑" + "x" * 14 + "… " in line


def test_colours_add_nothing_but_colours() -> None:
    plain = draw(PARSER, header="Parser speed")
    colored = draw(PARSER, header="Parser speed", color=True)
    assert any("\x1b[" in line for line in colored)
    assert [without_colors(line).rstrip() for line in colored] == plain


def without_colors(line: str) -> str:
    for code in (0, 1, 2, 31, 32, 36):
        line = line.replace(f"\x1b[{code}m", "")
    return line


def test_hostile_text_loses_what_a_terminal_would_obey() -> None:
    text = "a\x1b[2Jb\x07c\r\nd\u202ee\u2066f\x9bg\ud800h\u2028i\u200bj"
    assert plain_text(text) == "a[2Jbc  defg\ufffdh ij"
    (line,) = draw([row("\x1b]0;id\x07", text, label=text)], show_ids=True)
    assert line.isprintable()


_TEXT = st.text(st.characters(), max_size=60)


@given(
    texts=st.lists(_TEXT, min_size=1, max_size=5),
    label=_TEXT | st.none(),
    depth=st.integers(0, 300),
    width=st.integers(20, 120),
    unicode=st.booleans(),
    show_ids=st.booleans(),
)
def test_no_line_is_wider_than_asked_for_or_has_a_control_character(
    texts: list[str], label: str | None, depth: int, width: int, unicode: bool, show_ids: bool
) -> None:
    rows = [
        row(
            f"{at}{'id' * depth}",
            text,
            label=label,
            depth=depth if at else 0,
            guides=[1, depth - 1],
            folded=at == 2,
            hidden=hidden(depth, 9) if at == 2 else None,
        )
        for at, text in enumerate(texts)
    ]
    for line in draw(rows, header=texts[0], width=width, unicode=unicode, show_ids=show_ids):
        assert cell_len(line) <= width
        assert not any(character < " " or "\x7f" <= character < "\xa0" for character in line)


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1k"),
        (1499, "1k"),
        (1500, "2k"),
        (61_234, "61k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (123_000_000, "123M"),
    ],
)
def test_counts_are_short(count: int, shown: str) -> None:
    assert short_count(count) == shown


@pytest.mark.parametrize(
    ("timestamp", "shown"),
    [
        ("2026-03-03T11:59:30Z", "now"),
        ("2026-03-03T13:00:00Z", "now"),
        ("2026-03-03T11:55:00Z", "5m"),
        ("2026-03-03T14:55:00+06:00", "3h"),
        ("2026-03-01T12:00:00", "2d"),
        ("2024-03-01T12:00:00Z", "2y"),
        ("yesterday", ""),
        (None, ""),
    ],
)
def test_ages_are_short(timestamp: str | None, shown: str) -> None:
    assert short_age(timestamp, NOW) == shown
