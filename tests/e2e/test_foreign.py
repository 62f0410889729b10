"""What other programs do to a file that the daemon has open: append, tear, replace, take away."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from branchline.demo.client import Client, DaemonError
from tests.e2e.world import add_bytes, codes, foreign, lines_of, record, user

BASE = "60-two-writers"
"""Four messages, a0000001 to a0000004, one below the other."""


class Watched:
    """A session that one client has open, and what it is told of it."""

    def __init__(self, client: Client, path: Path) -> None:
        self.client = client
        self.path = path
        self.opened = self.ask("open")

    def ask(self, method: str, **params: Any) -> Any:
        return self.client.request(f"session/{method}", {"session": str(self.path), **params})

    def news(self, method: str = "session/changed") -> list[dict[str, Any]]:
        """What was told since the last look; a request first makes the daemon look itself."""
        self.client.request("session/list", {"scope": "all"})
        told = [params for name, params in self.client.notifications if name == method]
        self.client.notifications.clear()
        return told

    def after_foreign(self, data: bytes) -> dict[str, Any]:
        """Let another program append; give the one change that follows, and its position."""
        add_bytes(self.path, data)
        self.ask("branches")
        (change,) = self.news()
        assert change["origin"] == "external"
        return change

    def append(self, text: str = "ours", **params: Any) -> dict[str, Any]:
        (entry,) = self.ask("append", entries=[user(text)], **params)["entries"]
        found: dict[str, Any] = entry
        return found


@pytest.fixture
def watched(shared_daemon: Client, copy_session: Callable[..., Path]) -> Watched:
    shared_daemon.notifications.clear()
    return Watched(shared_daemon, copy_session(BASE))


class TestForeignEntries:
    def test_the_leaf_follows_what_goes_on_from_it(self, watched: Watched) -> None:
        entries = foreign("b0000001", "a0000004") + foreign("b0000002", "b0000001", "and more")
        change = watched.after_foreign(entries)
        assert change["previousLeafId"] == "a0000004"
        assert change["leafId"] == "b0000002"
        assert (change["previousRevision"], change["revision"]) == (0, 1)
        assert change["externalBranch"] is None
        assert change["appended"][1] == {
            "id": "b0000002",
            "parentId": "b0000001",
            "type": "message",
            "role": "user",
            "text": "and more",
        }
        assert watched.append()["parentId"] == "b0000002"

    def test_it_follows_from_the_move_record_that_points_to_it(self, watched: Watched) -> None:
        watched.ask("switchLeaf", targetId="a0000002", position="at")
        watched.news()
        move = lines_of(watched.path)[-1]
        assert move["customType"] == "branchline.leaf"
        change = watched.after_foreign(foreign("b0000001", move["id"]))
        assert change["leafId"] == "b0000001"
        assert change["externalBranch"] is None
        sources = watched.ask("context")["sources"]
        assert sources == ["a0000001", "a0000002", "b0000001"]

    def test_it_stays_when_they_make_a_branch(self, watched: Watched) -> None:
        entries = foreign("b0000001", "a0000002") + foreign("b0000002", "b0000001")
        change = watched.after_foreign(entries)
        assert change["leafId"] == change["previousLeafId"] == "a0000004"
        assert change["externalBranch"] == {"forkId": "a0000002", "tipId": "b0000002"}
        assert watched.append()["parentId"] == "a0000004"

    def test_it_stays_when_they_begin_a_new_root(self, watched: Watched) -> None:
        change = watched.after_foreign(foreign("b0000001", None))
        assert change["leafId"] == "a0000004"
        assert change["externalBranch"] == {"forkId": None, "tipId": "b0000001"}

    def test_labels_and_names_of_theirs_are_told(self, watched: Watched) -> None:
        common = {"timestamp": "2026-02-03T11:00:00.000Z"}
        label = record(type="label", id="b0000001", parentId="a0000004", **common,
                       targetId="a0000001", label="theirs")  # fmt: skip
        name = record(type="session_info", id="b0000002", parentId="b0000001", **common,
                      name="their name")  # fmt: skip
        change = watched.after_foreign(label + name)
        assert change["labels"] == {"a0000001": "theirs"}
        assert change["name"] == "their name"
        assert change["leafId"] == "b0000002"

    def test_an_id_that_was_there_already_replaces_the_entry(self, watched: Watched) -> None:
        add_bytes(watched.path, foreign("a0000004", "a0000003", "said again"))
        context = watched.ask("context")
        assert context["path"] == ["a0000001", "a0000002", "a0000003", "a0000004"]
        assert context["messages"][-1]["content"] == "said again"
        (change,) = watched.news()
        assert change["leafId"] == "a0000004"
        assert "duplicate-id" in codes(change["warnings"])

    def test_an_unknown_parent_is_warned_of(self, watched: Watched) -> None:
        change = watched.after_foreign(foreign("b0000001", "dead0001"))
        assert change["leafId"] == "a0000004"
        assert "orphan" in codes(change["warnings"])

    def test_a_move_of_theirs_leaves_our_leaf_alone(self, watched: Watched) -> None:
        leaf = record(type="leaf", id="b0000001", parentId="a0000004", targetId="a0000001",
                      timestamp="2026-02-03T11:00:00.000Z")  # fmt: skip
        change = watched.after_foreign(leaf)
        assert change["leafId"] == "a0000004"
        assert watched.append()["parentId"] == "a0000004"


class TestTheLeafThatIsExpected:
    def test_an_append_from_another_place_writes_nothing(self, watched: Watched) -> None:
        add_bytes(watched.path, foreign("b0000001", "a0000004"))
        before = watched.path.read_bytes()
        for expected in ("a0000004", None, "no such"):
            with pytest.raises(DaemonError) as refused:
                watched.append(expectedLeafId=expected)
            assert refused.value.code == 4004
            assert refused.value.data == {"kind": "leafChanged", "leafId": "b0000001"}
        assert watched.path.read_bytes() == before
        assert watched.append(expectedLeafId="b0000001")["parentId"] == "b0000001"

    def test_a_named_parent_is_where_it_goes(self, watched: Watched) -> None:
        add_bytes(watched.path, foreign("b0000001", "a0000004"))
        assert watched.append(parentId="a0000004")["parentId"] == "a0000004"
        theirs, ours = watched.news()
        assert (theirs["origin"], ours["origin"]) == ("external", "client")
        assert (theirs["revision"], ours["revision"]) == (1, 2)


class TestATornTail:
    def test_the_warning_comes_and_goes(self, watched: Watched) -> None:
        line = foreign("b0000001", "a0000004")
        torn = watched.after_foreign(line[:90])
        assert "torn-tail" in codes(torn["warnings"])
        assert torn["appended"] == []
        assert torn["revision"] == torn["previousRevision"] == 0
        still = watched.after_foreign(line[90:120])
        assert "torn-tail" in codes(still["warnings"])
        whole = watched.after_foreign(line[120:])
        assert codes(whole["warnings"]) == {"cwd-missing"}
        assert [entry["id"] for entry in whole["appended"]] == ["b0000001"]
        assert whole["leafId"] == "b0000001"
        assert whole["revision"] == 1

    def test_a_record_that_still_lacks_its_line_end_is_read(self, watched: Watched) -> None:
        change = watched.after_foreign(foreign("b0000001", "a0000004").rstrip())
        assert change["leafId"] == "b0000001"
        assert "no-final-newline" in codes(change["warnings"])
        change = watched.after_foreign(b"\n")
        assert codes(change["warnings"]) == {"cwd-missing"}
        assert change["appended"] == []

    def test_what_we_write_meanwhile_is_fenced(self, watched: Watched) -> None:
        line = foreign("b0000001", "a0000004")
        add_bytes(watched.path, line[:90])
        ours = watched.append()
        add_bytes(watched.path, line[90:])
        assert watched.append("again")["parentId"] == ours["id"]
        lines = watched.path.read_bytes().splitlines()
        assert lines[5] == line[:90]
        assert json.loads(lines[6])["id"] == ours["id"]
        assert lines[7] + b"\n" == line[90:]
        warned = watched.ask("check")["warnings"]
        assert [one["line"] for one in warned if one["code"] == "bad-line"] == [6, 8]


def delete(path: Path) -> None:
    path.unlink()


def move_away(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))


def replace(path: Path) -> None:
    copy = path.with_name("new")
    copy.write_bytes(path.read_bytes() + foreign("b0000001", "a0000004"))
    copy.rename(path)


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 100)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def overwrite(path: Path) -> None:
    """The same inode, and more bytes than before."""
    content = path.read_bytes().replace(b"first question", b"FIRST QUESTION")
    with path.open("r+b") as file:
        file.write(content + foreign("b0000001", "a0000004"))


def overwrite_in_the_same_size(path: Path) -> None:
    content = path.read_bytes().replace(b"first question", b"FIRST QUESTION")
    with path.open("r+b") as file:
        file.write(content)


class TestAnotherFile:
    @pytest.mark.parametrize(
        "change",
        [delete, move_away, replace, truncate, empty, overwrite, overwrite_in_the_same_size],
    )
    @pytest.mark.parametrize("method", ["append", "tree", "switchLeaf"])
    def test_nothing_is_written_and_clients_are_told(
        self, watched: Watched, change: Callable[[Path], None], method: str
    ) -> None:
        params: dict[str, dict[str, Any]] = {
            "append": {"entries": [user("ours")]},
            "tree": {},
            "switchLeaf": {"targetId": "a0000001", "position": "at"},
        }
        change(watched.path)
        before = {path: path.read_bytes() for path in watched.path.parent.iterdir()}
        with pytest.raises(DaemonError) as refused:
            watched.ask(method, **params[method])
        assert refused.value.code == 4005
        assert refused.value.data["kind"] == "fileChanged"
        after = {path: path.read_bytes() for path in watched.path.parent.iterdir()}
        assert after == before
        (reset,) = watched.news("session/reset")
        assert reset["session"] == watched.opened["session"]["id"]
        assert reset["path"] == str(watched.path)
        assert reset["reason"] == refused.value.data["reason"]

    def test_the_new_file_is_opened_anew(self, watched: Watched) -> None:
        replace(watched.path)
        with pytest.raises(DaemonError):
            watched.append()
        opened = watched.ask("open")
        assert (opened["leafId"], opened["revision"]) == ("b0000001", 0)
        assert watched.append()["parentId"] == "b0000001"

    def test_a_deleted_session_is_not_found_and_not_made_again(self, watched: Watched) -> None:
        delete(watched.path)
        with pytest.raises(DaemonError):
            watched.append()
        with pytest.raises(DaemonError) as refused:
            watched.append()
        assert refused.value.data["kind"] == "notFound"
        assert not watched.path.exists()


class TestARewriteAfterForeignEntries:
    """An upgrade and a repair take along what came since the session was opened."""

    @pytest.mark.parametrize("entry_id", ["b0000001", "a0000003"])  # a new one, and one again
    def test_an_upgrade_keeps_them(
        self, shared_daemon: Client, copy_session: Callable[..., Path], entry_id: str
    ) -> None:
        watched = Watched(shared_daemon, copy_session("20-v2-hookmessage"))
        add_bytes(watched.path, foreign(entry_id, "a0000002", "theirs"))
        watched.append()
        messages = watched.ask("context")["messages"]
        assert [message["content"] for message in messages][-1] == "ours"
        records = lines_of(watched.path)
        assert records[0]["version"] == 3
        assert "theirs" in [one["message"]["content"] for one in records[1:]]

    @pytest.mark.parametrize("entry_id", ["b0000001", "a0000004"])
    def test_a_repair_keeps_them(self, watched: Watched, entry_id: str) -> None:
        add_bytes(watched.path, b'{"type":"mess\n' + foreign(entry_id, "a0000003", "theirs"))
        watched.ask("repair")
        records = lines_of(watched.path)
        assert records[-1]["message"]["content"] == "theirs"
        assert codes(watched.ask("check")["warnings"]) == {"cwd-missing"}
