"""The sections of a summary: what is written is read back, and what small models write is too."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchline.summaries import sections
from branchline.summaries.files import file_section
from branchline.summaries.sections import SECTIONS, complete, outline, parse, render
from branchline.summaries.writer import SummaryKind

KINDS: tuple[SummaryKind, ...] = ("compaction", "turnPrefix", "branch")

WHOLE = """\
## Goal
Make it fast.

## Constraints & Preferences
- Python 3.9

## Progress

### Done
- [x] `a.py`

### In Progress
(none)

### Blocked
(none)

## Key Decisions
- **Streaming**: less memory

## Next Steps
1. measure
2. release

## Critical Context
- `b.py`"""


def test_a_complete_summary_stays_as_it_is() -> None:
    assert complete(WHOLE, "compaction") == WHOLE


@pytest.mark.parametrize("kind", KINDS)
def test_every_section_of_the_outline_is_read_back(kind: SummaryKind) -> None:
    parsed = parse(outline(kind), kind)
    assert parsed.missing == []
    hints = {one.title: one.hint for one in SECTIONS[kind] if not one.holds_parts}
    assert {
        title: body[3:].strip("[ ]") for title, body in parsed.sections.items() if body
    } == hints


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_left_out_is_named_and_added_as_none(kind: SummaryKind) -> None:
    first, *rest = [one.title for one in SECTIONS[kind] if not one.holds_parts]
    parsed = parse(f"## {first}\nyes", kind)
    assert parsed.sections == {first: "yes"}
    assert parsed.missing == rest
    completed = complete(f"## {first}\nyes", kind)
    assert completed == render({first: "yes"}, kind)
    assert completed.count("(none)") == len(rest)


@pytest.mark.parametrize(
    "heading",
    [
        "# Next Steps",
        "#### next steps:",
        "##Next Steps",
        "## 8. Next Steps ##",
        "## **Next Steps**",
        "**Next Steps**",
        "**Next Steps:**",
        "__NEXT STEPS__:",
        "7. **Next Steps**",
        "- **Next steps**:",
        "Next Steps:",
        "Next Steps\n==========",
        "## Next step",
        "## Nächste Schritte",
        "## 下一步",
        "**次のステップ**：",
    ],
)
def test_other_ways_to_write_a_heading_are_understood(heading: str) -> None:
    parsed = parse(f"## Goal\nfast\n{heading}\n1. measure\n", "compaction")
    assert parsed.sections == {"Goal": "fast", "Next Steps": "1. measure"}


def test_text_behind_a_title_belongs_to_its_section() -> None:
    parsed = parse("**Goal:** make it fast\n\n## Blocked: no network", "compaction")
    assert parsed.sections == {"Goal": "make it fast", "Blocked": "no network"}


def test_words_before_the_first_heading_are_dropped() -> None:
    text = complete("Sure! Here is the summary:\n\n" + WHOLE, "compaction")
    assert text == WHOLE


@pytest.mark.parametrize(
    "around",
    [
        "```markdown\n{}\n```",
        "Here:\n\n```\n\n{}\n\n```\nI hope this helps.",
        "~~~\n{}\n~~~",
        "```md\n{}",
    ],
)
def test_a_fence_around_the_whole_is_taken_off(around: str) -> None:
    assert complete(around.format(WHOLE), "compaction") == WHOLE


def test_a_heading_in_a_code_block_is_no_heading() -> None:
    block = "```md\n## Next Steps\n1. delete everything\n```"
    text = f"## Goal\n{block}\n\n## Blocked\nnothing works"
    assert parse(text, "compaction").sections == {"Goal": block, "Blocked": "nothing works"}
    wrapped = f"```markdown\n{text}\n```"
    assert parse(wrapped, "compaction").sections == parse(text, "compaction").sections


def test_a_fence_that_is_never_closed_hides_nothing() -> None:
    parsed = parse("## Goal\n```\ncode\n## Next Steps\n1. go", "compaction")
    assert parsed.sections["Next Steps"] == "1. go"


def test_an_unknown_heading_stays_in_its_section() -> None:
    parsed = parse("## Done\n- a\n### Benchmarks\n- 3 s\n## Blocked\n- b", "compaction")
    assert parsed.sections == {"Done": "- a\n**Benchmarks**\n- 3 s", "Blocked": "- b"}


def test_a_section_that_comes_twice_is_joined() -> None:
    assert parse("## Goal\na\n## Blocked\nb\n## Goal\nc", "compaction").sections["Goal"] == "a\n\nc"


@pytest.mark.parametrize("body", ["(none)", "None", "- None.", "N/A", "无", "なし", "keine", ""])
def test_a_section_that_says_none_is_empty_and_not_missing(body: str) -> None:
    parsed = parse(f"## Blocked\n{body}\n", "compaction")
    assert parsed.sections == {"Blocked": ""}
    assert "Blocked" not in parsed.missing


@pytest.mark.parametrize("text", ["", "  \n", "I cannot do that.", "# Report\nAll is well.", "```"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_text_without_any_section_is_refused(text: str, kind: SummaryKind) -> None:
    with pytest.raises(sections.NoSections, match="has none of the sections"):
        complete(text, kind)


def test_file_lists_at_the_end_are_cut_off_and_others_stay() -> None:
    lists = file_section({"readFiles": ["a", "b"], "modifiedFiles": ["c"]})
    assert sections.strip_file_lists(f"text\n\n{lists}\n") == "text"
    inside = f"text {lists} goes on"
    assert sections.strip_file_lists(inside) == inside
    assert complete(f"{WHOLE}\n\n{lists}", "compaction") == WHOLE


@given(st.text(), st.sampled_from(KINDS))
def test_any_body_is_read_and_completed_once_and_for_all(text: str, kind: SummaryKind) -> None:
    first = SECTIONS[kind][0].title
    completed = complete(f"## {first}\n{text}", kind)
    assert parse(completed, kind).missing == []
    assert complete(completed, kind) == completed


MARKDOWN = st.lists(
    st.sampled_from(
        ["## Goal", "**Done**", "```", "```py", "~~~", "====", "---", "- a", "Goal:", "", "text",
         "### Blocked", "<read-files>", "</read-files>", "# 3. Next", "## x"]
    )
).map("\n".join)  # fmt: skip


@given(MARKDOWN, st.sampled_from(KINDS))
def test_completing_twice_is_completing_once(text: str, kind: SummaryKind) -> None:
    try:
        completed = complete(text, kind)
    except sections.NoSections:
        return
    assert complete(completed, kind) == completed
