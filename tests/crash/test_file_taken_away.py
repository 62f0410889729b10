"""The file is deleted, replaced, cut, overwritten or swapped while the daemon has it open.

Then nothing is written into the wrong file, none is made anew, and the clients are told to open
the session again.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from branchline.demo.client import Client, DaemonError
from tests.e2e.conftest import CASES, StartDaemon
from tests.e2e.world import foreign, snapshot, user

pytestmark = pytest.mark.crash

CopySession = Callable[..., Path]
OTHER = CASES / "04-crlf.jsonl"


def delete(path: Path) -> None:
    path.unlink()


def replace_by_a_copy(path: Path) -> None:
    """The same bytes in another file: an editor that saves by renaming."""
    new = path.with_name("new")
    new.write_bytes(path.read_bytes())
    new.rename(path)


def swap_for_another_session(path: Path) -> None:
    new = path.with_name("other")
    new.write_bytes(OTHER.read_bytes())
    new.rename(path)


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def truncate_to_nothing(path: Path) -> None:
    os.truncate(path, 0)


def overwrite_by_another_session(path: Path) -> None:
    """An editor that saves in place: the same file, cut to nothing and written again, longer."""
    content = OTHER.read_bytes() + foreign("c0000001", None, "x" * 5000)
    assert len(content) > path.stat().st_size
    path.write_bytes(content)


def overwrite_the_end(path: Path) -> None:
    content = path.read_bytes().replace(b"second answer", b"changed words")
    with path.open("r+b") as file:
        file.write(content)


def overwrite_and_grow(path: Path) -> None:
    content = path.read_bytes().replace(b"second answer", b"changed words")
    with path.open("r+b") as file:
        file.write(content + foreign("c0000001", "a0000004"))


CHANGES = [
    delete,
    replace_by_a_copy,
    swap_for_another_session,
    truncate,
    truncate_to_nothing,
    overwrite_by_another_session,
    overwrite_the_end,
    overwrite_and_grow,
]

REQUESTS: dict[str, dict[str, Any]] = {
    "append": {"entries": [user("into which file?")]},
    "label": {"targetId": "a0000001", "label": "where"},
    "rename": {"name": "which"},
    "edit": {"targetId": "a0000001", "replacement": None},
    "switchLeaf": {"targetId": "a0000002", "position": "at"},
    "repair": {},
    "context": {},
    "tree": {},
    "entries": {"ids": ["a0000001"]},
    "check": {},
}


def ask(client: Client, method: str, path: Path, **params: Any) -> Any:
    return client.request(f"session/{method}", {"session": str(path), **params})


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_nothing_is_written_and_everybody_is_told(
    daemon: StartDaemon, copy_session: CopySession, change: Callable[[Path], None]
) -> None:
    client = daemon()
    for method, params in REQUESTS.items():
        path = copy_session("60-two-writers", f"{method}.jsonl")
        opened = ask(client, "open", path)
        change(path)
        before = snapshot(path.parent)
        client.notifications.clear()
        with pytest.raises(DaemonError) as refused:
            ask(client, method, path, **params)
        assert refused.value.code == 4005, method
        assert refused.value.data["kind"] == "fileChanged"
        assert snapshot(path.parent) == before
        (reset,) = [news for name, news in client.notifications if name == "session/reset"]
        assert reset["session"] == opened["session"]["id"]
        assert reset["path"] == str(path)
        assert not [name for name, _ in client.notifications if name == "session/changed"]


def test_a_session_that_is_gone_is_not_made_anew(
    daemon: StartDaemon, copy_session: CopySession
) -> None:
    client = daemon()
    path = copy_session("60-two-writers")
    ask(client, "open", path)
    path.unlink()
    with pytest.raises(DaemonError) as refused:
        ask(client, "append", path, entries=[user("anybody there?")])
    assert refused.value.code == 4005
    for _ in range(2):
        with pytest.raises(DaemonError) as refused:
            ask(client, "append", path, entries=[user("anybody there?")])
        assert refused.value.code == 4001
    assert list(path.parent.iterdir()) == []


def test_after_the_reset_the_new_file_is_read_and_written(
    daemon: StartDaemon, copy_session: CopySession
) -> None:
    client = daemon()
    path = copy_session("60-two-writers")
    ask(client, "open", path)
    swap_for_another_session(path)
    with pytest.raises(DaemonError):
        ask(client, "append", path, entries=[user("into the old one")])
    opened = ask(client, "open", path)
    assert path.read_bytes() == OTHER.read_bytes()
    answer = ask(client, "append", path, entries=[user("into the new one")])
    assert answer["entries"][0]["parentId"] == opened["leafId"]
    assert b"into the old one" not in path.read_bytes()
    assert path.read_bytes().startswith(OTHER.read_bytes())


def test_opening_sees_at_once_that_the_file_is_another(
    daemon: StartDaemon, copy_session: CopySession
) -> None:
    client = daemon()
    path = copy_session("60-two-writers")
    ask(client, "open", path)
    swap_for_another_session(path)
    opened = ask(client, "open", path)
    assert opened["session"]["entryCount"] == 4
    ids = ask(client, "context", path)["path"]
    entries = ask(client, "entries", path, ids=ids)["entries"]
    assert len(entries) == 4


def test_two_sessions_that_change_places_are_not_mixed_up(
    daemon: StartDaemon, copy_session: CopySession
) -> None:
    client = daemon()
    one, two = copy_session("60-two-writers"), copy_session(OTHER)
    contents = one.read_bytes(), two.read_bytes()
    for path in (one, two):
        ask(client, "open", path)
    kept = one.with_name("kept")
    one.rename(kept)
    two.rename(one)
    kept.rename(two)
    for path in (one, two):
        with pytest.raises(DaemonError) as refused:
            ask(client, "append", path, entries=[user("into which file?")])
        assert refused.value.code == 4005
    assert (two.read_bytes(), one.read_bytes()) == contents


def test_a_folder_that_is_gone_is_said_so(daemon: StartDaemon, copy_session: CopySession) -> None:
    client = daemon()
    path = copy_session("60-two-writers")
    ask(client, "open", path)
    path.parent.rename(path.parent.with_name("elsewhere"))
    with pytest.raises(DaemonError) as refused:
        ask(client, "append", path, entries=[user("anybody there?")])
    assert refused.value.code == 4005
    assert not path.parent.exists()
