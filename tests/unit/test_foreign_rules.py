"""Where entries of another program leave the leaf, and what they branched."""

import pytest

from branchline.entries import Entry, move_record
from branchline.service.foreign import ExternalBranch, branch_beside_leaf, goes_on_from_leaf
from branchline.tree.index import NONE, Tree
from tests.unit.helpers import entry, index
from tests.unit.session_files import TIMESTAMP, user

TREE = (user("a"), user("b", "a"), user("c", "a"))


def tree_with(leaf: str | None, *foreign: Entry) -> Tree:
    tree, _ = index([*TREE, *foreign])
    found = NONE if leaf is None else tree.find(leaf)
    assert found is not None
    tree.leaf = found
    return tree


def move(entry_id: str, target_id: str | None) -> Entry:
    return move_record(entry_id, target_id, TIMESTAMP)


def follows(leaf: str | None, *foreign: Entry) -> bool:
    tree = tree_with(leaf, *foreign)
    return goes_on_from_leaf(tree, len(tree) - 1)


def test_a_child_of_the_leaf_goes_on_from_it() -> None:
    assert follows("c", user("n", "c"))
    assert follows("b", user("n", "b"))


def test_a_label_goes_on_from_the_leaf_as_in_pi() -> None:
    assert follows("c", entry("n", "c", "label", targetId="a", label="x"))


def test_an_entry_elsewhere_does_not() -> None:
    assert not follows("c", user("n", "b"))
    assert not follows("c", user("n", "a"))
    assert not follows("c", user("n", None))


def test_a_root_goes_on_from_before_the_first_entry() -> None:
    assert follows(None, user("n", None))


@pytest.mark.parametrize("target", ["c", None])
def test_a_child_of_the_move_record_that_points_to_the_leaf_goes_on_from_it(
    target: str | None,
) -> None:
    for pointer in (move("m", target), entry("m", "b", "leaf", targetId=target)):
        assert follows(target, pointer, user("n", "m"))
        assert not follows("b", pointer, user("n", "m"))


def test_a_move_of_another_program_moves_only_that_program() -> None:
    assert not follows("c", move("m", "b"))
    assert not follows("c", move("m", "c"))
    assert not follows("c", entry("m", "c", "leaf", targetId="c"))


def test_a_child_of_a_move_to_nowhere_does_not_go_on() -> None:
    assert not follows("c", move("m", "gone"), user("n", "m"))


def beside(leaf: str | None, *foreign: Entry) -> ExternalBranch | None:
    tree = tree_with(leaf, *foreign)
    return branch_beside_leaf(tree, list(range(len(TREE), len(tree))))


def test_a_branch_is_told_by_its_newest_entry_and_where_it_left_our_path() -> None:
    assert beside("c", user("n", "b"), user("o", "n")) == ExternalBranch("a", "o")
    assert beside("c", user("n", "c"), user("o", "b")) == ExternalBranch("a", "o")
    assert beside("b", user("n", "b")) == ExternalBranch("b", "n")


def test_a_new_root_has_no_fork() -> None:
    assert beside("c", user("n", None)) == ExternalBranch(None, "n")


def test_what_is_on_our_path_is_no_branch() -> None:
    assert beside("n", user("n", "c")) is None
    assert beside("o", user("n", "c"), user("o", "n")) is None


def test_a_move_makes_no_branch() -> None:
    assert beside("c", move("m", "b")) is None
    assert beside("c", user("n", "b"), move("m", "b")) == ExternalBranch("a", "n")
