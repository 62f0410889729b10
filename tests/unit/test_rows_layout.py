"""The order, depth and folding of drawn rows."""

from branchline.entries import Flag, Kind
from branchline.tree.drawing import Drawing, View
from tests.unit.made_sessions import MadeSession, fan, forked


def test_pinned_keeps_the_active_path_at_depth_0_and_folds_every_other_branch() -> None:
    assert forked().picture() == ["a", "b", "  x+", "c", "  z", "d", "e"]


def test_a_branch_of_one_entry_is_that_row_and_nothing_to_fold() -> None:
    row = forked().row("z")
    assert (row["folded"], row["foldable"], row["hidden"]) == (False, False, None)


def test_an_expanded_branch_draws_its_chain_at_one_depth() -> None:
    assert forked().picture(expanded=["x"]) == ["a", "b", "  x", "  y", "c", "  z", "d", "e"]


def test_in_an_expanded_branch_the_way_to_the_newest_entry_goes_on_at_the_same_depth() -> None:
    session = forked()
    session.user("older", "y")
    session.user("newer", "y")
    session.user("newest", "newer")
    session.user("older-still-goes-on", "older")
    picture = session.picture("e", expanded=["x"])
    assert picture[2:6] == ["  x", "  y", "    newer+", "  older"]
    assert picture[6] == "  older-still-goes-on"


def test_the_way_to_the_newest_entry_changes_as_the_tree_grows() -> None:
    session = forked()
    session.user("one", "y")
    session.user("two", "y")
    tree = session.tree("e")
    drawing = Drawing(tree, session)
    view = View(expanded=frozenset({"x"}))

    def rows_below_y() -> list[tuple[str, int]]:
        rows = drawing.window(view, {}, offset=4, limit=2)["rows"]
        return [(row["id"], row["depth"]) for row in rows]

    assert rows_below_y() == [("one", 2), ("two", 1)]
    session.user("three", "one")
    parent = tree.find("one")
    assert parent is not None
    tree.append("three", parent, Kind.USER, Flag.EXACT, 1)
    assert rows_below_y() == [("two", 2), ("one", 1)]


def test_an_entry_below_the_leaf_is_a_branch() -> None:
    assert forked().picture("c")[-3:] == ["c", "  z", "  d+"]


def test_folding_an_entry_of_the_active_path_hides_all_below_it() -> None:
    session = forked()
    assert session.picture(folded=["c"]) == ["a", "b", "  x+", "c+"]
    row = session.row("c", folded=["c"])
    assert row["isLeaf"]
    assert row["hidden"] is not None
    assert row["hidden"]["entries"] == 4


def test_folding_wins_over_expanding_and_a_childless_entry_does_not_fold() -> None:
    assert forked().picture(folded=["x", "e"], expanded=["x"]) == forked().picture()


def test_an_entry_inside_an_expanded_branch_can_be_folded() -> None:
    session = forked()
    session.user("w", "y")
    picture = session.picture("e", expanded=["x"], folded=["y"])
    assert picture[2:4] == ["  x", "  y+"]
    assert session.row("y", "e", expanded=["x"], folded=["y"])["foldable"]


def test_five_folded_siblings_stay_rows_and_six_become_one() -> None:
    assert fan(5).picture()[1:] == [*(f"  b{number}+" for number in range(5)), "end"]
    assert fan(6).picture() == ["root-entry", "  b0+", "end"]
    row = fan(6).row("b0")
    assert (row["type"], row["text"], row["role"]) == ("branches", "6 branches", None)
    assert (row["foldable"], row["childCount"], row["tokens"]) == (True, 6, 24)
    assert row["hidden"] == {
        "entries": 12,
        "messages": 12,
        "tokens": 24,
        "branches": 6,
        "lastTimestamp": "2026-01-01T00:12:00.000Z",
    }


def test_many_siblings_tell_the_time_of_the_newest_entry_below_any_of_them() -> None:
    session = fan(6)
    session.user("late", "t0")
    hidden = session.row("b0", "end")["hidden"]
    assert hidden is not None
    assert hidden["lastTimestamp"] == "2026-01-01T00:14:00.000Z"


def test_the_row_of_many_siblings_opens_by_its_id_or_by_that_of_the_fork() -> None:
    closed = [f"  b{number}+" for number in range(6)]
    assert fan(6).picture(expanded=["root-entry"])[1:-1] == closed
    assert fan(6).picture(expanded=["b0"])[1:-1] == ["  b0", "  t0", *closed[1:]]


def test_an_expanded_sibling_stands_beside_the_row_of_the_others() -> None:
    picture = fan(7).picture(expanded=["b3"])
    assert picture == ["root-entry", "  b0+", "  b3", "  t3", "end"]
    assert fan(7).row("b0", expanded=["b3"])["text"] == "6 branches"


def test_other_roots_follow_the_active_path_as_branches() -> None:
    session = forked()
    session.user("r", None)
    session.user("s", "r")
    assert session.picture("e")[-2:] == ["e", "  r+"]
    assert session.picture("s")[:2] == ["r", "s"]
    assert session.picture("s")[2:] == ["  a+"]


def test_many_roots_open_by_the_name_root() -> None:
    session = MadeSession()
    for number in range(7):
        session.user(f"r{number}", None)
    assert session.picture("r6") == ["r6", "  r0+"]
    assert session.row("r0", "r6")["parentId"] is None
    assert len(session.picture("r6", expanded=["root"])) == 7


def test_without_a_leaf_one_root_is_drawn_open_and_several_folded() -> None:
    assert forked().picture(None) == ["a", "b", "  x+", "c", "  z", "d", "e"]
    assert not any(row["onActivePath"] or row["isLeaf"] for row in forked().rows(None))
    session = forked()
    session.user("r", None)
    assert session.picture(None) == ["  a+", "  r"]


def test_pi_puts_every_branch_one_deeper_the_active_one_first_and_folds_nothing() -> None:
    assert forked().picture(layout="pi") == [
        "a", "b", "  c", "    d", "    e", "    z", "  x", "  y",
    ]  # fmt: skip
    assert forked().picture("y", layout="pi")[2:4] == ["  x", "  y"]


def test_pi_folds_what_is_named_and_draws_roots_at_depth_0() -> None:
    session = forked()
    session.user("r", None)
    assert session.picture("e", layout="pi", folded=["c"]) == ["a", "b", "  c+", "  x", "  y", "r"]
    assert session.picture(layout="pi")[0] == "r"


def test_a_fork_of_hidden_entries_is_a_fork_of_what_is_shown() -> None:
    session = MadeSession()
    session.user("a", None)
    session.add("custom", "hidden", "a")
    session.user("b", "hidden")
    session.user("c", "hidden")
    session.user("d", "a")
    assert session.picture() == ["a", "  b", "  c", "d"]
    row = session.row("c")
    assert row["parentId"] == "a"
    assert session.row("a")["childCount"] == 3


def test_lines_pass_where_another_branch_follows() -> None:
    session = forked()
    session.user("q", "b")
    session.user("p", "y")
    rows = session.rows("e", expanded=["x"])
    lanes = [(row["id"], row["guides"], row["last"]) for row in rows]
    assert lanes == [
        ("a", [], False),
        ("b", [], False),
        ("x", [0], False),
        ("y", [0, 1], False),
        ("p", [0, 1], False),
        ("q", [0], True),
        ("c", [], False),
        ("z", [0], True),
        ("d", [], False),
        ("e", [], True),
    ]


def test_branch_heads_and_roots_are_foldable() -> None:
    foldable = [row["id"] for row in forked().rows(expanded=["x"]) if row["foldable"]]
    assert foldable == ["a", "x", "c", "d"]
    session = forked()
    session.user("f", "e")
    assert session.row("e", "d", expanded=["e"])["foldable"]
    assert not session.row("e")["foldable"]


def steps(count: int) -> MadeSession:
    session = MadeSession()
    session.user("start", None)
    for number in range(count):
        session.tool(f"t{number}", name="read" if number % 2 == 0 else "edit")
    session.assistant("done")
    return session


def test_three_tool_rows_in_succession_become_one_row() -> None:
    assert steps(2).picture(runs_as_one=True) == ["start", "t0", "t1", "done"]
    assert steps(3).picture(runs_as_one=True) == ["start", "t0+", "done"]
    assert steps(3).picture() == ["start", "t0", "t1", "t2", "done"]


def test_a_run_tells_its_steps_and_sums_up_all_entries_from_the_first_to_the_last() -> None:
    session = steps(3)
    row = session.row("t0", runs_as_one=True)
    assert row["text"] == "3 steps: 2 read 1 edit"
    assert (row["type"], row["role"], row["tool"]) == ("run", None, None)
    assert (row["foldable"], row["folded"], row["error"]) == (True, True, False)
    assert row["childCount"] == 1
    assert row["tokens"] == 2 * 3 + 7 * 2
    assert row["hidden"] == {
        "entries": 5,
        "messages": 5,
        "tokens": 20,
        "branches": 1,
        "lastTimestamp": "2026-01-01T00:06:00.000Z",
    }


def test_a_run_says_how_many_steps_failed() -> None:
    session = steps(3)
    session.entries[4]["message"]["isError"] = True
    row = session.row("t0", runs_as_one=True)
    assert row["text"] == "3 steps: 2 read 1 edit 1 failed"
    assert row["error"]


def test_a_run_opens_when_it_is_expanded() -> None:
    assert steps(3).picture(runs_as_one=True, expanded=["t0"]) == steps(3).picture()


def test_the_leaf_inside_a_run_marks_the_run() -> None:
    session = steps(3)
    row = session.row("t0", "t2", runs_as_one=True)
    assert row["isLeaf"]
    assert row["onActivePath"]


def test_a_label_ends_a_run() -> None:
    session = steps(5)
    session.label("l", "t2", "here", parent="done")
    assert session.picture(runs_as_one=True) == ["start", "t0", "t1", "t2", "t3", "t4", "done"]


def test_a_branch_between_tool_rows_ends_a_run() -> None:
    session = steps(5)
    session.user("aside", "t2")
    picture = session.picture("done", runs_as_one=True)
    assert picture == ["start", "t0+", "  aside", "t3", "t4", "done"]


def test_a_folded_tool_row_is_in_no_run() -> None:
    picture = steps(3).picture(runs_as_one=True, folded=["t2"])
    assert picture == ["start", "t0", "t1", "t2+"]


def test_tool_rows_of_a_branch_and_of_the_path_after_it_are_no_run() -> None:
    session = MadeSession()
    session.user("start", None)
    session.user("u")
    session.tool("t0")
    session.tool("t1")
    session.tool("t2", "start")
    picture = session.picture(runs_as_one=True, expanded=["u"])
    assert picture == ["start", "  u", "  t0", "  t1", "t2"]


def test_single_tool_rows_that_are_branches_of_one_fork_are_no_run() -> None:
    session = MadeSession()
    session.user("start", None)
    for number in range(4):
        session.tool(f"t{number}", "start")
    assert session.picture(runs_as_one=True) == ["start", "  t0", "  t1", "  t2", "t3"]


def test_a_window_of_any_place_is_part_of_the_whole() -> None:
    session = forked()
    drawing = session.drawing()
    whole = session.rows()
    window = drawing.window(View(), {}, offset=2, limit=3)
    assert window == {"rows": whole[2:5], "offset": 2, "total": 7, "leafRow": 6}
    assert drawing.window(View(), {}, offset=99, limit=3)["rows"] == []


def test_around_puts_an_entry_or_what_stands_for_it_in_the_middle() -> None:
    drawing = forked().drawing()
    middles = {}
    for entry_id in ("a", "y", "d", "e"):
        window = drawing.window(View(), {}, around=entry_id, limit=3)
        middles[entry_id] = [row["id"] for row in window["rows"]]
    assert middles == {
        "a": ["a", "b", "x"],
        "y": ["b", "x", "c"],
        "d": ["z", "d", "e"],
        "e": ["z", "d", "e"],
    }


def test_deep_chains_and_wide_forks_are_drawn_without_recursion() -> None:
    session = MadeSession()
    for number in range(20_000):
        session.user(f"c{number}")
    for number in range(1_000):
        session.user(f"f{number}", "c10")
    drawing = session.drawing("c19999")
    window = drawing.window(View(), {}, around="c19999", limit=20)
    assert window["total"] == 20_001
    pi = drawing.window(View(layout="pi"), {}, offset=20_999, limit=20)
    assert [row["id"] for row in pi["rows"]] == ["f999"]
    assert pi["rows"][0]["guides"] == []
    opened = drawing.window(View(expanded=frozenset({"c10"})), {}, offset=0, limit=0)
    assert opened["total"] == 21_000


def test_a_window_reads_the_bodies_of_its_own_rows_only() -> None:
    session = MadeSession()
    for number in range(1_000):
        session.user(f"c{number}")
    session.drawing().window(View(), {}, around="c500", limit=10)
    assert sorted(session.read) == [f"c{number}" for number in range(495, 505)]
