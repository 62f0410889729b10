"""Has the catalogue kept up to date, by a process of its own, while the daemon answers.

The process is started when there is something to look at, and ends when it had nothing to do for a
minute, or with the daemon. If it cannot work (a full disk), it is left alone for a while: lists
and open sessions do without, and a search says what it knows.
"""

import logging
import os
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from branchline import codec
from branchline.catalogue.worker import COMMAND, as_text, from_text
from branchline.service.background import in_background
from branchline.service.client import Client
from branchline.settings import SessionsRoot

_IDLE_SECONDS: Final = 60.0
_REST_SECONDS: Final = 60.0
"""How long it is left alone after it failed."""
_QUIET_SECONDS: Final = 2.0
"""How long what nobody waits for is left: it comes in bursts, and a program that starts has other
things to do."""
_TELL_SECONDS: Final = 0.5
_LONGEST_REPORT: Final = 64 * 1024 * 1024
_VARIABLES: Final = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "HOME", "TMPDIR")
_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class State:
    """How much of what was found lately is in the index."""

    sessions: int = 0
    of_sessions: int = 0
    size: int = 0
    of_size: int = 0

    @property
    def busy(self) -> bool:
        """Whether something is still to come."""
        return self.sessions < self.of_sessions

    def as_json(self) -> dict[str, int]:
        """The state as ``session/indexing`` and ``session/search`` tell it."""
        return {
            "sessions": self.sessions,
            "ofSessions": self.of_sessions,
            "bytes": self.size,
            "ofBytes": self.of_size,
        }


class Indexing:
    """The process that indexes, and what it has to do.

    Attributes:
        clients: those that are told how far it is.
        state: how far it is.
    """

    def __init__(
        self,
        catalogue: Path,
        indexes: Path,
        on_described: Callable[[list[str]], Awaitable[object]],
    ) -> None:
        """Nothing runs before `run`. ``catalogue`` and ``indexes`` are folders.

        ``on_described`` is told of files whose infos are known now.
        """
        self.clients: set[Client] = set()
        self.state = State()
        self._command = [*COMMAND, str(catalogue), str(indexes)]
        self._on_described = on_described
        self._roots: dict[SessionsRoot, None] = {}
        self._files: dict[str, None] = {}
        self._sent_roots: dict[SessionsRoot, None] = {}
        self._sent_files: dict[str, None] = {}
        self._known: set[SessionsRoot] = set()
        self._asked = anyio.Event()
        self._is_urgent = anyio.Event()
        self._progressed = anyio.Event()
        self._failed = self._advanced = False
        self._sent = self._finished = 0
        self._told = 0.0

    def want_folders(self, roots: Iterable[SessionsRoot]) -> None:
        """Have session folders looked at, each once while the process goes well."""
        for root in roots:
            if root not in self._known:
                self._known.add(root)
                self._roots[root] = None
                self._asked.set()

    def forget_folders(self) -> None:
        """Have them looked at again when somebody wants them: the catalogue was begun anew."""
        self._known.clear()

    def notice(self, paths: Iterable[str]) -> None:
        """Have files looked at that were changed, a little later: most are changed again soon."""
        self._files |= dict.fromkeys(paths)
        self._asked.set()

    async def want_files(self, paths: Iterable[str], seconds: float | None) -> bool:
        """Have files looked at before all else; give whether it is done.

        Waits at most so many seconds (None: as long as it takes), but never for a process that
        failed a short time ago.
        """
        self._files |= dict.fromkeys(paths)
        self._is_urgent.set()
        self._asked.set()
        number = self._sent + 1
        with anyio.move_on_after(seconds):
            while self._finished < number and not self._failed:
                await self._progressed.wait()
        return self._finished >= number

    async def run(self) -> None:
        """Have a process whenever there is something to do, until cancelled."""
        while True:
            await self._asked.wait()
            await self._quiet()
            self._advanced = False
            self._failed = not await in_background(self._work) or self._failed
            if self._finished < self._sent:  # it was killed, or cannot work: do it again
                self._failed = self._failed or not self._advanced
                self._roots |= self._sent_roots
                self._files |= self._sent_files
                self._asked.set()
                self._is_urgent.set()
            if self._failed:
                self._wake()
                await anyio.sleep(_REST_SECONDS)
                self._failed = False

    async def _work(self) -> None:
        """Start the process, and be there for it until it ends."""
        environment = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
        async with (
            await anyio.open_process(
                self._command, stderr=subprocess.DEVNULL, env=environment
            ) as process,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(self._send, process)
            await self._hear(process)
            tasks.cancel_scope.cancel()

    async def _send(self, process: Process) -> None:
        """Pass on what is to be done, as it comes; end the process when nothing came for long."""
        assert process.stdin is not None
        while True:
            with anyio.move_on_after(_IDLE_SECONDS) as idle:
                await self._asked.wait()
                await self._quiet()
            if not idle.cancelled_caught:
                self._asked, self._is_urgent = anyio.Event(), anyio.Event()
                self._sent += 1
                request = {
                    "number": self._sent,
                    "roots": [[as_text(str(root.path)), root.flat] for root in self._roots],
                    "files": [as_text(path) for path in self._files],
                }
                self._sent_roots |= self._roots
                self._sent_files |= self._files
                self._roots, self._files = {}, {}
                with suppress(anyio.BrokenResourceError):  # it died, which is heard, too
                    await process.stdin.send(codec.encode(request) + b"\n")
            elif self._finished == self._sent:
                await process.stdin.aclose()
                return

    async def _quiet(self) -> None:
        """Wait for more to do, unless somebody waits for it."""
        with anyio.move_on_after(_QUIET_SECONDS):
            await self._is_urgent.wait()

    async def _hear(self, process: Process) -> None:
        """Take in what the process reports, to its end."""
        assert process.stdout is not None
        reports = BufferedByteReceiveStream(process.stdout)
        while True:
            try:
                line = await reports.receive_until(b"\n", _LONGEST_REPORT)
            except (anyio.IncompleteRead, anyio.EndOfStream):
                return
            await self._take(codec.decode(line))

    async def _take(self, report: Any) -> None:
        if "failed" in report:
            _logger.warning("Nothing is indexed for now: %s", report["failed"])
            self._failed = True
        elif "finished" in report:
            self._done_up_to(report["finished"])
        else:
            self.state = State(
                report["sessions"], report["ofSessions"], report["bytes"], report["ofBytes"]
            )
            self._advanced = self._advanced or self.state.sessions > 0
            self._tell()
            if report["described"]:
                await self._on_described([from_text(path) for path in report["described"]])

    def _done_up_to(self, number: int) -> None:
        self._finished, self._advanced = number, True
        if number == self._sent:
            self._sent_roots, self._sent_files = {}, {}
        self._wake()

    def _wake(self) -> None:
        """Have whoever waits look at what has changed."""
        self._progressed.set()
        self._progressed = anyio.Event()

    def _tell(self) -> None:
        """Tell the clients how far it is, not too often."""
        if self.state.busy and time.monotonic() - self._told < _TELL_SECONDS:
            return
        self._told = time.monotonic()
        for client in self.clients:
            client.notify("session/indexing", self.state.as_json())
