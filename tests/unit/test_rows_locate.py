"""Steps through the drawn tree."""

from typing import Any

import pytest

from branchline.errors import NotFound
from branchline.tree.drawing import View
from branchline.tree.locate import Step
from tests.unit.made_sessions import MadeSession, fan, forked


def step(
    session: MadeSession, origin: str, to: Step, leaf: str | None = "", **view: Any
) -> str | None:
    """Where the step leads, after a look that the row really is there."""
    view["expanded"] = frozenset(view.get("expanded", ()))
    drawing = session.drawing(leaf)
    place = drawing.locate(View(**view), origin, to)
    if place is None:
        return None
    window = drawing.window(View(**view), {}, offset=place["offset"], limit=1)
    assert window["rows"][0]["id"] == place["id"]
    return place["id"]


def test_parent_is_the_shown_parent() -> None:
    assert step(forked(), "x", "parent") == "b"
    assert step(forked(), "a", "parent") is None


def test_a_step_from_a_hidden_entry_starts_at_the_row_that_stands_for_it() -> None:
    assert step(forked(), "y", "parent") == "b"
    assert step(forked(), "y", "parent", expanded=["x"]) == "x"


def test_fork_is_the_nearest_ancestor_with_several_ways_on() -> None:
    assert step(forked(), "e", "fork") == "c"
    assert step(forked(), "c", "fork") == "b"
    assert step(forked(), "b", "fork") is None


def test_siblings_follow_the_drawn_order() -> None:
    assert step(forked(), "x", "nextSibling") == "c"
    assert step(forked(), "c", "previousSibling") == "x"
    assert step(forked(), "c", "nextSibling") is None
    assert step(forked(), "c", "nextSibling", layout="pi") == "x"


def test_a_sibling_step_climbs_to_the_nearest_ancestor_with_siblings() -> None:
    assert step(forked(), "y", "nextSibling", expanded=["x"]) == "c"
    assert step(forked(), "e", "previousSibling") == "z"
    assert step(forked(), "b", "nextSibling") is None


def test_many_folded_siblings_are_one_step() -> None:
    assert step(fan(7), "end", "previousSibling") == "b0"
    assert step(fan(7), "b5", "nextSibling") == "end"


def mixed() -> MadeSession:
    session = MadeSession()
    session.user("u1", None)
    session.assistant("a1")
    for number in range(3):
        session.tool(f"t{number}")
    session.user("u2")
    session.assistant("a2")
    session.label("l", "a1", "first")
    session.label("m", "a2", "second")
    return session


def test_user_and_label_steps_skip_other_rows() -> None:
    assert step(mixed(), "a1", "nextUser") == "u2"
    assert step(mixed(), "u2", "previousUser") == "u1"
    assert step(mixed(), "u1", "previousUser") is None
    assert step(mixed(), "u1", "nextLabel") == "a1"
    assert step(mixed(), "a1", "nextLabel", runs_as_one=True) == "a2"
    assert step(mixed(), "a2", "previousLabel") == "a1"


def test_a_row_of_many_branches_is_no_user_message() -> None:
    assert step(fan(6), "end", "previousUser") == "root-entry"


def test_hits_are_rows_of_a_query() -> None:
    assert step(mixed(), "u1", "nextHit", query="u") == "u2"
    assert step(mixed(), "u2", "previousHit", query="u") == "u1"
    assert step(mixed(), "u1", "nextHit") is None


def test_leaf_is_the_row_of_the_leaf() -> None:
    assert step(mixed(), "u1", "leaf") == "a2"
    assert step(mixed(), "u1", "leaf", leaf=None) is None
    assert step(mixed(), "u1", "leaf", leaf="t2", runs_as_one=True) == "t0"


def test_an_entry_above_every_shown_one_leads_to_the_leaf_only() -> None:
    session = mixed()
    assert step(session, "u1", "nextLabel", filter="labeledOnly") is None
    assert step(session, "u1", "leaf", filter="labeledOnly") == "a2"


def test_an_unknown_entry_is_not_found() -> None:
    drawing = forked().drawing()
    with pytest.raises(NotFound, match="no entry nowhere"):
        drawing.locate(View(), "nowhere", "parent")
    with pytest.raises(NotFound, match="no entry nowhere"):
        drawing.window(View(), {}, around="nowhere")
