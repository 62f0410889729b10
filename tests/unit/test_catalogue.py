"""The catalogue follows the files, survives whatever happens to it, and never lies."""

import os
import random
import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.catalogue import database as databases
from branchline.catalogue import indexing
from branchline.catalogue.database import CatalogueDamaged, Database, free_key
from branchline.catalogue.indexing import Progress
from branchline.catalogue.listing import Listing
from branchline.log.info import SMALL_BYTES
from branchline.settings import SessionsRoot
from tests.unit.catalogues import Catalogue
from tests.unit.session_files import header, text_line, text_of_file, user


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    catalogue = Catalogue(tmp_path)
    catalogue.write("one.jsonl", user("a", None, "first words"))
    catalogue.write("two.jsonl", user("a", None, "second words"))
    catalogue.take_in()
    return catalogue


def append(path: Path, *lines: bytes) -> None:
    with path.open("ab") as file:
        file.writelines(line + b"\n" for line in lines)


# --- following the files ---------------------------------------------------------------------


def test_what_was_appended_is_added(catalogue: Catalogue) -> None:
    key = catalogue.rows()["one.jsonl"].key
    append(catalogue.folder / "one.jsonl", text_line(user("b", "a", "more words")))
    catalogue.take_in()
    assert catalogue.found("words") == ["one.jsonl a", "one.jsonl b", "two.jsonl a"]
    row = catalogue.rows()["one.jsonl"]
    assert (row.key, row.indexed, row.info and row.info["entryCount"]) == (key, 2, 2)


def test_a_line_that_is_finished_later_is_added(catalogue: Catalogue) -> None:
    path, line = catalogue.folder / "one.jsonl", text_line(user("b", "a", "torn words"))
    with path.open("ab") as file:
        file.write(line[:40])
    catalogue.take_in()
    append(path, line[40:], text_line(user("c", "b", "whole words")))
    catalogue.take_in()
    assert catalogue.found("torn OR whole words") == []
    assert (catalogue.found("torn"), catalogue.found("whole")) == (["one.jsonl b"], ["one.jsonl c"])


@pytest.mark.parametrize("longer", [False, True])
def test_a_session_that_was_replaced_is_read_anew(catalogue: Catalogue, longer: bool) -> None:
    records = [user(f"n{at}", None, "third words") for at in range(3 if longer else 1)]
    catalogue.write("one.jsonl", *records, id="other")
    catalogue.take_in()
    assert catalogue.found("first") == []
    assert len(catalogue.found("third")) == len(records)


def test_what_is_deleted_is_forgotten(catalogue: Catalogue) -> None:
    (catalogue.folder / "one.jsonl").unlink()
    catalogue.take_in()
    assert catalogue.rows().keys() == {"two.jsonl"}
    (catalogue.folder / "two.jsonl").unlink()
    catalogue.indexer().take_in_files([str(catalogue.folder / "two.jsonl")])
    assert catalogue.rows() == {}


def test_what_is_no_session_is_looked_at_once(catalogue: Catalogue) -> None:
    (catalogue.folder / "notes.jsonl").write_text("hello\n")
    (catalogue.folder / "folder.jsonl").mkdir()
    catalogue.take_in()
    assert catalogue.rows()["notes.jsonl"].info is None
    reports: list[int] = []
    roots = [SessionsRoot(catalogue.folder, flat=True)]
    report = lambda progress: reports.append(progress.of_sessions)  # noqa: E731
    catalogue.indexer(report=report).take_in_folders(roots)
    assert reports == [0]


def test_a_name_that_is_not_utf_8(catalogue: Catalogue) -> None:
    path = os.fsencode(catalogue.folder) + b"/\xff.jsonl"
    Path(os.fsdecode(path)).write_bytes(text_of_file(header(), user("a", None, "odd words")))
    catalogue.take_in()
    (hit,) = catalogue.hits("odd")
    assert os.fsencode(hit.session["path"]) == path


def test_keys_go_up_with_the_time_a_session_was_begun(catalogue: Catalogue) -> None:
    catalogue.write("new.jsonl", user("a"), timestamp="2026-05-01T00:00:00.000Z")
    catalogue.write("old.jsonl", user("a"), timestamp="2025-05-01T00:00:00.000Z")
    catalogue.take_in()
    rows = catalogue.rows()
    assert rows["old.jsonl"].key < rows["one.jsonl"].key < rows["new.jsonl"].key


@given(st.lists(st.integers(-5, 2**40), max_size=30))
def test_a_key_is_free(created: list[int]) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table session (key integer primary key)")
    connection.execute("create table gone (key integer primary key)")
    seen: set[int] = set()
    for number, moment in enumerate(created):
        key = free_key(connection, moment % 10_000, ())
        assert key not in seen
        seen.add(key)
        table = "gone" if number % 2 else "session"
        connection.execute(f"insert into {table} values (?)", (key,))
    taken = {free_key(connection, 0, ())}
    assert free_key(connection, 0, taken) not in taken | seen
    connection.close()


# --- work that ends in the middle -------------------------------------------------------------


class Killed(Exception):
    pass


def killer(pauses: Iterator[int]) -> None:
    if next(pauses, None) is None:
        raise Killed


def test_work_that_is_ended_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "_PIECE_BYTES", 2000)
    catalogue = Catalogue(tmp_path)
    for name in ("one", "two"):
        records = [user(f"{name}{at}", None, f"word{at} common") for at in range(40)]
        catalogue.write(f"{name}.jsonl", *records)
    roots = [SessionsRoot(tmp_path, flat=True)]
    indexed = -1
    for stop_at in range(1, 200):
        pause = partial(killer, iter(range(stop_at)))
        try:
            Catalogue(tmp_path).indexer(pause=pause).take_in_folders(roots)
        except Killed:
            rows = catalogue.rows().values()
            so_far = sum(row.indexed for row in rows)
            assert so_far == len(catalogue.found("common", limit=1000)) >= indexed
            indexed = so_far
        else:
            break
    assert 0 < indexed < 80
    assert len(catalogue.found("common", limit=1000)) == 80
    assert all(row.complete for row in catalogue.rows().values())


def test_urgent_files_go_first(catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        catalogue.write(f"n{number}.jsonl", user("a", None, "later"))
    path = catalogue.write("urgent.jsonl", user("a", None, "now"))
    urgent = [[str(path)]]
    done: list[str] = []

    def report(progress: Progress) -> None:
        done.extend(Path(one).name for one in progress.described)
        progress.described.clear()

    roots = [SessionsRoot(catalogue.folder, flat=True)]
    os.utime(path, ns=(0, 0))  # its turn would be the last
    monkeypatch.setattr(indexing, "_PIECE_BYTES", 1)
    catalogue.indexer(report=report, urgent=lambda: urgent.pop() if urgent else []).take_in_folders(
        roots
    )
    assert done[0] == "urgent.jsonl"
    assert sorted(done) == sorted(set(done))
    assert catalogue.found("now") == ["urgent.jsonl a"]


# --- what may happen to the database ----------------------------------------------------------


def other_programs(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("create table thing (name)")
    connection.close()


def other_version(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("pragma user_version = 99")
    connection.close()


def no_database(path: Path) -> None:
    path.write_bytes(b"hello" * 1000)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize("harm", [other_programs, other_version, no_database, cut])
def test_a_database_of_no_use_is_begun_anew(tmp_path: Path, harm: object) -> None:
    catalogue = Catalogue(tmp_path)
    for number in range(30):
        catalogue.write(f"{number}.jsonl", *[user(f"{at}", None, "words") for at in range(30)])
    catalogue.take_in()
    catalogue.database.close()
    if harm is other_programs:
        catalogue.database.path.unlink()
    harm(catalogue.database.path)  # type: ignore[operator]
    again = Catalogue(tmp_path)
    with pytest.raises(CatalogueDamaged):
        again.database.check()
    again.take_in()
    assert len(again.found("words", limit=1000)) == 900


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_flipped_bytes_never_give_a_wrong_answer(
    tmp_path_factory: pytest.TempPathFactory, chance: random.Random
) -> None:
    """Damage is noticed, or harmless: every info and hit is what the files say."""
    folder = tmp_path_factory.mktemp("flipped")
    catalogue = Catalogue(folder)
    for number in range(8):
        records = [user(f"{at}", None, f"words {at}") for at in range(20)]
        catalogue.write(f"{number}.jsonl", *records)
    catalogue.take_in()
    right = {name: row.info for name, row in catalogue.rows().items()}
    catalogue.database.close()
    with catalogue.database.path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        for _ in range(chance.choice((1, 3, 30))):
            place = chance.randrange(size)
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ 1 << chance.randrange(8)]))
    again = Catalogue(folder)
    try:
        for hit in again.hits("words", limit=1000):
            assert hit.session == right[Path(hit.session["path"]).name]
            assert hit.snippet == f"words {hit.entry_id}"
        again.database.check()
        for name, row in again.rows().items():
            assert row.info is None or row.info == right[name]
    except CatalogueDamaged:
        pass
    again.take_in()
    assert len(again.found("words", limit=1000)) == 160


def test_another_process_began_it_anew(catalogue: Catalogue) -> None:
    assert catalogue.found("first") == ["one.jsonl a"]
    other = Catalogue(catalogue.folder)
    other.database.discard()
    other.take_in()
    catalogue.write("three.jsonl", user("a", None, "third"))
    other.take_in()
    assert catalogue.found("third") == ["three.jsonl a"]


def test_when_most_of_it_is_waste_it_is_begun_anew(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "_LITTLE", 3)
    for number in range(4):
        catalogue.write("one.jsonl", user(f"{number}", None, f"words{number}"), id=f"s{number}")
        catalogue.take_in()
    catalogue.write("two.jsonl", user("b", None, "last"), id="new")
    catalogue.take_in()
    with catalogue.database.use() as connection:
        assert connection.execute("select count(*) from gone").fetchone() == (0,)
    assert catalogue.found("last") == ["new b"]
    assert catalogue.found("words3") == ["s3 3"]


def test_databases_of_other_versions_go_when_nobody_uses_them(catalogue: Catalogue) -> None:
    folder = catalogue.database.path.parent
    old, used = folder / "catalogue-0.db", folder / "catalogue-99.db"
    for path in (old, used, Path(f"{old}-wal")):
        path.touch()
    os.utime(old, (0, 0))
    catalogue.database.delete_old_versions()
    assert sorted(path.name for path in folder.glob("catalogue-*.db*")) == sorted(
        {used.name} | {path.name for path in folder.glob(f"{catalogue.database.path.name}*")}
    )
    assert catalogue.found("first") == ["one.jsonl a"]


def test_it_is_for_the_owner_s_eyes_only(catalogue: Catalogue) -> None:
    path = catalogue.database.path
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert b"first words" not in path.read_bytes() or b"firstMessage" in path.read_bytes()


# --- the list ---------------------------------------------------------------------------------


def test_a_list_takes_from_the_catalogue_what_it_need_not_read(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        catalogue.write(f"{number}.jsonl", user("a", None, "x" * (SMALL_BYTES + 1)))
    catalogue.take_in()
    paths = sorted(map(str, catalogue.folder.glob("*.jsonl")))
    monkeypatch.setattr("branchline.catalogue.listing.read_info", None)
    infos = Listing(Database(catalogue.database.path.parent)).infos(paths)
    assert [info["path"] for info in infos] == paths
    assert {info["entryCount"] for info in infos} == {1}


def test_counts_come_when_a_large_file_was_indexed(catalogue: Catalogue) -> None:
    path = str(
        catalogue.write("large.jsonl", *[user(f"{at}", None, "x" * 9000) for at in range(9)])
    )
    listing = Listing(catalogue.database)
    first = listing.info(path)
    assert first is not None
    assert first["entryCount"] is None
    catalogue.take_in()
    assert listing.take_over([path]) == [
        {**first, "entryCount": 9, "messageCount": 9, "branchCount": 9}
    ]
    assert listing.take_over([path]) == []
    assert (listing.info(path) or {})["entryCount"] == 9


def test_counts_come_at_once_for_what_is_looked_at(catalogue: Catalogue) -> None:
    paths = []
    for number in range(3):
        records = [user(f"{at}", None, "x" * 9000) for at in range(9)]
        paths.append(str(catalogue.write(f"large{number}.jsonl", *records)))
    listing = Listing(catalogue.database)
    infos = listing.infos(paths)
    size = infos[0]["sizeBytes"]
    counted = listing.counted(infos, 2 * size + 1)
    assert [info["entryCount"] for info in counted] == [9, 9, None]
    assert [info["entryCount"] for info in listing.infos(paths)] == [9, 9, None]
    assert listing.counted(counted, 2 * size + 1) == counted
    os.unlink(paths[2])
    assert listing.counted(infos[2:], size) == infos[2:]


def test_a_list_does_without_a_catalogue_that_is_of_no_use(catalogue: Catalogue) -> None:
    catalogue.database.close()
    no_database(catalogue.database.path)
    for number in range(20):
        catalogue.write(f"{number}.jsonl", user("a"))
    paths = sorted(map(str, catalogue.folder.glob("*.jsonl")))
    infos = Listing(catalogue.database).infos(paths)
    assert [info["path"] for info in infos] == paths
