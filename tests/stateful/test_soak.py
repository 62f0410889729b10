"""A shared daemon under everything that editors do, for long: its memory and descriptors stay flat.

A minute, or as long as ``BRANCHLINE_SOAK`` asks. The figures are printed.
"""

import os
import random
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from branchline.demo.client import Client, DaemonError
from tests.e2e.conftest import isolated
from tests.e2e.editor import CONVERSATION, session
from tests.e2e.shared import SharedDaemon, place_for_daemon
from tests.e2e.world import lines_of, user
from tests.stateful.soak_time import asked_seconds

pytestmark = [
    pytest.mark.crash,
    pytest.mark.skipif(sys.platform != "linux", reason="what a process holds is read from /proc"),
]

SECONDS = 60.0
EDITORS = 4
SESSIONS = 12
LONGEST = 120
"""Entries that a session may get before it is deleted and another begun in its place."""
FLUSH = {"durability": "flush"}
GROWTH = 1.15
SLACK_BYTES = 8 << 20
SLACK_DESCRIPTORS = 8
EXPECTED = {4001, 4004, 4005, 4007, 4009, 4013, -32602}
"""What may be answered where others change, delete and compact the same sessions."""


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[SharedDaemon]:
    (tmp_path / "agent").mkdir(mode=0o700)
    with place_for_daemon(isolated(tmp_path)) as daemon:
        yield daemon


class Editor:
    """One editor after another: each works for a while and closes, or is killed."""

    def __init__(self, shared: SharedDaemon, paths: list[Path], seed: int) -> None:
        self.shared = shared
        self.paths = paths
        self.random = random.Random(seed)
        self.done = 0

    def work(self, until: float) -> int:
        """Go on until then; give how many requests were answered."""
        while time.monotonic() < until:
            client = self.shared.connect(FLUSH, seconds=300)
            for _ in range(self.random.randint(5, 60)):
                self.step(client, self.random.choice(self.paths))
            if self.random.random() < 0.5:
                assert client.close() == 0
            client.__exit__(None, None, None)  # killed, unless it has ended
        return self.done

    def step(self, client: Client, path: Path) -> None:
        """Ask one thing."""
        method, params = self.random.choice(
            (
                ("open", {}),
                ("close", {}),
                ("append", {"entries": [user("word " * 40)] * 3}),
                ("tree", {"runs": "tools", "limit": 50}),
                ("context", {"format": "openai"}),
                ("switchLeaf", self.switch(path)),
                ("compact", {"keepRecentTokens": 200, "summarizer": "offline"}),
                ("undo", {}),
                ("list", {}),
            )
        )
        try:
            if method == "list":
                client.request("session/list", {"scope": "all"})
            else:
                client.request(f"session/{method}", {"session": str(path), **params})
                self.renew(client, path)
        except DaemonError as error:
            if error.code not in EXPECTED:
                raise
        client.notifications.clear()
        self.done += 1

    def switch(self, path: Path) -> dict[str, Any]:
        target = self.random.choice(["u1", "a1", "a3", "a4"])
        wish = {"mode": "write", "summarizer": "offline"}
        return {"targetId": target, "position": "at", "summary": wish}

    def renew(self, client: Client, path: Path) -> None:
        """Keep a session from growing for ever: what the daemon holds grows with it."""
        if path.exists() and path.stat().st_size > LONGEST * 1000:
            client.request("session/delete", {"session": str(path)})
            session_file(path)


def session_file(path: Path) -> None:
    """A session at this path."""
    made = session(path.parent / f"{path.stem}-new", *CONVERSATION)
    content = made.read_bytes().replace(b"s-1", path.stem.encode(), 1)
    made.write_bytes(content)
    made.replace(path)


def held(pid: int) -> tuple[int, int]:
    """What a process holds: bytes of memory, and descriptors."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir(f"/proc/{pid}/fd"))


def test_memory_and_descriptors_stay_flat(shared: SharedDaemon, tmp_path: Path) -> None:
    folder = Path(shared.environment["PI_CODING_AGENT_DIR"]) / "sessions" / "--w--"
    folder.mkdir(parents=True)
    paths = [folder / f"t_soak-{number}.jsonl" for number in range(SESSIONS)]
    for path in paths:
        session_file(path)
    with shared.connect(FLUSH, seconds=24 * 3600):  # so that the daemon stays
        pid = shared.pid()
        until = time.monotonic() + (asked_seconds() or SECONDS)
        samples: list[tuple[int, int]] = []
        stop = threading.Event()

        def watch() -> None:
            while not stop.wait(0.25):
                samples.append(held(pid))

        watching = threading.Thread(target=watch)
        watching.start()
        try:
            with ThreadPoolExecutor(EDITORS) as pool:
                editors = [Editor(shared, paths, seed) for seed in range(EDITORS)]
                done = sum(pool.map(lambda one: one.work(until), editors))
        finally:
            stop.set()
            watching.join()
        assert shared.pid() == pid
    for path in paths:
        lines_of(path)
    report(done, samples)


def report(done: int, samples: list[tuple[int, int]]) -> None:
    """Compare the second quarter of the time with the last."""
    quarter = len(samples) // 4
    early, late = samples[quarter : 2 * quarter], samples[-quarter:]
    memory = [median(one for one, _ in part) for part in (early, late)]
    descriptors = [median(one for _, one in part) for part in (early, late)]
    figures = (
        f"{done} requests; memory {memory[0] / 1e6:.1f} MB, then {memory[1] / 1e6:.1f} MB; "
        f"descriptors {descriptors[0]:.0f}, then {descriptors[1]:.0f}"
    )
    print(f"\nSoak: {figures}")
    assert memory[1] <= memory[0] * GROWTH + SLACK_BYTES, figures
    assert descriptors[1] <= descriptors[0] + SLACK_DESCRIPTORS, figures
