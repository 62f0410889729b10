"""Params of a method: from decoded JSON to a frozen dataclass, or an error that names the culprit.

A params class is a frozen, slotted, keyword-only dataclass. Its annotations are the whole rule:

    str  int  bool  dict[str, Any]  list[X]  Literal["a", "b"]  another params class
    X | None           null is allowed
    str | int          either, as progress tokens are
    str | list[X]      either, as a message's content is
    X | Absent | None  null and absence mean different things; the default is `ABSENT`
    Annotated[int, Range(0, 9)]      both ends included
    Annotated[list[X], NotEmpty()]   at least one item

A field ``leaf_id`` is read from the key ``leafId``; ``from_`` (a Python keyword) from ``from``.
Keys that no field asks for are ignored. Values inside ``dict[str, Any]`` are never looked at.
"""

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar, Union

from branchline.absent import ABSENT, Absent
from branchline.errors import InvalidParams

Params = TypeVar("Params")


@dataclass(frozen=True, slots=True)
class Range:
    """Bounds of an integer, both included."""

    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True)
class NotEmpty:
    """Marks a list that must hold something."""


@dataclass(frozen=True, slots=True)
class _Type:
    """What a parameter must be, in words, and how it is read.

    ``read`` takes the value and its place (``summary.mode``, ``entries[2]``).
    """

    expected: str
    read: Callable[[object, str], Any]

    def refuse(self, value: object, place: str) -> InvalidParams:
        return InvalidParams(place, f"must be {self.expected}, not {_kind_of(value)}")


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    key: str
    type: _Type
    required: bool


def parse_params(cls: type[Params], raw: object) -> Params:
    """Read the params of a message into ``cls``.

    ``raw`` is the decoded ``params``, None if there were none. Raises `InvalidParams` with the
    name of the first parameter that is missing or wrong.
    """
    if raw is None:
        raw = {}
    if not isinstance(raw, dict):
        raise InvalidParams("params", f"must be an object, not {_kind_of(raw)}")
    params: Params = _read_object(cls, raw, "")
    return params


def keys_of(cls: type) -> tuple[str, ...]:
    """The JSON keys that a params class reads, in the order of its fields."""
    return tuple(field.key for field in _fields(cls))


def _read_object(cls: type, raw: Mapping[str, object], prefix: str) -> Any:
    values: dict[str, object] = {}
    for field in _fields(cls):
        value = raw.get(field.key, ABSENT)
        if value is not ABSENT:
            values[field.name] = field.type.read(value, prefix + field.key)
        elif field.required:
            raise InvalidParams(prefix + field.key, f"is missing: it must be {field.type.expected}")
    return cls(**values)


@functools.cache
def _fields(cls: type) -> tuple[_Field, ...]:
    if not dataclasses.is_dataclass(cls):
        raise TypeError(f"{cls.__name__} is not a params class")
    annotations = typing.get_type_hints(cls, include_extras=True)
    return tuple(
        _Field(
            name=field.name,
            key=_camel_case(field.name),
            type=_type_of(annotations[field.name]),
            required=field.default is dataclasses.MISSING
            and field.default_factory is dataclasses.MISSING,
        )
        for field in dataclasses.fields(cls)
    )


def _camel_case(name: str) -> str:
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(map(str.capitalize, rest))


def _type_of(annotation: Any) -> _Type:
    """Compile one annotation. Raises `TypeError` for one that this module does not know."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is str:
        return _plain("a string", str)
    if annotation is bool:
        return _plain("true or false", bool)
    if annotation is int:
        return _integer(None)
    if origin is dict:
        return _plain("an object", dict)
    if origin is list:
        return _list(_type_of(arguments[0]), may_be_empty=True)
    if origin is Literal:
        return _choice(arguments)
    if origin in (Union, types.UnionType):
        return _nullable(arguments)
    if origin is Annotated:
        return _annotated(*arguments)
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        return _nested(annotation)
    raise TypeError(f"{annotation} cannot be the type of a parameter")


def _plain(expected: str, cls: type) -> _Type:
    def read(value: object, place: str) -> object:
        if not isinstance(value, cls):
            raise plain.refuse(value, place)
        return value

    plain = _Type(expected, read)
    return plain


def _integer(bounds: Range | None) -> _Type:
    def read(value: object, place: str) -> int:
        # JSON has one type of number: 3.0 is an integer to every client written in JavaScript.
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise integer.refuse(value, place)
        if bounds is not None and not bounds.minimum <= value <= bounds.maximum:
            raise InvalidParams(place, f"must be {integer.expected}")
        return value

    expected = "an integer"
    if bounds is not None:
        expected += f" from {bounds.minimum} to {bounds.maximum}"
    integer = _Type(expected, read)
    return integer


def _list(item: _Type, *, may_be_empty: bool) -> _Type:
    def read(value: object, place: str) -> list[object]:
        if not isinstance(value, list):
            raise list_type.refuse(value, place)
        if not value and not may_be_empty:
            raise InvalidParams(place, "must not be empty")
        return [item.read(each, f"{place}[{index}]") for index, each in enumerate(value)]

    list_type = _Type("a list", read)
    return list_type


def _choice(options: tuple[str, ...]) -> _Type:
    def read(value: object, place: str) -> str:
        # The value itself stays out of the message: it may be anything, and of any length.
        if not isinstance(value, str) or value not in options:
            raise InvalidParams(place, f"must be {choice.expected}")
        return value

    choice = _Type("one of " + ", ".join(map(repr, options)), read)
    return choice


def _nullable(arguments: tuple[Any, ...]) -> _Type:
    members = [argument for argument in arguments if argument not in (types.NoneType, Absent)]
    if set(members) == {str, int}:
        inner = _token()
    elif len(members) == 1:
        inner = _type_of(members[0])
    elif members[0] is str and typing.get_origin(members[1]) is list and len(members) == 2:
        inner = _text_or_list(_type_of(members[1]))
    else:
        raise TypeError(f"{arguments} cannot be the type of a parameter")
    if types.NoneType not in arguments:
        return inner

    def read(value: object, place: str) -> object:
        return None if value is None else inner.read(value, place)

    return _Type(f"{inner.expected} or null", read)


def _token() -> _Type:
    def read(value: object, place: str) -> object:
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise token.refuse(value, place)
        return value

    token = _Type("a string or an integer", read)
    return token


def _text_or_list(items: _Type) -> _Type:
    def read(value: object, place: str) -> object:
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return items.read(value, place)
        raise either.refuse(value, place)

    either = _Type("a string or a list", read)
    return either


def _annotated(annotation: Any, mark: object) -> _Type:
    if annotation is int and isinstance(mark, Range):
        return _integer(mark)
    if typing.get_origin(annotation) is list and isinstance(mark, NotEmpty):
        return _list(_type_of(typing.get_args(annotation)[0]), may_be_empty=False)
    raise TypeError(f"{mark} says nothing about {annotation}")


def _nested(cls: type) -> _Type:
    def read(value: object, place: str) -> object:
        if not isinstance(value, dict):
            raise nested.refuse(value, place)
        return _read_object(cls, value, f"{place}.")

    nested = _Type("an object", read)
    return nested


def _kind_of(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"
