"""Links stay links, owners and modes stay, new files are private, closed files hide no others."""

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from branchline.demo.client import Client, DaemonError
from tests.e2e.conftest import SERVE, StartDaemon
from tests.e2e.world import codes, lines_of, raw_daemon, strict, user

CopySession = Callable[..., Path]
NOBODY = 65534
"""A user id that is not ours."""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def link(tmp_path: Path) -> Path:
    """Where a link to a session is made, in a folder of its own."""
    (tmp_path / "links").mkdir()
    return tmp_path / "links" / "link.jsonl"


def point(link: Path, target: Path) -> None:
    link.symlink_to(os.path.relpath(target, link.parent))


def act(client: Client, method: str, link: Path) -> None:
    params: dict[str, Any] = {"entries": [user("more")]} if method == "append" else {}
    client.request(f"session/{method}", {"session": str(link), **params})


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("20-v2-hookmessage", "append"),  # an upgrade
        ("19-v1-linear", "repair"),
        ("07-spliced-lines", "repair"),
        ("60-two-writers", "append"),
    ],
)
def test_a_link_stays_a_link_and_its_target_is_updated(
    daemon: StartDaemon, copy_session: CopySession, link: Path, name: str, method: str
) -> None:
    target = copy_session(name)
    original = target.read_bytes()
    target.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(target, NOBODY, NOBODY)
    before = target.stat()
    point(link, target)
    client = daemon()
    opened = client.request("session/open", {"session": str(link)})
    assert opened["session"]["path"] == str(target)
    assert target.read_bytes() == original

    act(client, method, link)
    assert link.is_symlink()
    assert link.resolve() == target
    assert list(link.parent.iterdir()) == [link]
    after = target.stat()
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
    assert mode(target) == 0o640
    assert lines_of(target)[0]["version"] == 3
    assert target.read_bytes() != original
    backup = target.with_name(f"{target.name}.bak")
    rewritten = after.st_ino != before.st_ino
    assert rewritten == (name != "60-two-writers")
    assert set(target.parent.iterdir()) == ({target, backup} if rewritten else {target})
    if rewritten:
        assert backup.read_bytes() == original
        assert backup.stat().st_ino == before.st_ino


def test_a_second_repair_keeps_the_first_old_file(
    daemon: StartDaemon, copy_session: CopySession
) -> None:
    path = copy_session("07-spliced-lines")
    original = path.read_bytes()
    client = daemon()
    backups = []
    for damage in (b"", b'{"type":"mess\n'):
        with path.open("ab") as file:
            file.write(damage)
        backups.append(client.request("session/repair", {"session": str(path)})["backup"])
    assert backups == [f"{path}.bak", f"{path}.bak.1"]
    assert Path(backups[0]).read_bytes() == original
    assert codes(client.request("session/check", {"session": str(path)})["warnings"]) == {
        "cwd-missing"
    }


@pytest.mark.parametrize("umask", ["000", "022", "077"])
def test_what_is_made_is_private_whatever_the_umask(
    environment: dict[str, str], agent_dir: Path, umask: str
) -> None:
    command = ["sh", "-c", f'umask {umask}; exec "$@"', "sh", *SERVE]
    with Client(command, environment=environment) as client:
        client.initialize(agent_dir, {})
        created = client.request("session/create", {"cwd": "/w/demo", "name": "private"})
        path = Path(created["session"]["path"])
        assert not path.exists()
        client.request("session/append", {"session": str(path), "entries": [user("first")]})
        fork = client.request("session/fork", {"session": str(path), "cwd": "/w/elsewhere"})
        client.request("session/append", {"session": str(path), "entries": [user("second")]})
    assert mode(path) == mode(Path(fork["session"]["path"])) == 0o600
    assert path.parent != Path(fork["session"]["path"]).parent
    for made in agent_dir.rglob("*"):
        assert mode(made) & 0o077 == 0, made
    assert mode(path.parent) == mode(path.parent.parent) == 0o700


@pytest.mark.parametrize(
    ("permissions", "warned"), [(0o600, False), (0o640, True), (0o604, True), (0o644, True)]
)
def test_a_file_that_others_can_read_is_warned_of(
    daemon: StartDaemon, copy_session: CopySession, permissions: int, warned: bool
) -> None:
    path = copy_session("60-two-writers")
    path.chmod(permissions)
    opened = daemon().request("session/open", {"session": str(path)})
    assert ("readable-by-others" in codes(opened["warnings"])) == warned
    assert mode(path) == permissions


def bound_by_modes(command: list[str]) -> list[str]:
    """The command as a process that the modes of files bind; root is bound by none."""
    if os.geteuid() != 0:
        return command
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("root may read every file, and setpriv is not here to change that")
    return [setpriv, "--bounding-set=-dac_override,-dac_read_search", *command]


@pytest.mark.parametrize("permissions", [0o000, 0o400])
def test_what_may_not_be_read_or_written_is_said_and_hides_no_others(
    environment: dict[str, str], copy_session: CopySession, permissions: int
) -> None:
    closed = copy_session("60-two-writers", "closed.jsonl")
    open_ = copy_session("60-two-writers", "open.jsonl")
    original = closed.read_bytes()
    closed.chmod(permissions)
    with raw_daemon(bound_by_modes(SERVE), environment) as daemon:
        daemon.initialize()
        listed = strict(daemon.ask("session/list", {"scope": "all"}))["result"]["sessions"]
        rows = {Path(one["path"]).name: one for one in listed}
        assert rows.keys() == {"closed.jsonl", "open.jsonl"}
        assert rows["open.jsonl"]["readable"]
        assert not rows["open.jsonl"]["readOnly"]
        assert rows["closed.jsonl"]["readOnly"]
        assert rows["closed.jsonl"]["readable"] == (permissions == 0o400)
        append = {"session": str(closed), "entries": [user("x")]}
        opened = strict(daemon.ask("session/open", {"session": str(closed)}))
        refused = strict(daemon.ask("session/append", append))["error"]
        if permissions == 0o400:
            assert opened["result"]["session"]["readOnly"]
            assert refused["data"]["kind"] in ("readOnly", "storage")
        else:
            for error in (opened["error"], refused):
                assert error["code"] == "4008"
                assert error["data"]["kind"] == "storage"
                assert error["data"]["errno"] == "EACCES"
        done = strict(daemon.ask("session/append", {**append, "session": str(open_)}))
        assert "result" in done
    closed.chmod(0o600)
    assert closed.read_bytes() == original


def test_what_may_not_be_written_to_any_more_is_left_alone(
    environment: dict[str, str], copy_session: CopySession
) -> None:
    path = copy_session("60-two-writers")
    append = {"session": str(path), "entries": [user("x")]}
    with raw_daemon(bound_by_modes(SERVE), environment) as daemon:
        daemon.initialize()
        assert "result" in strict(daemon.ask("session/append", append))
        before = path.read_bytes()
        path.chmod(0o400)
        refused = strict(daemon.ask("session/append", append))["error"]
        assert refused["data"]["kind"] == "readOnly"
        assert path.read_bytes() == before
        path.chmod(0o600)
        assert "result" in strict(daemon.ask("session/append", append))


def test_a_folder_is_no_session(daemon: StartDaemon, agent_dir: Path) -> None:
    folder = agent_dir / "sessions" / "folder.jsonl"
    folder.mkdir(parents=True)
    with pytest.raises(DaemonError) as refused:
        daemon().request("session/open", {"session": str(folder)})
    assert refused.value.data["kind"] == "invalidSession"
