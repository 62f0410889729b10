import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline import codec

CHARACTERS = st.characters(exclude_categories=())  # lone surrogates too
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**300), 2**300)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(CHARACTERS, max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(CHARACTERS, max_size=4), inner)
    ),
    max_leaves=12,
)
SURROGATE_FREE = st.text(st.characters(codec="utf-8"), max_size=8)


def strict(text: bytes) -> Any:
    """Read as a strict reader does: valid UTF-8, no NaN, no lone surrogate."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    value = json.loads(text.decode(), parse_constant=refuse)
    json.dumps(value, ensure_ascii=False).encode()
    return value


def joined(value: Any) -> Any:
    """The value with surrogate halves that happen to stand together joined, as a reader does."""
    return json.loads(json.dumps(value))


@given(VALUES)
@settings(deadline=None)
def test_a_record_comes_back_as_it_went_out(value: Any) -> None:
    text = codec.encode_record(value)
    assert b"\n" not in text
    assert codec.decode(text) == joined(value)
    text.decode()


@given(VALUES)
@settings(deadline=None)
def test_what_goes_out_is_strict_json(value: Any) -> None:
    strict(codec.encode(value))


@given(st.recursive(st.integers() | SURROGATE_FREE, lambda inner: st.lists(inner, max_size=3)))
@settings(deadline=None)
def test_what_is_strict_already_goes_out_unchanged(value: Any) -> None:
    assert strict(codec.encode(value)) == value


@given(VALUES, st.integers(0, 3), st.booleans())
@settings(deadline=None)
def test_relayed_text_keeps_its_meaning(value: Any, indent: int, ascii_only: bool) -> None:
    text = json.dumps(joined(value), indent=indent or None, ensure_ascii=ascii_only)
    raw = text.encode("utf-8", "surrogatepass")
    relayed = codec.relay(raw)
    if ascii_only:
        cleaned = json.loads(codec.clean_text(json.dumps(joined(value), ensure_ascii=False)))
        assert strict(relayed.text) == cleaned
    else:
        strict(relayed.text)


@given(SURROGATE_FREE.filter(lambda text: "NaN" not in text and "Infinity" not in text))
@settings(deadline=None)
def test_relayed_text_keeps_its_bytes(text: str) -> None:
    for ascii_only in (True, False):
        quoted = json.dumps(text, ensure_ascii=ascii_only)
        spelt = f' {{ "b" :\t1.50, "a":1e2 ,"n":{10**30 + 1}, "t": {quoted} }}'.encode()
        assert codec.relay(spelt).text == spelt
        assert codec.encode({"entries": [codec.relay(spelt)]}) == b'{"entries":[' + spelt + b"]}"


@pytest.mark.parametrize(
    "digits",
    ["9007199254740993", "18446744073709551616", "-9223372036854775809", "1" * 60, "7" * 4000],
)
def test_integers_keep_every_digit(digits: str) -> None:
    value = codec.decode(digits.encode())
    assert value == int(digits)
    assert codec.encode(value) == codec.encode_record(value) == digits.encode()


@pytest.mark.parametrize("digits", ["1e400", "-1e400", "9" * 4001])
def test_numbers_that_nothing_holds_become_their_digits(digits: str) -> None:
    assert codec.decode(b'{"n":%s}' % digits.encode()) == {"n": digits}
    assert strict(codec.encode(codec.decode(digits.encode()))) == digits


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_becomes_null(name: str) -> None:
    raw = b'{"n": %s, "t": "NaN"}' % name.encode()
    assert codec.decode(raw) == {"n": None, "t": "NaN"}
    assert strict(codec.relay(raw).text) == {"n": None, "t": "NaN"}
    assert codec.encode([math.nan, math.inf, -math.inf]) == b"[null,null,null]"
    assert codec.encode(["\ud800", math.nan]) == '["\ufffd",null]'.encode()


def test_lone_surrogates_stay_in_the_file_and_become_u_fffd_outside() -> None:
    raw = rb'{"t":"a\ud83db\ude00","pair":"\ud83d\ude00","quoted":"\\ud83d"}'
    value = codec.decode(raw)
    assert value == {"t": "a\ud83db\ude00", "pair": "😀", "quoted": "\\ud83d"}
    assert codec.decode(codec.encode_record(value)) == value
    wanted = {"t": "a\ufffdb\ufffd", "pair": "😀", "quoted": "\\ud83d"}
    assert strict(codec.encode(value)) == wanted
    assert strict(codec.relay(raw).text) == wanted


@pytest.mark.parametrize(
    ("escaped", "wanted"),
    [
        (rb"\ud800", "\ufffd"),
        (rb"\uDC00", "\ufffd"),
        (rb"\ud800\ud800\udc00", "\ufffd\U00010000"),
        (rb"\udc00\ud800", "\ufffd\ufffd"),
        (rb"\ud800\n\udc00", "\ufffd\n\ufffd"),
        (rb"\\\ud800", "\\\ufffd"),
        (rb"\\ud800", "\\ud800"),
    ],
)
def test_relay_replaces_halves_and_nothing_else(escaped: bytes, wanted: str) -> None:
    assert strict(codec.relay(b'"' + escaped + b'"').text) == wanted


@pytest.mark.parametrize("raw", [b'"\xff"', b'"\xed\xa0\x80"', b'"a\xc3"'])
def test_invalid_utf8_is_read_with_replacement_characters(raw: bytes) -> None:
    assert "\ufffd" in codec.decode(raw)
    assert strict(codec.relay(raw).text) == codec.decode(raw)


@pytest.mark.parametrize(
    "raw", [b"", b"{", b'{"a":}', b"{'a':1}", b'"a\nb"', b'{"a":1} x', b"\x00", b"[1,]", b"nul"]
)
def test_what_is_no_json_is_refused(raw: bytes) -> None:
    assert not codec.is_json(raw)
    with pytest.raises(codec.DecodeError):
        codec.decode(raw)


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_deep_nesting_is_refused_not_followed(opening: bytes) -> None:
    closing = b"]" if opening == b"[" else b"}"
    deep = opening * 100_000 + b"1" + closing * 100_000
    assert not codec.is_json(deep)
    with pytest.raises(codec.DecodeError):
        codec.decode(deep)
    with pytest.raises(codec.DecodeError):
        codec.decode_first(deep.decode(), 0)


def test_depth_that_can_be_read_can_be_written() -> None:
    raw = b"[" * 900 + b"1" + b"]" * 900
    value = codec.decode(raw)
    assert codec.encode(value) == codec.encode_record(value) == raw
    assert codec.encode([codec.relay(raw), "\ud800"]) == b"[" + raw + ',"\ufffd"]'.encode()


def test_a_byte_order_mark_before_a_value_is_accepted() -> None:
    assert codec.decode(b"\xef\xbb\xbf[1]") == [1]


def test_only_json_values_are_written() -> None:
    for value in ({1: 2}, {"a": {1, 2}}, [object()]):
        with pytest.raises(TypeError):
            codec.encode(value)
        with pytest.raises(TypeError):
            codec.encode_record(value)


@given(st.text(CHARACTERS))
@settings(deadline=None)
def test_utf16_length_counts_as_javascript_does(text: str) -> None:
    assert codec.utf16_length(text) == sum(2 if ord(one) > 0xFFFF else 1 for one in text)


@pytest.mark.parametrize(
    ("number", "wanted"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (-1.5, "-1.5"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (1.5e300, "1.5e+300"),
        (1e-6, "0.000001"),
        (1.25e-7, "1.25e-7"),
        (123456.789, "123456.789"),
    ],
)
def test_numbers_have_the_length_that_javascript_gives_them(number: float, wanted: str) -> None:
    assert codec.javascript_number(number) == wanted
    assert codec.javascript_length({"n": [number]}) == len('{"n":[]}') + len(wanted)


def test_lengths_count_utf16_units() -> None:
    assert codec.javascript_length({"é": "😀", "n": 1}) == len('{"é":"..","n":1}')
