"""The shared daemon for the tests: a place of its own, editors that connect to it, and its end.

Its processes detach themselves, so they are ended by asking them, and by their id if they do not
go. A socket's path must be short: the place is not below the folders of the tests.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from branchline.demo.client import Client, DaemonError
from branchline.wire.daemon_socket import DaemonPlace, daemon_place, take_lock
from branchline.wire.hello import call
from tests.e2e.world import user
from tests.unit.short_folder import short_folder
from tests.unit.wire_client import DEADLINE

CONNECT = [sys.executable, "-m", "branchline", "connect"]
SERVE = [sys.executable, "-m", "branchline", "serve"]
PAUSE = 0.01
SECONDS = 60.0
"""How long an editor may talk before it counts as stuck."""


class SharedDaemon:
    """The place of a daemon, and the editors that a test has connected to it.

    Attributes:
        environment: the variables of whoever comes.
        place: where it listens.
    """

    def __init__(self, environment: Mapping[str, str], running: ExitStack) -> None:
        self.environment = dict(environment)
        self.place: DaemonPlace = daemon_place(environment)
        self._running = running

    def connect(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        seconds: float = SECONDS,
    ) -> Client:
        """An editor that has introduced itself. ``environment`` adds to that of all."""
        variables = {**self.environment, **(environment or {})}
        client = Client(CONNECT, environment=variables, seconds=seconds)
        self._running.enter_context(client)
        client.initialize(folder or Path(self.environment["HOME"]), settings or {})
        return client

    def command(self, *arguments: str, wanted: int = 0) -> subprocess.CompletedProcess[str]:
        """Run ``branchline``; ``wanted`` is the exit code it must have."""
        with self.start(*arguments) as process:
            try:
                output, errors = process.communicate(timeout=DEADLINE)
            finally:
                process.kill()  # does nothing to a process that has ended
        assert process.returncode == wanted, errors
        return subprocess.CompletedProcess(arguments, wanted, output, errors)

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start ``branchline`` without waiting for its end."""
        return subprocess.Popen(
            [sys.executable, "-m", "branchline", *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def status(self) -> dict[str, Any] | None:
        """What the daemon tells of itself; None if there is none."""
        if not self.place.folder.exists():
            return None
        called = call(self.place, "status", self.environment)
        if called is None:
            return None
        called[0].close()
        return called[1]

    def pid(self) -> int:
        """The process that serves now."""
        found = self.status()
        assert found is not None, "no daemon runs"
        pid: int = found["pid"]
        return pid

    def log(self) -> str:
        """What the daemons of this place have logged."""
        path = Path(self.environment["XDG_STATE_HOME"]) / "branchline"
        return (path / f"daemon-{self.place.name}.log").read_text()

    def daemons(self) -> int:
        """How many daemons have ever served here."""
        return self.log().count(" serves, version ")

    def is_free(self) -> bool:
        """Whether no daemon owns the place."""
        owner_lock = take_lock(self.place.owner_lock)
        if owner_lock is None:
            return False
        os.close(owner_lock)
        return True

    def end(self) -> None:
        """End the daemon, if there is one."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the daemon, if there is one."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        found = self.status()
        if found is not None:
            os.kill(found["pid"], number)
        if self.place.folder.exists():
            wait_until(self.is_free)


def append_each(client: Client, path: Path, leaf: str, number: int, count: int) -> list[str]:
    """Append below the leaf that one knows, and again where it was another meanwhile."""
    made: list[str] = []
    while len(made) < count:
        entries = [user(f"{number}: {len(made)}")]
        params = {"session": str(path), "entries": entries, "expectedLeafId": leaf}
        try:
            leaf = client.request("session/append", params)["leafId"]
        except DaemonError as error:
            if error.code != 4004:
                raise
            leaf = error.data["leafId"]
        else:
            made.append(leaf)
    return made


def wait_until(condition: Callable[[], bool], seconds: float = DEADLINE) -> None:
    """Ask again and again, for what no message tells of: the end of somebody else's process."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(PAUSE)


@contextmanager
def place_for_daemon(environment: Mapping[str, str]) -> Iterator[SharedDaemon]:
    """A place where no daemon runs yet; at the end none does any more."""
    with short_folder() as runtime, ExitStack() as running:
        daemon = SharedDaemon({**environment, "XDG_RUNTIME_DIR": str(runtime)}, running)
        try:
            yield daemon
        finally:
            running.close()
            daemon.end()
