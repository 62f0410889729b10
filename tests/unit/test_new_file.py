"""A new file appears whole or not at all, private, and never in anybody's place."""

import errno
import os
import stat
from pathlib import Path

import pytest

from branchline.errors import StorageFailure
from branchline.log.new_file import NewFile


def make(path: Path, content: bytes = b"all of it") -> None:
    with NewFile(path) as file:
        file.write(content[:3])
        file.write(content[3:])
        file.finish()


def refusal(path: Path) -> StorageFailure:
    with pytest.raises(StorageFailure) as refused:
        make(path)
    return refused.value


def test_it_appears_when_it_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "new"
    with NewFile(path) as file:
        file.write(b"all of it")
        assert not path.exists()
        file.finish()
        assert path.read_bytes() == b"all of it"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["new"]


def test_what_is_not_finished_is_gone(tmp_path: Path) -> None:
    with NewFile(tmp_path / "new") as file:
        file.write(b"half")
    assert os.listdir(tmp_path) == []


def test_what_is_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "theirs"
    path.write_text("theirs")
    with pytest.raises(StorageFailure) as refused:
        NewFile(path)  # at once, not when all is written
    error = refused.value
    assert error.data == {"kind": "storage", "path": str(path), "errno": "EEXIST"}
    assert path.read_text() == "theirs"
    assert os.listdir(tmp_path) == ["theirs"]


def test_what_comes_meanwhile_stays(tmp_path: Path) -> None:
    path = tmp_path / "theirs"
    with NewFile(path) as file:
        file.write(b"ours")
        path.write_text("theirs")
        with pytest.raises(StorageFailure, match="never overwritten"):
            file.finish()
    assert path.read_text() == "theirs"
    assert os.listdir(tmp_path) == ["theirs"]


def test_a_long_name_and_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 250)
    make(path, b"")
    assert path.read_bytes() == b""
    assert refusal(tmp_path / ("n" * 300)).data["errno"] == "ENAMETOOLONG"


class TestWithoutHardLinks:
    """As on file systems that have none, which cannot be mounted for a test everywhere."""

    @pytest.fixture(autouse=True)
    def no_links(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object) -> None:
            raise OSError(errno.EPERM, "no hard links")

        monkeypatch.setattr(os, "link", refuse)

    def test_it_appears_all_the_same(self, tmp_path: Path) -> None:
        make(tmp_path / "new")
        assert (tmp_path / "new").read_bytes() == b"all of it"
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600
        assert os.listdir(tmp_path) == ["new"]

    def test_what_comes_meanwhile_stays(self, tmp_path: Path) -> None:
        path = tmp_path / "theirs"
        with NewFile(path) as file:
            path.write_text("theirs")
            with pytest.raises(StorageFailure, match="never overwritten"):
                file.finish()
        assert path.read_text() == "theirs"
        assert os.listdir(tmp_path) == ["theirs"]
