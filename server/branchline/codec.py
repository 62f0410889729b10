"""JSON as Branchline reads and writes it: exact where it matters, strict on the way out.

orjson does the work. The standard library's ``json`` takes over for the few texts that orjson
refuses (lone surrogates, NaN, deep nesting) or would change (integers beyond 64 bits).

Promises:
* integers keep every digit, however long; a number that no float holds (``1e400``, an integer of
  thousands of digits) becomes a string of its digits, never ``Infinity``;
* what goes to a client or a model (`encode`, `relay`) is strict JSON in valid UTF-8: no NaN, no
  Infinity, and a lone half of a surrogate pair is U+FFFD;
* what goes into a file (`encode_record`) keeps lone surrogates as the escapes they came as.
"""

import json
import json.encoder
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import orjson

Json = Any
"""A decoded JSON value. The one place, beside the wire, where types end."""

REPLACEMENT = "\ufffd"

_DIGITS_ONLY = bytes(0x30 if 0x30 <= byte <= 0x39 else 0x20 for byte in range(256))
_LONG_NUMBER = b"0" * 19  # the shortest run of digits that may exceed 64 bits
_SURROGATES = re.compile("[\ud800-\udfff]")
_ESCAPE = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_quote: Callable[[str], str] = json.encoder.encode_basestring
_quote_ascii: Callable[[str], str] = json.encoder.encode_basestring_ascii
_MAX_DIGITS = 4000  # Python refuses to convert longer ones (see sys.set_int_max_str_digits)


@dataclass(frozen=True, slots=True)
class Raw:
    """A JSON text that `encode` passes on as it is. Made by `relay`."""

    text: bytes


class DecodeError(ValueError):
    """The text is not JSON, or is nested deeper than any reader here can follow."""


def decode(text: bytes) -> Json:
    """Decode one JSON text without changing a value.

    Raises `DecodeError`; also for valid JSON nested about a thousand levels deep.
    """
    if _LONG_NUMBER not in text.translate(_DIGITS_ONLY):
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            pass  # the slow reader decides: it accepts what orjson is too strict for
    return _decode_slowly(text.decode("utf-8", "replace"))


def is_json(text: bytes) -> bool:
    """Whether `decode` would accept the text. Much cheaper: the value is thrown away."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            _decode_slowly(text.decode("utf-8", "replace"))
        except DecodeError:
            return False
    return True


def decode_first(text: str, start: int) -> tuple[Json, int]:
    """Decode the JSON value that begins at ``text[start]``; give it and the position after it."""
    try:
        return _READER.raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise DecodeError(str(error)) from None


def encode(value: Json) -> bytes:
    """Encode for a client or a model: compact, strict, valid UTF-8."""
    try:
        return orjson.dumps(value, default=_fragment, option=orjson.OPT_PASSTHROUGH_DATACLASS)
    except (orjson.JSONEncodeError, TypeError):
        return _SURROGATES.sub(REPLACEMENT, _write(value, _quote)).encode()


def encode_record(value: Json) -> bytes:
    """Encode for a session file: compact, one line, lone surrogates kept as escapes."""
    try:
        return orjson.dumps(value)
    except (orjson.JSONEncodeError, TypeError):
        text = _write(value, _quote)
        if _SURROGATES.search(text):
            text = _write(value, _quote_ascii)
        return text.encode()


def relay(raw: bytes) -> Raw:
    """Wrap a stored JSON text so that `encode` passes it on byte for byte.

    Only what strict JSON forbids is changed: invalid UTF-8, lone surrogate escapes, NaN.
    """
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode("utf-8", "replace")
        raw = text.encode()
    if b"\\u" in raw and (b"\\ud" in raw or b"\\uD" in raw):
        raw = _without_lone_escapes(raw)
    if b"NaN" in raw or b"Infinity" in raw:
        raw = encode(decode(raw))
    return Raw(raw)


def clean_text(text: str) -> str:
    """The text with each lone half of a surrogate pair replaced by U+FFFD."""
    return _SURROGATES.sub(REPLACEMENT, text)


def utf16_length(text: str) -> int:
    """The length in UTF-16 code units, as JavaScript (and so Pi) counts characters."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def javascript_length(value: Json) -> int:
    """The length of ``JSON.stringify(value)`` in UTF-16 code units."""
    text = encode_record(value).decode()
    length = utf16_length(text)
    if ".0" in text or "e" in text or "E" in text:
        length += _number_difference(value)
    return length


def _fragment(value: object) -> orjson.Fragment:
    if isinstance(value, Raw):
        return orjson.Fragment(value.text)
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def _decode_slowly(text: str) -> Json:
    try:
        return _READER.decode(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise DecodeError(str(error)) from None


def _read_float(digits: str) -> float | str:
    number = float(digits)
    return number if math.isfinite(number) else digits


def _read_integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _MAX_DIGITS else digits


def _read_constant(_name: str) -> None:
    return None  # NaN and Infinity have no JSON form; JSON.stringify writes null as well


_READER = json.JSONDecoder(
    parse_float=_read_float, parse_int=_read_integer, parse_constant=_read_constant
)


def _write(value: Json, quote: Callable[[str], str]) -> str:
    """The value as strict JSON text, for what orjson refuses. A loop: it follows any depth."""
    parts: list[str] = []
    pending: list[Iterator[tuple[str, Json]]] = [iter([("", value)])]
    closing: list[str] = [""]
    while pending:
        step = next(pending[-1], None)
        if step is None:
            pending.pop()
            parts.append(closing.pop())
            continue
        before, item = step
        parts.append(before)
        match item:
            case dict():
                parts.append("{")
                closing.append("}")
                pending.append(_members(item, quote))
            case list() | tuple():
                parts.append("[")
                closing.append("]")
                pending.append(("," if at else "", each) for at, each in enumerate(item))
            case str():
                parts.append(quote(item))
            case bool() | None:
                parts.append({True: "true", False: "false", None: "null"}[item])
            case int():
                parts.append(str(item))
            case float():
                parts.append(repr(item) if math.isfinite(item) else "null")
            case Raw():
                parts.append(item.text.decode())
            case _:
                raise TypeError(f"{type(item).__name__} is not a JSON value")
    return "".join(parts)


def _members(item: dict[str, Json], quote: Callable[[str], str]) -> Iterator[tuple[str, Json]]:
    for at, (key, each) in enumerate(item.items()):
        yield f"{',' if at else ''}{quote(key)}:", each


def _without_lone_escapes(raw: bytes) -> bytes:
    """Replace each ``\\uD8xx`` escape that is not half of a pair by ``\\ufffd``."""
    parts: list[bytes] = []
    position = 0
    high: re.Match[bytes] | None = None
    for match in _ESCAPE.finditer(raw):
        unit = int(match[1], 16) if match[1] else 0
        is_low = 0xDC00 <= unit <= 0xDFFF
        if high is not None:
            paired = is_low and match.start() == high.end()
            if not paired:
                parts += [raw[position : high.start()], b"\\ufffd"]
                position = high.end()
            high = None
            if paired:
                continue
        if 0xD800 <= unit <= 0xDBFF:
            high = match
        elif is_low:
            parts += [raw[position : match.start()], b"\\ufffd"]
            position = match.end()
    if high is not None:
        parts += [raw[position : high.start()], b"\\ufffd"]
        position = high.end()
    return b"".join([*parts, raw[position:]])


def _number_difference(value: Json) -> int:
    """How much longer JavaScript writes the floats inside ``value`` than we do."""
    difference = 0
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, float):
            difference += len(javascript_number(item)) - len(encode_record(item))
    return difference


def javascript_number(number: float) -> str:
    """The float as JavaScript prints it (ECMAScript, Number::toString)."""
    sign, digit_tuple, exponent = Decimal(repr(number)).normalize().as_tuple()
    digits = "".join(map(str, digit_tuple))
    if digits == "0" or not isinstance(exponent, int):
        return "0"
    point = len(digits) + exponent  # where the decimal point stands, counted from the first digit
    if len(digits) <= point <= 21:
        text = digits + "0" * (point - len(digits))
    elif 0 < point <= 21:
        text = f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = digits[0] + ("." + digits[1:] if len(digits) > 1 else "") + f"e{point - 1:+d}"
    return "-" + text if sign else text
