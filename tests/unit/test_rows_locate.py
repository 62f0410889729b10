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


def found(
    session: MadeSession, query: str, origin: str | None, *, backwards: bool = False, **view: Any
) -> tuple[str, int, int, bool] | None:
    """The entry that is found, which of how many it is, and whether by going round."""
    hit = session.drawing().find(view.get("filter", "default"), query, origin, backwards=backwards)
    return None if hit is None else (hit["id"], hit["number"], hit["total"], hit["wrapped"])


def with_words() -> MadeSession:
    """Path a, b, c, d with a branch x, y at b; the word is in a, y and d."""
    session = MadeSession()
    session.user("a", None, "the Word")
    session.user("b", "a")
    session.user("x", "b")
    session.assistant("y", "x", "a word more")
    session.user("c", "b")
    session.tool("t")
    session.user("d", "t", "last word")
    return session


def test_words_are_found_in_folded_branches_in_the_order_of_the_open_tree() -> None:
    session = with_words()
    assert found(session, "word", "a") == ("y", 2, 3, False)
    assert found(session, "word", "y") == ("d", 3, 3, False)
    assert found(session, "WORD last", "a") == ("d", 1, 1, False)


def test_a_search_goes_round_the_end_in_both_directions() -> None:
    session = with_words()
    assert found(session, "word", "d") == ("a", 1, 3, True)
    assert found(session, "word", "a", backwards=True) == ("d", 3, 3, True)
    assert found(session, "word", "d", backwards=True) == ("y", 2, 3, False)
    assert found(session, "more", "y") == ("y", 1, 1, True)


def test_a_search_begins_at_the_ends_and_anywhere_between() -> None:
    session = with_words()
    assert found(session, "word", None) == ("a", 1, 3, False)
    assert found(session, "word", None, backwards=True) == ("d", 3, 3, False)
    assert found(session, "word", "x") == ("y", 2, 3, False)
    assert found(session, "word", "c", backwards=True) == ("y", 2, 3, False)


def test_a_search_looks_at_what_the_filter_shows() -> None:
    session = with_words()
    assert found(session, "word", "a", filter="userOnly") == ("d", 2, 2, False)
    # A hidden entry counts as its nearest shown ancestor.
    assert found(session, "word", "y", filter="userOnly") == ("d", 2, 2, False)


def test_no_words_and_words_that_are_nowhere_find_nothing() -> None:
    assert found(with_words(), "  ", "a") is None
    assert found(with_words(), "nowhere", "a") is None
    with pytest.raises(NotFound):
        found(with_words(), "word", "gone")
