"""``python -m tests.bench.scale``: five thousand sessions, 5 GB, indexed and searched.

It makes the sessions once (some minutes, 5 GB below ``.cache/bench``), has a real daemon index them
from nothing while it is asked other things, kills the process that indexes in the middle, and
searches. The table goes to ``server/docs/PERFORMANCE.md``, into a section of its own.
"""

import argparse
import os
import re
import signal
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

from tests.bench.figures import amount, digits, percentile, table
from tests.bench.made_files import CACHE, made_folder
from tests.bench.process import ROOT, SERVE, Timed, peak_memory
from tests.e2e.conftest import isolated

DOCUMENT: Final = ROOT / "server" / "docs" / "PERFORMANCE.md"
_HEAD: Final = "## Thousands of sessions"
_SECTION: Final = re.compile(rf"^{_HEAD}\n.*?(?=^## )", re.MULTILINE | re.DOTALL)
_LONGER: Final = 2.0
"""How much longer than usual sessions are, so that 5,000 have 5 GB."""
_ROWS: Final = 50
_ASKED_BETWEEN: Final = 20
_SEARCHES: Final = 15
_SPEED_MB: Final = 40.0
_ANSWER_MS: Final = 100.0
_MEMORY_MB: Final = 300.0
_SEARCH_MS: Final = 50.0


def scale_section(document: Path) -> str:
    """The section as it stands in the document; empty if there is none."""
    found = _SECTION.search(document.read_text(encoding="utf-8")) if document.exists() else None
    return found[0] if found else ""


@dataclass(slots=True)
class Watched:
    """What was seen while the daemon indexed: milliseconds, and MB."""

    seconds: float = 0.0
    answers: list[float] = field(default_factory=list)
    searches: list[float] = field(default_factory=list)
    worker_memory: float = 0.0
    kept: int = 0
    """Sessions that were done when the process was killed, and stayed so."""


def main() -> None:
    """Measure, print, and after a whole run write the section."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.scale", description=__doc__)
    parser.add_argument("--sessions", type=int, default=5_000, help="fewer: nothing is written")
    sessions = parser.parse_args().sessions
    folder = made_folder(sessions, longer=_LONGER)
    size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="run-") as scratch:
        rows = _measured(folder, size, Path(scratch))
    text = (
        f"{_HEAD}\n\nWritten by `make bench-scale`: {sessions:,} sessions, {size / 1000:.1f} GB, in"
        " one folder. The process that indexes is\nkilled once in the middle.\n\n"
        f"{table(['work', 'median', 'most', 'goal'], rows)}\n\n"
    )
    print(text)
    if sessions == parser.get_default("sessions"):
        document = DOCUMENT.read_text(encoding="utf-8")
        document = _SECTION.sub("", document)
        at = document.index("## Where a goal is missed")
        DOCUMENT.write_text(document[:at] + text + document[at:], encoding="utf-8")


def _measured(folder: Path, size: float, scratch: Path) -> list[list[str]]:
    environment = {**isolated(scratch), "PI_CODING_AGENT_SESSION_DIR": str(folder)}
    some = str(max(folder.iterdir(), key=lambda path: path.stat().st_size))
    wanted = {"scope": "all", "limit": _ROWS}
    with Timed(SERVE, environment, folder=scratch) as daemon:
        first, _ = daemon.ask("session/list", wanted)
        daemon.ask("session/open", {"session": some})
        seen = _indexed(daemon, some)
        again = [daemon.ask("session/list", wanted)[0] for _ in range(_SEARCHES)]
        memory = peak_memory(daemon.pid) or 0.0
        speed = size / seen.seconds
        rows = [
            _row("first list", [first]),
            _row("list again", again),
            [
                "indexing from nothing, at the lowest priority",
                f"{digits(speed)} MB/s",
                f"{seen.seconds:.0f} s",
                _verdict(f"≥ {_SPEED_MB:.0f} MB/s", reached=speed >= _SPEED_MB),
            ],
            _row(f"{_ROWS} rows of a session, meanwhile", seen.answers, _ANSWER_MS, always=True),
            _row("a search, meanwhile", seen.searches, _ANSWER_MS, always=True),
            [
                "peak memory of the daemon and of the process that indexes",
                amount([memory, seen.worker_memory], "MB"),
                f"{digits(memory + seen.worker_memory)} MB",
                _verdict(
                    f"≤ {_MEMORY_MB:.0f} MB", reached=memory + seen.worker_memory <= _MEMORY_MB
                ),
            ],
            ["sessions that were done when it was killed, and stayed so", f"{seen.kept:,}", "", ""],
        ]
        for what, query in _queries(Path(some)):
            asked = {"query": query, "scope": "all", "limit": _ROWS, "perSession": 3}
            times = [daemon.ask("session/search", asked)[0] for _ in range(_SEARCHES)]
            rows.append(_row(f"search {what}", times, _SEARCH_MS))
    return rows


def _indexed(daemon: Timed, some: str) -> Watched:
    """Have it index, ask it other things meanwhile, and kill the one that works once."""
    seen = Watched()
    killed = False
    started = time.perf_counter()
    while True:
        elapsed, answer = daemon.ask("session/search", {"query": "nothing", "scope": "all"})
        state = answer["indexing"]
        if state is None:
            seen.seconds = time.perf_counter() - started
            return seen
        seen.searches.append(elapsed)
        for worker in _children(daemon.pid):
            seen.worker_memory = max(seen.worker_memory, peak_memory(worker) or 0.0)
            if not killed and state["bytes"] > state["ofBytes"] / 3:
                os.kill(worker, signal.SIGKILL)
                killed, seen.kept = True, state["sessions"]
        for _ in range(_ASKED_BETWEEN):
            view = {"session": some, "limit": _ROWS}
            seen.answers.append(daemon.ask("session/tree", view)[0])
            time.sleep(0.01)  # as often as a person could ask, and no measure of anything


def _queries(some: Path) -> list[tuple[str, str]]:
    """What is searched for: a rare word, frequent ones, a file; from a made session.

    The made words are few, so nearly each of them stands in every long text.
    """
    text = some.read_text(encoding="utf-8")
    chinese = re.search("[\u4e00-\u9fa0]{4}", text)
    file = re.search(r'"path":"([^"]+)"', text)
    word = re.search(r'"text":"(\w{6,}) (\w+)', text)
    assert chinese is not None
    assert file is not None
    assert word is not None
    return [
        ("a word that is nowhere", "zyzzyva"),
        ("a word that is everywhere", word[1]),
        ("a phrase", f'"{word[1]} {word[2]}"'),
        ("four Chinese characters", chinese[0]),
        ("a file", f"file:{file[1]}"),
        ("four letters that 20 words begin with", f"{word[1][:4]}*"),
        ("three letters that 180 words begin with", f"{word[1][:3]}*"),
    ]


def _children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in found for child in path.read_text().split()]


def _row(
    work: str, times: Sequence[float], goal: float | None = None, *, always: bool = False
) -> list[str]:
    """``goal``: what the median may take; with ``always`` the slowest, too."""
    usual, slow = median(times), percentile(times, 0.99)
    verdict = ""
    if goal is not None:
        judged, which = (slow, "always") if always else (usual, "median")
        verdict = _verdict(f"{which} ≤ {goal:.0f} ms", reached=judged <= goal)
    return [work, amount([usual], "ms"), amount([slow], "ms"), verdict]


def _verdict(goal: str, *, reached: bool) -> str:
    return f"{goal} {'reached' if reached else '**missed**'}"


if __name__ == "__main__":
    main()
