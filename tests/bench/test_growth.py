"""Time grows no faster than the file, and what touches one entry does not grow at all.

Processor time, best of several, which a busy machine does not change much. How long things really
take is for the bench.
"""

import time
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest

from branchline.catalogue.database import Database
from branchline.catalogue.indexing import Indexer
from branchline.log.saved_index import SavedIndexes
from branchline.log.session_file import SessionFile
from branchline.service.actions import append
from branchline.service.client import Client, Silence
from branchline.service.exporting import Wanted, export_session
from branchline.service.jobs import Jobs
from branchline.service.session import Session
from branchline.service.summarising import Drafts
from branchline.service.switching import Switch, switch_leaf
from branchline.tree.context import build_context
from branchline.tree.drawing import Drawing, View
from branchline.tree.index import Tree
from tests.bench.made_files import write_session
from tests.e2e.world import record

TIME = "2026-02-03T10:00:00.000Z"
LINEAR = 12.0
"""What ten times the entries may cost."""
CONSTANT = 4.0
"""What does not depend on the entries may still differ by this, on a busy machine."""
BEST_OF = 4
CHANGES = 20
COMPACTED_BEFORE = 200
FAR = 10


class Files(NamedTuple):
    """Two sessions, one many times as long as the other."""

    short: Path
    long: Path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Sessions of 1,000 and 10,000 entries. They stay as they are."""
    folder = tmp_path_factory.mktemp("growth")
    found = Files(folder / "short.jsonl", folder / "long.jsonl")
    write_session(found.short, 1_000)
    write_session(found.long, 10_000)
    return found


@pytest.fixture(scope="module")
def chains(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Chains of 1,000 and 100,000 short messages, for the tests that append."""
    folder = tmp_path_factory.mktemp("chains")
    found = Files(folder / "short.jsonl", folder / "long.jsonl")
    for path, count in zip(found, (1_000, 100_000), strict=True):
        with path.open("wb") as file:
            file.write(record(type="session", version=3, id="chain", timestamp=TIME, cwd="/w"))
            file.writelines(chain(count))
    return found


def chain(count: int) -> Iterator[bytes]:
    """Questions and answers, each the child of the one before, compacted near the end."""
    usage = {"input": 10, "output": 10, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 20}
    model = {"provider": "anthropic", "model": "claude-sonnet-4-5"}
    answer = {"role": "assistant", "content": [], **model, "usage": usage, "stopReason": "stop"}
    question = {"role": "user", "content": "go on"}
    parent_id: str | None = None
    for number in range(count):
        entry_id = f"{number:08x}"
        common = {"id": entry_id, "parentId": parent_id, "timestamp": TIME}
        yield record(type="message", **common, message=answer if number % 2 else question)
        parent_id = entry_id
        if number == count - COMPACTED_BEFORE:
            kept = {"firstKeptEntryId": entry_id, "summary": "so far", "tokensBefore": 1}
            common = {"id": "compaction", "parentId": entry_id, "timestamp": TIME}
            yield record(type="compaction", **common, **kept)
            parent_id = "compaction"


def best(work: Callable[[], object]) -> float:
    """The least processor time of several tries, in seconds."""
    times = []
    for _ in range(BEST_OF):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def growth(files: Files, prepare: Callable[[Path], Callable[[], object]]) -> float:
    """How many times as long the work on the long file takes."""
    short, long = (best(prepare(path)) for path in files)
    return long / short


def load(path: Path, verify_up_to: int = 0) -> tuple[SessionFile, Tree]:
    """A session's file and index."""
    file = SessionFile(path, path.parent / "locks", verify_up_to=verify_up_to)
    return file, file.tree


@pytest.mark.parametrize("verify_up_to", [0, 1 << 40], ids=["fast", "verified"])
def test_opening_grows_with_the_file(files: Files, verify_up_to: int) -> None:
    def prepare(path: Path) -> Callable[[], object]:
        return lambda: load(path, verify_up_to)[0].close()

    assert growth(files, prepare) < LINEAR


def test_opening_by_a_saved_index_grows_no_faster_than_the_file_and_is_much_quicker(
    files: Files, tmp_path: Path
) -> None:
    indexes = SavedIndexes(tmp_path)
    for path in files:
        file, _ = load(path)
        # The files were made just now; their times prove nothing, but they have grown since.
        reading = file.verify(lambda: None)
        covered = replace(reading.covered, size=reading.covered.size - 1)
        indexes.save(replace(reading, covered=covered))
        file.close()

    def prepare(path: Path) -> Callable[[], object]:
        def open_again() -> None:
            file = SessionFile(path, path.parent / "locks", indexes=indexes)
            assert file.indexed > 0
            file.close()

        return open_again

    assert growth(files, prepare) < LINEAR
    assert best(prepare(files.long)) < best(lambda: load(files.long)[0].close()) / 8


def test_a_context_grows_no_faster_than_the_file(files: Files) -> None:
    def prepare(path: Path) -> Callable[[], object]:
        file, tree = load(path)
        return lambda: build_context(tree, file, tree.leaf, 4096)

    assert growth(files, prepare) < LINEAR


def test_a_first_window_of_rows_grows_no_faster_than_the_file(files: Files) -> None:
    def prepare(path: Path) -> Callable[[], object]:
        file, tree = load(path)
        leaf = tree.id_of(tree.leaf)
        return lambda: Drawing(tree, file).window(View(), {}, around=leaf, limit=200)

    assert growth(files, prepare) < LINEAR


def test_indexing_for_searches_grows_no_faster_than_the_file(files: Files, tmp_path: Path) -> None:
    def prepare(path: Path) -> Callable[[], object]:
        database = Database(tmp_path / path.stem)

        def index() -> None:
            database.discard()
            Indexer(database, None).take_in_files([str(path)])

        return index

    assert growth(files, prepare) < LINEAR


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[tuple[Session, Client]]:
    """A session open in the service, with a client that subscribes to it."""
    file = SessionFile(path, path.parent / "locks", verify_up_to=0)
    session = Session(path, file.header, file, path.parent / "locks", lambda *_: None)
    client = Client(Silence(), {})
    client.configure({"durability": "flush"})
    session.subscribers.add(client)
    try:
        yield session, client
    finally:
        session.close()


async def fastest_append(path: Path) -> float:
    entry = {"type": "message", "message": {"role": "user", "content": "go on " * 400}}
    times = []
    async with opened(path) as (session, client):
        for _ in range(CHANGES):
            started = time.process_time()
            await append(session, client, [entry])
            times.append(time.process_time() - started)
    return min(times)


async def fastest_foreign_append(path: Path) -> float:
    """Until what another program appended is in the index, and the leaf has followed."""
    times = []
    async with opened(path) as (session, _):
        for number in range(CHANGES):
            common = {"id": f"foreign-{number}", "parentId": session.leaf_id, "timestamp": TIME}
            line = record(type="message", **common, message={"role": "user", "content": "go on"})
            with path.open("ab") as file:
                file.write(line)
            started = time.process_time()
            await session.take_in()
            times.append(time.process_time() - started)
            assert session.leaf_id == common["id"]
    return min(times)


async def fastest_switch(path: Path) -> float:
    """There and back, for up and down are different work."""
    times = []
    async with opened(path) as (session, client):
        way = session.tree.path(session.tree.leaf)
        ends = [session.tree.ids[way[-1 - FAR]], session.tree.ids[way[-1]]]
        for _ in range(CHANGES):
            started = time.process_time()
            for end in ends:
                await switch_leaf(Jobs(), Drafts(), session, client, Switch(end, "at"))
            times.append(time.process_time() - started)
    return min(times)


def test_an_append_does_not_depend_on_the_file(chains: Files) -> None:
    short, long = (anyio.run(fastest_append, path) for path in chains)
    assert long / short < CONSTANT


def test_what_others_append_does_not_depend_on_the_file(chains: Files) -> None:
    short, long = (anyio.run(fastest_foreign_append, path) for path in chains)
    assert long / short < CONSTANT


def test_a_move_of_the_leaf_does_not_depend_on_the_file(chains: Files) -> None:
    short, long = (anyio.run(fastest_switch, path) for path in chains)
    assert long / short < CONSTANT


async def fastest_rows_after_a_move(path: Path) -> float:
    times = []
    async with opened(path) as (session, client):
        tree = session.tree
        way = tree.path(tree.leaf)
        for number in range(CHANGES):
            tree.leaf = way[-1 - FAR * (number % 2)]
            tree.version += 1
            started = time.process_time()
            contexts = session.context_states(client)
            view = View(runs_as_one=True)
            session.drawing.window(view, contexts, around=tree.ids[tree.leaf], limit=50)
            times.append(time.process_time() - started)
    return min(times)


def test_rows_after_a_move_do_not_depend_on_the_file(chains: Files) -> None:
    short, long = (anyio.run(fastest_rows_after_a_move, path) for path in chains)
    assert long / short < CONSTANT


async def export(path: Path, wanted: Wanted, target: Path) -> None:
    async with opened(path) as (session, client):
        await export_session(session, client, wanted, target)
    target.unlink()


@pytest.mark.parametrize(
    "wanted",
    [Wanted("html", True, False), Wanted("markdown", True, False), Wanted("jsonl", True, True)],
    ids=["page", "Markdown", "masked"],
)
def test_an_export_grows_no_faster_than_the_file(
    files: Files, tmp_path: Path, wanted: Wanted
) -> None:
    def prepare(path: Path) -> Callable[[], object]:
        return lambda: anyio.run(export, path, wanted, tmp_path / "out")

    assert growth(files, prepare) < LINEAR


def test_an_export_to_a_file_is_never_in_memory_at_once(files: Files, tmp_path: Path) -> None:
    wanted = Wanted("html", True, False)
    anyio.run(export, files.short, wanted, tmp_path / "out")  # what is imported is no export
    tracemalloc.start()
    try:
        anyio.run(export, files.long, wanted, tmp_path / "out")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < files.long.stat().st_size / 2
