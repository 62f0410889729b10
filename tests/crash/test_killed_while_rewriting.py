"""Killed at any point of an upgrade or a repair, there is one complete file, the old or the new."""

import json
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from branchline.log.session_file import SessionFile
from tests.crash.victims import Victims
from tests.e2e.conftest import CASES, StartDaemon
from tests.e2e.world import foreign, user

pytestmark = pytest.mark.crash

STEPS = 60
"""More than a rewrite has; the test asserts that one gets through before."""
RANDOM_ROUNDS = 40
ENTRIES = 2000
SEED = 20260203


def version_one() -> bytes:
    """A large file of an old version, which has to be upgraded."""
    first, *lines = (CASES / "19-v1-linear.jsonl").read_bytes().splitlines(keepends=True)
    return first + b"".join(lines) * (ENTRIES // len(lines))


def damaged() -> bytes:
    """A large file with a line in the middle that a repair has to replace."""
    header = (CASES / "60-two-writers.jsonl").read_bytes().splitlines(keepends=True)[0]
    lines = [header]
    parent_id = None
    for number in range(ENTRIES):
        entry_id = f"{number:08x}"
        line = foreign(entry_id, parent_id, "text " * 40)
        lines.append(line[:-30] + b"\n" if number == ENTRIES // 2 else line)
        parent_id = entry_id
    return b"".join(lines)


class Rewritten:
    """A file that is rewritten again and again, each time from its first state."""

    def __init__(self, folder: Path, content: bytes) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = folder / "2026_session.jsonl"
        self.locks = folder / "locks"
        self.content = content
        self.begin()
        self.shape = self.look()

    def begin(self) -> None:
        """Put the old file in its place, and nothing beside it but what was left there."""
        for name in self.path.parent.glob("*.bak*"):
            name.unlink()
        self.path.write_bytes(self.content)
        self.path.chmod(0o600)

    def look(self) -> list[tuple[str, str | None]]:
        """The ids and parents of what the file at the path holds."""
        file = SessionFile(self.path, self.locks)
        tree = file.tree
        shape = [(tree.ids[at], tree.id_of(tree.parents[at])) for at in tree.entries()]
        file.close()
        # What damage took is a placeholder, or a record in its place: last, or where it was.
        return sorted(shape, key=lambda one: one[0])

    def check(self) -> bool:
        """Whether the new file is in place. It, or the old one, is complete."""
        assert self.look() == self.shape
        content = self.path.read_bytes()
        if content == self.content:
            return False
        for line in content.splitlines():
            json.loads(line)
        assert content.endswith(b"\n")
        (backup,) = self.path.parent.glob("*.bak*")
        assert backup.read_bytes() == self.content
        return True


@pytest.fixture(params=[version_one, damaged], ids=["upgrade", "repair"])
def rewritten(request: pytest.FixtureRequest, agent_dir: Path) -> Rewritten:
    content: Callable[[], bytes] = request.param
    return Rewritten(agent_dir / "sessions" / "--w-demo--", content())


def test_at_each_of_its_steps(rewritten: Rewritten, victims: Victims, daemon: StartDaemon) -> None:
    outcomes: list[bool] = []
    for step in range(1, STEPS):
        rewritten.begin()
        victim = victims.start(do="rewrite", path=str(rewritten.path), die_at=step)
        said = victim.rest()
        outcomes.append(rewritten.check())
        if "done" in said:
            break
        assert said == ["ready", "ended -9"]
    else:
        pytest.fail(f"no rewrite ended within {STEPS} steps")
    assert len(outcomes) > 4
    assert outcomes == sorted(outcomes)  # the old one up to a step, then the new one
    assert not outcomes[0]
    assert [path for path in rewritten.path.parent.iterdir() if path.name.endswith(".tmp")]
    assert_only_one_is_listed(daemon, rewritten)


def test_at_random_moments(rewritten: Rewritten, victims: Victims, daemon: StartDaemon) -> None:
    victim = victims.start(do="rewrite", path=str(rewritten.path))
    assert victim.next_line() == "ready"
    began = time.perf_counter()
    assert victim.next_line() == "done"
    whole = time.perf_counter() - began
    assert victim.rest() == ["ended 0"]
    assert rewritten.check()
    chance = random.Random(SEED)
    for _ in range(RANDOM_ROUNDS):
        rewritten.begin()
        victim = victims.start(do="rewrite", path=str(rewritten.path))
        assert victim.next_line() == "ready"
        until = time.perf_counter() + chance.random() * whole
        while time.perf_counter() < until:
            pass
        assert victim.kill()[-1] in ("ended -9", "ended 0")
        rewritten.check()
    assert_only_one_is_listed(daemon, rewritten)


def assert_only_one_is_listed(daemon: StartDaemon, rewritten: Rewritten) -> None:
    """What kills left beside the file is no session to anybody, and in nobody's way."""
    client = daemon()
    (listed,) = client.request("session/list", {"scope": "all"})["sessions"]
    assert listed["path"] == str(rewritten.path)
    session = {"session": listed["id"]}
    client.request("session/repair", session)
    answer = client.request("session/append", {**session, "entries": [user("and on it goes")]})
    assert answer["leafId"] == answer["entries"][0]["id"]
