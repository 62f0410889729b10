"""Processes that are measured: run one and take what it says, or talk to a daemon and time it.

It owns the processes it starts; each is ended by its id. It knows no statistics.
"""

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from branchline import codec

ROOT: Final = Path(__file__).resolve().parents[2]
SERVE: Final = (sys.executable, "-m", "branchline", "serve", "--stdio")
SECONDS: Final = 300.0
"""How long one process may take before it counts as stuck and is ended."""

_QUIET_SECONDS: Final = 3.0
"""Longer than a daemon waits before it verifies a session or saves its index."""
_HEADER_END: Final = b"\r\n\r\n"


def peak_memory(pid: int | str = "self") -> float | None:
    """The most memory that a process ever had, in MB; None where the system does not tell."""
    status = Path("/proc") / str(pid) / "status"
    if not status.exists():
        return None
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
    return int(found[1]) / 1000 if found else None


def run(command: Sequence[str], environment: Mapping[str, str]) -> dict[str, Any]:
    """Run a program to its end; give the JSON object that it prints."""
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True, timeout=SECONDS
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


class TimedError(Exception):
    """A server answered with an error, or ended: nothing can be measured with it."""


class Timed:
    """A server on stdio, asked in frames; every answer comes with the time it took.

    A context manager: the process is gone when it ends.

    Attributes:
        start_ms: from the start of the process to its answer to ``initialize``, in milliseconds.
        pid: the process.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        folder: Path,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Start it with ``folder`` as its workspace. Raises `TimedError`."""
        started = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        self.pid = self._process.pid
        self._buffer = bytearray()
        self._asked = 0
        self._watchdog = threading.Timer(SECONDS, self._process.kill)
        self._watchdog.daemon = True
        self._watchdog.start()
        self.ask(
            "initialize",
            {
                "processId": None,
                "rootUri": None,
                "capabilities": {},
                "workspaceFolders": [{"uri": folder.as_uri(), "name": folder.name}],
                "initializationOptions": settings or {},
            },
        )
        self.start_ms = (time.perf_counter() - started) * 1000
        self._send({"method": "initialized", "params": {}})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._watchdog.cancel()
        self._process.kill()  # does nothing to a process that has ended
        self._process.communicate()

    def ask(self, method: str, params: Mapping[str, Any]) -> tuple[float, Any]:
        """The milliseconds from the request to the last byte of its answer, and the result.

        To decode the answer is the client's work and is not counted. Raises `TimedError`.
        """
        self._asked += 1
        started = time.perf_counter()
        self._send({"id": self._asked, "method": method, "params": params})
        while True:
            body = self._receive()
            elapsed = (time.perf_counter() - started) * 1000
            message = codec.decode(body)
            if "method" not in message and message.get("id") == self._asked:
                break
        if "error" in message:
            raise TimedError(f"{method}: {message['error']['message']}")
        return elapsed, message["result"]

    def settle(self) -> None:
        """Wait until the process does nothing of its own accord any more (where one can tell)."""
        status = Path(f"/proc/{self.pid}/stat")
        used, quiet_since = "", time.monotonic()
        while time.monotonic() - quiet_since < _QUIET_SECONDS:
            times = " ".join(status.read_text().split()[13:15]) if status.exists() else used
            if times != used:
                used, quiet_since = times, time.monotonic()
            time.sleep(0.05)

    def _send(self, message: dict[str, Any]) -> None:
        body = codec.encode({"jsonrpc": "2.0", **message})
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def _receive(self) -> bytes:
        while (end := self._buffer.find(_HEADER_END)) < 0:
            self._read()
        found = re.search(rb"content-length: *(\d+)", self._buffer[:end], re.IGNORECASE)
        assert found, "a frame without a length"
        start = end + len(_HEADER_END)
        stop = start + int(found[1])
        while len(self._buffer) < stop:
            self._read()
        body = bytes(self._buffer[start:stop])
        del self._buffer[:stop]
        return body

    def _read(self) -> None:
        assert self._process.stdout is not None
        data = self._process.stdout.read(1 << 20)
        if not data:
            raise TimedError("The server ended, or was ended because it did not answer in time")
        self._buffer += data
