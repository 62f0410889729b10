"""Every byte of a session changed, one at a time: what is lost is only what was touched.

Whatever of the damage can be seen (JSON, UTF-8, links) is warned of with its place, and nothing
ever fails. All of it in process; a sample goes through the real daemon.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from branchline.log.format import FILLER, SessionWarning
from branchline.log.session_file import SessionFile
from branchline.tree.context import build_context
from branchline.tree.index import Problem
from tests.e2e.conftest import CASES, StartDaemon

pytestmark = pytest.mark.crash

SESSION = CASES / "35-firstkept-label.jsonl"
SAMPLED = 97
"""Every how many damaged files one goes through the daemon."""


class Line(NamedTuple):
    """A line with its LF: where it stands, and the id of its record."""

    start: int
    end: int
    id: str


def lines_of(content: bytes) -> list[Line]:
    """The lines behind the header."""
    found: list[Line] = []
    start = 0
    for raw in content.splitlines(keepends=True):
        found.append(Line(start, start + len(raw), json.loads(raw)["id"]))
        start += len(raw)
    return found[1:]


def damages(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Each place behind the header, and the file with that byte changed: a bit, 0x00, 0x0a."""
    for at in range(content.index(b"\n") + 1, len(content)):
        for new in (content[at] ^ (1 << (at % 8)), 0x00, 0x0A):
            if new != content[at]:
                yield at, content[:at] + bytes([new]) + content[at + 1 :]


class Damaged:
    """A damaged file, opened in process."""

    def __init__(self, path: Path, content: bytes) -> None:
        path.write_bytes(content)
        file = SessionFile(path, path.parent / "locks")
        try:
            self.tree = file.tree
            self.warnings: list[SessionWarning] = file.warnings
            self.problems: list[Problem] = self.tree.problems
            self.places = file.places
            self.raw = {self.tree.ids[at]: file.stored(at) for at in self.tree.entries()}
            self.replaced = {self.tree.ids[at]: file.stored(at) for at in self.tree.superseded}
            self.path = self.tree.path(self.tree.leaf)
            self.context = build_context(self.tree, file, self.tree.leaf, 4096)
        finally:
            file.close()

    def warned_at(self, code: str, start: int, end: int) -> bool:
        """Whether a warning with this code says a place in these bytes."""
        return any(
            one.code == code
            and one.offset is not None
            and start <= one.offset <= end
            and one.line is not None
            for one in self.warnings
        )


def parsed(line: bytes) -> Any:
    """The record on a line as a strict reader sees it, or None."""
    try:
        return json.loads(line.strip(FILLER).decode("utf-8", "replace"))
    except ValueError:
        return None


def check(content: bytes, at: int, found: Damaged, damaged: bytes) -> None:
    """All that has to hold for the file with its byte ``at`` changed."""
    lines = lines_of(content)
    touched = {line.id for line in lines if line.start <= at < line.end}
    if content[at] == 0x0A:  # two lines were made one
        touched |= {line.id for line in lines if line.start == at + 1}
    told = {found.tree.ids[one.ordinal] for one in found.problems if one.code == "duplicate-id"}
    assert found.replaced.keys() == told
    for line in lines:
        if line.id not in touched:
            # The changed byte may have given the touched record the id of another one.
            stored = (found.raw[line.id], found.replaced.get(line.id))
            assert content[line.start : line.end - 1] in stored, line.id
    assert_damage_is_told(found, damaged)
    assert_links_are_told(found)


def assert_damage_is_told(found: Damaged, damaged: bytes) -> None:
    start = 0
    for raw in damaged.split(b"\n"):
        end = start + len(raw)
        last = end == len(damaged)
        if parsed(raw) is None and raw.strip(FILLER):
            code = "torn-tail" if last else "bad-line"
            assert found.warned_at(code, start, end), (code, start)
        elif b"\x00" in raw:
            assert found.warned_at("nul-bytes", start, end), start
        try:
            raw.decode()
        except UnicodeDecodeError:
            assert any(
                found.warned_at(code, start, end)
                for code in ("invalid-utf8", "bad-line", "torn-tail")
            ), start
        start = end + 1


def assert_links_are_told(found: Damaged) -> None:
    """A parent that is named and not there is told, with the entry that names it."""
    orphans = {found.tree.ids[one.ordinal] for one in found.problems if one.code == "orphan"}
    for entry_id, raw in found.raw.items():
        record = parsed(raw)
        if not isinstance(record, dict) or "parentId" not in record:
            continue
        parent_id = record["parentId"]
        if parent_id is not None and found.tree.find(parent_id) is None:
            assert entry_id in orphans, entry_id
    for one in found.problems:
        assert found.places.lengths[one.ordinal] > 0


def test_only_what_was_touched_is_lost_and_it_is_told(tmp_path: Path) -> None:
    content = SESSION.read_bytes()
    path = tmp_path / "damaged.jsonl"
    count = 0
    for at, damaged in damages(content):
        try:
            check(content, at, Damaged(path, damaged), damaged)
        except Exception as error:
            error.add_note(f"byte {at} made {damaged[at]:#04x}")
            raise
        count += 1
    assert count > 2 * (len(content) - content.index(b"\n"))


def test_the_daemon_answers_all_the_same(
    daemon: StartDaemon, copy_session: Callable[..., Path]
) -> None:
    content = SESSION.read_bytes()
    client = daemon()
    ids = [line.id for line in lines_of(content)]
    path = copy_session(SESSION)
    for at, damaged in list(damages(content))[::SAMPLED]:
        # A new file each time: the daemon would rightly say of the old one that it was overwritten.
        new = path.with_name("new")
        new.write_bytes(damaged)
        os.rename(new, path)
        session = {"session": str(path)}
        opened = client.request("session/open", session)
        assert len(ids) - 2 <= opened["session"]["entryCount"] <= len(ids) + 1, at
        assert client.request("session/context", session)["leafId"] == opened["leafId"]
        assert client.request("session/tree", {**session, "filter": "all"})["rows"]
        for method in ("branches", "stats", "check"):
            client.request(f"session/{method}", session)
    sessions = client.request("session/list", {"scope": "all"})["sessions"]
    assert [one["path"] for one in sessions] == [str(path)]
