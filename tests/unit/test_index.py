"""The tree: its rules one by one, then random sessions against a slow and plain model."""

from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.entries import BOOKKEEPING, MOVES, Entry, Flag, Kind, kind_of, move_record
from branchline.log.format import record_line
from branchline.tree.index import NONE, Columns, Tree
from branchline.tree.tokens import entry_tokens
from tests.unit.helpers import chain, entry, index
from tests.unit.session_files import (
    TIMESTAMP,
    header,
    opened_content,
    scan,
    shape,
    text_line,
    text_of_file,
    user,
)


def tree_of(*entries: Entry) -> Tree:
    tree, _ = index(entries)
    return tree


def names(tree: Tree, ordinals: Any) -> list[str]:
    return [tree.ids[ordinal] for ordinal in ordinals]


def path(tree: Tree, entry_id: str) -> list[str]:
    ordinal = tree.find(entry_id)
    assert ordinal is not None
    return names(tree, tree.path(ordinal))


def problems(tree: Tree) -> list[tuple[str, str]]:
    return [(problem.code, tree.ids[problem.ordinal]) for problem in tree.problems]


def label(entry_id: str, parent_id: str | None, target: Any, text: Any) -> Entry:
    return entry(entry_id, parent_id, "label", targetId=target, label=text)


# --- the rules -------------------------------------------------------------------------------


def test_an_empty_session_has_no_leaf() -> None:
    tree = Tree(Columns())
    assert (tree.leaf, list(tree.roots()), tree.path(NONE), tree.tips()) == (NONE, [], [], [])


def test_siblings_and_roots_stand_in_file_order() -> None:
    tree = tree_of(user("b"), user("z", "b"), user("a", "b"), user("m"), user("c", "b"))
    assert names(tree, tree.roots()) == ["b", "m"]
    assert names(tree, tree.children(0)) == ["z", "a", "c"]
    assert names(tree, tree.children(NONE)) == ["b", "m"]


def test_a_child_may_stand_before_its_parent() -> None:
    tree = tree_of(user("child", "parent"), user("parent"))
    assert path(tree, "child") == ["parent", "child"]
    assert names(tree, tree.in_order()) == ["parent", "child"]
    assert problems(tree) == []


def test_a_missing_parent_makes_a_root() -> None:
    tree = tree_of(user("a"), user("b", "gone"), user("c", "b"))
    assert names(tree, tree.roots()) == ["a", "b"]
    assert path(tree, "c") == ["b", "c"]
    assert problems(tree) == [("orphan", "b")]


@pytest.mark.parametrize(
    ("links", "root"),
    [
        ([("a", "a")], "a"),
        ([("a", "b"), ("b", "a")], "a"),
        ([("a", "b"), ("b", "c"), ("c", "a"), ("d", "c")], "a"),
        ([("d", "c"), ("b", "c"), ("c", "a"), ("a", "b")], "b"),
    ],
)
def test_of_a_cycle_the_first_in_the_file_is_the_root(
    links: list[tuple[str, str]], root: str
) -> None:
    tree = tree_of(*(user(name, parent) for name, parent in links))
    assert names(tree, tree.roots()) == [root]
    assert problems(tree) == [("cycle", root)]
    assert all(path(tree, name)[0] == root for name, _ in links)


def test_two_cycles_are_two_roots() -> None:
    tree = tree_of(user("a", "b"), user("b", "a"), user("c", "d"), user("d", "c"))
    assert names(tree, tree.roots()) == ["a", "c"]


def test_of_two_records_with_one_id_the_later_counts() -> None:
    tree = tree_of(user("a"), user("b", "a"), user("b"), user("c", "b"))
    assert tree.find("b") == 2
    assert path(tree, "c") == ["b", "c"]
    assert names(tree, tree.children(0)) == []
    assert list(tree.entries()) == [0, 2, 3]
    assert [(one.code, one.ordinal) for one in tree.problems] == [("duplicate-id", 2)]


def test_a_record_whose_parent_has_its_own_id_is_a_cycle() -> None:
    tree = tree_of(user("a"), user("a", "a"), user("b", "a"))
    assert path(tree, "b") == ["a", "b"]
    assert [(one.code, one.ordinal) for one in tree.problems] == [("duplicate-id", 1), ("cycle", 1)]


def test_a_long_chain_is_no_matter_of_depth() -> None:
    tree = tree_of(*chain(*(user(f"{number:05}") for number in range(50_000))))
    assert len(tree.path(tree.leaf)) == 50_000
    assert len(list(tree.below(0))) == 50_000
    assert tree.common_ancestor(49_999, 25_000) == 25_000
    assert tree.tips() == [49_999]


def test_the_deepest_common_ancestor() -> None:
    tree = tree_of(
        user("a"), user("b", "a"), user("c", "b"), user("d", "b"), user("e", "d"), user("r")
    )
    assert tree.common_ancestor(2, 4) == 1
    assert tree.common_ancestor(4, 3) == 3
    assert tree.common_ancestor(2, 5) == NONE
    assert tree.common_ancestor(NONE, 2) == NONE


def test_the_last_record_is_the_leaf() -> None:
    tree = tree_of(user("a"), user("b", "a"), user("c", "a"), label("l", "b", "a", "x"))
    assert tree.id_of(tree.leaf) == "l"


@pytest.mark.parametrize("target", ["a", None])
def test_a_move_record_and_pi_s_leaf_say_where_the_leaf_is(target: str | None) -> None:
    for move in (move_record("m", target, TIMESTAMP), entry("m", "b", "leaf", targetId=target)):
        tree = tree_of(user("a"), user("b", "a"), move)
        assert tree.id_of(tree.leaf) == target


def test_only_the_last_record_moves_the_leaf() -> None:
    tree = tree_of(user("a"), user("b", "a"), move_record("m", "a", TIMESTAMP), user("c", "b"))
    assert tree.id_of(tree.leaf) == "c"


@pytest.mark.parametrize("target", ["gone", 7, ["a"]])
def test_a_move_to_nowhere_is_the_leaf_itself(target: Any) -> None:
    tree = tree_of(user("a"), entry("m", "a", "leaf", targetId=target))
    assert tree.id_of(tree.leaf) == "m"
    assert problems(tree) == [("leaf-target-missing", "m")]


def test_the_last_label_of_an_entry_counts_and_a_blank_one_clears_it() -> None:
    labels = [
        label("l1", "a", "a", "one"),
        label("l2", "l1", "a", "two"),
        label("l3", "l2", "l1", "x"),
    ]
    tree = tree_of(user("a"), *labels)
    assert {tree.ids[at]: one.text for at, one in tree.labels.items()} == {"a": "two", "l1": "x"}
    for nothing in (None, "", "  ", 7):
        assert 0 not in tree_of(user("a"), *labels, label("l4", "l3", "a", nothing)).labels
    absent = label("l4", "l3", "a", None)
    del absent["label"]
    assert 0 not in tree_of(user("a"), *labels, absent).labels


def test_the_last_name_counts_and_a_blank_one_clears_it() -> None:
    def named(*given: Any) -> str | None:
        return tree_of(
            *(entry(f"n{at}", None, "session_info", name=one) for at, one in enumerate(given))
        ).name

    assert named("one", " two ") == "two"
    assert named("one", "  ") is None
    assert named("one", 7) is None
    assert named() is None


def test_links_to_nowhere_are_problems() -> None:
    edit = entry("e", "a", "context_edit", targetId="gone", replacement=None)
    tree = tree_of(user("a"), edit, label("l", "a", "gone", "x"))
    assert problems(tree) == [("edit-target-missing", "e"), ("label-target-missing", "l")]


def test_bookkeeping_makes_no_branch() -> None:
    tree = tree_of(
        user("a"),
        user("b", "a"),
        label("l", "a", "b", "x"),
        move_record("m", "a", TIMESTAMP),
        user("c", "a"),
        label("k", "c", "a", "y"),
    )
    assert names(tree, tree.tips()) == ["b", "c"]


def test_the_newest_tip_below_is_no_move_record() -> None:
    tree = tree_of(
        user("a"), user("b", "a"), user("c", "b"), user("d", "a"), move_record("m", "c", "")
    )
    assert tree.newest_tip_below(1) == 2
    assert tree.newest_tip_below(0) == 3


def test_a_found_entry_without_parent_is_a_root_and_a_problem() -> None:
    tree = tree_of(user("a"))
    found = Columns()
    found.add("b", "gone", Kind.USER, Flag(0), 1)
    found.add("c", "b", Kind.USER, Flag(0), 1)
    assert [tree.append_found(found, at) for at in range(2)] == [1, 2]
    assert names(tree, tree.roots()) == ["a", "b"]
    assert path(tree, "c") == ["b", "c"]
    assert problems(tree) == [("orphan", "b")]


def test_each_change_is_a_new_version() -> None:
    tree = tree_of(user("a"))
    before = tree.version
    tree.append("b", 0, Kind.USER, Flag(0), 1)
    assert tree.version > before
    assert tree.leaf == 0


# --- a model that is slow and plain ----------------------------------------------------------


@dataclass
class Model:
    """What a file's records mean, by the rules of the format, with no index of any kind."""

    records: list[tuple[str, str | None, Entry]] = field(default_factory=list)

    def current(self) -> list[int]:
        """The records that count: of two with one id the later."""
        last = {entry_id: at for at, (entry_id, _, _) in enumerate(self.records)}
        return sorted(last.values())

    def by_id(self) -> dict[str, int]:
        return {self.records[at][0]: at for at in self.current()}

    def parents(self) -> dict[int, int | None]:
        by_id = self.by_id()
        parents = {}
        for at in self.current():
            parent_id = self.records[at][1]
            parents[at] = by_id.get(parent_id) if parent_id is not None else None
        for at in self.current():  # in file order, so the first member of a cycle is met first
            passed, walker = [at], parents[at]
            while walker is not None and walker not in passed:
                passed.append(walker)
                walker = parents[walker]
            if walker == at:
                parents[at] = None
        return parents

    def path(self, at: int) -> list[int]:
        parents, path = self.parents(), [at]
        while (parent := parents[path[-1]]) is not None:
            path.append(parent)
        return path[::-1]

    def labels(self) -> dict[str, str]:
        by_id, labels = self.by_id(), {}
        for at in self.current():
            record = self.records[at][2]
            if record["type"] == "label" and record["targetId"] in by_id:
                labels[record["targetId"]] = record["label"]
        return {target: text for target, text in labels.items() if text}

    def leaf(self) -> str | None:
        if not self.records:
            return None
        entry_id, _, record = self.records[-1]
        if kind_of(record) is Kind.MOVE:
            target = record["data"]["targetId"]
            return target if target is None or target in self.by_id() else entry_id
        return entry_id


FEW_IDS = st.sampled_from([f"id{number}" for number in range(6)])


@st.composite
def wild_records(draw: st.DrawFn) -> list[Entry]:
    """Records whose ids repeat, and whose parents may be missing, later, or themselves."""
    made: list[Entry] = []
    for _ in range(draw(st.integers(0, 12))):
        entry_id = draw(FEW_IDS)
        parent_id = draw(st.none() | FEW_IDS | st.just("gone"))
        match draw(st.integers(0, 5)):
            case 0:
                made.append(
                    label(entry_id, parent_id, draw(FEW_IDS), draw(st.sampled_from(["", "x"])))
                )
            case 1:
                move = move_record(entry_id, draw(st.none() | FEW_IDS), TIMESTAMP)
                made.append({**move, "parentId": parent_id})
            case _:
                made.append(user(entry_id, parent_id))
    return made


@given(wild_records())
@settings(deadline=None, max_examples=400)
def test_any_links_give_the_tree_that_the_rules_give(records: list[Entry]) -> None:
    tree = tree_of(*records)
    model = Model([(one["id"], one["parentId"], one) for one in records])
    current = model.current()
    parents = model.parents()
    assert list(tree.entries()) == current
    assert {at: tree.parents[at] for at in current} == {
        at: NONE if parent is None else parent for at, parent in parents.items()
    }
    for at in current:
        assert tree.path(at) == model.path(at)
        assert [*tree.path_and_kinds(at)[1]] == [tree.kinds[one] for one in model.path(at)]
        assert list(tree.children(at)) == [one for one in current if parents[one] == at]
    assert list(tree.roots()) == [one for one in current if parents[one] is None]
    assert sorted(tree.in_order()) == current
    met: set[int] = {NONE}
    for at in tree.in_order():
        assert tree.parents[at] in met
        met.add(at)
    assert tree.id_of(tree.leaf) == model.leaf()
    assert {tree.ids[at]: one.text for at, one in tree.labels.items()} == model.labels()
    kinds = {at: kind_of(records[at]) for at in current}
    said = {at for at in current if kinds[at] not in BOOKKEEPING}
    said |= {above for at in said for above in model.path(at)}
    assert tree.tips() == [
        at for at in current if at in said and not any(parents[one] == at for one in said)
    ]
    for at in current:
        below = [one for one in current if at in model.path(one)]
        assert sorted(tree.below(at)) == below
        speaking = [one for one in below if kinds[one] not in MOVES]
        assert tree.newest_tip_below(at) == (speaking[-1] if speaking else at)


@st.composite
def growth(draw: st.DrawFn) -> list[Entry]:
    """Records as a session grows by: each below an earlier one or a root, ids new."""
    made: list[Entry] = []
    for number in range(draw(st.integers(0, 15))):
        earlier = [one["id"] for one in made]
        parent_id = draw(st.sampled_from([None, *earlier]))
        entry_id = f"e{number}"
        match draw(st.integers(0, 4)) if earlier else 4:
            case 0:
                target = draw(st.sampled_from(earlier))
                made.append(
                    label(entry_id, parent_id, target, draw(st.sampled_from(["", "x", "y"])))
                )
            case 1:
                made.append(move_record(entry_id, parent_id, TIMESTAMP))
            case 2:
                made.append(
                    entry(entry_id, parent_id, "session_info", name=draw(st.text(max_size=3)))
                )
            case _:
                made.append(user(entry_id, parent_id))
    return made


@given(growth(), st.data())
@settings(deadline=None)
def test_a_tree_that_grew_is_the_tree_of_the_file(
    records: list[Entry], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(records)))
    grown = Tree(scan(text_of_file(header(), *records[:start])).columns)
    for at, record in enumerate(records[start:], start):
        found = scan(text_of_file(header(), record)).columns
        ours = data.draw(st.booleans())
        if ours:
            parent = NONE if record["parentId"] is None else grown.find(record["parentId"])
            assert parent is not None
            kind = kind_of(record)
            tokens = entry_tokens(record, kind)
            ordinal = grown.append(
                record["id"], parent, kind, Flag(found.flags[0]), tokens, found.facts.get(0)
            )
        else:
            ordinal = grown.append_found(found, 0)
        assert ordinal == at
    with opened_content(text_of_file(header(), *records)) as file:
        assert shape(grown) == shape(file.tree)
    assert grown.problems == []


def columns_of(*records: Entry) -> Columns:
    """The columns of a file of these records."""
    return scan(text_of_file(header(), *records)).columns


@given(wild_records(), st.integers(0, 12))
@settings(deadline=None, max_examples=400)
def test_a_tree_that_says_it_grows_becomes_the_tree_of_the_file(
    records: list[Entry], cut: int
) -> None:
    tree, rest = Tree(columns_of(*records[:cut])), columns_of(*records[cut:])
    if not tree.grows_by(rest):
        return
    for at in range(len(rest)):
        tree.append_found(rest, at)
    tree.place_leaf()
    whole = Tree(columns_of(*records))
    assert shape(tree) == shape(whole)
    assert tree.leaf == whole.leaf
    assert tree.missing == whole.missing
    assert Counter(tree.problems) == Counter(whole.problems)


@given(growth(), st.integers(0, 15))
@settings(deadline=None)
def test_a_tree_grows_by_whatever_comes_in_order(records: list[Entry], cut: int) -> None:
    assert Tree(columns_of(*records[:cut])).grows_by(columns_of(*records[cut:]))


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ([user("a")], [user("a")]),
        ([], [user("a"), user("a")]),
        ([user("a", "b")], [user("b")]),
        ([], [user("a", "b"), user("b")]),
        ([], [user("a", "a")]),
        ([user("a"), label("l", "a", "b", "x")], [user("b")]),
        ([user("a")], [label("l", "a", "b", "x"), user("b")]),
        ([user("a"), move_record("m", "b", "")], [user("b")]),
    ],
)
def test_what_changes_earlier_links_is_no_mere_growth(known: list[Entry], new: list[Entry]) -> None:
    assert not Tree(columns_of(*known)).grows_by(columns_of(*new))


def test_columns_and_tree_share_what_they_know() -> None:
    # A file asks for the kind of an entry that was appended after the scan.
    columns = scan(text_of_file(header(), user("a"))).columns
    tree = Tree(columns)
    tree.append("b", 0, Kind.ASSISTANT, Flag(0), 1)
    assert (columns.ids, columns.kinds[1]) == (["a", "b"], Kind.ASSISTANT)
    assert tree.parents == array("i", [NONE, 0])


def test_a_written_line_is_one_line() -> None:
    written = record_line(user("a", None, "two\nlines \u2028\u0085"))
    assert written.count(b"\n") == 1
    assert written == text_line(user("a", None, "two\nlines \u2028\u0085")) + b"\n"
