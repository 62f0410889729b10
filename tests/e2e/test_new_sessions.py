"""A session that has no file yet, and one that a client opened to look at only."""

from collections.abc import Callable
from pathlib import Path

import pytest

from branchline.demo.client import DaemonError
from tests.e2e.conftest import StartDaemon
from tests.e2e.world import user


def test_a_new_session_shows_its_name_before_it_has_a_file(daemon: StartDaemon) -> None:
    client = daemon()
    made = client.request("session/create", {"name": "a  fresh\nstart"})["session"]
    assert made["name"] == "a fresh start"
    assert not Path(made["path"]).exists()


@pytest.mark.parametrize("name", [None, "named"])
def test_the_first_append_tells_that_there_was_no_leaf(
    daemon: StartDaemon, name: str | None
) -> None:
    client = daemon()
    session = client.request("session/create", {"name": name})["session"]["path"]
    client.request("session/open", {"session": session})
    written = client.request("session/append", {"session": session, "entries": [user("hello")]})
    change = dict(client.notifications)["session/changed"]
    assert change["previousLeafId"] is None
    assert change["leafId"] == written["leafId"] == written["entries"][0]["id"]
    assert change["name"] == name
    ids = [one["id"] for one in change["appended"]]
    assert [one["parentId"] for one in change["appended"]] == [None, *ids[:-1]]
    assert ids[-1] == change["leafId"]


def test_repair_is_refused_to_a_client_that_opened_the_session_read_only(
    daemon: StartDaemon, copy_session: Callable[..., Path]
) -> None:
    client = daemon()
    path = copy_session("07-spliced-lines")
    before = path.read_bytes()
    client.request("session/open", {"session": str(path), "readOnly": True})
    with pytest.raises(DaemonError) as refused:
        client.request("session/repair", {"session": str(path)})
    assert refused.value.data["kind"] == "readOnly"
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == [path.name]
