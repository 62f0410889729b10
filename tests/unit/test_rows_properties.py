"""What holds for every drawing of every tree."""

from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.entries import Flag, Kind
from branchline.tree.drawing import Drawing, View
from branchline.tree.drawn import Drawn
from branchline.tree.filters import visible
from branchline.tree.index import NONE, Columns, Tree
from branchline.tree.layout import ShownTree, draw
from branchline.tree.locate import Step
from branchline.tree.runs import collapse_runs
from tests.unit.made_sessions import MadeSession

EXAMPLES = settings(max_examples=150, deadline=None)  # a busy machine is no failure

KINDS = ("user", "assistant", "silent", "tool", "tool", "tool", "custom", "compaction")


@dataclass(frozen=True)
class Case:
    """A session, its tree with a leaf somewhere, and a way to look at it."""

    session: MadeSession
    tree: Tree
    view: View

    def parts(self) -> tuple[ShownTree, Drawn]:
        """The drawing in the parts that the view asks for."""
        shown_tree = ShownTree(self.tree, visible(self.tree, self.view.filter))
        ordinals = [
            {self.tree.find(entry_id) or 0 for entry_id in ids}
            for ids in (self.view.folded, self.view.expanded - {"root"})
        ]
        folded, expanded = ordinals
        if "root" in self.view.expanded:
            expanded.add(NONE)
        drawn = draw(self.tree, shown_tree, self.view.layout, folded, expanded)
        if self.view.runs_as_one:
            drawn = collapse_runs(self.tree, drawn, expanded)
        return shown_tree, drawn


@st.composite
def cases(draw_value: st.DrawFn) -> Case:
    """Mostly chains with forks, some with forward links and cycles, which the tree breaks."""
    size = draw_value(st.integers(1, 40))
    chain = draw_value(st.booleans())
    session = MadeSession()
    for number in range(size):
        kind = draw_value(st.sampled_from(KINDS))
        previous = f"e{number - 1}" if number else None
        parent = draw_value(
            st.one_of(
                st.just(previous),
                st.integers(0, max(0, number - 1)).map(lambda at: f"e{at}" if at else None),
                st.just(previous) if chain else st.integers(0, size).map(lambda at: f"e{at}"),
            )
        )
        if kind in ("user", "assistant"):
            session.message(kind, f"e{number}", parent, content="text")
        elif kind == "silent":
            session.message("assistant", f"e{number}", parent, content=[])
        elif kind == "tool":
            session.message("toolResult", f"e{number}", parent, toolName="read")
        else:
            session.add(kind, f"e{number}", parent, customType="x", summary="s")
    ids = [f"e{number}" for number in range(size)]
    for number, target in enumerate(draw_value(st.lists(st.sampled_from(ids), max_size=3))):
        session.label(f"l{number}", target, "label")
    tree = session.tree(draw_value(st.sampled_from([None, *ids])))
    view = View(
        filter=draw_value(
            st.sampled_from(("default", "noTools", "userOnly", "labeledOnly", "all"))
        ),
        layout=draw_value(st.sampled_from(("pinned", "pi"))),
        runs_as_one=draw_value(st.booleans()),
        folded=draw_value(st.frozensets(st.sampled_from(ids), max_size=3)),
        expanded=draw_value(st.frozensets(st.sampled_from([*ids, "root"]), max_size=20)),
    )
    return Case(session, tree, view)


@given(cases())
@EXAMPLES
def test_every_shown_entry_is_drawn_or_stood_for_exactly_once(case: Case) -> None:
    shown_tree, drawn = case.parts()
    represented: list[int] = []
    for row, entry in enumerate(drawn.entries):
        what, members = drawn.stand_ins.get(row, ("", [entry]))
        assert members[0] == entry
        if what in ("folded", "branches"):
            pending = list(members)
            while pending:
                ordinal = pending.pop()
                represented.append(ordinal)
                pending += shown_tree.children(ordinal)
        else:
            represented += members
    expected = [ordinal for ordinal in case.tree.entries() if shown_tree.shown[ordinal]]
    assert sorted(represented) == expected


@given(cases())
@EXAMPLES
def test_parents_are_shown_ancestors_drawn_before_their_children(case: Case) -> None:
    shown = visible(case.tree, case.view.filter)
    rows = Drawing(case.tree, case.session).window(case.view, {})["rows"]
    places = {row["id"]: place for place, row in enumerate(rows)}
    for place, row in enumerate(rows):
        ordinal = case.tree.find(row["id"])
        assert ordinal is not None
        ancestor = case.tree.parents[ordinal]
        while ancestor != NONE and not shown[ancestor]:
            ancestor = case.tree.parents[ancestor]
        assert row["parentId"] == case.tree.id_of(ancestor)
        if row["parentId"] is not None and not case.view.runs_as_one:
            assert places[row["parentId"]] < place


@given(cases())
@EXAMPLES
def test_depths_follow_the_layout(case: Case) -> None:
    shown_tree, drawn = case.parts()
    path = set(case.tree.path(case.tree.leaf))
    no_path = not any(shown_tree.shown[ordinal] for ordinal in path)
    for entry, depth in zip(drawn.entries, drawn.depths, strict=True):
        if case.view.layout == "pi":
            forks = 0
            ancestor = shown_tree.parent(entry)
            while ancestor != NONE:
                forks += ancestor in shown_tree.forks
                ancestor = shown_tree.parent(ancestor)
            assert depth == forks
        elif not no_path:
            assert (depth == 0) == (entry in path)
        elif NONE in shown_tree.forks:
            assert depth >= 1


@given(cases())
@EXAMPLES
def test_lanes_are_what_their_definition_says(case: Case) -> None:
    _, drawn = case.parts()

    def passes(row: int, depth: int) -> bool:
        for below in range(row + 1, len(drawn)):
            if drawn.depths[below] < depth:
                return False
            if drawn.depths[below] == depth and (drawn.heads[below] or depth == 0):
                return True
        return False

    expected = []
    for row, depth in enumerate(drawn.depths):
        guides = [line for line in range(depth) if passes(row, line)]
        goes_on = passes(row, depth)
        if goes_on and not drawn.heads[row] and depth > 0:
            guides.append(depth)
        expected.append((guides, not goes_on))
    assert drawn.lanes(0, len(drawn)) == expected


@given(cases())
@EXAMPLES
def test_siblings_are_numbered_as_their_definition_says(case: Case) -> None:
    rows = Drawing(case.tree, case.session).window(case.view, {})["rows"]
    depths = [row["depth"] for row in rows]
    for index, row in enumerate(rows):
        start, stop = index, index
        while start > 0 and depths[start - 1] >= row["depth"]:
            start -= 1
        while stop < len(rows) and depths[stop] >= row["depth"]:
            stop += 1
        assert row["position"] == depths[start : index + 1].count(row["depth"])
        assert row["siblings"] == depths[start:stop].count(row["depth"])


@given(cases(), st.sampled_from([None, "label", "text", "nowhere"]))
@EXAMPLES
def test_the_overview_agrees_with_the_rows(case: Case, query: str | None) -> None:
    drawing = Drawing(case.tree, case.session)
    searching = replace(case.view, query=query)
    overview = drawing.overview(searching)
    whole = drawing.window(case.view, {})
    rows = whole["rows"]
    assert (overview["total"], overview["leafRow"]) == (whole["total"], whole["leafRow"])
    assert overview["labels"] == sorted(set(overview["labels"]))
    assert {at for at, row in enumerate(rows) if row["label"]} <= set(overview["labels"])
    groups = [at for at, row in enumerate(rows) if row["type"] == "branches"]
    assert set(groups) <= set(overview["forks"])
    found = drawing.window(searching, {})["rows"] if query else []
    places = {row["id"]: at for at, row in enumerate(rows)}
    assert len(overview["hits"]) == len(found)
    for hit, row in zip(overview["hits"], found, strict=True):
        assert places.get(row["id"], hit) == hit


@given(cases(), st.integers(1, 7))
@EXAMPLES
def test_windows_of_any_size_make_up_the_whole(case: Case, size: int) -> None:
    drawing = Drawing(case.tree, case.session)
    whole = drawing.window(case.view, {})
    parts = [
        row
        for offset in range(0, whole["total"], size)
        for row in drawing.window(case.view, {}, offset=offset, limit=size)["rows"]
    ]
    assert parts == whole["rows"]
    marked = [place for place, row in enumerate(whole["rows"]) if row["isLeaf"]]
    assert marked == ([] if whole["leafRow"] is None else [whole["leafRow"]])


@given(cases(), st.data())
@EXAMPLES
def test_steps_agree_with_the_rows(case: Case, data: st.DataObject) -> None:
    drawing = Drawing(case.tree, case.session)
    window = drawing.window(case.view, {})
    rows = window["rows"]
    if not rows:
        return
    place = data.draw(st.integers(0, len(rows) - 1))

    def step(to: Step) -> int | None:
        found = drawing.locate(case.view, rows[place]["id"], to)
        if found is None:
            return None
        assert rows[found["offset"]]["id"] == found["id"]
        return found["offset"]

    def first(places: range, kind: str) -> int | None:
        for other in places:
            if rows[other]["type"] in ("run", "branches"):
                continue
            if rows[other]["role" if kind == "user" else "label"] == kind:
                return other
        return None

    after, before = range(place + 1, len(rows)), range(place - 1, -1, -1)
    assert step("nextUser") == first(after, "user")
    assert step("previousUser") == first(before, "user")
    assert step("nextLabel") == first(after, "label")
    assert step("previousLabel") == first(before, "label")
    assert step("leaf") == window["leafRow"]
    parent = step("parent")
    if parent is None:
        assert rows[place]["parentId"] is None
    elif rows[parent]["type"] != "run":
        assert rows[parent]["id"] == rows[place]["parentId"]
    onwards = step("nextSibling")
    if onwards is not None:
        assert onwards > place
    backwards = step("previousSibling")
    if backwards is not None:
        assert backwards < place


@given(cases(), st.lists(st.tuples(st.integers(0, 60), st.sampled_from(list(Kind))), max_size=6))
@EXAMPLES
def test_a_drawing_that_grew_is_the_same_as_a_new_one(
    case: Case, appended: list[tuple[int, Kind]]
) -> None:
    drawing = Drawing(case.tree, case.session)
    drawing.window(case.view, {})
    for number, (at, kind) in enumerate(appended):
        parent = at if at < len(case.tree) else case.tree.leaf
        case.session.message("user", f"n{number}", None, content="new")
        case.tree.leaf = case.tree.append(f"n{number}", parent, kind, Flag.HAS_TEXT, 1)
        fresh = Drawing(case.tree, case.session)
        assert drawing.window(case.view, {}) == fresh.window(case.view, {})


def test_columns_of_no_entry_draw_nothing() -> None:
    session = MadeSession()
    window = Drawing(Tree(Columns()), session).window(View(), {})
    assert window == {"rows": [], "offset": 0, "total": 0, "leafRow": None}
