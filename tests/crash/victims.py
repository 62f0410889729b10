"""Processes to be killed in the middle of their work on a session file.

One program imports the server once and forks a victim for each task, which is much quicker than a
start each. A victim says what it does, a line at a time; how it ended is the last line.

    task    = {"do": "append", "path": …, "seed": …, "room"?: bytes} LF
            | {"do": "rewrite" | "save", "path": …, "die_at"?: step} LF
    answer  = "pid N" LF ("ready" | "wrote ID" | "done") LF … "ended STATUS" LF
"""

import json
import math
import os
import random
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any, Self

import anyio

from branchline.handlers import HANDLERS
from branchline.handlers.connection import Connection
from branchline.log.rewrite import rewrite
from branchline.log.saved_index import SavedIndexes
from branchline.log.session_file import SessionFile
from branchline.service.client import Client, Silence
from branchline.service.service import Service
from branchline.wire.method_params import AppendParams

SMALLEST, LARGEST = 100, 300_000
"""Characters of the texts that are appended."""


class Victim:
    """A process at work. It is killed, or ends by itself; either way `ended` is to be asked."""

    def __init__(self, victims: "Victims") -> None:
        self._victims = victims
        self.pid = int(self.next_line().removeprefix("pid "))

    def next_line(self) -> str:
        """What it says next."""
        return self._victims.read_line()

    def kill(self) -> list[str]:
        """Kill it at once; give the lines that it had still said."""
        os.kill(self.pid, signal.SIGKILL)
        return self.rest()

    def rest(self) -> list[str]:
        """Wait for its end; give the lines until then, ``ended STATUS`` being the last."""
        lines = [self.next_line()]
        while not lines[-1].startswith("ended "):
            lines.append(self.next_line())
        return lines


class Victims:
    """Starts victims, one at a time. A context manager."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        root = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join([environment["PYTHONPATH"], root])
        self._process: subprocess.Popen[str] = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.victims"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**environment, "PYTHONPATH": path},
            text=True,
            bufsize=1,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def start(self, **task: Any) -> Victim:
        """Set one to work."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(task) + "\n")
        return Victim(self)

    def read_line(self) -> str:
        """The next line that the victim, or whoever started it, says."""
        assert self._process.stdout is not None
        line: str = self._process.stdout.readline()
        assert line.endswith("\n"), "the victims are gone"
        return line.removesuffix("\n")


def text_of(entry_id: str) -> str:
    """The text that the entry with this id has: its length is random, and known from the id."""
    chance = random.Random(entry_id)
    length = int(SMALLEST * math.pow(LARGEST / SMALLEST, chance.random()))
    return (f"{entry_id} €" * (length // len(entry_id) + 1))[:length]


def entry_of(entry_id: str) -> dict[str, Any]:
    """A user message as ``session/append`` takes it."""
    return {
        "type": "message",
        "id": entry_id,
        "message": {"role": "user", "content": text_of(entry_id), "timestamp": 1770116400000},
    }


# --- in the victims' own process ---------------------------------------------------------------


def _say(line: str) -> None:
    os.write(1, line.encode() + b"\n")  # one write: nothing of it is lost in a buffer


def _append_until_killed(path: str, seed: str, room: int | None) -> None:
    """Append without end, saying each id once it is acknowledged.

    With ``room`` the system ends the process in the middle of the write that would make the file
    grow by more: a part of a record is in the file then.
    """
    if room is not None:
        size = os.stat(path).st_size + room
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)

    async def work() -> None:
        async with anyio.create_task_group() as tasks:
            connection = Connection(Client(Silence()), Service.begin(os.environ, tasks))
            for number in count():
                entry_id = f"{seed}-{number:03}"
                entries = [entry_of(entry_id)]
                await HANDLERS["session/append"](
                    connection, AppendParams(session=path, entries=entries)
                )
                _say(f"wrote {entry_id}")

    anyio.run(work)


def _rewrite(path: Path, die_at: int | None) -> None:
    """Rewrite a file."""
    file = SessionFile(path, path.parent / "locks")
    _say("ready")
    _die_at(die_at)
    rewrite(file, file.tree)
    _say("done")


def _save(path: Path, die_at: int | None) -> None:
    """Save the index of a session in the folder ``indexes`` beside it."""
    reading = SessionFile(path, path.parent / "locks").verify(lambda: None)
    _say("ready")
    _die_at(die_at)
    SavedIndexes(path.parent / "indexes", least_bytes=0).save(reading)
    _say("done")


def _die_at(wanted: int | None) -> None:
    """From now on, kill the process at that step of its work.

    The steps are what Python audits: files opened, made, linked, renamed, their mode set.
    """
    steps = count(1)

    def step(event: str, _arguments: object) -> None:
        if event.startswith(("os.", "open", "tempfile.")) and next(steps) == wanted:
            os.kill(os.getpid(), signal.SIGKILL)

    if wanted is not None:
        sys.addaudithook(step)


def _main() -> None:
    ended: int | None = None
    for line in sys.stdin:
        task = json.loads(line)
        if ended is not None:
            os.waitpid(
                ended, 0
            )  # only now: until here nobody else could get this id, and be killed
        pid = os.fork()
        if pid == 0:
            _say(f"pid {os.getpid()}")
            if task["do"] == "append":
                _append_until_killed(task["path"], task["seed"], task.get("room"))
            else:
                work = {"rewrite": _rewrite, "save": _save}[task["do"]]
                work(Path(task["path"]), task.get("die_at"))
            os._exit(0)
        result = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert result is not None
        killed = result.si_code != os.CLD_EXITED
        _say(f"ended {-result.si_status if killed else result.si_status}")
        ended = pid


if __name__ == "__main__":
    _main()
