"""What a daemon may not read or write is an error that says so: as a user without rights."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from branchline.demo.client import Client, DaemonError
from tests.e2e.conftest import SERVE, isolated
from tests.e2e.shared import CONNECT
from tests.e2e.world import user
from tests.hostile.world import Asker, make, message

NOBODY = 65534
ENTRIES = [user("may I?")]
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


class World:
    """Folders of a user without rights, and the daemons that it starts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.agent_dir = folder / "agent"
        self.agent_dir.mkdir(parents=True)
        self.environment = {**isolated(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        self.session = make(self.agent_dir, message("top", None))

    def give_away(self) -> None:
        """All that there is belongs to the user now."""
        for path in [self.folder, *self.folder.rglob("*")]:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)

    def start(self, **environment: str) -> Client:
        client = Client([*AS_NOBODY, *SERVE], environment={**self.environment, **environment})
        client.initialize(self.agent_dir, {})
        return client


@pytest.fixture
def world() -> Iterator[World]:
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        pytest.skip("only root can become another user")
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    # Not below pytest's own folders: those are for one's own eyes only.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o711)
        made = World(folder / "world")
        command = [*AS_NOBODY, sys.executable, "-c", "import branchline.app"]
        if subprocess.run(command, env=made.environment, capture_output=True).returncode:
            pytest.skip("another user cannot run this Python, or read this project")
        yield made


def refused(asker: Asker, method: str, path: Path, kind: str, **params: Any) -> DaemonError:
    answer = asker.ask(method, path, **params)
    assert isinstance(answer, DaemonError), method
    assert answer.data["kind"] == kind, (method, answer)
    return answer


def append_works(asker: Asker, path: Path) -> None:
    answer = asker.ok("append", path, entries=ENTRIES)
    assert answer["leafId"] == answer["entries"][0]["id"]


def test_one_s_own_session_can_be_written(world: World) -> None:
    world.give_away()
    with world.start() as client:
        append_works(Asker(client), world.session)


def test_a_file_that_may_not_be_read(world: World) -> None:
    other = make(world.agent_dir, message("top", None), name="other.jsonl")
    world.give_away()
    os.chown(world.session, 0, 0)
    with world.start() as client:
        asker = Asker(client)
        for method, params in {"open": {}, "append": {"entries": ENTRIES}, "tree": {}}.items():
            error = refused(asker, method, world.session, "storage", **params)
            assert error.data["errno"] == "EACCES"
        listed = {one["path"]: one for one in asker.ok("list", scope="all")["sessions"]}
        assert listed[str(world.session)]["readable"] is False
        assert listed[str(other)]["readable"] is True
        append_works(asker, other)


def test_a_file_that_may_not_be_written(world: World) -> None:
    world.give_away()
    os.chown(world.session, 0, 0)
    world.session.chmod(0o644)
    content = world.session.read_bytes()
    with world.start() as client:
        asker = Asker(client)
        opened = asker.ok("open", world.session)
        assert opened["session"]["readOnly"] is True
        requests: dict[str, dict[str, Any]] = {
            "append": {"entries": ENTRIES},
            "label": {"targetId": "top", "label": "mine"},
            "rename": {"name": "mine"},
            "switchLeaf": {"targetId": None},
        }
        for method, params in requests.items():
            refused(asker, method, world.session, "readOnly", **params)
        asker.look_at(world.session, "top")
        asker.ok("fork", world.session, cwd=str(world.folder))
    assert world.session.read_bytes() == content


def test_a_folder_that_may_not_be_written(world: World) -> None:
    damaged = make(world.agent_dir, message("top", None), b"{\n", name="damaged.jsonl")
    world.give_away()
    sessions = world.session.parent.parent
    for folder in (sessions, world.session.parent):
        os.chown(folder, 0, 0)
        folder.chmod(0o755)
    with world.start() as client:
        asker = Asker(client)
        append_works(asker, world.session)
        error = refused(asker, "repair", damaged, "storage")
        assert error.data["errno"] == "EACCES"
        append_works(asker, damaged)
        refused(asker, "fork", world.session, "storage", cwd=str(world.folder))
        made = asker.ok("create", cwd="/w/demo")["session"]
        error = refused(asker, "append", Path(made["path"]), "storage", entries=ENTRIES)
        assert error.data["errno"] == "EACCES"


def test_a_folder_that_may_not_be_entered(world: World) -> None:
    hidden = world.agent_dir / "sessions" / "--hidden--"
    hidden.mkdir(mode=0o700)
    world.give_away()
    os.chown(hidden, 0, 0)
    with world.start() as client:
        asker = Asker(client)
        assert len(asker.ok("list", scope="all")["sessions"]) == 1
        error = refused(asker, "open", hidden / "x.jsonl", "storage")
        assert error.data["errno"] == "EACCES"


def test_a_session_of_a_folder_that_may_not_be_looked_into(world: World) -> None:
    secret = world.folder / "secret"
    secret.mkdir(mode=0o700)
    content = world.session.read_bytes()
    world.session.write_bytes(content.replace(b"/w/demo", str(secret / "below").encode()))
    world.give_away()
    os.chown(secret, 0, 0)
    with world.start() as client:
        asker = Asker(client)
        opened = asker.ok("open", world.session)
        assert "cwd-missing" in [one["code"] for one in opened["warnings"]]
        append_works(asker, world.session)


def test_a_locks_folder_of_somebody_else(world: World) -> None:
    locks = world.agent_dir / "branchline" / "locks"
    locks.mkdir(parents=True)
    world.give_away()
    os.chown(locks, 0, 0)
    locks.chmod(0o755)
    with world.start() as client:
        asker = Asker(client)
        content = world.session.read_bytes()
        error = refused(asker, "append", world.session, "storage", entries=ENTRIES)
        assert error.data["errno"] == "EACCES"
        assert str(locks) in error.message
        assert world.session.read_bytes() == content
        asker.look_at(world.session, "top")
        os.chown(locks, NOBODY, NOBODY)
        append_works(asker, world.session)


def test_an_agent_dir_that_may_not_be_written(world: World) -> None:
    world.give_away()
    os.chown(world.agent_dir, 0, 0)
    world.agent_dir.chmod(0o755)
    with world.start() as client:
        asker = Asker(client)
        asker.look_at(world.session, "top")
        error = refused(asker, "append", world.session, "storage", entries=ENTRIES)
        assert error.data["errno"] == "EACCES"


def test_an_agent_dir_that_may_not_be_entered(world: World) -> None:
    world.give_away()
    os.chown(world.agent_dir, 0, 0)
    world.agent_dir.chmod(0o700)
    with world.start() as client:
        asker = Asker(client)
        assert asker.ok("list", scope="all")["sessions"] == []
        refused(asker, "open", world.session, "storage")
        made = asker.ok("create", cwd="/w/demo")["session"]
        refused(asker, "append", Path(made["path"]), "storage", entries=ENTRIES)


def test_a_home_that_does_not_exist(world: World) -> None:
    world.give_away()
    gone = str(world.folder / "gone")
    variables = dict.fromkeys((name for name in world.environment if "XDG" in name), gone)
    with world.start(**{**variables, "HOME": gone}) as client:
        asker = Asker(client)
        append_works(asker, world.session)
        asker.look_at(world.session, "top")
    with world.start(HOME="/nonexistent", PI_CODING_AGENT_DIR="/nonexistent/agent") as client:
        asker = Asker(client)
        assert asker.ok("list", scope="all")["sessions"] == []
        made = asker.ok("create", cwd="/w/demo")["session"]
        refused(asker, "append", Path(made["path"]), "storage", entries=ENTRIES)
        refused(asker, "append", world.session, "storage", entries=ENTRIES)


def test_a_file_that_is_write_protected_is_not_replaced(world: World) -> None:
    damaged = make(world.agent_dir, message("top", None), b"{\n", name="damaged.jsonl")
    content = world.session.read_bytes()
    world.session.write_bytes(content.replace(b'"version":3', b'"version":2'))
    before = {path: path.read_bytes() for path in (world.session, damaged)}
    assert before[world.session] != content
    world.give_away()
    for path in before:
        path.chmod(0o400)
    with world.start() as client:
        asker = Asker(client)
        refused(asker, "append", world.session, "readOnly", entries=ENTRIES)
        refused(asker, "repair", damaged, "readOnly")
    assert {path: path.read_bytes() for path in before} == before
    assert sorted(world.session.parent.iterdir()) == sorted(before)


def connect_and_leave(world: World) -> "subprocess.CompletedProcess[str]":
    """An editor that comes to the shared daemon and hangs up, and the end of that daemon."""
    environment = {
        **world.environment,
        "BRANCHLINE_IDLE_SECONDS": "0",
        "XDG_RUNTIME_DIR": str(world.folder),
    }
    return subprocess.run(
        [*AS_NOBODY, *CONNECT],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_socket_folder_of_somebody_else(world: World) -> None:
    folder = world.folder / "branchline"
    folder.mkdir(mode=0o700)
    world.give_away()
    os.chown(folder, 0, 0)
    refusal = connect_and_leave(world)
    assert refusal.returncode == 1
    assert f"{folder} belongs to another user" in refusal.stderr
    assert list(folder.iterdir()) == []


CHILD = "import subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)"


def test_a_shared_daemon_that_cannot_log(world: World) -> None:
    starting = [*AS_NOBODY, sys.executable, "-c", CHILD]
    if subprocess.run(starting, capture_output=True, check=False).returncode:
        pytest.skip("another user's programs cannot start this Python")
    world.give_away()
    home = Path(world.environment["HOME"])
    os.chown(home, 0, 0)
    done = connect_and_leave(world)
    assert done.returncode == 1  # it left without a word
    state = Path(world.environment["XDG_STATE_HOME"], "branchline")
    assert done.stderr == f"branchline: no log in {state}: Permission denied\n"
