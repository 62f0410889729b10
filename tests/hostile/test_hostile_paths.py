"""Paths that lead to something else than a session file, and names that no file should have."""

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from branchline.demo.client import DaemonError
from tests.e2e.conftest import StartDaemon
from tests.e2e.world import snapshot, user
from tests.hostile.world import Asker, header, make, message

ENTRIES = [user("into what?")]


@pytest.fixture
def asker(daemon: StartDaemon) -> Asker:
    return Asker(daemon())


def refused(asker: Asker, path: object) -> None:
    """It can neither be opened nor written to, by any method."""
    requests: dict[str, dict[str, Any]] = {
        "open": {},
        "append": {"entries": ENTRIES},
        "tree": {},
        "rename": {"name": "mine"},
        "repair": {},
        "delete": {},
        "fork": {"cwd": "/w/demo"},
    }
    for method, params in requests.items():
        answer = asker.ask(method, path, **params)
        assert isinstance(answer, DaemonError), (method, path)
        assert answer.code in (-32602, 4001, 4002, 4008), (method, path)


def test_what_is_no_regular_file_is_refused_and_never_waited_for(
    asker: Asker, agent_dir: Path
) -> None:
    good = make(agent_dir, message("top", None))
    folder = good.parent
    os.mkfifo(folder / "fifo.jsonl")
    (folder / "folder.jsonl").mkdir()
    (folder / "loop.jsonl").symlink_to("loop.jsonl")
    (folder / "nowhere.jsonl").symlink_to("gone.jsonl")
    (folder / "below-a-file.jsonl").symlink_to(good / "x.jsonl")
    (folder / "to-fifo.jsonl").symlink_to("fifo.jsonl")
    for device in ("zero", "null", "full", "random", "tty"):
        (folder / f"{device}.jsonl").symlink_to(f"/dev/{device}")
    with socket.socket(socket.AF_UNIX) as listening:
        # A socket's address is short, however long the path of the folder is.
        directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        listening.bind(f"/proc/self/fd/{directory}/socket.jsonl")
        os.close(directory)
        names = sorted(path for path in folder.iterdir() if path != good)
        before = snapshot(folder)
        for path in names:
            refused(asker, path)
        for _ in range(2):
            (listed,) = asker.ok("list", scope="all")["sessions"]
            assert listed["path"] == str(good)
        for session_id in ("hostile", "no such id"):
            found = asker.ask("open", session_id)
            assert isinstance(found, DaemonError) == (session_id != "hostile")
        assert snapshot(folder) == before


def test_folders_that_cannot_be_walked_hide_no_session(asker: Asker, agent_dir: Path) -> None:
    good = make(agent_dir, message("top", None))
    sessions = good.parent.parent
    (sessions / "loop").symlink_to("loop")
    (sessions / "up").symlink_to("..")
    (sessions / "file").write_text("")
    os.mkfifo(sessions / "fifo")
    os.mkfifo(sessions / "fifo.jsonl")
    (listed,) = asker.ok("list", scope="all")["sessions"]
    assert listed["path"] == str(good)


PATHS = [
    "/dev/zero",
    "/dev/null",
    "/",
    "/tmp/..",
    "/" + "a" * 5000,
    "/a" * 5000,
    "/x/" + "../" * 2000 + "etc/passwd",
    "/etc/passwd",
    "/etc/passwd/x",
    "file:///etc/passwd",
    "file:///a%00b",
    "file:///%FF%FE",
    "file://[half",
    "file://elsewhere/x.jsonl",
    "file:x.jsonl",
    "file:",
    "FILE:///x.jsonl",
    "http://localhost/x.jsonl",
    "~/x.jsonl",
    "./x.jsonl",
    "../x.jsonl",
    "x.jsonl",
    "\\\\server\\share",
    "/a\x00b",
    "/\ud800",
    "\x00",
    "",
    " ",
]


def test_paths_that_lead_to_no_session(asker: Asker) -> None:
    for path in PATHS:
        refused(asker, path)


def test_names_that_are_not_utf_8(asker: Asker, agent_dir: Path) -> None:
    good = make(agent_dir, message("top", None))
    for name in (
        b"\xff\xfe.jsonl",
        b"a\nb.jsonl",
        b"\x1b[31m.jsonl",
        "é".encode("latin-1") + b".jsonl",
    ):
        path = os.fsencode(good.parent) + b"/" + name
        content = header(name.hex()) + message("top", None)
        with open(path, "wb") as file:
            file.write(content)
        asker.ok("open", name.hex())
        asker.ok("append", name.hex(), entries=ENTRIES)
        uri = "file://" + "".join(f"%{byte:02X}" if byte != 0x2F else "/" for byte in path)
        assert asker.ok("open", uri)["session"]["id"] == name.hex()
        asker.ok("close", uri)
        with open(path, "rb") as file:
            assert file.read().startswith(content)
    assert len(asker.ok("list", scope="all")["sessions"]) == 5
    pages: list[Any] = []
    cursor = None
    while cursor is not None or not pages:
        page = asker.ok("list", scope="all", limit=1, cursor=cursor)
        pages += page["sessions"]
        cursor = page["nextCursor"]
    assert len(pages) == 5


def test_new_sessions_go_nowhere_else(asker: Asker, agent_dir: Path) -> None:
    outside = agent_dir.parent / "outside"
    outside.mkdir()
    for session_id in ("../../outside/x", "..", ".hidden", "a/b", "-x-", "x\n", "x" * 200, ""):
        answer = asker.ask("create", cwd=str(outside), id=session_id)
        assert isinstance(answer, DaemonError), session_id
        assert answer.code == -32602
    for cwd in ("relative", "", "~", "/a\x00", "/\ud800", "/" + "x" * 5000, "/" + "x" * 300):
        answer = asker.ask("create", cwd=cwd)
        if not isinstance(answer, DaemonError):
            # Whether a name of 304 bytes is too long is the file system's to say.
            answer = asker.ask("append", answer["session"]["path"], entries=ENTRIES)
            assert not isinstance(answer, DaemonError) or answer.data["kind"] == "storage"
    made = asker.ok("create", cwd=f"{outside}/../../..//etc")["session"]
    asker.ok("append", made["path"], entries=ENTRIES)
    assert Path(made["path"]).is_relative_to(os.path.realpath(agent_dir / "sessions"))
    assert list(outside.iterdir()) == []
