"""Text made fit for a summary, and cues that are compiled for speed."""

import re
import time
from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.codec import clean_text
from branchline.summaries.offline.languages import CUES, LANGUAGES
from branchline.summaries.offline.languages.cue import Cue
from branchline.summaries.offline.languages.language import Language
from branchline.summaries.offline.wording import LONGEST_WHOLE, sentences, whole
from branchline.summaries.sections import parse
from tests.unit.made_talks import Talk
from tests.unit.test_offline_rules import NO_RULES, RULES

# --- the first request -------------------------------------------------------------------------


def test_lists_paths_and_emphasis_of_a_request_stay_words_of_one_line() -> None:
    text = "Port src/a.py to Rust:\n1. keep `main()`\n- keep the flags\n\n## Later\nship it, x < y"
    assert whole(text) == (
        "Port src/a.py to Rust: 1. keep `main()` - keep the flags Later ship it, x < y"
    )


def test_what_is_pasted_into_a_request_is_quoted_and_shortened() -> None:
    log = "\n".join(f"line {number}: error" for number in range(200))
    made = whole(f"It fails:\n```\n{log}\n```\nPlease fix it.\n> Never mind the log.\nThanks.")
    assert made.startswith("It fails: `line 0: error line 1: error")
    assert made.endswith("…` Please fix it. `Never mind the log.` Thanks.")
    assert len(made) < 300


def test_of_a_very_long_request_the_beginning_and_the_end_stay() -> None:
    made = whole("Begin here. " + "word " * 2_000 + "`code` End here.")
    assert made.startswith("Begin here. word word")
    assert made.endswith("word `code` End here.")
    assert made.count(" … ") == 1
    assert LONGEST_WHOLE - 50 < len(made) <= LONGEST_WHOLE


def test_a_long_request_is_there_after_five_updates() -> None:
    request = "Make the import fast. " + "It has many steps that all matter. " * 60
    text = Talk().user(request).edit("a.py").text()
    for number in range(5):
        text = Talk().user(f"Now do part {number}.").reply("Done.").text(previous=text)
    assert request.strip() in text


PIECES = st.sampled_from(
    [
        *(
            "`",
            "``",
            "```",
            "\n",
            " ",
            "> ",
            "# ",
            "- ",
            "1. ",
            "**",
            "__",
            "|",
            "<b>",
            "</summary>",
        ),
        *("word", "src/a.py", "…", "&lt;", "句。", "\x1b[0m", "\u202e", "\ud800", "x" * 900),
    ]
)


@settings(deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join) | st.text())
def test_a_request_made_fit_once_is_fit(text: str) -> None:
    made = whole(text)
    assert whole(made) == made
    assert len(made) <= LONGEST_WHOLE
    assert "\n" not in made
    assert "</summary>" not in made
    assert clean_text(made) == made


@settings(deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_the_first_request_survives_updates_whatever_it_holds(text: str) -> None:
    first = Talk().user(f"Please {text}").text()
    goal = parse(first, "compaction").sections["Goal"]
    assert Talk().sections(previous=first)["Goal"] == goal


# --- sentences ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("It works; the docs do not.", ["It works", "the docs do not."]),
        ("Nice :) go on", ["Nice :)", "go on"]),
        ("Nice 🎉 go on", ["Nice 🎉", "go on"]),
        ("It works, but only here.", ["It works", "but only here."]),
        ("改好了，但是还没测。", ["改好了", "但是还没测。"]),
        ("See e.g. `a; b. c` and 2.5 of a.py, z. B. now.", None),
        ("one, two, three", None),
    ],
)
def test_a_line_is_taken_apart(line: str, parts: list[str] | None) -> None:
    assert sentences(line) == (parts or [line])


# --- cues --------------------------------------------------------------------------------------

NAMES = [one.name for one in fields(Language)]
SAID = [*RULES, *NO_RULES, "No, use X instead of Y.", "Skip step 3.", "修好了。", "動きました。"]


def plainly(name: str) -> re.Pattern[str]:
    patterns = "|".join(f"(?:{getattr(language, name)})" for language in LANGUAGES)
    return re.compile(patterns, re.IGNORECASE | re.VERBOSE)


@pytest.mark.parametrize("name", NAMES)
def test_a_cue_finds_what_its_patterns_find(name: str) -> None:
    cue, plain = getattr(CUES, name), plainly(name)
    found = [bool(cue.search(one)) for one in SAID]
    assert found == [bool(plain.search(one)) for one in SAID]
    for one in SAID:
        assert cue.sub("_", one) == plain.sub("_", one)


def test_common_beginnings_change_nothing() -> None:
    cue = Cue([r"^no\b | \bA(?:b|[|)]) | (?:x|\|)y"], ["不(?:要|用)"])
    for text, is_found in (
        ("no way", True), ("say no", False), ("an ab", True), ("A|", True), ("cab", False),
        ("xy", True), ("|y", True), ("z", False), ("请不要", True), ("NO", True),
    ):  # fmt: skip
        assert bool(cue.search(text)) is is_found, text


@pytest.mark.parametrize(
    "piece", ["ok ", "thanks! ", ", and ", "no, ", ":) ", "keep ", "总是", "いつも"]
)
def test_no_cue_takes_long_over_a_word_said_again_and_again(piece: str) -> None:
    started = time.monotonic()
    for name in NAMES:
        getattr(CUES, name).search(piece * 22 + "x")
    assert time.monotonic() - started < 1
