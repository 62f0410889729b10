"""A small blocking client of the daemon: start it, ask, wait for the answer.

It owns one daemon process and speaks to it over stdin and stdout, in the frames of the LSP base
protocol. Copy it to talk to Branchline from another program; `codec` can be replaced by any strict
JSON library. It never runs longer than it was told to: a daemon that does not answer is killed.
"""

import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from branchline import codec


class DaemonError(Exception):
    """The daemon answered with an error: ``code``, ``message`` and ``data`` with its ``kind``."""

    def __init__(self, method: str, error: Mapping[str, Any]) -> None:
        super().__init__(f"{method}: {error['message']} ({error['code']})")
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


class DaemonGone(Exception):
    """The daemon closed its output, or was killed because it did not answer in time."""


class Client:
    """A daemon of one's own. A context manager: the process is gone when it ends.

    Attributes:
        notifications: what the daemon said unasked, oldest first: ``(method, params)``.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        log: IO[bytes] | None = None,
        seconds: float = 20,
    ) -> None:
        """Start the daemon.

        Args:
            command: such as ``["branchline", "serve", "--stdio"]``.
            environment: its environment variables; None is ours.
            log: where its stderr goes; None is ours.
            seconds: how long the whole conversation may take.
        """
        self.notifications: list[tuple[str, Any]] = []
        self._last_id = 0
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment
        )
        self._watchdog = threading.Timer(seconds, self._process.kill)
        self._watchdog.daemon = True
        self._watchdog.start()

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

    def initialize(self, folder: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Begin: say which folder is open and what the settings are; give the daemon's answer."""
        answer: dict[str, Any] = self.request(
            "initialize",
            {
                "processId": None,
                "capabilities": {},
                "workspaceFolders": [{"uri": folder.as_uri(), "name": folder.name}],
                "initializationOptions": settings,
            },
        )
        self.notify("initialized", {})
        return answer

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Ask and wait; give the result. Raises `DaemonError` and `DaemonGone`."""
        self._last_id += 1
        self._send({"id": self._last_id, "method": method, "params": params})
        while True:
            message = self._receive()
            if "method" in message and "id" in message:
                # A question to us, such as whether progress may be shown. Null declines.
                self._send({"id": message["id"], "result": None})
            elif "method" in message:
                self.notifications.append((message["method"], message.get("params")))
            elif message.get("id") == self._last_id:
                if "error" in message:
                    raise DaemonError(method, message["error"])
                return message["result"]

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Say something that has no answer."""
        self._send({"method": method, "params": params})

    def close(self) -> int:
        """End the daemon as LSP asks for; give its exit code once it has ended."""
        self.request("shutdown")
        self.notify("exit")
        code = self._process.wait()
        self._watchdog.cancel()
        return code

    def _send(self, message: dict[str, Any]) -> None:
        if message.get("params", ...) is None:
            del message["params"]  # JSON-RPC has params that are an object or absent
        body = codec.encode({"jsonrpc": "2.0", **message})
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            self._process.stdin.flush()
        except BrokenPipeError:
            raise DaemonGone("The daemon does not read any more") from None

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        length = 0
        while (line := self._process.stdout.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        body = self._process.stdout.read(length)
        if not body:
            raise DaemonGone("The daemon ended, or was ended because it did not answer in time")
        message: dict[str, Any] = codec.decode(body)
        return message
