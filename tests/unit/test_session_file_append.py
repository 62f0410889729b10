"""One file: how it grows by us, whatever others do to it meanwhile."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.entries import Entry
from branchline.errors import FileChanged, StorageFailure
from branchline.log.format import record_line
from tests.unit.grown_files import Grown, add, grown
from tests.unit.session_files import (
    codes,
    header,
    ids,
    opened,
    opened_content,
    pi_entries,
    text_line,
    text_of_file,
    user,
    write,
)

A, B, C = user("a"), user("b", "a"), user("c", "b")


def test_an_append_is_one_write_at_the_end(tmp_path: Path) -> None:
    before = text_of_file(header(), A)
    path = write(tmp_path, before)
    with grown(path) as session:
        assert session.append(B, C)
        assert path.read_bytes() == before + record_line(B) + record_line(C)
        assert session.raw() == [text_line(A), text_line(B), text_line(C)]
        assert not session.file.has_changed()


@pytest.mark.parametrize("length", [10, 3_000, 9_000])
def test_what_others_append_after_us_is_no_other_file(tmp_path: Path, length: int) -> None:
    path = write(tmp_path, text_of_file(header(), user("a", None, "x" * length)))
    with grown(path) as session:
        for number in range(6):
            assert session.append(user(f"o{number}", "a", f"{number}" * 700))
            assert not session.file.has_changed()
            add(path, text_line(user(f"t{number}", "a", f"{number}" * 700)) + b"\n")
            assert session.look() == [f"t{number}"]
        assert session.append(B)
        with path.open("r+b") as other:
            other.seek(-10, os.SEEK_END)
            other.write(b"?")
        add(path, b"\n")
        with pytest.raises(FileChanged, match="overwritten"):
            session.look()


@pytest.mark.parametrize("grown_before", [False, True])
def test_a_file_put_in_its_place_while_we_decide_is_left_alone(
    tmp_path: Path, grown_before: bool
) -> None:
    path = write(tmp_path, text_of_file(header(), A))
    other = text_of_file(header(), user("other"))
    with grown(path) as session:
        if grown_before:
            session.append(B)
        before = path.read_bytes()
        session.file.begin_append()
        path.rename(tmp_path / "ours")
        path.write_bytes(other)
        with pytest.raises(FileChanged, match="replaced"):
            session.file.finish_append([record_line(C)], "flush")
        assert (path.read_bytes(), (tmp_path / "ours").read_bytes()) == (other, before)
        path.unlink()
        (tmp_path / "ours").rename(path)
        assert session.append(C)
        assert path.read_bytes() == before + record_line(C)
        session.file.begin_append()
        path.rename(tmp_path / "ours")
        with pytest.raises(FileChanged, match="deleted"):
            session.file.finish_append([record_line(user("d", "a"))], "flush")


@pytest.mark.parametrize(
    ("tail", "warnings"),
    [
        (text_line(B), []),
        (text_line(B)[:-1], ["bad-line"]),
        (b"\0\0\0", ["nul-bytes"]),
        (b"{}", ["not-an-entry"]),
        (b"  ", []),
    ],
)
def test_a_last_line_without_lf_is_fenced_off(
    tmp_path: Path, tail: bytes, warnings: list[str]
) -> None:
    before = text_of_file(header(), A) + tail
    path = write(tmp_path, before)
    with grown(path) as session:
        new = user("n", "a")
        session.append(new)
        assert path.read_bytes() == before + b"\n" + record_line(new)
        assert codes(session.file) == warnings
        assert session.raw()[-1] == text_line(new)
        with opened(path) as again:
            assert again.warnings == session.file.warnings
            assert ids(again) == session.tree.ids


def test_the_lines_after_an_append_are_counted_right(tmp_path: Path) -> None:
    path = write(tmp_path, text_of_file(header(), A) + text_line(B)[:30])
    with grown(path) as session:
        session.append(user("n", "a"), user("m", "n"))
        add(path, b"oops\n")
        session.look()
        with opened(path) as again:
            assert again.warnings == session.file.warnings


def test_an_append_sees_what_others_wrote_first(tmp_path: Path) -> None:
    path = write(tmp_path, text_of_file(header(), A))
    with grown(path) as session:
        add(path, text_of_file(B))
        assert session.append(C)
        assert session.tree.ids == ["a", "b", "c"]
        assert session.raw() == [text_line(A), text_line(B), text_line(C)]


def test_a_write_of_another_between_looking_and_writing_is_no_loss(tmp_path: Path) -> None:
    path = write(tmp_path, text_of_file(header(), A))
    with grown(path) as session:
        session.file.begin_append()
        add(path, text_of_file(B))
        assert not session.file.finish_append([record_line(C)], "flush")
        assert session.look() == ["b", "c"]
        assert session.raw() == [text_line(A), text_line(B), text_line(C)]


@pytest.mark.parametrize("durability", ["fsync", "flush"])
def test_the_flush_to_disk_is_where_asked_for(
    tmp_path: Path, durability: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    real = os.fdatasync

    def flush(descriptor: int) -> None:
        flushed.append(descriptor)
        real(descriptor)

    monkeypatch.setattr(os, "fdatasync", flush)
    with opened(write(tmp_path, text_of_file(header()))) as file:
        file.begin_append()
        file.finish_append([record_line(A)], durability)
    assert len(flushed) == (durability == "fsync")


def test_an_abandoned_append_writes_nothing_and_frees_the_lock(tmp_path: Path) -> None:
    before = text_of_file(header(), A)
    path = write(tmp_path, before)
    with grown(path) as session, opened(path) as other:
        session.file.begin_append()
        session.file.abandon_append()
        other.begin_append()
        other.abandon_append()
        assert path.read_bytes() == before


def test_a_failed_append_frees_the_lock(tmp_path: Path) -> None:
    path = write(tmp_path, text_of_file(header(), A))
    with opened(path) as file, opened(path) as other:
        file.begin_append()
        path.rename(tmp_path / "elsewhere")
        with pytest.raises(FileChanged):
            file.finish_append([record_line(B)], "flush")
        (tmp_path / "elsewhere").rename(path)
        other.begin_append()
        other.abandon_append()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_a_storage_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, text_of_file(header(), A))
    with grown(path) as session:
        session.file.begin_append()

        def full(_descriptor: int, _data: bytes) -> int:
            with open("/dev/full", "wb", buffering=0) as device:
                return device.write(b"x")

        with monkeypatch.context() as patched:
            patched.setattr(os, "write", full)
            with pytest.raises(StorageFailure) as failure:
                session.file.finish_append([record_line(B)], "flush")
        assert failure.value.facts["errno"] == "ENOSPC"
        assert path.read_bytes() == text_of_file(header(), A)
        assert session.append(C)


def test_the_lock_is_never_the_session_file(tmp_path: Path) -> None:
    path = write(tmp_path, text_of_file(header(), A))
    with opened(path) as file:
        file.begin_append()
        (lock,) = (tmp_path / "locks").iterdir()
        assert stat.S_IMODE(lock.stat().st_mode) == 0o600
        assert stat.S_IMODE((tmp_path / "locks").stat().st_mode) == 0o700
        file.abandon_append()
    assert path.read_bytes() == text_of_file(header(), A)


@given(st.lists(pi_entries(most=2), max_size=4), st.lists(st.integers(0, 200), max_size=3))
@settings(deadline=None)
def test_ours_and_theirs_are_all_there_in_the_end(
    theirs: list[list[Entry]], torn: list[int]
) -> None:
    with opened_content(text_of_file(header(), A)) as file:
        session = Grown(file)
        for number, records in enumerate(theirs):
            if number < len(torn):
                add(file.path, text_of_file(*records, user("t"))[: torn[number]])
            else:
                add(file.path, text_of_file(*records))
            before = file.path.read_bytes()
            assert session.append(user(f"ours{number}", "a"))
            assert file.path.read_bytes().startswith(before)
        with opened(file.path) as again:
            assert sorted(ids(again)) == sorted(session.tree.ids)
            assert {f"ours{number}" for number in range(len(theirs))} <= set(ids(again))
        assert [json.loads(raw)["id"] for raw in session.raw()] == session.tree.ids
