"""The list of branches and labels."""

from branchline.tree.branches import Branch, branches
from tests.unit.made_sessions import MadeSession, forked


def listed(session: MadeSession, leaf: str | None = "") -> list[Branch]:
    return branches(session.tree(leaf), session)["branches"]


def test_a_branch_counts_what_is_its_own() -> None:
    assert listed(forked()) == [
        {
            "tipId": "y",
            "forkId": "b",
            "name": "x",
            "messageCount": 2,
            "tokens": 2,
            "lastTimestamp": "2026-01-01T00:03:00.000Z",
            "active": False,
        },
        {
            "tipId": "z",
            "forkId": "c",
            "name": "z",
            "messageCount": 1,
            "tokens": 1,
            "lastTimestamp": "2026-01-01T00:05:00.000Z",
            "active": False,
        },
        {
            "tipId": "e",
            "forkId": "c",
            "name": "d",
            "messageCount": 2,
            "tokens": 2,
            "lastTimestamp": "2026-01-01T00:07:00.000Z",
            "active": True,
        },
    ]


def test_a_single_branch_has_no_fork_and_counts_from_its_root() -> None:
    session = MadeSession()
    session.message("system", "s", None, content="x")
    session.user("u")
    session.assistant("a")
    [branch] = listed(session)
    assert (branch["forkId"], branch["messageCount"], branch["tokens"]) == (None, 2, 3)
    assert branch["name"] == "u"


def test_two_roots_are_two_branches_without_a_fork() -> None:
    session = MadeSession()
    session.user("a", None)
    session.user("b", None)
    assert [(branch["tipId"], branch["forkId"]) for branch in listed(session)] == [
        ("a", None),
        ("b", None),
    ]


def test_a_label_and_a_move_record_make_no_branch() -> None:
    session = forked()
    session.label("l", "a", "x", parent="a")
    session.add("custom", "m", "b", customType="branchline.leaf", data={"targetId": "b"})
    assert [branch["tipId"] for branch in listed(session, "e")] == ["y", "z", "e"]


def test_a_branch_is_named_by_the_label_nearest_its_tip_but_not_by_one_of_the_fork() -> None:
    session = forked()
    session.label("l", "b", "of the fork", parent="e")
    session.label("m", "x", "of x", parent="e")
    assert listed(session, "e")[0]["name"] == "of x"
    session.label("n", "y", "of y", parent="e")
    names = {branch["tipId"]: branch["name"] for branch in listed(session, "e")}
    assert names == {"y": "of y", "z": "z", "e": "d"}


def test_a_branch_without_user_message_or_label_has_no_name() -> None:
    session = MadeSession()
    session.assistant("a", None)
    assert listed(session)[0]["name"] == ""


def test_a_long_name_is_one_short_line() -> None:
    session = MadeSession()
    session.user("a", None, text="one\ntwo " * 30)
    name = listed(session)[0]["name"]
    assert name.startswith("one two one two")
    assert len(name) <= 80


def active(session: MadeSession, leaf: str | None) -> list[str]:
    return [branch["tipId"] for branch in listed(session, leaf) if branch["active"]]


def test_the_active_branch_is_that_of_the_leaf_the_newest_where_several_pass() -> None:
    session = forked()
    session.label("l", "y", "x", parent="y")
    session.add("custom", "note", "b", customType="x")
    assert active(session, "y") == ["y"]
    assert active(session, "x") == ["y"]
    assert active(session, "l") == ["y"]
    assert active(session, "b") == ["e"]
    assert active(session, "note") == ["e"]
    assert active(session, None) == []


def test_labels_stand_in_file_order_of_their_entries() -> None:
    session = forked()
    session.label("l", "d", "later\n entry")
    session.label("m", "a", "earlier entry")
    session.label("n", "x", "gone")
    session.label("o", "x", None)
    assert branches(session.tree(), session)["labels"] == [
        {"id": "a", "label": "earlier entry", "timestamp": "2026-01-01T00:09:00.000Z"},
        {"id": "d", "label": "later entry", "timestamp": "2026-01-01T00:08:00.000Z"},
    ]


def test_an_empty_session_has_no_branches() -> None:
    session = MadeSession()
    assert branches(session.tree(), session) == {"branches": [], "labels": []}
