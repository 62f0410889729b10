"""Damaged files: where the damage is said to be, and what the next append does to the bytes."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from branchline.demo.client import Client
from tests.e2e.conftest import CASES, StartDaemon
from tests.e2e.world import SLACK, add_bytes, codes, user

CopySession = Callable[..., Path]


def warned(warnings: list[dict[str, Any]], code: str) -> list[dict[str, Any]]:
    return [warning for warning in warnings if warning["code"] == code]


def append(client: Client, path: Path, text: str = "third question") -> dict[str, Any]:
    """Append a user message; give its id and parentId."""
    answer = client.request("session/append", {"session": str(path), "entries": [user(text)]})
    entry: dict[str, Any] = answer["entries"][0]
    assert answer["leafId"] == entry["id"]
    return entry


def added_to(path: Path, original: bytes) -> bytes:
    """What stands behind the original bytes, which must all be there."""
    content = path.read_bytes()
    assert content[: len(original)] == original
    return content[len(original) :]


class TestATornTail:  # 01
    def test_it_is_fenced_by_the_next_append_and_stays(
        self, daemon: StartDaemon, copy_session: CopySession
    ) -> None:
        path = copy_session("01-torn-last-line")
        original = path.read_bytes()
        torn = original[original.rindex(b"\n") + 1 :]
        client = daemon()
        opened = client.request("session/open", {"session": str(path)})
        (warning,) = warned(opened["warnings"], "torn-tail")
        assert warning["offset"] == len(original) - len(torn)
        assert warning["length"] == len(torn)
        assert warning["line"] == 5
        assert opened["session"]["entryCount"] == 3

        entry = append(client, path)
        assert entry["parentId"] == "a0000003"
        added = added_to(path, original)
        assert added[:1] == b"\n"
        assert json.loads(added)["id"] == entry["id"]
        assert added.count(b"\n") == 2
        (change,) = [news for name, news in client.notifications if name == "session/changed"]
        assert "torn-tail" not in codes(change["warnings"])
        assert "bad-line" in codes(change["warnings"])

        again = daemon().request("session/open", {"session": str(path)})
        assert again["session"]["entryCount"] == 4
        assert again["leafId"] == entry["id"]
        assert codes(again["warnings"]) == {"bad-line", "cwd-missing"}
        (warning,) = warned(again["warnings"], "bad-line")
        assert (warning["line"], warning["offset"]) == (5, len(original) - len(torn))
        assert warning["length"] == len(torn)

    def test_the_second_append_needs_no_fence(
        self, daemon: StartDaemon, copy_session: CopySession
    ) -> None:
        path = copy_session("01-torn-last-line")
        client = daemon()
        first = append(client, path)
        before = path.read_bytes()
        second = append(client, path)
        assert second["parentId"] == first["id"]
        assert added_to(path, before)[:1] == b"{"


def test_nuls_are_passed_over_and_kept(
    daemon: StartDaemon, copy_session: CopySession
) -> None:  # 02
    path = copy_session("02-nul-tail")
    original = path.read_bytes()
    client = daemon()
    opened = client.request("session/open", {"session": str(path)})
    (nuls,) = warned(opened["warnings"], "nul-bytes")
    assert nuls["line"] == 4
    assert original[nuls["offset"] :].startswith(b"\0" * 96 + b"{")
    (tail,) = warned(opened["warnings"], "torn-tail")
    assert (tail["offset"], tail["length"]) == (len(original) - 512, 512)
    append(client, path)
    assert added_to(path, original)[:1] == b"\n"
    assert daemon().request("session/open", {"session": str(path)})["session"]["entryCount"] == 4


def test_a_record_without_line_end_is_not_fused_with_the_next(
    daemon: StartDaemon, copy_session: CopySession
) -> None:  # 03
    path = copy_session("03-no-final-newline")
    original = path.read_bytes()
    append(daemon(), path, "third")
    assert added_to(path, original)[:2] == b"\n{"
    lines = path.read_bytes().splitlines()
    assert len(lines) == 6
    for line in lines:
        json.loads(line)


def test_crlf_is_read_and_lf_is_written(
    daemon: StartDaemon, copy_session: CopySession
) -> None:  # 04
    path = copy_session("04-crlf")
    original = path.read_bytes()
    client = daemon()
    ids = client.request("session/context", {"session": str(path)})["path"]
    entries = client.request("session/entries", {"session": str(path), "ids": ids})
    assert "\\r" not in json.dumps(entries)
    append(client, path)
    added = added_to(path, original)
    assert b"\r" not in added
    assert added.endswith(b"}\n")
    reopened = daemon().request("session/open", {"session": str(path)})
    assert reopened["session"]["entryCount"] == 5


def test_a_byte_order_mark_stays(daemon: StartDaemon, copy_session: CopySession) -> None:  # 05
    path = copy_session("05-bom")
    original = path.read_bytes()
    assert original.startswith(b"\xef\xbb\xbf{")
    assert append(daemon(), path)["parentId"] == "a0000004"
    assert json.loads(added_to(path, original))["type"] == "message"


def test_places_count_blank_lines(daemon: StartDaemon, copy_session: CopySession) -> None:  # 06
    path = copy_session("06-blank-lines")
    original = path.read_bytes()
    add_bytes(path, b'{"type":"mess\n')
    opened = daemon().request("session/open", {"session": str(path)})
    (warning,) = warned(opened["warnings"], "bad-line")
    assert warning["line"] == original.count(b"\n") + 1
    assert (warning["offset"], warning["length"]) == (len(original), len(b'{"type":"mess'))


def test_what_a_spliced_line_holds_is_saved_and_its_loss_has_a_place(
    daemon: StartDaemon, copy_session: CopySession
) -> None:  # 07
    path = copy_session("07-spliced-lines")
    original = path.read_bytes()
    lines = original.splitlines(keepends=True)
    client = daemon()
    opened = client.request("session/open", {"session": str(path)})
    bad = warned(opened["warnings"], "bad-line")
    assert [one["line"] for one in bad] == [3, 4]
    third = len(lines[0]) + len(lines[1])
    assert [one["offset"] for one in bad] == [third, third + len(lines[2])]
    (placeholder,) = warned(opened["warnings"], "placeholder")
    assert placeholder["entryId"] == "a0000002"
    context = client.request("session/context", {"session": str(path)})
    assert context["path"] == [f"a000000{number}" for number in range(1, 6)]
    ids = context["path"]
    stored = client.request("session/entries", {"session": str(path), "ids": ids})["entries"]
    for entry in (stored[0], *stored[2:]):
        text = json.dumps(entry, separators=(",", ":"), ensure_ascii=False).encode()
        assert text in original
    assert append(client, path)["parentId"] == "a0000005"
    added_to(path, original)


def test_one_bad_byte_costs_one_character(
    daemon: StartDaemon, copy_session: CopySession
) -> None:  # 08
    path = copy_session("08-invalid-utf8")
    client = daemon()
    opened = client.request("session/open", {"session": str(path)})
    (warning,) = warned(opened["warnings"], "invalid-utf8")
    assert warning["entryId"] == "a0000002"
    stored = client.request("session/entries", {"session": str(path), "ids": ["a0000002"]})
    assert stored["entries"][0]["message"]["content"][0]["text"].startswith("caf\ufffd")


def test_what_cannot_be_reached_is_told_and_can_be_gone_to(
    daemon: StartDaemon, copy_session: CopySession
) -> None:  # 11
    path = copy_session("11-orphan-missing-parent")
    client = daemon()
    opened = client.request("session/open", {"session": str(path)})
    (warning,) = warned(opened["warnings"], "orphan")
    assert warning["entryId"] == "a0000004"
    assert "a0000004" in warning["message"]
    assert "dead0003" in warning["message"]
    assert "2 older entries are out of reach" in warning["message"]
    moved = client.request("session/switchLeaf", {"session": str(path), "targetId": "a0000002"})
    assert moved["leafId"] == "a0000002"
    context = client.request("session/context", {"session": str(path)})
    assert context["sources"] == ["a0000001", "a0000002"]


@pytest.mark.parametrize(
    ("name", "first"), [("12-cycle", "a0000002"), ("13-self-parent", "a0000001")]
)
def test_a_cycle_is_cut_where_it_first_stands_in_the_file(
    daemon: StartDaemon, copy_session: CopySession, name: str, first: str
) -> None:
    path = copy_session(name)
    client = daemon()
    started = time.monotonic()
    opened = client.request("session/open", {"session": str(path)})
    (warning,) = warned(opened["warnings"], "cycle")
    assert warning["entryId"] == first
    context = client.request("session/context", {"session": str(path)})
    assert context["path"][0] == first
    assert len(set(context["path"])) == len(context["path"])
    drawn = client.request("session/tree", {"session": str(path), "layout": "pi"})
    rows = {row["id"]: row for row in drawn["rows"]}
    assert len(rows) == opened["session"]["entryCount"]
    assert rows[first]["parentId"] is None
    for target in rows:
        plan = {"session": str(path), "targetId": target, "dryRun": True}
        client.request("session/switchLeaf", plan)
    assert time.monotonic() - started < 1 * SLACK
    assert append(client, path)["parentId"] == opened["leafId"]


def test_a_session_with_two_roots_is_two_trees(
    daemon: StartDaemon, copy_session: CopySession
) -> None:  # 15
    path = copy_session("15-two-roots")
    client = daemon()
    for layout in ("pinned", "pi"):
        view = {"session": str(path), "layout": layout, "expanded": ["a0000001"]}
        rows = client.request("session/tree", view)["rows"]
        roots = [row["id"] for row in rows if row["parentId"] is None]
        assert roots == ["a0000003", "a0000001"]
    switch = {"session": str(path), "targetId": "a0000002"}
    plan = client.request("session/switchLeaf", {**switch, "dryRun": True})["plan"]
    assert plan["commonAncestorId"] is None
    assert plan["leaving"] == ["a0000003", "a0000004"]
    summary = {"mode": "text", "text": "Root two was tried."}
    moved = client.request("session/switchLeaf", {**switch, "summary": summary})
    context = client.request("session/context", {"session": str(path)})
    assert context["sources"] == ["a0000001", "a0000002", moved["summaryEntryId"]]


def test_a_header_that_is_not_first_is_used(
    daemon: StartDaemon, copy_session: CopySession
) -> None:  # 17
    path = copy_session("17-header-not-first")
    original = path.read_bytes()
    assert append(daemon(), path)["parentId"] == "a0000004"
    added_to(path, original)
    assert original == (CASES / path.name).read_bytes()
