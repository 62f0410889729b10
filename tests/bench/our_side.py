"""Our side of what is measured in a process: a program that does one thing and says how long.

    python -m tests.bench.our_side look FILE            open, then the context at the leaf
    python -m tests.bench.our_side save FILE FOLDER     save the index there
    python -m tests.bench.our_side again FILE FOLDER    open by that index
    python -m tests.bench.our_side append FILE COUNT    append, beside raw writes

One JSON object goes to stdout: times in milliseconds, memory in MB. `pi_bench.mjs` is the same for
Pi. A file that is looked at stays as it is.
"""

import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from branchline.entries import Entry, flags_of, kind_of
from branchline.log.format import record_line
from branchline.log.saved_index import SavedIndexes
from branchline.log.session_file import SessionFile
from branchline.service.new_entries import make_addition
from branchline.settings import Durability
from branchline.tree.context import build_context
from branchline.tree.tokens import entry_tokens
from tests.bench.process import peak_memory

MESSAGE: Final[Entry] = {
    "role": "user",
    "content": [{"type": "text", "text": "the quick brown fox jumps. " * 98}],
    "timestamp": 1_767_225_600_000,
}
"""What is appended, by us and by Pi: 2.8 kB as a record."""
PINNED_TOKENS: Final = 0
"""None, for Pi knows no pinned branch summaries: both build the same context."""
_AGAIN: Final = 5
_SETTLED_SECONDS: Final = 2.1
"""So long after a change, a file's time proves that it is the same."""


def look(path: Path) -> dict[str, Any]:
    """Open a session and build the context at its leaf: ``open``, ``context``, ``contextAgain``.

    ``peak`` is the memory when it is open, None where the system does not tell.
    """
    started = time.perf_counter()
    file = SessionFile(path, path.parent / "locks")
    tree = file.tree
    opened = _since(started)
    peak = peak_memory()

    def build() -> int:
        return len(build_context(tree, file, tree.leaf, PINNED_TOKENS).messages)

    started = time.perf_counter()
    messages = build()
    first = _since(started)
    again = min(_times(build, _AGAIN))
    return {
        "open": opened,
        "peak": peak,
        "context": first,
        "contextAgain": again,
        "entries": len(tree),
        "messages": messages,
    }


def save(path: Path, folder: Path) -> dict[str, Any]:
    """Save the index of a session, as a daemon does; once the file's time is old enough."""
    status = path.stat()
    time.sleep(max(0.0, _SETTLED_SECONDS + max(status.st_mtime, status.st_ctime) - time.time()))
    file = SessionFile(path, path.parent / "locks")
    SavedIndexes(folder).save(file.verify(lambda: None))
    return {}


def again(path: Path, folder: Path) -> dict[str, Any]:
    """Open a session by its saved index: ``openAgain``, and ``peakAgain`` when it is open."""
    started = time.perf_counter()
    file = SessionFile(path, path.parent / "locks", indexes=SavedIndexes(folder))
    opened = _since(started)
    assert file.indexed > 0
    return {"openAgain": opened, "peakAgain": peak_memory()}


def append(path: Path, count: int) -> dict[str, list[float]]:
    """Append one by one: ``flush`` without, ``fsync`` with a wait for the disk, ``raw`` beside it.

    As the daemon's worker thread does: with the lock, the look at what others did, the checks of
    the entry, and the index.
    """
    file = SessionFile(path, path.parent / "locks")
    tree = file.tree

    def add(durability: Durability) -> None:
        file.begin_append()
        addition = make_addition(tree, tree.leaf, [{"type": "message", "message": {**MESSAGE}}])
        (entry,) = addition.entries
        file.finish_append([record_line(entry)], durability)
        kind = kind_of(entry)
        tokens = entry_tokens(entry, kind)
        tree.leaf = tree.append(entry["id"], tree.leaf, kind, flags_of(entry, kind), tokens)

    # What the disk does at the end of a large file differs from what it does with a new one.
    raw_path = path.with_suffix(".raw")
    shutil.copyfile(path, raw_path)
    raw = os.open(raw_path, os.O_WRONLY | os.O_APPEND)
    line = record_line({"type": "message", "id": "0" * 8, "parentId": "0" * 8, "message": MESSAGE})

    def write() -> None:
        os.write(raw, line)
        os.fdatasync(raw)

    try:
        add("fsync")
        write()
        flushed = _times(lambda: add("flush"), count)
        add("fsync")
        pairs = [(*_times(lambda: add("fsync"), 1), *_times(write, 1)) for _ in range(count)]
    finally:
        os.close(raw)
        raw_path.unlink()
    return {
        "flush": flushed,
        "fsync": [synced for synced, _ in pairs],
        "raw": [written for _, written in pairs],
    }


def _times(do: Callable[[], object], count: int) -> list[float]:
    times = []
    for _ in range(count):
        started = time.perf_counter()
        do()
        times.append(_since(started))
    return times


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000


def main() -> None:
    """Do what the command line says."""
    what, name, *rest = sys.argv[1:]
    path = Path(name)
    match what:
        case "look":
            found = look(path)
        case "save":
            found = save(path, Path(rest[0]))
        case "again":
            found = again(path, Path(rest[0]))
        case _:
            found = append(path, int(rest[0]))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
