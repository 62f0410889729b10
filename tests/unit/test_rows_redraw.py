"""A drawing that is brought up to date is the one that would be made anew."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchline.entries import STRUCTURAL, Flag, facts_of, flags_of, kind_of
from branchline.tree.drawing import Drawing, View
from branchline.tree.index import NONE, Columns, Tree
from branchline.tree.layout import redraw
from tests.unit.made_sessions import MadeSession
from tests.unit.test_rows_properties import EXAMPLES, KINDS

VIEWS = st.builds(
    View,
    filter=st.sampled_from(("default", "noTools", "userOnly", "labeledOnly", "all")),
    layout=st.sampled_from(("pinned", "pinned", "pinned", "pi")),
    runs_as_one=st.booleans(),
    query=st.sampled_from((None, None, "text")),
)


class Growing:
    """A session that is appended to, with two drawings: one that is kept, one made each time."""

    def __init__(self) -> None:
        self.session = MadeSession()
        self.tree = Tree(Columns())
        self.kept = Drawing(self.tree, self.session)

    def take_in(self) -> None:
        """Take what was added to the session into the tree; the leaf stays."""
        for entry in self.session.entries[len(self.tree) :]:
            kind = kind_of(entry)
            parent = entry["parentId"]
            self.tree.append(
                entry["id"],
                NONE if parent is None else self.tree.find(parent) or 0,
                kind,
                flags_of(entry, kind),
                1,
                facts_of(entry, kind) if kind in STRUCTURAL else None,
            )

    def move(self, entry_id: str | None) -> None:
        """Move the leaf."""
        found = NONE if entry_id is None else self.tree.find(entry_id)
        assert found is not None
        self.tree.leaf = found

    def check(self, view: View) -> None:
        """The two drawings agree."""
        anew = Drawing(self.tree, self.session)
        assert self.kept.window(view, {}, limit=10_000) == anew.window(view, {}, limit=10_000)
        assert self.kept.overview(view) == anew.overview(view)


def ids(session: MadeSession) -> list[str]:
    """The ids of all entries."""
    return [entry["id"] for entry in session.entries]


@given(data=st.data())
@EXAMPLES
def test_moves_and_appends_in_any_order(data: st.DataObject) -> None:
    growing = Growing()
    session = growing.session
    views = data.draw(st.lists(VIEWS, min_size=1, max_size=3))

    def add_some() -> None:
        for _ in range(data.draw(st.integers(1, 6))):
            known = ids(session)
            parent = data.draw(
                st.sampled_from([*known[-4:], *known[-1:] * 8, None][-10:] if known else [None])
            )
            if data.draw(st.integers(0, 7)) == 0 and known:
                parent = data.draw(st.sampled_from(known))
            number = f"e{len(known)}"
            match data.draw(st.sampled_from((*KINDS, "label"))):
                case "label" if known:
                    session.label(number, data.draw(st.sampled_from(known)), "text", parent)
                case "user" | "assistant" | "toolResult" as role:
                    session.message(role, number, parent, content="text", toolName="read")
                case "silent":
                    session.message("assistant", number, parent, content=[])
                case "tool" | "label":
                    session.message("toolResult", number, parent, toolName="read")
                case other:
                    session.add(other, number, parent, customType="x", summary="text")
        growing.take_in()

    for _ in range(data.draw(st.integers(1, 12))):
        if not session.entries or data.draw(st.booleans()):
            add_some()
        if data.draw(st.booleans()):
            growing.move(data.draw(st.sampled_from([*ids(session)[-8:], *ids(session), None])))
        else:
            growing.move(ids(session)[-1])
        some = st.frozensets(st.sampled_from([*ids(session), "root"]), max_size=4)
        for at, view in enumerate(views):
            if data.draw(st.integers(0, 5)) == 0:
                views[at] = replace(view, folded=data.draw(some), expanded=data.draw(some))
            growing.check(views[at])


def test_after_a_move_only_what_is_below_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    growing = Growing()
    growing.session.user("e0", None)
    for number in range(1, 400):
        growing.session.user(f"e{number}")
    growing.session.user("aside", "e390")
    growing.take_in()
    growing.move("e399")
    growing.check(View())
    drawn = growing.kept._draw(View())[1]
    rows: list[int | None] = []

    def watched(*given: object) -> int | None:
        rows.append(redraw(*given))  # type: ignore[arg-type]
        return rows[-1]

    monkeypatch.setattr("branchline.tree.drawing.redraw", watched)
    for place in ("aside", "e399", "e395", "aside"):
        growing.move(place)
        growing.check(View())
    assert rows == [390, 390, 396, 390]  # the branch that is left takes a row above e391
    assert growing.kept._draw(View())[1] is drawn
    growing.session.user("more", "aside")
    growing.take_in()
    growing.move("more")
    growing.check(View())
    assert rows[-1] == 392  # the row of what it answers


def test_many_switches_leave_nothing_behind() -> None:
    growing = Growing()
    growing.session.user("a", None)
    for number in range(20):
        growing.session.user(f"b{number}", "a")
        growing.session.user(f"t{number}")
    growing.take_in()
    view = View(expanded=frozenset({"b1", "b2", "b3"}))
    sizes = set()
    for one, other in pairwise([f"t{number % 20}" for number in range(60)]):
        growing.move(one)
        growing.check(view)
        growing.move(other)
        growing.check(view)
        drawn = growing.kept._draw(view)[1]
        sizes.add((len(drawn._sizes), len(drawn._rows)))
    assert len(sizes) < 8


def test_a_closer_look_that_changes_what_is_shown_is_drawn_anew() -> None:
    growing = Growing()
    for number in range(4):
        growing.session.assistant(f"e{number}")
    growing.take_in()
    growing.move("e3")
    growing.check(View())
    growing.tree.flags[1] &= ~Flag.HAS_TEXT  # what a verification finds out
    growing.tree.version += 1
    growing.check(View())
    assert len(growing.kept.window(View(), {})["rows"]) == 3


@pytest.mark.parametrize("label", [None, "t1", "t2"])
def test_runs_of_tools_join_and_part_with_the_leaf(label: str | None) -> None:
    growing = Growing()
    session = growing.session
    session.user("a", None)
    session.user("x")
    session.user("y")
    session.message("toolResult", "t1", "a", toolName="read")
    for number in range(2, 6):
        session.message("toolResult", f"t{number}", toolName="read")
    session.user("z")
    growing.take_in()
    for view in (View(runs_as_one=True), View(runs_as_one=True, expanded=frozenset({"x", "t4"}))):
        for place in ("t2", "t5", "t3", "z", "t1", "t4", "x", "t5", "y", "z"):
            growing.move(place)
            growing.check(view)
        if label is not None:
            session.label(f"label {len(growing.tree)}", label, "text", "z")
            growing.take_in()
        growing.check(view)


def test_what_was_one_of_many_branches_is_found_where_it_is_hidden_now() -> None:
    growing = Growing()
    session = growing.session
    session.user("a", None)
    session.user("c")
    for number in range(8):
        session.user(f"b{number}", "c")
    session.user("d", "a")
    session.label("label", "b3", "text", "d")
    growing.take_in()
    for place in ("b7", "d", "b7", "c", "d"):
        growing.move(place)
        growing.check(View())


def test_the_newest_branch_is_that_of_what_is_shown() -> None:
    growing = Growing()
    session = growing.session
    session.user("a", None)
    for fork in ("q", "r"):
        session.user(fork, "a")
        session.user(f"{fork}1", fork)
        session.user(f"{fork}2", fork)
    session.message("assistant", "silent", "q1", content=[])
    session.user("z", "a")
    growing.take_in()
    view = View(expanded=frozenset({"q", "r"}))
    for place in ("silent", "z", "silent", "r1", "z"):
        growing.move(place)
        growing.check(view)


def test_a_view_is_drawn_again_after_another_looked_from_elsewhere() -> None:
    growing = Growing()
    growing.session.user("a", None)
    growing.session.assistant("b")
    growing.session.message("assistant", "silent", content=[])
    growing.take_in()
    for place, view in (("silent", View()), ("a", View(runs_as_one=True)), ("silent", View())):
        growing.move(place)
        growing.check(view)
