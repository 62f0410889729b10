"""A write that the disk takes only a part of: a typed error, and nothing else happens (case 61)."""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from branchline import codec
from branchline.demo.client import Client, DaemonError
from tests.e2e.conftest import StartDaemon
from tests.e2e.world import add_bytes, codes, foreign, user

pytestmark = pytest.mark.crash

CopySession = Callable[..., Path]
PART = 100
"""Bytes of a record that still fit."""


class Full:
    """A daemon that has a session open while the disk fills up."""

    def __init__(self, client: Client, path: Path) -> None:
        self.client = client
        self.path = path
        self.session = {"session": str(path)}
        self.opened = client.request("session/open", self.session)

    def append(self, text: str = "x" * 5000, **fields: Any) -> dict[str, Any]:
        params = {**self.session, "entries": [user(text, **fields)]}
        (entry,) = self.client.request("session/append", params)["entries"]
        found: dict[str, Any] = entry
        return found

    def view(self) -> dict[str, Any]:
        """All that a client can see of the entries and the leaf."""
        drawn = self.client.request("session/tree", {**self.session, "filter": "all"})
        context = self.client.request("session/context", self.session)
        return {"rows": drawn["rows"], "leaf": drawn["leafId"], "path": context["path"]}

    def refused(self, **fields: Any) -> DaemonError:
        """The error of an append that does not fit."""
        with pytest.raises(DaemonError) as refused:
            self.append(**fields)
        return refused.value


def limit_file_size(client: Client, size: int) -> None:
    """Let the running daemon write no file beyond this size; -1 lifts the limit."""
    pid = client._process.pid
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def ids_on_disk(path: Path) -> list[str]:
    """The ids of the whole records, as another program would find them."""
    ids: list[str] = []
    for line in path.read_bytes().split(b"\n"):
        try:
            ids.append(codec.decode(line)["id"])
        except codec.DecodeError:
            continue
    return ids


@pytest.fixture
def full(daemon: StartDaemon, copy_session: CopySession) -> Full:
    if not hasattr(resource, "prlimit"):
        pytest.skip("the limits of another process can be set on Linux only")
    return Full(daemon(), copy_session("61-disk-full"))


class TestWithALimitOnTheFileSize:
    def test_the_error_is_typed_and_nothing_changes_in_memory(self, full: Full) -> None:
        before, original = full.view(), full.path.read_bytes()
        limit_file_size(full.client, len(original) + PART)
        error = full.refused()
        assert error.code == 4008
        assert error.data["kind"] == "storage"
        assert error.data["errno"] == "EFBIG"
        content = full.path.read_bytes()
        assert content[: len(original)] == original
        assert len(content) == len(original) + PART
        assert full.view() == before

    def test_the_next_append_works_at_once_behind_a_fence(self, full: Full) -> None:
        original = full.path.read_bytes()
        limit_file_size(full.client, len(original) + PART)
        for _ in range(3):
            full.refused()
        limit_file_size(full.client, -1)
        entry = full.append("it fits")
        assert entry["parentId"] == full.opened["leafId"] == "a0000004"
        assert entry["parentId"] in ids_on_disk(full.path)
        content = full.path.read_bytes()
        part, line, rest = content[len(original) :].split(b"\n")
        assert len(part) == PART
        assert codec.decode(line)["id"] == entry["id"]
        assert rest == b""
        assert full.append("so does this")["parentId"] == entry["id"]

    def test_what_stays_behind_is_said_and_can_be_opened(
        self, full: Full, daemon: StartDaemon
    ) -> None:
        limit_file_size(full.client, full.path.stat().st_size + PART)
        full.refused()
        limit_file_size(full.client, -1)
        warned = full.client.request("session/check", full.session)["warnings"]
        (torn,) = [one for one in warned if one["code"] == "torn-tail"]
        assert torn["length"] == PART
        entry = full.append("it fits")
        fresh = Full(daemon(), full.path)
        assert fresh.opened["leafId"] == entry["id"]
        assert "bad-line" in codes(fresh.opened["warnings"])

    def test_a_chosen_id_is_free_again(self, full: Full) -> None:
        limit_file_size(full.client, full.path.stat().st_size + PART)
        full.refused(id="mine")
        limit_file_size(full.client, -1)
        assert full.append("it fits", id="mine")["id"] == "mine"

    def test_what_another_program_wrote_behind_the_part_stays(self, full: Full) -> None:
        limit_file_size(full.client, full.path.stat().st_size + PART)
        full.refused()
        theirs = b"\n" + foreign("b0000001", "a0000004")
        add_bytes(full.path, theirs)
        limit_file_size(full.client, -1)
        assert full.append("it fits")["parentId"] == "b0000001"
        assert theirs in full.path.read_bytes()

    def test_a_new_session_leaves_no_file_without_a_header(
        self, full: Full, agent_dir: Path
    ) -> None:
        made = full.client.request("session/create", {"cwd": str(agent_dir)})["session"]
        path, limit = Path(made["path"]), 60
        params = {"session": made["path"], "entries": [user("x" * 5000)]}
        limit_file_size(full.client, limit)
        with pytest.raises(DaemonError) as refused:
            full.client.request("session/append", params)
        assert refused.value.data["kind"] == "storage"
        assert not path.exists()
        limit_file_size(full.client, -1)
        assert full.client.request("session/append", params)["entries"][0]["parentId"] is None
        assert len(ids_on_disk(path)) == 2

    def test_a_repair_that_does_not_fit_leaves_the_file_alone(self, full: Full) -> None:
        add_bytes(full.path, b'{"type":"mess\n')
        original = full.path.read_bytes()
        limit_file_size(full.client, len(original) // 2)
        with pytest.raises(DaemonError) as refused:
            full.client.request("session/repair", full.session)
        assert refused.value.data["kind"] == "storage"
        assert full.path.read_bytes() == original
        assert list(full.path.parent.iterdir()) == [full.path]
        limit_file_size(full.client, -1)
        assert full.client.request("session/repair", full.session)["backup"] is not None
        assert full.append("it fits")["parentId"] == "a0000004"

    @pytest.mark.parametrize("form", ["html", "markdown", "jsonl"])
    def test_an_export_that_does_not_fit_leaves_nothing(
        self, full: Full, tmp_path: Path, form: str
    ) -> None:
        full.append()
        target = tmp_path / "exports" / f"talk.{form}"
        target.parent.mkdir()
        params = {**full.session, "format": form, "path": str(target)}
        limit_file_size(full.client, 2_000)
        with pytest.raises(DaemonError) as refused:
            full.client.request("session/export", params)
        assert refused.value.data["kind"] == "storage"
        assert refused.value.data["errno"] == "EFBIG"
        assert refused.value.data["path"] == str(target)
        assert list(target.parent.iterdir()) == []
        limit_file_size(full.client, -1)
        assert full.client.request("session/export", params)["path"] == str(target)
        assert target.stat().st_size > 2_000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k,mode=0700", "tmpfs", str(folder)]
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        pytest.skip("a small file system can be mounted by root on Linux only")
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system may be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_is_named_and_not_remembered(
    small_disk: Path, copy_session: CopySession, daemon: StartDaemon
) -> None:
    path = small_disk / "session.jsonl"
    shutil.copyfile(copy_session("61-disk-full"), path)
    full = Full(daemon(), path)
    before = full.view()
    for _ in range(2):
        error = full.refused(text="x" * 100_000)
        assert error.data["kind"] == "storage"
        assert error.data["errno"] == "ENOSPC"
        assert full.view() == before
    resize = ["mount", "-o", "remount,size=1m", str(small_disk)]
    subprocess.run(resize, check=True)
    entry = full.append("x" * 100_000)
    assert entry["parentId"] == "a0000004"
    assert ids_on_disk(path)[-2:] == ["a0000004", entry["id"]]


def test_an_export_to_a_full_disk_leaves_nothing_on_it(
    small_disk: Path, copy_session: CopySession, daemon: StartDaemon
) -> None:
    full = Full(daemon(), copy_session("61-disk-full"))
    full.append("x" * 100_000)
    target = small_disk / "talk.html"
    params = {**full.session, "format": "html", "path": str(target)}
    with pytest.raises(DaemonError) as refused:
        full.client.request("session/export", params)
    assert refused.value.data["errno"] == "ENOSPC"
    assert list(small_disk.iterdir()) == []
    target.with_name("small.md").write_text("there is room again")
