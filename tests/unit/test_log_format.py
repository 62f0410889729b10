import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.log.format import (
    COMMON_SUFFIX,
    MESSAGE_PREFIX,
    PAYLOAD_FIRST,
    READABLE_PREFIX,
    Header,
    SessionWarning,
    iso_timestamp,
    milliseconds,
    new_id,
    now,
    read_header,
    record_line,
)
from tests.unit.helpers import entry
from tests.unit.session_files import JSON, TIMESTAMP, decoded, header, text_line, user


def test_a_header_is_read_and_written_alike() -> None:
    record = header(cwd="/w/démo", parentSession="/s/parent.jsonl")
    made = read_header(record)
    assert made == Header(record["id"], 3, TIMESTAMP, "/w/démo", "/s/parent.jsonl")
    assert made is not None
    assert made.line() == text_line(record) + b"\n"


def test_a_header_without_parent_says_nothing_of_one() -> None:
    assert b"parentSession" not in Header("s", 3, TIMESTAMP, "/", None).line()


@pytest.mark.parametrize(
    ("version", "read"),
    [
        (None, 1),
        (1, 1),
        (2, 2),
        (3, 3),
        (4, 4),
        (3.0, 3),
        (0, 1),
        (-7, 1),
        ("3", 3),
        (True, 3),
        ([], 3),
    ],
)
def test_the_version_of_a_header(version: Any, read: int) -> None:
    made = read_header({**header(), "version": version})
    assert made is not None
    assert made.version == read


def test_a_header_without_a_version_is_version_1() -> None:
    made = read_header(header(1))
    assert made is not None
    assert made.version == 1


@pytest.mark.parametrize(
    "record",
    [
        {"type": "session"},
        {"type": "session", "id": ""},
        {"type": "session", "id": 7},
        user("a"),
        [],
        1,
    ],
)
def test_what_has_no_session_id_is_no_header(record: Any) -> None:
    assert read_header(record) is None


@given(JSON, JSON, JSON)
@settings(deadline=None)
def test_odd_header_fields_are_as_if_they_were_not_there(one: Any, two: Any, three: Any) -> None:
    record = {**header(), "version": one, "cwd": two, "timestamp": three, "parentSession": one}
    made = read_header(record)
    assert made is not None
    assert made.version >= 1
    assert isinstance(made.cwd, str | None)


def test_a_warning_travels_with_its_place() -> None:
    warning = SessionWarning("bad-line", "m", 3, 40, 5, "a")
    assert warning.as_json() == {
        "code": "bad-line",
        "message": "m",
        "line": 3,
        "offset": 40,
        "length": 5,
        "entryId": "a",
    }
    assert SessionWarning("c", "m").as_json()["line"] is None


@given(st.datetimes(timezones=st.just(UTC), min_value=datetime(1971, 1, 1)))
@settings(deadline=None)
def test_timestamps_are_utc_in_milliseconds(moment: datetime) -> None:
    text = iso_timestamp(moment)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text)
    given_back = milliseconds(text)
    assert given_back is not None
    assert 0 <= moment.timestamp() * 1000 - given_back < 1.001
    elsewhere = moment.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert iso_timestamp(elsewhere) == text


def test_now_is_a_timestamp() -> None:
    assert milliseconds(now()) is not None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1970-01-01T00:00:00.000Z", 0),
        ("1970-01-01T00:00:01.5Z", 1500),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T00:00:00", 0),
        ("yesterday", None),
        ("", None),
        (7, None),
        (None, None),
    ],
)
def test_milliseconds_of_a_timestamp(text: object, wanted: int | None) -> None:
    assert milliseconds(text) == wanted


def test_new_ids_are_8_hex_digits_that_nobody_has() -> None:
    asked: list[str] = []

    def taken(candidate: str) -> object:
        asked.append(candidate)
        return 0 if len(asked) < 5 else None  # an ordinal may be 0

    assert new_id(taken) == asked[4]
    assert all(re.fullmatch("[0-9a-f]{8}", one) for one in asked)


def test_a_record_is_one_compact_line() -> None:
    assert (
        record_line({"type": "x", "text": "a\nb\u2028é"})
        == '{"type":"x","text":"a\\nb\u2028é"}\n'.encode()
    )
    assert record_line({"t": "\ud83d"}) == b'{"t":"\\ud83d"}\n'
    assert record_line({"n": 2**70}) == b'{"n":1180591620717411303424}\n'


@pytest.mark.parametrize("parent_id", ["p", None])
def test_the_fixed_parts_of_pi_s_lines_are_known(parent_id: str | None) -> None:
    found = MESSAGE_PREFIX.match(text_line(user("a", parent_id)))
    parent = parent_id.encode() if parent_id else None
    assert found is not None
    assert found.groups() == (b"a", parent, b"user")
    line = text_line(
        {"type": "custom", "customType": "note", "data": {"x": 1}, "id": "a", "parentId": parent_id}
        | {"timestamp": TIMESTAMP}
    )
    first, last = PAYLOAD_FIRST.match(line), COMMON_SUFFIX.search(line)
    assert first is not None
    assert last is not None
    assert (first.groups(), last.groups()) == ((b"custom", b"note"), (b"a", parent))
    readable = READABLE_PREFIX.match(text_line(entry("a", parent_id, "label"))[:60])
    assert readable is not None
    assert readable[2] == b"a"


def test_common_fields_of_something_inside_an_entry_are_not_its_own() -> None:
    inner = {"x": 1, "id": "inner", "parentId": None, "timestamp": TIMESTAMP}
    line = text_line({"type": "custom", "customType": "note", "id": "a", "data": inner})
    assert COMMON_SUFFIX.search(line) is None
    escaped = text_line({"type": "custom", "customType": "note", "data": text_line(inner).decode()})
    assert COMMON_SUFFIX.search(escaped) is None
    assert decoded(escaped)["data"].endswith("}")
