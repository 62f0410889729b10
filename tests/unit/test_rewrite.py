"""Repair and upgrade: the new file, the old one beside it, and what else was in the folder."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.entries import Entry, Kind
from branchline.errors import StorageFailure
from branchline.log.rewrite import rewrite
from branchline.tree.context import build_context
from tests.unit.helpers import TESTS, expected
from tests.unit.session_files import (
    TIMESTAMP,
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
LASTING = {"unknown-type", "first-kept-missing", "orphan-tool-result"}
LASTING |= {"leaf-target-missing", "label-target-missing", "edit-target-missing"}
"""Warnings about what is said, not about the file: repair does not touch what people said."""


def rewritten(path: Path) -> Path:
    """Rewrite a file; give the backup."""
    with opened(path) as file:
        return rewrite(file, file.tree)


def problems(path: Path) -> list[str]:
    """The codes of everything that is wrong with a file."""
    with opened(path) as file:
        return codes(file) + [problem.code for problem in file.tree.problems]


def context(path: Path) -> list[Any]:
    """What the model sees at the leaf."""
    with opened(path) as file:
        tree = file.tree
        return build_context(tree, file, tree.leaf, 0).messages


DAMAGED: dict[str, bytes] = {
    "torn-tail": text_of_file(header(), A, B) + text_line(C)[:50],
    "no-final-newline": text_of_file(header(), A, B)[:-1],
    "nul-bytes": text_of_file(header(), A, b"\0\0" + text_line(B)),
    "bom": b"\xef\xbb\xbf" + text_of_file(header(), A, B),
    "invalid-utf8": text_of_file(header(), A, text_line(B).replace(b"hello", b"he\xffo")),
    "bad-line": text_of_file(header(), text_line(A) + text_line(B), b"oops", C),
    "placeholder": text_of_file(header(), A, text_line(B)[:70], C),
    "not-an-entry": text_of_file(header(), A, b"{}", B),
    "duplicate-id": text_of_file(header(), A, B, user("b", "a", "again"), C),
    "orphan": text_of_file(header(), A, user("b", "gone"), C),
    "cycle": text_of_file(header(), user("a", "c"), B, C),
    "header-not-first": text_of_file({"type": "title"}, header(), A, B),
    "extra-header": text_of_file(header(), A, header(id="other"), B),
}


@pytest.mark.parametrize("code", DAMAGED)
def test_repair_mends_what_a_check_names(tmp_path: Path, code: str) -> None:
    path = write(tmp_path, DAMAGED[code])
    assert code in problems(path)
    said = context(path)
    backup = rewritten(path)
    assert problems(path) == []
    assert context(path) == said
    assert backup.read_bytes() == DAMAGED[code]
    assert backup == path.with_name("session.jsonl.bak")


@pytest.mark.parametrize("code", DAMAGED)
def test_repair_of_a_repaired_file_changes_no_byte(tmp_path: Path, code: str) -> None:
    path = write(tmp_path, DAMAGED[code])
    rewritten(path)
    once = path.read_bytes()
    assert rewritten(path) == path.with_name("session.jsonl.bak.1")
    assert path.read_bytes() == once


@pytest.mark.parametrize("code", DAMAGED)
def test_repair_keeps_what_is_right_byte_for_byte(tmp_path: Path, code: str) -> None:
    path = write(tmp_path, DAMAGED[code])
    rewritten(path)
    lines = path.read_bytes().splitlines()
    assert lines[0] == text_line(header())
    for record in (A, B, C):
        line = text_line(record)
        changed = {"invalid-utf8": "b", "cycle": "a", "orphan": "b"}.get(code)
        if line in DAMAGED[code] and record["id"] != changed and code != "duplicate-id":
            assert line in lines


def test_a_spelling_of_ones_own_is_kept(tmp_path: Path) -> None:
    odd = b'{ "id":"b" ,"parentId": "a", "type":"x", "n":12345678901234567890123, "t":"\\ud83d" }'
    path = write(tmp_path, text_of_file(header(), A, odd, b"oops"))
    rewritten(path)
    assert path.read_bytes() == text_of_file(header(), A, odd)


def test_a_lost_record_becomes_one_that_keeps_the_chain(tmp_path: Path) -> None:
    path = write(tmp_path, DAMAGED["placeholder"])
    rewritten(path)
    record = json.loads(path.read_bytes().splitlines()[2])
    assert (record["id"], record["parentId"]) == ("b", "a")
    assert (record["type"], record["customType"]) == ("custom", "branchline.damaged")
    with opened(path) as file:
        assert ids(file) == ["a", "b", "c"]
        assert file.tree.kinds[1] == Kind.CUSTOM


def test_a_record_whose_id_was_taken_over_gets_a_new_one(tmp_path: Path) -> None:
    path = write(tmp_path, DAMAGED["duplicate-id"])
    rewritten(path)
    records = [json.loads(line) for line in path.read_bytes().splitlines()[1:]]
    assert [one["id"] for one in records if one["message"]["content"] == "again"] == ["b"]
    assert len({one["id"] for one in records}) == 4
    assert [one["parentId"] for one in records] == [None, "a", "a", "b"]


@pytest.mark.parametrize(
    "name", [name for name, one in expected("cases").items() if one["open"] == "ok"]
)
def test_the_sample_files_mean_the_same_after_it(tmp_path: Path, name: str) -> None:
    content = (TESTS / "cases" / f"{name}.jsonl").read_bytes()
    path = write(tmp_path, content)
    if "newer-version" in problems(path):
        return  # never written: the service refuses
    said = context(path)
    backup = rewritten(path)
    assert set(problems(path)) <= LASTING
    assert context(path) == said
    assert backup.read_bytes() == content


# --- upgrade ---------------------------------------------------------------------------------


def test_version_1_becomes_version_3_with_the_ids_it_was_read_with(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    write(tmp_path, (TESTS / "cases" / "19-v1-linear.jsonl").read_bytes())
    with opened(path) as file:
        seen = [file.entry(at) for at in range(len(file.tree))]
    rewritten(path)
    assert problems(path) == []
    with opened(path) as file:
        assert [file.entry(at) for at in range(len(file.tree))] == seen
        assert file.header.version == 3
        assert file.header.cwd == "/w/demo"


def test_version_2_becomes_version_3(tmp_path: Path) -> None:
    path = write(tmp_path, (TESTS / "cases" / "20-v2-hookmessage.jsonl").read_bytes())
    rewritten(path)
    lines = path.read_bytes().splitlines()
    assert json.loads(lines[0])["version"] == 3
    assert json.loads(lines[2])["message"]["role"] == "custom"
    assert problems(path) == []


def test_a_header_keeps_the_fields_that_we_do_not_know(tmp_path: Path) -> None:
    path = write(tmp_path, text_of_file(header(2, color="red", provider="local"), A))
    rewritten(path)
    upgraded = json.loads(path.read_bytes().splitlines()[0])
    assert upgraded == header(3, color="red", provider="local")
    assert list(upgraded)[:2] == ["type", "version"]


def test_a_version_1_file_with_damage_keeps_its_chain(tmp_path: Path) -> None:
    old = [
        {"type": "message", "timestamp": TIMESTAMP, "message": {"role": "user", "content": text}}
        for text in "abc"
    ]
    path = write(tmp_path, text_of_file(header(1), old[0], b'{"type":"mess', old[1], old[2]))
    said = context(path)
    assert len(said) == 3
    rewritten(path)
    assert (problems(path), context(path)) == ([], said)


# --- the files around it ---------------------------------------------------------------------


def test_mode_and_owner_are_kept(tmp_path: Path) -> None:
    path = write(tmp_path, DAMAGED["bad-line"])
    path.chmod(0o640)
    rewritten(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert path.stat().st_uid == os.getuid()


def test_only_the_new_file_and_the_backup_are_left(tmp_path: Path) -> None:
    path = write(tmp_path, DAMAGED["bad-line"])
    before = path.stat().st_ino
    backup = rewritten(path)
    names = {item.name for item in tmp_path.iterdir()}
    assert names - {"locks"} == {"session.jsonl", "session.jsonl.bak"}
    assert backup.stat().st_ino == before


def test_an_earlier_backup_is_never_touched(tmp_path: Path) -> None:
    (tmp_path / "session.jsonl.bak").write_text("earlier")
    (tmp_path / "session.jsonl.bak.1").symlink_to("nowhere")
    path = write(tmp_path, DAMAGED["bad-line"])
    assert rewritten(path).name == "session.jsonl.bak.2"
    assert (tmp_path / "session.jsonl.bak").read_text() == "earlier"
    assert not (tmp_path / "nowhere").exists()


def test_where_there_are_no_hard_links_the_old_file_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    path = write(tmp_path, DAMAGED["bad-line"])
    for name in ("session.jsonl.bak", "session.jsonl.bak.1"):
        path.write_bytes(DAMAGED["bad-line"])
        backup = rewritten(path)
        assert (backup.name, backup.read_bytes()) == (name, DAMAGED["bad-line"])


def after_linking(then: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let something happen between the backup and the rename."""
    real = os.link

    def link(source: Any, target: Any) -> None:
        real(source, target)
        then()

    monkeypatch.setattr(os, "link", link)


def test_what_others_append_meanwhile_is_carried_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, DAMAGED["bad-line"])

    def append() -> None:
        with path.open("ab") as file:
            file.write(text_of_file(user("late", "c")))

    after_linking(append, monkeypatch)
    rewritten(path)
    assert path.read_bytes().endswith(text_of_file(C, user("late", "c")))
    assert problems(path) == []


def test_the_rest_of_a_torn_record_is_carried_over_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, text_of_file(header(), A, B)[:-1])

    def append() -> None:
        with path.open("ab") as file:
            file.write(b"\n" + text_of_file(C))

    after_linking(append, monkeypatch)
    rewritten(path)
    assert path.read_bytes() == text_of_file(header(), A, B, C)


def test_a_failed_rewrite_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, DAMAGED["bad-line"])

    def refused(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", refused)
        with pytest.raises(StorageFailure) as failure:
            rewritten(path)
    assert failure.value.facts["errno"] == "ENOSPC"
    assert path.read_bytes() == DAMAGED["bad-line"]
    assert not [item for item in tmp_path.iterdir() if item.name.endswith(".tmp")]


@given(pi_entries().filter(bool), st.data())
@settings(max_examples=60, deadline=None)
def test_whatever_the_damage_nothing_else_changes(
    records: list[Entry], data: st.DataObject
) -> None:
    content = text_of_file(header(), *records)
    first = len(text_of_file(header()))
    at = data.draw(st.integers(first, len(content) - 1))
    junk = data.draw(st.sampled_from([b"", b"\n", b"\0", b"\xff", b"oops", b"{}\n"]))
    damaged = content[:at] + junk + content[at + (not junk) :]
    with opened_content(damaged) as file:
        tree = file.tree
        leaf = tree.id_of(tree.leaf)
        said = build_context(tree, file, tree.leaf, 0).messages
        whole = [file.raw(at) for at in range(len(tree)) if tree.kinds[at] != Kind.PLACEHOLDER]
        touched = {tree.ids[one.ordinal] for one in tree.problems}
        touched |= {one.entry_id for one in file.warnings if one.entry_id}
        backup = rewrite(file, tree)
        assert backup.read_bytes() == damaged
        lines = file.path.read_bytes().split(b"\n")
        for raw in whole:
            assert json.loads(raw.decode("utf-8", "replace"))["id"] in touched or raw in lines
        assert not set(problems(file.path)) - LASTING
        with opened(file.path) as new:
            again = new.tree
            assert again.id_of(again.leaf) == leaf
            assert build_context(again, new, again.leaf, 0).messages == said


def test_what_stands_for_a_lost_record_keeps_its_place_in_time(tmp_path: Path) -> None:
    path = write(tmp_path, DAMAGED["placeholder"])
    rewritten(path)
    lost = json.loads(path.read_bytes().splitlines()[2])
    assert (lost["customType"], lost["timestamp"]) == ("branchline.damaged", A["timestamp"])
