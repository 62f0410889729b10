import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.entries import Entry
from branchline.log.recovery import looks_like_record, salvage
from tests.unit.session_files import header, pi_entries, text_line, user

ONE, TWO, THREE = (text_line(user(name, None, f"say {name}")) for name in "abc")
INSIDE = text_line(
    {"type": "custom", "customType": "x", "id": "o", "parentId": None, "data": user("inner")}
)


def saved(line: bytes, *, with_ids: bool = True) -> list[bytes]:
    return [line[start:end] for start, end in salvage(line, with_ids=with_ids).records]


@pytest.mark.parametrize("between", [b"", b" ", b"\x00", b"\x00\x00 \t\r"])
def test_fused_records_are_found_apart(between: bytes) -> None:
    assert saved(between.join([ONE, TWO, THREE])) == [ONE, TWO, THREE]


@pytest.mark.parametrize("cut", [1, 10, len(ONE) // 2, len(ONE) - 1])
def test_a_record_behind_a_cut_one_is_found(cut: int) -> None:
    assert saved(ONE[:cut] + TWO) == [TWO]
    assert saved(ONE + TWO[:cut] + THREE) == [ONE, THREE]


def test_a_record_before_a_cut_one_is_found() -> None:
    assert saved(ONE + TWO[:40]) == [ONE]


def test_several_records_behind_a_cut_one_are_found_in_order() -> None:
    assert saved(ONE[:50] + TWO + b"\x00" + THREE) == [TWO, THREE]


def test_an_object_inside_a_cut_record_is_no_record() -> None:
    # One byte more, and it could as well be a record fused onto a cut one: nobody can tell.
    assert saved(INSIDE[:-2]) == []
    assert saved(INSIDE[:-2] + ONE) == [ONE]
    assert saved(INSIDE[:-10] + ONE) == [ONE]


def test_a_cut_record_shows_its_id_and_parent() -> None:
    found = salvage(text_line(user("b", "a", "long text"))[:60])
    assert (found.lost_id, found.lost_parent_id, found.lost_at) == ("b", "a", 0)
    root = salvage(ONE[:60])
    assert (root.lost_id, root.lost_parent_id) == ("a", None)


def test_where_a_lost_record_begins() -> None:
    found = salvage(ONE + b"\x00" + text_line(user("b", "a"))[:60])
    assert (found.lost_id, found.lost_at) == ("b", len(ONE) + 1)


def test_a_prefix_without_a_parent_is_no_help() -> None:
    assert salvage(ONE[: ONE.index(b'"parentId"')]).lost_id is None


def test_text_that_is_no_record_at_all() -> None:
    for line in (b"hello", b"[1,2", b"\xff\xfe", b'{"a":1}{"b":2', b"}{"):
        found = salvage(line)
        assert (found.records, found.lost_id) == ([], None)


def test_the_digits_of_text_before_a_record_hide_nothing() -> None:
    assert saved(b"1 2 " + ONE) == [ONE]
    assert saved(b"panic: out of memory" + ONE) == [ONE]


def test_version_1_records_have_no_ids_but_a_known_type() -> None:
    old = b'{"type":"message","message":{"role":"user","content":"x"}}'
    other = b'{"type":"text","text":"y"}'
    assert saved(old + old, with_ids=False) == [old, old]
    assert saved(old + old) == []
    assert saved(old[:20] + other, with_ids=False) == []


def test_what_looks_like_a_record() -> None:
    assert looks_like_record(user("a"))
    assert looks_like_record(header())
    assert not looks_like_record({"type": "text", "id": "a"})
    assert not looks_like_record({"type": 1, "id": "a", "parentId": None})
    assert not looks_like_record([])
    assert looks_like_record({"type": "message"}, with_ids=False)
    assert not looks_like_record({"type": "text"}, with_ids=False)


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_any_bytes_are_searched_without_harm(line: bytes) -> None:
    found = salvage(line)
    assert all(0 <= start < end <= len(line) for start, end in found.records)


@given(pi_entries(most=4).filter(bool), st.data())
@settings(deadline=None)
def test_whole_records_survive_what_stands_before_them(
    records: list[Entry], data: st.DataObject
) -> None:
    lines = [text_line(record) for record in records]
    cut = data.draw(st.integers(1, len(lines[0]) - 1))
    line = lines[0][:cut] + b"".join(lines)
    assert saved(line)[-len(lines) :] == lines


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":' * 200_000,
        b'{"type":"x","id":"' + b'{"type":"x",' * 100_000,
        b"[" * 1_000_000,
        b'{"a":' * 300_000,
        b'"' + b'{"type":"a","id":"b","parentId":null,"c":"' * 30_000,
    ],
)
def test_a_line_made_to_be_slow_stays_cheap(line: bytes) -> None:
    start = time.perf_counter()
    salvage(line)
    assert time.perf_counter() - start < 4  # it takes less than one
