"""Where the shared daemon listens, and who may use that place."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from branchline.wire import daemon_socket as module
from branchline.wire.daemon_socket import (
    DaemonPlace,
    DaemonSocket,
    UnsafePlace,
    daemon_place,
    dial,
    make_folder,
    take_lock,
)
from tests.unit.short_folder import short_folder

OWN = f"branchline-{os.geteuid()}"


@pytest.fixture
def folder() -> Iterator[Path]:
    with short_folder() as made:
        yield made


# --- the place -----------------------------------------------------------------------------------


def test_it_is_in_the_runtime_folder_if_there_is_one(folder: Path) -> None:
    variables = {"HOME": "/home/me", "TMPDIR": "/var/tmp"}
    place = daemon_place({**variables, "XDG_RUNTIME_DIR": str(folder)})
    assert place.socket == folder / "branchline" / place.name
    assert len(place.name) == 8
    assert int(place.name, 16) >= 0
    for runtime in ("", "relative", str(folder / "gone")):
        elsewhere = daemon_place({**variables, "XDG_RUNTIME_DIR": runtime})
        assert elsewhere.socket == Path("/var/tmp", OWN, place.name)
    assert daemon_place({"HOME": "/home/me"}).folder == Path("/tmp", OWN)
    assert not place.folder.exists()


def test_a_path_that_is_too_long_for_a_socket_is_not_used(tmp_path: Path) -> None:
    long = tmp_path / ("long" * 30)
    long.mkdir()
    place = daemon_place({"XDG_RUNTIME_DIR": str(long), "TMPDIR": str(long)})
    assert place.folder == Path("/tmp", OWN)
    for count in range(40, 100):
        variables = {"TMPDIR": "/" + "é" * (count // 2) + "x" * (count % 2)}
        assert len(os.fsencode(daemon_place(variables).socket)) <= 100


def test_each_agent_dir_and_version_has_a_daemon_of_its_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def name(agent_dir: Path | str) -> str:
        return daemon_place({"HOME": str(folder), "PI_CODING_AGENT_DIR": str(agent_dir)}).name

    (folder / "real").mkdir()
    (folder / "link").symlink_to("real")
    assert name(folder / "real") == name(folder / "link") == name("~/real")
    assert name(folder / "real") != name(folder / "other")
    before = name(folder)
    monkeypatch.setattr(module, "__version__", "99")
    assert name(folder) != before


# --- the folder ----------------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0, 0o022, 0o777])
def test_the_folder_is_made_for_the_user_alone(folder: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        make_folder(folder / "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / "new").stat().st_mode) == 0o700
    make_folder(folder / "new")


def refused(folder: Path) -> str:
    with pytest.raises(UnsafePlace) as error:
        make_folder(folder)
    return str(error.value)


def test_a_folder_that_others_can_reach_is_refused(folder: Path) -> None:
    for mode in (0o710, 0o701, 0o720, 0o777):
        folder.chmod(mode)
        assert f"(mode {mode:04o})" in refused(folder)
        assert stat.S_IMODE(folder.stat().st_mode) == mode
    folder.chmod(0o500)
    make_folder(folder)
    folder.chmod(0o700)


def test_what_is_no_folder_of_ones_own_is_refused(folder: Path) -> None:
    (folder / "link").symlink_to(folder)
    assert "symbolic link" in refused(folder / "link")
    (folder / "dangling").symlink_to(folder / "nothing")
    assert "symbolic link" in refused(folder / "dangling")
    (folder / "file").touch(mode=0o600)
    assert "is no folder" in refused(folder / "file")
    assert "cannot be made: No such file" in refused(folder / "gone" / "new")


def test_a_folder_of_another_user_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    assert "belongs to another user" in refused(folder)


# --- locks and sockets ---------------------------------------------------------------------------


def test_a_lock_has_one_holder(folder: Path) -> None:
    held = take_lock(folder / "lock")
    assert held is not None
    assert not os.get_inheritable(held)
    assert stat.S_IMODE((folder / "lock").stat().st_mode) == 0o600
    assert take_lock(folder / "lock") is None
    os.close(held)
    again = take_lock(folder / "lock")
    assert again is not None
    os.close(again)


def test_a_lock_that_is_a_link_is_refused(folder: Path) -> None:
    (folder / "lock").symlink_to(folder / "elsewhere")
    with pytest.raises(UnsafePlace, match="cannot be locked"):
        take_lock(folder / "lock")
    assert not (folder / "elsewhere").exists()


def test_a_stale_socket_is_replaced_and_ones_own_removed(folder: Path) -> None:
    place = DaemonPlace(folder, "s")
    assert dial(place) is None
    killed = DaemonSocket(place)
    killed.listening.close()
    assert place.socket.is_socket()
    assert dial(place) is None
    own = DaemonSocket(place)
    connection = dial(place)
    assert connection is not None
    connection.close()
    own.close()
    assert list(folder.iterdir()) == []


def test_what_cannot_be_replaced_is_told(folder: Path) -> None:
    (folder / "s").mkdir()
    with pytest.raises(UnsafePlace, match="s cannot be made: Is a directory"):
        DaemonSocket(DaemonPlace(folder, "s"))


def test_the_socket_of_another_daemon_is_left_alone(folder: Path) -> None:
    """Somebody emptied the folder, locks and all, and a second daemon made itself at home."""
    place = DaemonPlace(folder, "s")
    first = DaemonSocket(place)
    place.socket.rename(folder / "kept")  # so that its inode is not used again
    second = DaemonSocket(place)
    first.close()
    connection = dial(place)
    assert connection is not None
    connection.close()
    place.socket.unlink()
    second.close()
