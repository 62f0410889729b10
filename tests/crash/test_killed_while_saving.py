"""Killed at any point of saving an index, a session opens as before; its index is saved later."""

import os
import random
import time
from pathlib import Path

import pytest

from tests.crash.victims import Victims
from tests.e2e.world import foreign
from tests.unit.indexed import picture_of, save, saved_indexes
from tests.unit.session_files import header, text_of_file, write

pytestmark = pytest.mark.crash

STEPS = 60
"""More than a saving has; the test asserts that one gets through before."""
RANDOM_ROUNDS = 40
ENTRIES = 3000
SEED = 20260203


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session that takes a while to index."""
    lines = [foreign(f"{number:08x}", f"{number - 1:08x}")[:-1] for number in range(ENTRIES)]
    return write(tmp_path, text_of_file(header(), *lines))


def index_of(session: Path) -> list[Path]:
    return list((session.parent / "indexes").glob("*.index"))


@pytest.mark.parametrize("before", [False, True], ids=["the first index", "in place of an old one"])
def test_at_each_of_its_steps(victims: Victims, session: Path, before: bool) -> None:
    read = picture_of(session)
    indexes = saved_indexes(session.parent)
    if before:
        save(session, indexes)
    outcomes: list[bytes | None] = []
    for step in range(1, STEPS):
        said = victims.start(do="save", path=str(session), die_at=step).rest()
        (found,) = index_of(session) or (None,)
        outcomes.append(found.read_bytes() if found else None)
        assert picture_of(session, indexes) == read
        if "done" in said:
            break
        assert said == ["ready", "ended -9"]
    else:
        pytest.fail(f"no saving ended within {STEPS} steps")
    assert len(outcomes) > 4
    assert outcomes[-1] is not None
    assert (None in outcomes) == (not before)
    for left in (session.parent / "indexes").glob("*.part"):
        os.utime(left, (1, 1))  # long ago
    save(session, indexes)
    assert list((session.parent / "indexes").iterdir()) == index_of(session)


def test_at_random_moments(victims: Victims, session: Path) -> None:
    read = picture_of(session)
    victim = victims.start(do="save", path=str(session))
    assert victim.next_line() == "ready"
    began = time.perf_counter()
    assert victim.next_line() == "done"
    whole = time.perf_counter() - began
    victim.rest()
    chance = random.Random(SEED)
    for _ in range(RANDOM_ROUNDS):
        for file in index_of(session):
            file.unlink()
        victim = victims.start(do="save", path=str(session))
        assert victim.next_line() == "ready"
        until = time.perf_counter() + chance.random() * whole
        while time.perf_counter() < until:
            pass
        assert victim.kill()[-1] in ("ended -9", "ended 0")
        assert picture_of(session, saved_indexes(session.parent)) == read
