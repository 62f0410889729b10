"""What other programs do to the files, told without anybody asking."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.editor import FORK, Editor, editor, session
from tests.e2e.world import add_bytes, foreign
from tests.unit.session_files import header, text_of_file
from tests.unit.wire_client import notification

Json = Any
HEADER = text_of_file(header(id="s-1"))
WAYS = pytest.mark.parametrize("way", ["events", "looking"])
"""By the system's events, and where it has none."""


@pytest.fixture
def path(agent_dir: Path) -> Path:
    return session(agent_dir, *FORK)


def watched(environment: dict[str, str], way: str) -> dict[str, str]:
    return environment if way == "events" else {**environment, "BRANCHLINE_NO_EVENTS": "1"}


def told(ed: Editor, method: str, wanted: Callable[[Json], bool] = lambda _: True) -> Json:
    """The params of the first notification of a method that is wanted, come or to come."""
    found = ed.see(lambda one: one.get("method") == method and wanted(one["params"]))
    return found["params"]


@WAYS
def test_what_goes_on_from_our_leaf_is_followed(
    environment: dict[str, str], path: Path, way: str
) -> None:
    with editor(watched(environment, way), path) as ed:
        add_bytes(path, foreign("x1", "a4"))
        news = told(ed, "session/changed")
        assert (news["origin"], news["leafId"], news["previousLeafId"]) == ("external", "x1", "a4")
        assert [one["id"] for one in news["appended"]] == ["x1"]
        assert (news["previousRevision"], news["revision"]) == (0, 1)


@WAYS
def test_a_branch_made_elsewhere_is_told_of_and_our_leaf_stays(
    environment: dict[str, str], path: Path, way: str
) -> None:
    with editor(watched(environment, way), path) as ed:
        add_bytes(path, foreign("x1", "a1"))
        news = told(ed, "session/changed")
        assert (news["leafId"], news["externalBranch"]["tipId"]) == ("a4", "x1")


@WAYS
def test_a_record_counts_when_it_is_whole(
    environment: dict[str, str], path: Path, way: str
) -> None:
    line = foreign("x1", "a4", "long " * 1000)
    with editor(watched(environment, way), path) as ed:
        add_bytes(path, line[:2000])
        torn = told(ed, "session/changed")
        assert [one["code"] for one in torn["warnings"]] == ["torn-tail"]
        assert torn["appended"] == []
        add_bytes(path, line[2000:])
        news = told(ed, "session/changed", lambda one: bool(one["appended"]))
        assert news["leafId"] == "x1"
        assert news["warnings"] == []


def deleted(path: Path) -> None:
    path.unlink()


def moved(path: Path) -> None:
    path.rename(path.with_name("elsewhere.jsonl"))


def replaced(path: Path) -> None:
    other = path.with_suffix(".new")
    other.write_bytes(path.read_bytes())
    other.replace(path)


def truncated(path: Path) -> None:
    os.truncate(path, 200)


@WAYS
@pytest.mark.parametrize("what", [deleted, moved, replaced, truncated])
def test_a_file_that_is_another_is_told_of_once(
    environment: dict[str, str], path: Path, what: Callable[[Path], None], way: str
) -> None:
    with editor(watched(environment, way), path) as ed:
        what(path)
        reset = told(ed, "session/reset")
        assert reset["path"] == str(path)
        assert what.__name__ in reset["reason"]
        ed.daemon.send(notification("initialized", {}))
        resets = [one for one in ed.messages if one.get("method") == "session/reset"]
        assert len(resets) == 1
        if path.exists():
            assert ed.ask("open")["session"]["path"] == str(path)


@WAYS
def test_a_new_session_that_somebody_else_begins_is_told_of(
    environment: dict[str, str], path: Path, way: str
) -> None:
    with editor(watched(environment, way), path) as ed:
        made = ed.wait(ed.send("session/create", cwd="/w"))["result"]["session"]["path"]
        ed.wait(ed.send("session/open", session=made))
        Path(made).parent.mkdir(parents=True, exist_ok=True)
        Path(made).write_bytes(path.read_bytes())
        assert told(ed, "session/reset")["path"] == made


# --- lists ---------------------------------------------------------------------------------------


def listed(ed: Editor, **params: Json) -> Json:
    return ed.wait(ed.send("session/list", scope="all", **params))["result"]


def test_lists_are_kept_up_to_date(environment: dict[str, str], path: Path) -> None:
    other = path.with_name("t_s-2.jsonl")
    with editor(environment, path) as ed:
        assert listed(ed)["total"] == 1
        ed.append("ours")
        ours = told(ed, "session/listChanged", lambda one: bool(one["changed"]))
        assert [one["path"] for one in ours["changed"]] == [str(path)]
        assert ours["changed"][0]["entryCount"] == len(FORK) + 1
        ed.forget()
        other.write_bytes(HEADER.replace(b"s-1", b"s-2") + foreign("x1", None))
        created = told(ed, "session/listChanged", lambda one: bool(one["created"]))
        assert [one["id"] for one in created["created"]] == ["s-2"]
        assert created["created"][0]["firstMessage"] == "from elsewhere"
        ed.forget()
        other.unlink()
        gone = told(ed, "session/listChanged", lambda one: bool(one["deleted"]))
        assert gone["deleted"] == [str(other)]
        assert listed(ed)["total"] == 1


def test_lists_are_kept_up_to_date_without_events(environment: dict[str, str], path: Path) -> None:
    with editor(watched(environment, "looking"), path) as ed:
        listed(ed)
        path.with_name("t_s-2.jsonl").write_bytes(HEADER.replace(b"s-1", b"s-2"))
        created = told(ed, "session/listChanged")
        assert [one["id"] for one in created["created"]] == ["s-2"]
        assert (created["changed"], created["deleted"]) == ([], [])


def test_who_asked_for_no_list_is_told_of_none(environment: dict[str, str], path: Path) -> None:
    with editor(environment, path) as ed:
        path.with_name("t_s-2.jsonl").write_bytes(path.read_bytes().replace(b"s-1", b"s-2"))
        add_bytes(path, foreign("x1", "a4"))
        told(ed, "session/changed")
        add_bytes(path, foreign("x2", "x1"))
        told(ed, "session/changed", lambda one: one["leafId"] == "x2")
        assert [one for one in ed.messages if one.get("method") == "session/listChanged"] == []


def test_a_folder_that_comes_later_is_watched(
    environment: dict[str, str], path: Path, agent_dir: Path
) -> None:
    with editor(environment, path) as ed:
        listed(ed)
        session(agent_dir / "sessions" / "x", *FORK)  # too deep: no place of a session
        folder = agent_dir / "sessions" / "--w-new--"
        folder.mkdir()
        (folder / "t_s-3.jsonl").write_bytes(path.read_bytes().replace(b"s-1", b"s-3"))
        created = told(ed, "session/listChanged", lambda one: bool(one["created"]))
        assert [one["id"] for one in created["created"]] == ["s-3"]
