"""The table of methods."""

import pytest

from branchline.absent import ABSENT
from branchline.errors import InvalidParams
from branchline.wire.method_params import (
    AppendParams,
    LocateParams,
    SummaryChoice,
    SwitchLeafParams,
    TreeParams,
)
from branchline.wire.methods import METHODS, NOTIFICATIONS
from branchline.wire.params import keys_of, parse_params


@pytest.mark.parametrize("name", METHODS)
def test_every_params_class_can_be_read(name: str) -> None:
    method = METHODS[name]
    assert method.name == name
    assert keys_of(method.params)
    if name not in ("session/create", "session/summarizer"):  # where everything is optional
        with pytest.raises(InvalidParams, match="is missing"):
            parse_params(method.params, {})


def test_names_are_those_of_the_protocol() -> None:
    assert all(name.startswith("session/") for name in [*METHODS, *NOTIFICATIONS])
    assert set(NOTIFICATIONS) == {
        "session/changed",
        "session/reset",
        "session/busy",
        "session/summaryText",
        "session/messageText",
        "session/listChanged",
        "session/indexing",
    }


def test_the_defaults_of_a_tree_window() -> None:
    params = parse_params(TreeParams, {"session": "s"})
    assert (params.filter, params.layout, params.runs) == ("default", "pinned", "none")
    assert (params.offset, params.around, params.limit) == (0, None, 500)
    with pytest.raises(InvalidParams, match="'offset' must be an integer from 0"):
        parse_params(TreeParams, {"session": "s", "offset": -1})
    with pytest.raises(InvalidParams, match="'limit' must be an integer from 1 to 20000"):
        parse_params(TreeParams, {"session": "s", "limit": 0})


def test_a_target_of_null_differs_from_none() -> None:
    params = parse_params(SwitchLeafParams, {"session": "s", "targetId": None})
    assert params.target_id is None
    assert params.summary == SummaryChoice(mode="none")
    with pytest.raises(InvalidParams, match="'targetId' is missing"):
        parse_params(SwitchLeafParams, {"session": "s"})


def test_an_append_needs_entries() -> None:
    params = parse_params(AppendParams, {"session": "s", "entries": [{"type": "x"}]})
    assert params.parent_id is ABSENT
    with pytest.raises(InvalidParams, match="'entries' must not be empty"):
        parse_params(AppendParams, {"session": "s", "entries": []})


def test_locate_reads_from_and_to() -> None:
    params = parse_params(LocateParams, {"session": "s", "from": "a", "to": "nextUser"})
    assert (params.from_, params.to) == ("a", "nextUser")
