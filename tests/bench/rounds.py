"""The rounds of a run: each side in turn, the samples put together to what the report shows.

It decides what is measured and how often. It measures nothing by itself: `our_side.py`,
`pi_bench.mjs` and `process.Timed` do.
"""

import json
import shutil
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from tests.bench.figures import CONSTANT, Comparison, Growth, amount, digits, percentile
from tests.bench.made_files import made_folder, made_session
from tests.bench.neovim_speed import Speed, speeds
from tests.bench.our_side import MESSAGE, PINNED_TOKENS
from tests.bench.ping_servers import METHOD
from tests.bench.process import SERVE, Timed, peak_memory, run
from tests.e2e.conftest import isolated
from tests.e2e.shared import CONNECT, place_for_daemon

_HERE: Final = Path(__file__).resolve().parent
_ROWS: Final = 200
_PINGS: Final = 200
_SETTINGS: Final = {"branchSummary": {"pinnedTokens": PINNED_TOKENS}}
_PING_PARAMS: Final = {
    "session": "0198c1de-4b5a-7c3d-9e2f-0123456789ab",
    "view": {"filter": "default", "expanded": ["00000001", "00000002"], "offset": 0, "limit": 200},
}
_APPEND_GOAL_MS: Final = 1.5
_WARM_GOAL_MS: Final = 60.0
_COLD_GOAL_MS: Final = 1000.0
_CONNECTS: Final = 20
_MOVES: Final = 20
_LISTS: Final = 5
"""How often a list is asked for again in one daemon, and of Pi in one process."""
_FAR: Final = 20
"""Entries between the two places that the leaf is moved between."""
_SAY_PEAK: Final = """
import json, pathlib
status = pathlib.Path("/proc/self/status")
lines = status.read_text().splitlines() if status.exists() else []
peaks = [int(line.split()[1]) / 1000 for line in lines if line.startswith("VmHWM")]
print(json.dumps({"peak": peaks[0] if peaks else None}))
"""

Samples = dict[str, list[float]]
"""By what was done: milliseconds or MB, one a round."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured: entries of each file, rounds, listed sessions, appends a round.

    ``judged``: whether the files are those for which the goals are set.
    """

    entries: Mapping[str, int]
    rounds: int
    sessions: int
    appends: int
    judged: bool


@dataclass(slots=True)
class Found:
    """What a run found; see `figures`. ``alone`` has finished rows, ``megabytes`` the files.

    ``neovim`` is by editor, and empty if none is installed.
    """

    megabytes: dict[str, float] = field(default_factory=dict)
    pi: list[Comparison] = field(default_factory=list)
    parts: list[Comparison] = field(default_factory=list)
    alone: list[list[str]] = field(default_factory=list)
    growth: list[Growth] = field(default_factory=list)
    neovim: dict[str, list[Speed]] = field(default_factory=dict)


class Sides:
    """Both sides in a world of their own. Without ``package`` there is no Pi."""

    def __init__(self, package: Path | None, scratch: Path) -> None:
        self.package = package
        self.scratch = scratch
        self.environment = isolated(scratch)

    def ours(self, *arguments: object) -> dict[str, Any]:
        """What `our_side.py` says."""
        command = [sys.executable, "-m", "tests.bench.our_side", *map(str, arguments)]
        return run(command, self.environment)

    def pi(self, what: str, *arguments: object) -> dict[str, Any]:
        """What `pi_bench.mjs` says; nothing without a Pi."""
        if self.package is None:
            return {}
        command = ["node", str(_HERE / "pi_bench.mjs"), what, str(self.package)]
        return run([*command, *map(str, arguments)], self.environment)

    def daemon(self, settings: Mapping[str, Any] | None = None, **variables: str) -> Timed:
        """A daemon that was just started."""
        given = {**_SETTINGS, **(settings or {})}
        environment = {**self.environment, **variables}
        return Timed(SERVE, environment, folder=self.scratch, settings=given)

    def ping_server(self, name: str) -> Timed:
        """One of `ping_servers`."""
        command = [sys.executable, "-m", "tests.bench.ping_servers", name]
        return Timed(command, self.environment, folder=self.scratch)


def measure(plan: Plan, package: Path | None, scratch: Path, say: Callable[[str], None]) -> Found:
    """The whole run; ``say`` is told how far it is."""
    sides = Sides(package, scratch)
    found = Found()
    say("Making the files")
    tiny = made_session("tiny", 100)
    files = {name: made_session(name, count) for name, count in plan.entries.items()}
    looks, changes = {}, {}
    for name, file in files.items():
        say(f"Looking at {name}")
        found.megabytes[name] = file.stat().st_size / 1e6
        looks[name] = look_rounds(sides, plan, tiny, file)
        say(f"Changing {name}")
        changes[name] = change_rounds(sides, plan, file)
    largest = list(files)[-1]
    for name, samples in looks.items():
        found.pi += looks_compared(name, samples, with_goals=plan.judged and name == largest)
    found.pi += appends_compared(largest, changes[largest])
    found.parts.append(synced_compared(largest, changes[largest]))
    found.alone += appends_alone(largest, changes[largest])
    found.growth = grown(list(looks.values()), list(changes.values()))
    say("Listing")
    found.pi += list_rounds(sides, plan)
    say("The wire")
    found.parts += wire_rounds(sides, plan)
    say("Connecting")
    found.alone += connect_rounds(sides, plan)
    say("Neovim")
    found.neovim = speeds(plan.rounds)
    return found


# --- looking -------------------------------------------------------------------------------------


def look_rounds(sides: Sides, plan: Plan, tiny: Path, file: Path) -> Samples:
    """Open, rows and context: in a new process, in Pi, and over the protocol, in turn."""
    samples: Samples = defaultdict(list)
    _read(file)
    cache = sides.scratch / "cache"
    indexes = cache / "branchline" / "index"
    sides.ours("save", file, indexes)
    for round_number in range(plan.rounds):
        ours, theirs = sides.ours("look", file), sides.pi("look", file)
        ours |= sides.ours("again", file, indexes)
        asked = _look_by_protocol(sides, tiny, file, sides.scratch / f"empty-{round_number}")
        asked |= _first_rows(sides, tiny, file, sides.scratch / f"unused-{round_number}")
        asked_again = _look_by_protocol(sides, tiny, file, cache)
        for key in ("entries", "messages"):
            assert not theirs or ours[key] == theirs[key], f"{key}: {ours[key]}, {theirs[key]}"
        for prefix, one in (
            ("ours", ours),
            ("pi", theirs),
            ("protocol", asked),
            ("again", asked_again),
        ):
            for key, value in one.items():
                if value is not None:
                    samples[f"{prefix}.{key}"].append(value)
        bare = (("ours", _bare_python(sides)), ("pi", sides.pi("nothing").get("peak")))
        for prefix, peak in bare:
            if peak is not None:
                samples[f"{prefix}.grown"].append(samples[f"{prefix}.peak"][-1] - peak)
    return samples


def _look_by_protocol(sides: Sides, tiny: Path, file: Path, cache: Path) -> dict[str, float | None]:
    with sides.daemon(XDG_CACHE_HOME=str(cache)) as daemon:
        _open_and_look(daemon, tiny)
        open_ms, rows_ms, context_ms = _open_and_look(daemon, file)
        return {
            "open": open_ms,
            "rows": rows_ms,
            "openAndRows": open_ms + rows_ms,
            "context": context_ms,
            "peak": peak_memory(daemon.pid),
        }


def _first_rows(sides: Sides, tiny: Path, file: Path, cache: Path) -> dict[str, float]:
    with sides.daemon(XDG_CACHE_HOME=str(cache)) as daemon:
        for path in (tiny, file):
            elapsed, tail = daemon.ask("session/tail", {"session": str(path), "limit": _ROWS})
        assert len(tail["rows"]) == _ROWS
        return {"tail": elapsed}


def _open_and_look(daemon: Timed, file: Path) -> tuple[float, float, float]:
    session = {"session": str(file)}
    open_ms, opened = daemon.ask("session/open", session)
    view = {**session, "around": opened["leafId"], "limit": _ROWS}
    rows_ms, window = daemon.ask("session/tree", view)
    assert len(window["rows"]) == min(_ROWS, window["total"])
    context_ms, _context = daemon.ask("session/context", session)
    return open_ms, rows_ms, context_ms


def looks_compared(name: str, samples: Samples, *, with_goals: bool) -> list[Comparison]:
    """What looking at one file took, beside Pi."""
    pi_tree = [sum(pair) for pair in zip(samples["pi.open"], samples["pi.tree"], strict=True)]

    def against(
        work: str, ours: str, theirs: list[float], unit: str = "ms", goal: float | None = None
    ) -> Comparison:
        goal = goal if with_goals else None
        return Comparison(f"{name}: {work}", samples[ours], theirs, unit, goal)

    pi = samples.__getitem__
    compared = [
        against("open, in process", "ours.open", pi("pi.open"), goal=8),
        against("open, over the protocol", "protocol.open", pi("pi.open")),
        against("peak memory when open", "ours.peak", pi("pi.peak"), "MB"),
        against("the same, less a bare interpreter", "ours.grown", pi("pi.grown"), "MB", goal=8),
        against("peak memory of the daemon", "protocol.peak", pi("pi.peak"), "MB"),
        against(
            f"the first {_ROWS} rows around the leaf, over the protocol; Pi: open and tree",
            "protocol.tail",
            pi_tree,
            goal=50,
        ),
        against(
            f"open and {_ROWS} rows around the leaf, over the protocol; Pi: open and tree",
            "protocol.openAndRows",
            pi_tree,
        ),
        against(
            "open again, by its saved index, in process", "ours.openAgain", pi("pi.open"), goal=300
        ),
        against("open again, over the protocol", "again.open", pi("pi.open")),
        against(
            f"open again and {_ROWS} rows, over the protocol; Pi: open and tree",
            "again.openAndRows",
            pi_tree,
        ),
        against("peak memory when open again", "ours.peakAgain", pi("pi.peak"), "MB"),
        against(
            f"{_ROWS} rows around the leaf, over the protocol; Pi: tree",
            "protocol.rows",
            pi("pi.tree"),
        ),
        against("context at the leaf, first", "ours.context", pi("pi.context"), goal=2.5),
        against("context again", "ours.contextAgain", pi("pi.contextAgain")),
        against("context, over the protocol; Pi: first", "protocol.context", pi("pi.context")),
    ]
    return [one for one in compared if one.ours]


# --- changing ------------------------------------------------------------------------------------


def change_rounds(sides: Sides, plan: Plan, file: Path) -> Samples:
    """Appends and moves of the leaf, on a copy that both sides append to in turn."""
    samples: Samples = defaultdict(list)
    copy = sides.scratch / file.name
    shutil.copyfile(file, copy)
    copy.chmod(0o600)
    for _ in range(plan.rounds):
        ours = sides.ours("append", copy, plan.appends)
        theirs = sides.pi("append", copy, plan.appends, json.dumps(MESSAGE))
        for prefix, one in (("ours", ours), ("pi", theirs)):
            for key, times in one.items():
                samples[f"{prefix}.{key}"].append(median(times))
        for durability in ("fsync", "flush"):
            _change_by_protocol(sides, plan, copy, durability, samples)
    copy.unlink()
    return samples


def _change_by_protocol(
    sides: Sides, plan: Plan, copy: Path, durability: str, samples: Samples
) -> None:
    session = {"session": str(copy)}
    entry = {"type": "message", "message": MESSAGE}
    appends, switches, drawn, drawn_anew = [], [], [], []
    with sides.daemon({"durability": durability}) as daemon:
        daemon.ask("session/open", session)
        daemon.ask("session/check", session)
        daemon.settle()  # now nothing goes on in the background
        for _ in range(plan.appends):
            elapsed, answer = daemon.ask("session/append", {**session, "entries": [entry]})
            appends.append(elapsed)
        view = {**session, "around": answer["leafId"], "limit": _ROWS}
        path = daemon.ask("session/context", {**session, "format": "none"})[1]["path"]
        for _ in range(_MOVES):
            there_and_back = 0.0
            for target in (path[-1 - _FAR], path[-1]):
                move = {**session, "targetId": target, "position": "at"}
                there_and_back += daemon.ask("session/switchLeaf", move)[0]
            switches.append(there_and_back / 2)
            drawn_anew.append(daemon.ask("session/tree", view)[0])
            drawn.append(daemon.ask("session/tree", view)[0])
    samples[f"protocol.{durability}"] += appends
    if durability == "flush":
        samples["protocol.switch"].append(median(switches))
        samples["protocol.rowsAgain"].append(median(drawn))
        samples["protocol.rowsAnew"].append(median(drawn_anew))
        samples["protocol.append"].append(median(appends))


def appends_compared(name: str, samples: Samples) -> list[Comparison]:
    """Appends in process beside Pi's."""
    ours, theirs = samples["ours.flush"], samples["pi.flush"]
    work = f"{name}: append 2.8 kB, not synced, in process (ours takes a lock, Pi none)"
    return [Comparison(work, ours, theirs, goal=1.5)]


def synced_compared(name: str, samples: Samples) -> Comparison:
    """Synced appends beside a bare write."""
    work = f"{name}: append 2.8 kB, synced, in process; other: `write` and `fdatasync`"
    return Comparison(work, samples["ours.fsync"], samples["ours.raw"], goal=1 / 1.3)


def appends_alone(name: str, samples: Samples) -> list[list[str]]:
    """Appends over the protocol: the median and the 99th percentile."""
    found = []
    for durability, what in (("fsync", "synced"), ("flush", "not synced")):
        times = samples[f"protocol.{durability}"]
        most = percentile(times, 0.99)
        verdict = "reached" if most <= _APPEND_GOAL_MS else "**missed**"
        work = f"{name}: append 2.8 kB over the protocol, {what}"
        goal = f"≤ {digits(_APPEND_GOAL_MS)} ms {verdict}"
        found.append([work, amount([median(times)], "ms"), amount([most], "ms"), goal])
    return found


def grown(looks: list[Samples], changes: list[Samples]) -> list[Growth]:
    """How times and memory grow from file to file."""

    def of(work: str, sources: list[Samples], key: str, **options: Any) -> Growth:
        return Growth(work, [samples[key] for samples in sources], **options)

    rows = f"{_ROWS} rows"
    found = [
        of("open, in process", looks, "ours.open"),
        of("open, over the protocol", looks, "protocol.open"),
        of("open again, in process", looks, "ours.openAgain"),
        of("open again, over the protocol", looks, "again.open"),
        of("peak memory of the daemon", looks, "protocol.peak", unit="MB"),
        of(f"{rows}, first", looks, "protocol.rows"),
        of("context, in process", looks, "ours.context"),
        of("append, in process", changes, "ours.flush", most=CONSTANT),
        of("append, over the protocol", changes, "protocol.append", most=CONSTANT),
        of("switch, over the protocol", changes, "protocol.switch", most=CONSTANT),
        of(f"{rows}, again", changes, "protocol.rowsAgain", most=CONSTANT),
        of(f"{rows}, after a switch", changes, "protocol.rowsAnew", most=CONSTANT),
    ]
    return [one for one in found if all(one.samples)]


# --- lists and the wire --------------------------------------------------------------------------


def list_rounds(sides: Sides, plan: Plan) -> list[Comparison]:
    """All sessions of a folder: by a daemon that has never seen it, once more, and by the next."""
    folder = made_folder(plan.sessions)
    for file in folder.iterdir():
        _read(file)
    samples: Samples = defaultdict(list)
    asked = {"scope": "all", "limit": plan.sessions}
    for _ in range(plan.rounds):
        shutil.rmtree(sides.environment["XDG_CACHE_HOME"], ignore_errors=True)
        with sides.daemon(PI_CODING_AGENT_SESSION_DIR=str(folder)) as daemon:
            times = []
            for _ in range(1 + _LISTS):
                elapsed, listed = daemon.ask("session/list", asked)
                assert len(listed["sessions"]) == plan.sessions
                times.append(elapsed)
            samples["ours.first"].append(times[0])
            samples["ours.again"].append(median(times[1:]))
            daemon.ask("session/search", {"query": "x", "scope": "all", "wait": True})
        with sides.daemon(PI_CODING_AGENT_SESSION_DIR=str(folder)) as daemon:
            elapsed, listed = daemon.ask("session/list", asked)
            assert all(info["entryCount"] for info in listed["sessions"])
            samples["ours.next"].append(elapsed)
        theirs = sides.pi("list", folder)
        if theirs:
            assert theirs["sessions"] == plan.sessions
            for key in ("first", "again"):
                samples[f"pi.{key}"].append(theirs[key])
    work = f"list {plan.sessions} sessions"

    def against(when: str, ours: str, theirs: str, goal: float | None = None) -> Comparison:
        goal = goal if plan.judged else None
        return Comparison(f"{work}, {when}", samples[ours], samples[theirs], goal=goal)

    return [
        against("first", "ours.first", "pi.first", 8),
        against("again in that daemon", "ours.again", "pi.again", 300),
        against("first in the next daemon, by the catalogue", "ours.next", "pi.again"),
    ]


def wire_rounds(sides: Sides, plan: Plan) -> list[Comparison]:
    """One small request, and the start of the process, beside pygls as it comes."""
    samples: Samples = defaultdict(list)
    with sides.ping_server("branchline") as ours, sides.ping_server("pygls") as theirs:
        servers = (("ours", ours), ("pygls", theirs))
        for _, server in servers:
            server.ask(METHOD, _PING_PARAMS)
        for _ in range(plan.rounds):
            for key, server in servers:
                times = [server.ask(METHOD, _PING_PARAMS)[0] for _ in range(_PINGS)]
                samples[f"{key}.ping"].append(median(times))
    for _ in range(plan.rounds):
        with sides.daemon() as daemon:
            samples["ours.start"].append(daemon.start_ms)
        with sides.ping_server("pygls") as server:
            samples["pygls.start"].append(server.start_ms)
    start = "start of `serve --stdio` to the answer to `initialize`; other: pygls with one method"
    return [
        Comparison(
            "a small request with params over stdio; other: pygls",
            samples["ours.ping"],
            samples["pygls.ping"],
            goal=5,
        ),
        Comparison(start, samples["ours.start"], samples["pygls.start"]),
    ]


def connect_rounds(sides: Sides, plan: Plan) -> list[list[str]]:
    """From the start of the process to the answer to ``initialize``, by each way to a daemon."""
    samples: Samples = defaultdict(list)
    for _ in range(plan.rounds):
        with sides.daemon() as daemon:
            samples["stdio"].append(daemon.start_ms)
        with place_for_daemon(sides.environment) as shared:
            for turn in range(1 + _CONNECTS):
                with Timed(CONNECT, shared.environment, folder=sides.scratch) as editor:
                    samples["warm" if turn else "cold"].append(editor.start_ms)
    found = []
    for key, what, most in (
        ("stdio", "`serve --stdio`", None),
        ("cold", "`connect`, which starts the daemon", _COLD_GOAL_MS),
        ("warm", "`connect`, with the daemon running", _WARM_GOAL_MS),
    ):
        times, goal = samples[key], ""
        if most is not None:
            verdict = "reached" if median(times) <= most else "**missed**"
            goal = f"median ≤ {amount([most], 'ms')} {verdict}"
        row = [amount([median(times)], "ms"), amount([percentile(times, 0.99)], "ms")]
        found.append([f"start of {what}, to the answer to `initialize`", *row, goal])
    return found


def _bare_python(sides: Sides) -> float | None:
    """The peak memory of an interpreter that does nothing, in MB."""
    peak: float | None = run([sys.executable, "-c", _SAY_PEAK], sides.environment)["peak"]
    return peak


def _read(file: Path) -> None:
    """Bring a file into the system's cache."""
    with file.open("rb") as opened:
        while opened.read(1 << 22):
            continue
