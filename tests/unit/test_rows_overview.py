"""Where in the whole drawing things lie."""

from branchline.tree.drawing import View
from tests.unit.made_sessions import MadeSession, fan, forked


def labelled() -> MadeSession:
    session = forked()
    session.label("l1", "c", "turning point", parent="e")
    session.label("l2", "y", "hidden in a fold", parent="l1")
    return session


def test_leaf_labels_and_forks_are_rows_of_the_drawing() -> None:
    session = labelled()
    assert session.picture("e") == ["a", "b", "  x+", "c", "  z", "d", "e"]
    overview = session.drawing("e").overview(View())
    assert overview == {"total": 7, "leafRow": 6, "labels": [2, 3], "forks": [2, 4], "hits": []}


def test_hits_are_places_in_the_drawing_without_the_query() -> None:
    session = labelled()
    overview = session.drawing("e").overview(View(query="point"))
    assert (overview["total"], overview["hits"]) == (7, [3])
    assert session.picture("e", query="hidden") == ["y"]
    assert session.drawing("e").overview(View(query="hidden"))["hits"] == [2]
    assert session.drawing("e").overview(View(query="nowhere"))["hits"] == []


def test_what_the_filter_leaves_out_has_no_mark() -> None:
    session = labelled()
    session.message("assistant", "answer", "e", content="said")
    session.label("l3", "answer", "not a user's", parent="answer")
    users = session.drawing("e").overview(View(filter="userOnly"))
    assert (users["leafRow"], users["labels"]) == (6, [2, 3])
    labels = session.drawing("e").overview(View(filter="labeledOnly"))
    assert (labels["total"], labels["labels"], labels["hits"]) == (3, [0, 1, 2], [])


def test_one_row_for_many_branches_is_one_fork() -> None:
    overview = fan(7).drawing().overview(View())
    assert overview["forks"] == [1]


def test_no_body_is_read() -> None:
    session = fan(20)
    session.drawing().overview(View())
    assert session.read == []
