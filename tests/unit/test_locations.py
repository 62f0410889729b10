import os
import stat
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from branchline.errors import StorageFailure
from branchline.log.locations import (
    create_session_file,
    folder_name,
    id_in_name,
    lies_in,
    new_session_path,
    same_folder,
    session_files,
)
from branchline.settings import SessionsRoot


@pytest.fixture
def umask() -> Iterator[None]:
    """The umask that lets everybody read and write."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        ("/w/demo", "--w-demo--"),
        ("/", "----"),
        ("/w/a:b\\c", "--w-a-b-c--"),
        ("/w/a-b", "--w-a-b--"),
        ("/w/démo 1", "--w-démo 1--"),
    ],
)
def test_the_folder_of_a_cwd_is_named_as_pi_names_it(cwd: str, name: str) -> None:
    assert folder_name(Path(cwd)) == name


def test_a_new_session_is_named_by_its_time_and_id() -> None:
    timestamp = "2026-01-02T03:04:05.678Z"
    name = "2026-01-02T03-04-05-678Z_s-1.jsonl"
    below = new_session_path(SessionsRoot(Path("/s"), False), Path("/w/demo"), "s-1", timestamp)
    assert below == Path("/s/--w-demo--") / name
    flat = new_session_path(SessionsRoot(Path("/s"), True), Path("/w/demo"), "s-1", timestamp)
    assert flat == Path("/s") / name
    assert id_in_name(flat) == "s-1"


@pytest.mark.parametrize(
    ("name", "session_id"), [("t_a_b.jsonl", "a_b"), ("plain.jsonl", "plain"), ("t_.jsonl", "t_")]
)
def test_the_id_that_a_name_shows(name: str, session_id: str) -> None:
    assert id_in_name(Path(name)) == session_id


def test_session_files_are_those_that_end_in_jsonl(tmp_path: Path) -> None:
    folder = tmp_path / "--w--"
    folder.mkdir()
    for name in ("one.jsonl", "two.jsonl", ".hidden.jsonl", "one.jsonl.bak", "notes.txt"):
        (folder / name).touch()
    (tmp_path / "three.jsonl").touch()
    names = {Path(path).name for path in session_files(SessionsRoot(tmp_path, flat=False))}
    assert names == {"one.jsonl", "two.jsonl"}
    flat = {Path(path).name for path in session_files(SessionsRoot(tmp_path, flat=True))}
    assert flat == {"three.jsonl"}


def test_a_folder_that_was_read_is_closed_again(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").touch()
    before = len(os.listdir("/dev/fd"))
    for _ in range(3):
        next(session_files(SessionsRoot(tmp_path, flat=True)))
    assert len(os.listdir("/dev/fd")) == before


def test_folders_that_are_not_there_hold_no_sessions(tmp_path: Path) -> None:
    for flat in (True, False):
        assert list(session_files(SessionsRoot(tmp_path / "gone", flat=flat))) == []


@pytest.mark.usefixtures("umask")
def test_a_new_file_and_its_new_folders_are_the_user_s_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    path = tmp_path / "sessions" / "--w--" / "one.jsonl"
    create_session_file(path, b"content\n")
    assert path.read_bytes() == b"content\n"
    assert (mode(path), mode(path.parent), mode(path.parent.parent)) == (0o600, 0o700, 0o700)
    assert mode(tmp_path) == 0o755


def test_a_tight_umask_changes_nothing(tmp_path: Path) -> None:
    before = os.umask(0o777)
    try:
        create_session_file(tmp_path / "a" / "b" / "one.jsonl", b"x")
    finally:
        os.umask(before)
    assert mode(tmp_path / "a" / "b" / "one.jsonl") == 0o600


@pytest.mark.parametrize("there", ["file", "link", "folder"])
def test_what_is_there_already_is_never_touched(tmp_path: Path, there: str) -> None:
    path, target = tmp_path / "one.jsonl", tmp_path / "target"
    if there == "file":
        path.write_bytes(b"mine")
    elif there == "link":
        path.symlink_to(target)
    else:
        path.mkdir()
    with pytest.raises(StorageFailure) as failure:
        create_session_file(path, b"other")
    assert failure.value.facts["errno"] in ("EEXIST", "ENOENT", "EISDIR", "ELOOP")
    assert there != "file" or path.read_bytes() == b"mine"
    assert not target.exists()


def test_an_empty_file_may_be_initialised(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.touch(0o640)
    create_session_file(path, b"content\n")
    assert (path.read_bytes(), mode(path)) == (b"content\n", 0o640)


def test_a_folder_that_cannot_be_made_is_a_storage_failure(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageFailure) as failure:
        create_session_file(tmp_path / "file" / "one.jsonl", b"x")
    assert failure.value.facts["errno"] in ("ENOTDIR", "EEXIST")


def test_a_file_that_cannot_be_filled_is_not_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int, _data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StorageFailure, match="ENOSPC"):
        create_session_file(tmp_path / "one.jsonl", b"x")
    assert list(tmp_path.iterdir()) == []


def test_two_names_of_one_folder_are_one(tmp_path: Path) -> None:
    folder = tmp_path / "caf\u00e9"
    folder.mkdir()
    (tmp_path / "link").symlink_to(folder)
    assert same_folder(str(tmp_path / "link")) == same_folder(str(folder))
    assert same_folder("/w/cafe\u0301") == same_folder("/w/café")
    assert unicodedata.is_normalized("NFC", same_folder("/w/cafe\u0301"))


@pytest.mark.parametrize(
    ("folder", "parents", "inside"),
    [
        ("/w/a", ["/w/a"], True),
        ("/w/a/b", ["/w/a"], True),
        ("/w/a-b", ["/w/a"], False),
        ("/w", ["/w/a"], False),
        ("/w/a", ["/"], True),
        ("/w/a", [], False),
        ("/w/a", ["/x", "/w"], True),
    ],
)
def test_what_lies_in_a_folder(folder: str, parents: list[str], inside: bool) -> None:
    assert lies_in(folder, parents) == inside
