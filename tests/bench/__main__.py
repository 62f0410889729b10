"""``python -m tests.bench``: measures Branchline against the real Pi, and writes what it found.

The whole run takes about five minutes and wants a machine that does nothing else. It prints its
tables and writes them to ``server/docs/PERFORMANCE.md``; ``--quick``, and a run without Pi, print
only.
"""

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Final

from tests.bench import neovim_speed
from tests.bench.figures import table
from tests.bench.made_files import CACHE
from tests.bench.process import ROOT
from tests.bench.rounds import Found, Plan, measure
from tests.bench.scale import scale_section
from tests.interop.pi_process import HERE as INTEROP
from tests.interop.pi_process import INSTALLED, PI_1_6, missing

DOCUMENT: Final = ROOT / "server" / "docs" / "PERFORMANCE.md"
WHOLE: Final = Plan({"S": 1_000, "M": 10_000, "L": 100_000}, 5, 500, 400, judged=True)
QUICK: Final = Plan({"S": 1_000, "M": 10_000}, 3, 50, 200, judged=False)

_TEXT: Final = """# Performance

Written by `make bench`, which anybody can run; do not edit. Times depend on the machine, so look at
the ratios: both sides do the same work on the same file, in turn, in one run.

{machine}

* Files: {files}. They are made from a seed, with forks, labels, compactions and images.
* Each figure is the median of {rounds} rounds with the least and the most. A ratio is that of the
  two neighbours of one round, so a machine that changes its speed changes both.
* *Open*, *context* and memory: each round is a new process, with nothing kept from an earlier one.
  The files are in the system's cache for both sides. To start the process is not counted.
* *Over the protocol* is what a client waits on stdin and stdout, with the daemon running.

## Against Pi

Ratio: how many times as long, or as much memory, Pi takes.

{against_pi}

## Against what it is built on

Ratio: how many times as long the other takes.

{against_parts}

## Alone

{alone}

## Growth

Each file is ten times as long as the one before.

{growth}

{scale}
## In Neovim

A session of {entries:,} entries and {forks} forks, the daemon running and the session read once.

{neovim}

## Where a goal is missed, and why

What a profile of each shows:

* *Open L*: of 210 ms of processor time, 33 copy the file out of the system's cache, 40 look whether
  an assistant says anything (without which rows would have to read every message), 25 link the
  tree, and the rest is 1.1 microseconds for each of 100,000 lines: its end, prefix and columns.
  The goal was set where Pi took 3.4 s; here it takes 1.5 to 1.9, and ours shrank less.
* *Append, not synced*: Pi takes no lock and does not look what others wrote. Of 20 microseconds, 9
  go into eight system calls (lock, two looks at files, write, where it ended, its time, unlock), 6
  into checks, id and links of the entry, the rest into the index. The write alone takes 4.
* *Append, synced, over the protocol*: the median is 0.6 ms; the slowest hundredth is the disk's,
  between 0.9 and 1.5 ms from run to run.
* *Search*: each begins with a look at the status of every file, so that it finds what was written a
  moment ago; a word that is nowhere takes little else. For a phrase the places of both words are
  compared in each text that has them, and here the words of a phrase stand in most texts.
* *Search for three letters*: 180 words begin so, and each of them stands in most of the made texts.
  Half of the time goes into reading these words out of the index, where the places of each stand
  between it and the next.
* *S and M*: what takes Pi less than a few milliseconds is dominated by the protocol's round trip.
"""


def main() -> None:
    """Measure, print, and after a whole run beside Pi write the document."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small files, few rounds, no document")
    quick = parser.parse_args().quick
    subprocess.run([str(INTEROP / "pi" / "install")], check=True)
    reason = missing()
    if reason is not None:
        say(f"Only our own numbers; {reason}")
    before = os.getloadavg()[0]
    cores = os.cpu_count() or 1
    if before > cores / 4:
        say(f"The machine is busy (load {before:.1f} on {cores} cores): only the ratios mean much")
    package = None if reason is not None else INSTALLED / "node_modules" / PI_1_6.folder
    plan = QUICK if quick else WHOLE
    CACHE.mkdir(parents=True, exist_ok=True)
    # Beside the made files and not in the system's temporary folder, which may be in memory.
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="run-") as scratch:
        found = measure(plan, package, Path(scratch), say)
    text = document(found, plan, machine(package is not None, before))
    print(text)
    if not quick and package is not None:
        DOCUMENT.write_text(text, encoding="utf-8")
        say(f"Written to {DOCUMENT.relative_to(ROOT)}")


def say(text: str) -> None:
    """Tell how far it is, beside the result on stdout."""
    print(text, file=sys.stderr, flush=True)


def document(found: Found, plan: Plan, machine_line: str) -> str:
    """The document of one run."""
    names = list(plan.entries)
    files = "; ".join(
        f"{name}, {count:,} entries, {found.megabytes[name]:.0f} MB"
        for name, count in plan.entries.items()
    )
    factors = [f"{later} / {earlier}" for earlier, later in pairwise(names)]
    head = ["work", "Branchline"]
    return _TEXT.format(
        machine=machine_line,
        files=files,
        rounds=plan.rounds,
        against_pi=table([*head, "Pi 1.6.0", "ratio", "goal"], [x.cells() for x in found.pi]),
        against_parts=table([*head, "other", "ratio", "goal"], [x.cells() for x in found.parts]),
        alone=table(["work", "median", "99th percentile", "goal"], found.alone),
        growth=table(["work", *names, *factors, "allowed"], [x.cells() for x in found.growth]),
        scale=scale_section(DOCUMENT),
        entries=neovim_speed.ENTRIES,
        forks=neovim_speed.FORKS,
        neovim=neovim_speed.shown(found.neovim),
    )


def machine(with_pi: bool, load: float) -> str:
    """When and on what it was measured; nothing that names the machine or who uses it."""
    node = "without Node, so without Pi"
    if with_pi:
        asked = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True)
        node = f"Node {asked.stdout.strip().removeprefix('v')}"
    parts = [
        f"{datetime.now(UTC):%Y-%m-%d}",
        processor(),
        f"{os.cpu_count()} cores",
        platform.system(),
        f"Python {platform.python_version()}",
        node,
        f"load {load:.1f} before the run",
    ]
    return ", ".join(parts) + "."


def processor() -> str:
    """The name of the processor, as far as the system tells it."""
    told = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.+)", told.read_text()) if told.exists() else None
    return found[1].strip() if found else platform.machine()


if __name__ == "__main__":
    main()
