"""Params: what is accepted, and which parameter an error names."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.absent import ABSENT, Absent
from branchline.errors import InvalidParams
from branchline.wire.method_params import CompactParams
from branchline.wire.params import NotEmpty, Range, keys_of, parse_params


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    mode: Literal["none", "text"]
    deep_flag: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    session_id: str
    from_: str = "start"
    limit: Annotated[int, Range(1, 10)] = 5
    count: int = 0
    named: bool = False
    data: dict[str, Any] = field(default_factory=dict)
    entries: list[dict[str, Any]] = field(default_factory=list)
    inners: list[Inner] = field(default_factory=list)
    ids: Annotated[list[str], NotEmpty()] = field(default_factory=list)
    summary: Inner = Inner(mode="none")
    label: str | None = None
    parent_id: str | Absent | None = ABSENT


def parse(**params: object) -> Sample:
    return parse_params(Sample, {"sessionId": "s", **params})


def problem(**params: object) -> InvalidParams:
    with pytest.raises(InvalidParams) as caught:
        parse(**params)
    return caught.value


def test_keys_are_camel_case_and_the_rest_has_defaults() -> None:
    assert parse() == Sample(session_id="s")
    assert parse(**{"from": "there"}).from_ == "there"
    assert keys_of(Sample)[:3] == ("sessionId", "from", "limit")


def test_unknown_keys_are_ignored() -> None:
    assert parse(session_id="x", __class__="y", other=1) == Sample(session_id="s")


def test_null_and_absence_can_be_told_apart() -> None:
    assert parse().parent_id is ABSENT
    assert parse(parentId=None).parent_id is None
    assert parse(parentId="a").parent_id == "a"
    assert parse(label=None).label is None


def test_objects_stay_as_they_are() -> None:
    data = {"jsonrpc": "2.0", "a-b": 1, "_x": [None], "type_name": {"class": 2}}
    sample = parse(data=data, entries=[data])
    assert sample.data is data
    assert sample.entries[0] is data


def test_an_integral_number_is_an_integer() -> None:
    assert parse(count=3.0).count == 3
    assert type(parse(count=3.0).count) is int
    assert parse(count=2**70).count == 2**70


def test_nested_params_are_read() -> None:
    assert parse(summary={"mode": "text", "deepFlag": True}).summary.deep_flag is True


@pytest.mark.parametrize(
    ("params", "parameter", "text"),
    [
        ({"from": 1}, "from", "must be a string, not a number"),
        ({"count": True}, "count", "must be an integer, not true or false"),
        ({"count": 1.5}, "count", "must be an integer, not a number"),
        ({"count": None}, "count", "must be an integer, not null"),
        ({"limit": 0}, "limit", "must be an integer from 1 to 10"),
        ({"limit": 11}, "limit", "must be an integer from 1 to 10"),
        ({"limit": "5"}, "limit", "must be an integer from 1 to 10, not a string"),
        ({"named": 1}, "named", "must be true or false, not a number"),
        ({"data": []}, "data", "must be an object, not a list"),
        ({"entries": {}}, "entries", "must be a list, not an object"),
        ({"entries": [{}, {}, "x"]}, "entries[2]", "must be an object, not a string"),
        ({"ids": []}, "ids", "must not be empty"),
        ({"summary": {}}, "summary.mode", "is missing: it must be one of 'none', 'text'"),
        ({"summary": {"mode": "write"}}, "summary.mode", "must be one of 'none', 'text'"),
        ({"summary": {"mode": {}}}, "summary.mode", "must be one of 'none', 'text'"),
        ({"summary": None}, "summary", "must be an object, not null"),
        ({"inners": [{"mode": "text", "deepFlag": 0}]}, "inners[0].deepFlag", "must be true"),
        ({"label": 1}, "label", "must be a string, not a number"),
        ({"parentId": []}, "parentId", "must be a string, not a list"),
    ],
)
def test_a_wrong_parameter_is_named(params: dict[str, object], parameter: str, text: str) -> None:
    error = problem(**params)
    assert error.data["parameter"] == parameter
    assert error.message.startswith(f"Parameter {parameter!r} {text}")


def test_a_missing_parameter_is_named() -> None:
    with pytest.raises(InvalidParams, match="'sessionId' is missing: it must be a string"):
        parse_params(Sample, None)


@pytest.mark.parametrize("raw", [[], "text", 1, True])
def test_params_must_be_an_object(raw: object) -> None:
    with pytest.raises(InvalidParams, match="'params' must be an object, not "):
        parse_params(Sample, raw)


def test_the_value_is_not_in_the_message() -> None:
    assert "secret" not in str(problem(summary={"mode": "secret"}))
    assert "secret" not in str(problem(count="secret"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsupported:
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ambiguous:
    value: list[str] | int


@pytest.mark.parametrize("cls", [Unsupported, Ambiguous, str])
def test_a_class_that_is_no_params_class_is_a_type_error(cls: type) -> None:
    with pytest.raises(TypeError):
        parse_params(cls, {"value": 1})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)  # the machine may be busy
@given(st.dictionaries(st.sampled_from(keys_of(Sample)), JSON))
def test_any_json_is_read_or_refused(params: dict[str, object]) -> None:
    try:
        sample = parse_params(Sample, params)
    except InvalidParams as error:
        named = error.data["parameter"]
    else:
        named = "sessionId"
        assert sample.session_id == params["sessionId"]
    assert str(named).startswith(keys_of(Sample))


def test_a_progress_token_is_a_text_or_a_number() -> None:
    for token in ("t", "", 7, -1, None):
        read = parse_params(CompactParams, {"session": "s", "workDoneToken": token})
        assert read.work_done_token == token
    others: tuple[object, ...] = (True, 1.5, [], {})
    for wrong in others:
        with pytest.raises(InvalidParams, match="'workDoneToken' must be a string or an integer"):
            parse_params(CompactParams, {"session": "s", "workDoneToken": wrong})
