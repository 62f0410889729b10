"""The end of a file read without the rest shows what the whole file would show there."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchline.entries import Entry, move_record
from branchline.log.tail import Tail, read_end
from branchline.service.tail import rows_of_end
from branchline.tree.drawing import Drawing, View
from tests.unit.session_files import (
    TIMESTAMP,
    assistant,
    header,
    opened,
    text_line,
    text_of_file,
    user,
    write,
)
from tests.unit.test_rows_properties import EXAMPLES

UNKNOWN = {"position", "siblings", "context"}
"""What depends on what stands further up."""
FIRST, MOST = 600, 4_800
ALL = View()


def rows_of_file(path: Path, view: View) -> list[dict[str, Any]]:
    """All rows, by the whole file."""
    with opened(path, verify_up_to=0) as file:  # tokens are estimated, as in large files
        window = Drawing(file.tree, file).window(view, {}, limit=20_000)
        return [dict(row) for row in window["rows"]]


def known(row: dict[str, Any], *, first: bool = False) -> dict[str, Any]:
    """What the end of a file tells of a row."""
    return {
        key: value
        for key, value in row.items()
        if key not in UNKNOWN and not (first and key in ("parentId", "foldable"))
    }


def tail_rows(path: Path, view: View = ALL, limit: int = 5) -> dict[str, Any] | None:
    """The rows by the end of the file."""
    return rows_of_end(path, view, limit, FIRST, MOST)


def answer(entry_id: str, parent: str | None, text: str) -> Entry:
    """What an assistant says."""
    return assistant(entry_id, parent, [{"type": "text", "text": text}])


def talk(count: int, *, first: int = 0, parent: str | None = None) -> list[Entry]:
    """A chain of messages."""
    made: list[Entry] = []
    for number in range(first, first + count):
        entry_id = f"{number:08x}"
        message = user if number % 2 == 0 else answer
        made.append(message(entry_id, parent, f"message {number}"))
        parent = entry_id
    return made


def label(entry_id: str, parent: str, target: str) -> Entry:
    """A label."""
    return {
        "type": "label",
        "id": entry_id,
        "parentId": parent,
        "timestamp": TIMESTAMP,
        "targetId": target,
        "label": "here",
    }


def session(folder: Path, records: Sequence[Entry | bytes]) -> Path:
    """A session file of the present version that holds them."""
    return write(folder, text_of_file(header(), *records))


@st.composite
def sessions(draw: st.DrawFn) -> list[Entry]:
    """Long chains with forks, labels on anything, and moves."""
    entries = talk(2)
    ids = [entry["id"] for entry in entries]
    parent = ids[-1]
    for number in range(2, draw(st.integers(40, 90))):
        entry_id = f"{number:08x}"
        what = draw(st.sampled_from(("talk",) * 12 + ("fork", "fork", "label", "move")))
        if what == "fork":
            parent = draw(st.sampled_from(ids[-12:]))
        if what == "label":
            entries.append(label(entry_id, parent, draw(st.sampled_from(ids))))
        elif what == "move":
            parent = draw(st.sampled_from(ids[-30:]))
            entries.append(move_record(entry_id, parent, TIMESTAMP))
            continue
        elif draw(st.booleans()):
            entries.append(user(entry_id, parent, draw(st.text(max_size=30))))
        else:
            entries.append(answer(entry_id, parent, draw(st.text(max_size=30))))
        ids.append(entry_id)
        parent = entry_id
    return entries


@EXAMPLES
@given(
    entries=sessions(),
    filter_name=st.sampled_from(("default", "noTools", "userOnly", "labeledOnly", "all")),
    runs=st.booleans(),
    limit=st.integers(1, 12),
)
def test_the_rows_are_those_of_the_whole_file(
    tmp_path_factory: pytest.TempPathFactory,
    entries: list[Entry],
    filter_name: Any,
    runs: bool,
    limit: int,
) -> None:
    path = session(tmp_path_factory.mktemp("tail"), entries)
    view = View(filter=filter_name, runs_as_one=runs)
    found = tail_rows(path, view, limit)
    if found is None:
        return
    rows, whole = found["rows"], rows_of_file(path, view)
    assert 1 <= len(rows) <= limit
    at = [row["id"] for row in whole].index(rows[0]["id"])
    expected = whole[at : at + len(rows)]
    assert known(rows[0], first=True) == known(expected[0], first=True)
    assert [known(row) for row in rows[1:]] == [known(row) for row in expected[1:]]
    leaf = [at for at, row in enumerate(rows) if row["isLeaf"]]
    assert leaf == [found["leafRow"]]


def test_no_more_is_read_than_is_needed(tmp_path: Path) -> None:
    path = session(tmp_path, talk(60))
    lengths: list[int] = []

    def enough_at(count: int) -> Tail | None:
        lengths.clear()

        def is_enough(tail: Tail) -> bool:
            lengths.append(len(tail.tree))
            return len(tail.tree) >= count

        return read_end(path, is_enough, FIRST, MOST)

    assert enough_at(1) is not None
    assert len(lengths) == 1
    assert lengths[0] < 10
    assert enough_at(12) is not None
    assert len(lengths) > 2
    assert 12 <= lengths[-1] < 30
    # Never enough: what there is, up to the most.
    tail = enough_at(1_000)
    assert tail is not None
    assert len(tail.tree) == lengths[-1] < 60


def test_a_branch_that_begins_further_up_is_shown_from_where_it_is_known(tmp_path: Path) -> None:
    trunk = talk(40)
    branch = talk(6, first=100, parent=trunk[3]["id"])
    path = session(tmp_path, [*trunk, *branch])
    found = tail_rows(path)
    assert found is not None
    assert [row["id"] for row in found["rows"]] == [entry["id"] for entry in branch][-5:]
    assert found["leafId"] == branch[-1]["id"]
    assert found["whole"] is False


@pytest.mark.parametrize("target", ["00000001", None, "nowhere!"])
def test_a_leaf_that_stands_further_up_is_not_guessed(tmp_path: Path, target: str | None) -> None:
    path = session(tmp_path, [*talk(60), move_record("0000ffff", target, TIMESTAMP)])
    assert tail_rows(path) is None
    assert tail_rows(path, View(filter="all")) is None


def test_a_filter_that_shows_nothing_there_says_nothing(tmp_path: Path) -> None:
    path = session(tmp_path, talk(60))
    assert tail_rows(path, View(filter="labeledOnly")) is None


@pytest.mark.parametrize("content", [
    pytest.param(b"", id="empty"),
    pytest.param(b"\n" * 9_000, id="blank"),
    pytest.param(b"x" * 9_000, id="no session"),
    pytest.param(text_of_file(header(), *talk(3)), id="small"),
    pytest.param(text_of_file(header(2), *talk(60)), id="version 2"),
    pytest.param(text_of_file(header(), user("aaaaaaaa", None, "x" * 9_000)), id="one long line"),
])  # fmt: skip
def test_where_the_end_says_nothing(tmp_path: Path, content: bytes) -> None:
    assert tail_rows(write(tmp_path, content)) is None


def test_what_is_no_readable_file_says_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "fifo", tmp_path / "not there"):
        assert tail_rows(path) is None


def test_a_record_that_is_being_written_is_left_out(tmp_path: Path) -> None:
    entries = talk(60)
    path = session(tmp_path, entries)
    whole = tail_rows(path)
    with path.open("ab") as file:
        file.write(text_line(user("0000ffff", entries[-1]["id"], "more"))[:-20])
    found = tail_rows(path)
    assert found is not None
    assert whole is not None
    assert [row["id"] for row in found["rows"]] == [row["id"] for row in whole["rows"]]


@pytest.mark.parametrize("end", [b"}", b""], ids=["inside", "cut off"])
def test_damage_near_the_end_is_a_placeholder(tmp_path: Path, end: bytes) -> None:
    entries = talk(60)
    lines = [text_line(entry) for entry in entries]
    broken = lines[-2].replace(b'"content"', b'"content')[:-3] + end
    path = session(tmp_path, [*lines[:-2], broken, lines[-1]])
    found = tail_rows(path)
    assert found is not None
    assert [row["type"] for row in found["rows"][-3:]] == ["message", "placeholder", "message"]
    assert found["rows"][-1]["parentId"] == entries[-2]["id"]


def test_labels_behind_an_entry_count_wherever_they_hang(tmp_path: Path) -> None:
    trunk = talk(60)
    aside = [label("0000ff00", trunk[2]["id"], trunk[-3]["id"]), user("0000ff01", trunk[-1]["id"])]
    path = session(tmp_path, [*trunk, *aside])
    found = tail_rows(path)
    assert found is not None
    assert {row["id"]: row["label"] for row in found["rows"]}[trunk[-3]["id"]] == "here"
    assert json.dumps(found["rows"]).count('"here"') == 1
