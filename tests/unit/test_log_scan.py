"""What a scan finds: by example, and then over random files that are cut, flipped and fused."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from branchline.entries import Entry, Flag, Kind
from branchline.log.scan import LineScanner
from tests.unit.helpers import TESTS, entry, expected, message
from tests.unit.session_files import (
    SESSION_ID,
    assistant,
    codes,
    cuts_of,
    header,
    ids,
    pi_entries,
    records_of,
    scan,
    text_line,
    text_of_file,
    user,
)

A, B, C = user("a"), user("b", "a"), user("c", "b")
TEXT = [{"type": "text", "text": "x"}]


def warned(found: LineScanner) -> list[tuple[str, int | None, int | None, int | None]]:
    return [(one.code, one.line, one.offset, one.length) for one in found.warnings]


# --- what is clean ---------------------------------------------------------------------------


@pytest.mark.parametrize("verified", [True, False])
def test_a_clean_file_has_its_entries_at_their_places_and_no_warnings(verified: bool) -> None:
    content = text_of_file(header(), A, B)
    found = scan(content, verified=verified)
    assert ids(found) == ["a", "b"]
    assert found.columns.parent_ids == [None, "a"]
    assert records_of(content, found) == [text_line(A), text_line(B)]
    assert found.header is not None
    assert (found.header.id, found.version, found.lines) == (SESSION_ID, 3, 3)
    assert found.header_record == text_line(header())
    assert found.warnings == []


@pytest.mark.parametrize("verified", [True, False])
def test_crlf_and_blank_lines_are_nothing_to_warn_of(verified: bool) -> None:
    content = text_of_file(header(), b"", A, b" \t", B, b"").replace(b"\n", b"\r\n")
    found = scan(content, verified=verified)
    assert (ids(found), codes(found)) == (["a", "b"], [])
    assert records_of(content, found) == [text_line(A), text_line(B)]


def test_lines_end_at_lf_alone() -> None:
    odd = user("a", None, "one\u2028two\u2029three\u0085four\x0b\x0c")
    found = scan(text_of_file(header(), odd, B))
    assert (ids(found), codes(found), found.lines) == (["a", "b"], [], 3)


def test_an_entry_may_be_spelt_in_any_way() -> None:
    spelt = b'\t{ "parentId" : null,"id":"\\u0061", "type":"label" , "targetId":"a" } '
    found = scan(text_of_file(header(), spelt), verified=False)
    assert (ids(found), codes(found), found.columns.kinds[0]) == (["a"], [], Kind.LABEL)


def test_any_text_is_an_id() -> None:
    odd = '🙂 \\ " \u2028' + "x" * 500
    content = text_of_file(header(), user(odd), user("b", odd))
    for verified in (True, False):
        found = scan(content, verified=verified)
        assert ids(found) == [odd, "b"]
        assert found.columns.parent_ids == [None, odd]


# --- what is odd -----------------------------------------------------------------------------


def test_a_byte_order_mark_is_no_part_of_the_header() -> None:
    content = b"\xef\xbb\xbf" + text_of_file(header(), A)
    found = scan(content)
    assert warned(found) == [("bom", 1, 0, 3)]
    assert found.header_record == text_line(header())
    assert ids(found) == ["a"]


def test_a_last_line_without_lf_is_read() -> None:
    content = text_of_file(header(), A, B)[:-1]
    found = scan(content)
    start = content.index(text_line(B))
    assert ids(found) == ["a", "b"]
    assert warned(found) == [("no-final-newline", 3, start, len(text_line(B)))]


def test_a_header_alone_without_lf_is_a_session() -> None:
    found = scan(text_line(header()))
    assert found.header is not None
    assert codes(found) == ["no-final-newline"]


@pytest.mark.parametrize("length", [1, 20, -1])
def test_a_cut_last_line_is_torn(length: int) -> None:
    last = text_line(B)[:length]
    content = text_of_file(header(), A) + last
    found = scan(content)
    assert ids(found) == ["a"]
    assert warned(found) == [("torn-tail", 3, len(content) - len(last), len(last))]


def test_a_whole_record_before_a_torn_one_is_read() -> None:
    whole, torn = text_line(B), text_line(C)[:-5]
    content = text_of_file(header(), A) + whole + torn
    found = scan(content)
    assert ids(found) == ["a", "b"]
    assert warned(found) == [("torn-tail", 3, len(content) - len(torn), len(torn))]


def test_nul_bytes_around_a_record_are_warned_of() -> None:
    content = text_of_file(header(), b"\0\0\0" + text_line(A) + b"\0")
    found = scan(content)
    start = len(text_of_file(header()))
    assert warned(found) == [("nul-bytes", 2, start, len(text_line(A)) + 4)]
    assert records_of(content, found) == [text_line(A)]


def test_a_line_of_nul_bytes_is_warned_of() -> None:
    found = scan(text_of_file(header(), A, b"\0" * 10, B))
    assert (ids(found), codes(found)) == (["a", "b"], ["nul-bytes"])
    assert found.warnings[0].line == 3


def test_a_tail_of_nul_bytes_is_torn() -> None:
    found = scan(text_of_file(header(), A) + b"\0" * 10)
    assert (ids(found), codes(found)) == (["a"], ["torn-tail"])


def test_invalid_utf8_is_read_with_replacement_characters() -> None:
    content = text_of_file(header(), text_line(A).replace(b"hello", b"he\xffo"))
    found = scan(content)
    start = len(text_of_file(header()))
    assert ids(found) == ["a"]
    assert warned(found) == [("invalid-utf8", 2, start, len(text_line(A)) - 1)]
    assert found.warnings[0].entry_id == "a"


@pytest.mark.parametrize(
    "fused", [text_line(A) + text_line(B), text_line(A) + b"\0" + text_line(B)]
)
def test_fused_records_are_recovered_and_warned_of(fused: bytes) -> None:
    content = text_of_file(header(), fused, C)
    found = scan(content)
    assert ids(found) == ["a", "b", "c"]
    assert records_of(content, found) == [text_line(A), text_line(B), text_line(C)]
    assert warned(found) == [("bad-line", 2, len(text_of_file(header())), len(fused))]


def test_a_damaged_line_is_warned_of_with_its_place() -> None:
    content = text_of_file(header(), A, b" \tnot json ", B)
    found = scan(content)
    start = content.index(b"not json")
    assert ids(found) == ["a", "b"]
    assert warned(found) == [("bad-line", 3, start, len(b"not json"))]


@pytest.mark.parametrize("value", ["7", "[]", '"text"', "null", "{}", '{"type":"x"}', '{"id":"a"}'])
def test_a_value_that_is_no_entry_is_warned_of(value: str) -> None:
    found = scan(text_of_file(header(), A, value.encode(), B))
    start = len(text_of_file(header(), A))
    assert (ids(found), warned(found)) == (["a", "b"], [("not-an-entry", 3, start, len(value))])


def test_a_second_header_is_warned_of_and_ignored() -> None:
    found = scan(text_of_file(header(), A, header(2, id="other"), B))
    assert (ids(found), codes(found)) == (["a", "b"], ["extra-header"])
    assert found.header is not None
    assert found.header.id == SESSION_ID


def test_a_header_that_is_not_first_is_found() -> None:
    found = scan(text_of_file({"type": "title"}, header(), A))
    start = len(text_of_file({"type": "title"}))
    assert (ids(found), warned(found)) == (["a"], [("header-not-first", 2, start, None)])


def test_a_header_fused_with_an_entry_is_found() -> None:
    found = scan(text_of_file(text_line(header()) + text_line(A), B))
    assert found.header is not None
    assert (ids(found), codes(found)) == (["a", "b"], ["bad-line"])


@pytest.mark.parametrize(
    ("junk", "found"),
    [
        (b"x\n" * 16, True),
        (b"x\n" * 30_000, True),
        (b"x\n" * 40_000, False),
        (b"x" * 70_000 + b"\n", True),
        ((b"x" * 5_000 + b"\n") * 15, True),
        ((b"x" * 5_000 + b"\n") * 16, False),
    ],
)
def test_how_far_a_header_is_looked_for(junk: bytes, found: bool) -> None:
    scanner = scan(junk + text_of_file(header(), A))
    assert (scanner.header is not None) == found
    assert scanner.hopeless != found


@pytest.mark.parametrize(
    ("version", "warnings"),
    [(1, ["migrated-v1"]), (2, ["migrated-v2"]), (3, []), (4, ["newer-version"])],
)
def test_other_versions_are_warned_of(version: int, warnings: list[str]) -> None:
    assert codes(scan(text_of_file(header(version), A))) == warnings


def test_a_lost_record_that_is_named_as_parent_gets_a_placeholder() -> None:
    torn = text_line(B)[:70]
    content = text_of_file(header(), A, torn, C)
    found = scan(content)
    assert ids(found) == ["a", "c", "b"]
    assert found.columns.parent_ids == [None, "b", "a"]
    assert found.columns.kinds[2] == Kind.PLACEHOLDER
    start = content.index(torn)
    assert warned(found) == [
        ("bad-line", 3, start, len(torn)),
        ("placeholder", 3, start, len(torn)),
    ]
    assert [one.entry_id for one in found.warnings] == ["b", "b"]


def test_a_chain_of_lost_records_is_kept() -> None:
    found = scan(text_of_file(header(), A, text_line(B)[:70], text_line(C)[:70], user("d", "c")))
    assert ids(found) == ["a", "d", "c", "b"]
    assert found.columns.parent_ids == [None, "c", "b", "a"]


def test_a_lost_record_that_nobody_names_needs_no_placeholder() -> None:
    found = scan(text_of_file(header(), A, text_line(B)[:70], user("d", "a")))
    assert (ids(found), codes(found)) == (["a", "d"], ["bad-line"])


def test_a_lost_record_that_was_written_again_needs_no_placeholder() -> None:
    found = scan(text_of_file(header(), A, text_line(B)[:70], B, C))
    assert (ids(found), codes(found)) == (["a", "b", "c"], ["bad-line"])


def test_a_parent_that_is_no_text_names_nothing() -> None:
    found = scan(text_of_file(header(), {**A, "parentId": 7}, {**B, "parentId": ["a"]}))
    assert found.columns.parent_ids == ["7", "['a']"]


@pytest.mark.parametrize(
    "odd",
    [
        entry("o", "a", "from-the-future"),
        message("o", "a", "narrator", "x"),
        message("o", "a", "user", [{"type": "hologram"}]),
        assistant("o", "a", TEXT, "bored"),
        assistant("o", "a", TEXT, ["stop"]),  # type: ignore[arg-type]
    ],
)
def test_what_is_new_to_us_is_kept_and_warned_of_once(odd: Entry) -> None:
    found = scan(text_of_file(header(), A, odd, {**odd, "id": "p"}))
    assert (ids(found), codes(found)) == (["a", "o", "p"], ["unknown-type"])
    assert (found.warnings[0].line, found.warnings[0].entry_id) == (3, "o")


def test_the_expected_warnings_of_the_sample_files() -> None:
    links = {"orphan", "cycle", "duplicate-id", "leaf-target-missing", "first-kept-missing"}
    links |= {"orphan-tool-result"}
    for name, wanted in expected("cases").items():
        if wanted["open"] == "error":
            continue
        found = scan((TESTS / "cases" / f"{name}.jsonl").read_bytes())
        assert set(codes(found)) == set(wanted["warnings"]) - links, name


# --- the fast way ----------------------------------------------------------------------------


def summary(found: LineScanner) -> dict[str, Any]:
    """All that a scan found, but for what the fast way only guesses."""
    flags = [flag & (Flag.HAS_TEXT | Flag.ENDED_BADLY) for flag in found.columns.flags]
    return {
        "ids": ids(found),
        "parents": found.columns.parent_ids,
        "kinds": bytes(found.columns.kinds),
        "flags": flags,
        "facts": found.columns.facts,
        "offsets": list(found.places.offsets),
        "lengths": list(found.places.lengths),
        "warnings": found.warnings,
        "header": (found.header, found.header_record),
        "lines": found.lines,
    }


@given(pi_entries())
@settings(deadline=None, max_examples=300)
def test_the_fast_way_finds_what_parsing_finds(records: list[Entry]) -> None:
    content = text_of_file(header(), *records)
    assert summary(scan(content, verified=False)) == summary(scan(content))


def test_the_fast_way_says_what_it_did_not_parse() -> None:
    content = text_of_file(
        header(), A, assistant("b", "a", TEXT), entry("c", "b", "label", targetId="a")
    )
    flags = scan(content, verified=False).columns.flags
    assert [bool(flag & Flag.EXACT) for flag in flags] == [False, False, True]
    assert all(flag & Flag.EXACT for flag in scan(content).columns.flags)


def test_the_fast_way_parses_what_looks_damaged() -> None:
    content = text_of_file(
        header(), A, text_line(B)[:-2], user("c", "a"), text_line(C) + b"\0", b"oops"
    )
    found = scan(content, verified=False)
    assert ids(found) == ["a", "c", "c", "b"]
    assert codes(found) == ["bad-line", "nul-bytes", "bad-line", "placeholder"]


@pytest.mark.parametrize("version", [1, 2, 4])
def test_other_versions_are_always_parsed(version: int) -> None:
    found = scan(text_of_file(header(version), A), verified=False)
    assert found.columns.flags[0] & Flag.EXACT


# --- feeding in pieces -----------------------------------------------------------------------


LINES = st.one_of(
    pi_entries(most=3).map(lambda made: text_of_file(*made)),
    st.sampled_from(
        [b"\n", b"\r\n", b" \t\n", b"\0\0\n", b"oops\n", b"{}\n", b"\xff\n", text_line(A) + b"\n"]
    ),
    st.just(text_line(user("f")) + text_line(user("g", "f")) + b"\n"),
    st.just(text_line(user("t", "f"))[:60] + b"\n"),
)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A file with good and bad lines, and any end."""
    version = draw(st.sampled_from([3, 3, 3, 2, 1]))
    lines = b"".join(draw(st.lists(LINES, max_size=5)))
    content = text_of_file(header(version)) + lines
    return content[: draw(st.integers(len(text_of_file(header(version))), len(content)))]


@given(files(), st.data(), st.booleans())
@settings(deadline=None)
def test_the_pieces_do_not_matter(content: bytes, data: st.DataObject, verified: bool) -> None:
    cuts = data.draw(cuts_of(content))
    assert summary(scan(content, cuts, verified=verified)) == summary(
        scan(content, verified=verified)
    )


# --- damage ----------------------------------------------------------------------------------


@st.composite
def damage(draw: st.DrawFn, content: bytes) -> tuple[bytes, set[int]]:
    """The content with some damage, and which of its bytes are gone or others now."""
    at = draw(st.integers(0, len(content) - 1))
    kind = draw(st.sampled_from(["cut", "flip", "nul", "fuse", "insert"]))
    if kind == "cut":
        return content[:at], set(range(at, len(content)))
    if kind == "flip":
        flipped = content[at] ^ draw(st.integers(1, 255))
        return content[:at] + bytes([flipped]) + content[at + 1 :], {at}
    if kind == "nul":
        end = min(len(content), at + draw(st.integers(1, 40)))
        return content[:at] + b"\0" * (end - at) + content[end:], set(range(at, end))
    if kind == "fuse":
        newline = content.find(b"\n", at)
        return content[:newline] + content[newline + 1 :], {newline}
    junk = draw(st.binary(min_size=1, max_size=8))
    return content[:at] + junk + content[at:], {at - 1, at}


def untouched(records: Iterable[Entry], touched: set[int], content: bytes) -> list[bytes]:
    """The lines of the records none of whose bytes, LF included, was touched."""
    lines, start = [], len(text_of_file(header()))
    for record in records:
        line = text_line(record)
        # A line is as damaged by what happens to the LF before it as to its own.
        if not touched & set(range(start - 1, start + len(line) + 1)):
            lines.append(line)
        start += len(line) + 1
    assert start == len(content)
    return lines


@given(pi_entries().filter(bool), st.data())
@settings(deadline=None, max_examples=400)
@example([A, B], None)
def test_damage_costs_no_record_but_the_damaged_one(
    records: list[Entry], data: st.DataObject | None
) -> None:
    content = text_of_file(header(), *records)
    damaged, touched = (content, set[int]()) if data is None else data.draw(damage(content))
    found = scan(damaged)
    assume(found.header is not None and found.version == 3)
    kept = records_of(damaged, found)
    for line in untouched(records, touched, content):
        assert line in kept
    if any(line not in kept for line in map(text_line, records)):
        whole = {text_line(record) for record in records}
        explained = found.warnings or any(line not in whole for line in kept)
        # A flip can leave other, valid JSON, and a cut at a line's end leaves a shorter file.
        assert explained or (damaged == content[: len(damaged)] and damaged[-1:] == b"\n")
    position = 0
    for warning in sorted(found.warnings, key=lambda one: one.offset or 0):
        assert warning.line is not None
        assert warning.offset is not None
        length = warning.length or 0
        assert 0 <= warning.offset <= warning.offset + length <= len(damaged)
        assert damaged[: warning.offset].count(b"\n") + 1 == warning.line
        assert b"\n" not in damaged[warning.offset : warning.offset + length]
        position = warning.offset
    assert position <= len(damaged)


@given(pi_entries(most=4).filter(bool), st.data())
@settings(deadline=None)
def test_every_line_that_is_no_record_has_a_warning_with_its_place(
    records: list[Entry], data: st.DataObject
) -> None:
    content = text_of_file(header(), *records)
    at = data.draw(st.integers(len(text_of_file(header())), len(content) - 2))
    assume(content[at : at + 1] != b"\n" and content[at + 1 : at + 2] != b"\n")
    damaged = content[: at + 1] + b"\n" + content[at + 1 :]  # one line is two halves now
    found = scan(damaged)
    start = damaged.rindex(b"\n", 0, at + 1) + 1
    end = damaged.index(b"\n", at + 2)
    halves = [(start, at + 1 - start), (at + 2, end - at - 2)]
    places = [(one.offset, one.length) for one in found.warnings if one.code != "placeholder"]
    for half in halves:
        text = damaged[half[0] : sum(half)].strip(b" \t\r")
        assert (half[0] + damaged[half[0] :].index(text), len(text)) in places


@given(st.binary(max_size=300))
@settings(deadline=None)
def test_any_bytes_are_scanned_without_harm(junk: bytes) -> None:
    scan(junk)
    for version in (1, 2, 3):
        scan(text_of_file(header(version)) + junk)
