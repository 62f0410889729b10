"""What a list says of each session, which sessions it shows, in which order, page by page."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.catalogue.database import Database
from branchline.catalogue.listing import Listing
from branchline.errors import InvalidParams
from branchline.log.info import message_time
from branchline.log.scan import VERIFIED_BYTES
from branchline.service.listing import Wanted, select
from tests.unit.helpers import entry, message
from tests.unit.session_files import (
    SESSION_ID,
    assistant,
    header,
    text_line,
    text_of_file,
    user,
    write,
)

TEXT = [{"type": "text", "text": "x"}]
LATER = "2026-05-06T07:08:09.123Z"


def listing_of(folder: Path) -> Listing:
    return Listing(Database(folder / "cache"))


def info_of(path: Path) -> dict[str, Any]:
    found = listing_of(path.parent).info(str(path))
    assert found is not None
    return found


# --- one session -----------------------------------------------------------------------------


def test_what_a_list_says_of_a_session(tmp_path: Path) -> None:
    content = text_of_file(
        header(cwd="/w/demo", parentSession="/s/parent.jsonl"),
        message("s", None, "system", "be brief"),
        message("a", "s", "user", " make it\n fast ", timestamp=1),
        {**assistant("b", "a", TEXT), "message": {"role": "assistant", "timestamp": 1778051289123}},
        user("c", "b"),
        message("d", "b", "user", "x", timestamp=1778051289123),
        entry("n", "d", "session_info", name="Parser\nspeed"),
    )
    path = write(tmp_path, content)
    assert info_of(path) == {
        "id": SESSION_ID,
        "path": str(path),
        "cwd": "/w/demo",
        "name": "Parser speed",
        "version": 3,
        "createdAt": "2026-01-02T03:04:05.678Z",
        "modifiedAt": LATER,
        "entryCount": 6,
        "messageCount": 5,
        "branchCount": 2,
        "firstMessage": "make it fast",
        "parentSession": "/s/parent.jsonl",
        "sizeBytes": len(content),
        "readOnly": False,
        "readable": True,
    }


def test_without_messages_the_header_says_when(tmp_path: Path) -> None:
    assert info_of(write(tmp_path, text_of_file(header())))["modifiedAt"] == header()["timestamp"]


def test_without_any_time_the_file_says_when(tmp_path: Path) -> None:
    path = write(tmp_path, text_of_file(header(timestamp=None)))
    os.utime(path, (1778051289.123, 1778051289.123))
    assert info_of(path)["modifiedAt"] == LATER


def test_a_lost_record_is_not_counted(tmp_path: Path) -> None:
    torn = text_line(user("b", "a"))[:70]
    path = write(tmp_path, text_of_file(header(), user("a"), torn, user("c", "b")))
    assert (info_of(path)["entryCount"], info_of(path)["messageCount"]) == (2, 2)


@pytest.mark.parametrize(("version", "read_only"), [(1, False), (2, False), (4, True)])
def test_a_newer_version_is_read_only(tmp_path: Path, version: int, read_only: bool) -> None:
    info = info_of(write(tmp_path, text_of_file(header(version))))
    assert (info["version"], info["readOnly"]) == (version, read_only)


@pytest.mark.parametrize("content", [b"", b"hello\n", text_of_file(user("a"))])
def test_what_is_no_session_is_not_listed(tmp_path: Path, content: bytes) -> None:
    assert listing_of(tmp_path).info(str(write(tmp_path, content))) is None


def test_what_is_gone_is_not_listed(tmp_path: Path) -> None:
    assert listing_of(tmp_path).info(str(tmp_path / "gone.jsonl")) is None


@pytest.mark.skipif(os.getuid() == 0, reason="root can read everything")
def test_what_cannot_be_read_is_listed_as_such(tmp_path: Path) -> None:
    path = write(tmp_path, text_of_file(header()), "t_s-1.jsonl")
    path.chmod(0)
    info = info_of(path)
    assert (info["readable"], info["id"], info["entryCount"]) == (False, "s-1", None)


def test_one_bad_file_hides_no_other(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "dangling.jsonl").symlink_to("nowhere")
    good = write(tmp_path, text_of_file(header()))
    infos = listing_of(tmp_path).infos(sorted(map(str, tmp_path.iterdir())))
    assert [info["path"] for info in infos] == [str(good)]


def test_an_info_is_read_anew_when_the_file_changes(tmp_path: Path) -> None:
    path = write(tmp_path, text_of_file(header(), user("a")))
    listing = listing_of(tmp_path)
    first = listing.info(str(path))
    assert listing.info(str(path)) is first
    path.write_bytes(text_of_file(header(), user("a"), user("b", "a")))
    changed = listing.info(str(path))
    assert changed is not None
    assert changed["entryCount"] == 2


def test_of_a_large_file_head_and_tail_are_read(tmp_path: Path) -> None:
    filler = user("f", "a", "x" * 100_000)
    many = [{**filler, "id": f"f{number}"} for number in range(VERIFIED_BYTES // 100_000 + 1)]
    last = message("z", "a", "user", "bye", timestamp=1778051289123)
    named = entry("n", "z", "session_info", name="Large")
    path = write(
        tmp_path, text_of_file(header(cwd="/w"), user("a", None, "first"), *many, last, named)
    )
    info = info_of(path)
    assert info["sizeBytes"] == path.stat().st_size > VERIFIED_BYTES
    assert (info["entryCount"], info["messageCount"], info["branchCount"]) == (None, None, None)
    assert (info["id"], info["cwd"], info["name"], info["firstMessage"], info["modifiedAt"]) == (
        SESSION_ID,
        "/w",
        "Large",
        "first",
        LATER,
    )
    assert (info["readable"], info["readOnly"]) == (True, False)


def test_a_large_file_without_a_header_is_not_listed(tmp_path: Path) -> None:
    path = write(tmp_path, b"x" * (VERIFIED_BYTES + 1))
    assert listing_of(tmp_path).info(str(path)) is None


@pytest.mark.parametrize(
    ("content", "session_id"),
    [
        (text_of_file(header(id="s")), "s"),
        (text_of_file(header(id="s"))[:-1], "s"),
        (b"\xef\xbb\xbf" + text_of_file(header(id="s")), "s"),
        (text_of_file({"type": "title"}, header(id="s")), "s"),
        (text_of_file(user("a")), None),
        (b"", None),
    ],
)
def test_the_id_in_a_file_s_header(tmp_path: Path, content: bytes, session_id: str | None) -> None:
    listing = listing_of(tmp_path)
    path = write(tmp_path, content)
    assert listing.session_id(str(path)) == session_id
    listing.info(str(path))
    assert listing.session_id(str(path)) == session_id
    assert listing.session_id(str(tmp_path / "gone")) is None


@pytest.mark.parametrize(
    ("sent", "wanted"),
    [
        (1778051289123, LATER),
        (1778051289123.4, LATER),
        (None, "2026-01-02T03:04:05.678Z"),
        (0, "2026-01-02T03:04:05.678Z"),
        (True, "2026-01-02T03:04:05.678Z"),
        (10**30, "2026-01-02T03:04:05.678Z"),
        ("1778051289123", "2026-01-02T03:04:05.678Z"),
    ],
)
def test_when_a_message_was_sent(sent: Any, wanted: str) -> None:
    assert message_time(message("a", None, "user", "x", timestamp=sent)) == wanted


@pytest.mark.parametrize("sent", [8.6e15, 253402300800000, 1e15])
def test_a_time_in_the_far_future_hides_no_session(tmp_path: Path, sent: float) -> None:
    path = write(tmp_path, text_of_file(header(), message("a", None, "user", "x", timestamp=sent)))
    assert info_of(path)["readable"]


# --- which sessions --------------------------------------------------------------------------


def info(stem: str, modified: str | None, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"id-{stem}",
        "path": f"/s/{stem}.jsonl",
        "cwd": "/w/demo",
        "name": None,
        "firstMessage": None,
        "modifiedAt": modified,
        "parentSession": None,
        **fields,
    }


def shown(infos: list[dict[str, Any]], **wanted: Any) -> list[str]:
    page = select(infos, Wanted(**{"folders": None, **wanted}), None, 100)
    return [Path(one["path"]).stem for one in page.sessions]


def test_the_newest_come_first() -> None:
    assert shown([info("b", "2"), info("a", "3"), info("c", "1")]) == ["a", "b", "c"]


def test_sessions_without_a_time_come_last() -> None:
    assert shown([info("x", None), info("a", "1")]) == ["a", "x"]


def test_only_sessions_of_the_folders_and_below() -> None:
    infos = [
        info("in", "4", cwd="/w/demo"),
        info("below", "3", cwd="/w/demo/sub"),
        info("beside", "2", cwd="/w/demo-2"),
        info("nowhere", "1", cwd=None),
    ]
    assert shown(infos, folders=[Path("/w/demo")]) == ["in", "below"]
    assert shown(infos, folders=[]) == []
    assert shown(infos, folders=None) == ["in", "below", "beside", "nowhere"]


def test_every_word_must_occur_somewhere() -> None:
    infos = [
        info("a", "3", name="Parser Speed"),
        info("b", "2", firstMessage="make the parser fast"),
        info("c", "1", cwd="/w/parser"),
    ]
    assert shown(infos, query="PARSER") == ["a", "b", "c"]
    assert shown(infos, query=" speed parser ") == ["a"]
    assert shown(infos, query="fast id-b") == ["b"]
    assert shown(infos, query="parser nothing") == []


def test_only_named_ones() -> None:
    assert shown([info("a", "1", name="n"), info("b", "2")], named=True) == ["a"]


def test_forks_follow_what_they_were_made_from() -> None:
    infos = [
        info("old", "1"),
        info("other", "5"),
        info("fork", "2", parentSession="/s/old.jsonl"),
        info("newest", "9", parentSession="/s/fork.jsonl"),
        info("fork2", "3", parentSession="/s/old.jsonl"),
    ]
    assert shown(infos, threaded=True) == ["old", "fork2", "fork", "newest", "other"]


def test_forks_of_what_is_not_shown_stand_alone() -> None:
    infos = [info("a", "1", parentSession="/s/gone.jsonl"), info("b", "2")]
    assert shown(infos, threaded=True) == ["b", "a"]


def test_sessions_that_name_each_other_as_parent_are_all_shown() -> None:
    infos = [
        info("a", "1", parentSession="/s/b.jsonl"),
        info("b", "2", parentSession="/s/a.jsonl"),
        info("self", "3", parentSession="/s/self.jsonl"),
        info("c", "4", parentSession="/s/a.jsonl"),
    ]
    assert sorted(shown(infos, threaded=True)) == ["a", "b", "c", "self"]


NAMES = st.sampled_from("abcdefgh")


@st.composite
def some_infos(draw: st.DrawFn) -> list[dict[str, Any]]:
    names = draw(st.lists(NAMES, unique=True))
    return [
        info(
            name,
            draw(st.sampled_from("123")),
            parentSession=draw(st.none() | NAMES.map("/s/{}.jsonl".format)),
        )
        for name in names
    ]


@given(some_infos(), st.booleans(), st.integers(1, 3))
@settings(deadline=None)
def test_pages_together_are_the_whole_list(
    infos: list[dict[str, Any]], threaded: bool, limit: int
) -> None:
    wanted = Wanted(None, threaded=threaded)
    whole = shown(infos, threaded=threaded)
    assert sorted(whole) == sorted(Path(one["path"]).stem for one in infos)
    pages: list[str] = []
    cursor = None
    while True:
        page = select(infos, wanted, cursor, limit)
        assert page.total == len(infos)
        assert len(page.sessions) <= limit
        pages += [Path(one["path"]).stem for one in page.sessions]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert pages == whole


def test_a_new_session_does_not_shift_the_pages() -> None:
    infos = [info(name, str(9 - at)) for at, name in enumerate("abcd")]
    first = select(infos, Wanted(None), None, 2)
    second = select([*infos, info("new", "99")], Wanted(None), first.next_cursor, 2)
    assert [one["id"] for one in second.sessions] == ["id-c", "id-d"]
    assert second.next_cursor is None


def test_a_session_that_goes_takes_no_other_along() -> None:
    infos = [info(name, str(9 - at)) for at, name in enumerate("abcd")]
    first = select(infos, Wanted(None), None, 2)
    second = select([infos[0], *infos[2:]], Wanted(None), first.next_cursor, 2)
    assert [one["id"] for one in second.sessions] == ["id-c", "id-d"]


@pytest.mark.parametrize("cursor", ["", "?", "é", "YQ", "YQ==", "5"])
def test_a_cursor_that_no_page_gave(cursor: str) -> None:
    infos = [info("a", "1")]
    with pytest.raises(InvalidParams, match="cursor"):
        select(infos, Wanted(None), cursor, 2)
