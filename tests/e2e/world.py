"""Helpers of the end-to-end tests: files before and after, raw frames, what other programs write.

Nothing here imports the daemon; it only starts it.
"""

import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.unit.wire_client import DEADLINE, framed, notification, request

Json = Any

SLACK = 4
"""A promised time is asserted with this much slack."""


class FileState(NamedTuple):
    """All of a file or folder that opening a session must leave alone."""

    content: bytes | str | None
    mode: int
    inode: int
    modified_ns: int


def snapshot(folder: Path) -> dict[Path, FileState]:
    """The state of everything below a folder, the folder itself included."""
    return {path: _state(path) for path in [folder, *folder.rglob("*")]}


def _state(path: Path) -> FileState:
    status = path.lstat()
    content: bytes | str | None = None
    if path.is_symlink():
        content = os.readlink(path)
    elif path.is_file():
        content = path.read_bytes()
    return FileState(content, status.st_mode, status.st_ino, status.st_mtime_ns)


def lines_of(path: Path) -> list[Json]:
    """The records of a file whose every line must parse on its own.

    A blank line is no record: we leave one where another program's record was seen half written
    and was whole by the time that ours got its turn.
    """
    content = path.read_bytes()
    assert content.endswith(b"\n")
    return [json.loads(line) for line in content.splitlines() if line]


def user(text: str, **fields: Json) -> dict[str, Json]:
    """A user message, as a client gives it to ``session/append``."""
    return {"type": "message", "message": {"role": "user", "content": text}, **fields}


def foreign(entry_id: str, parent_id: str | None, text: str = "from elsewhere") -> bytes:
    """The line of a user message as another program writes it."""
    timestamp = "2026-02-03T11:00:00.000Z"
    message = {"role": "user", "content": text, "timestamp": 1770116400000}
    return record(
        type="message", id=entry_id, parentId=parent_id, timestamp=timestamp, message=message
    )


def record(**fields: Json) -> bytes:
    """One line of a session file."""
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def add_bytes(path: Path, data: bytes) -> None:
    """Append as another program does: one write, no lock."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        assert os.write(descriptor, data) == len(data)
    finally:
        os.close(descriptor)


def codes(warnings: Sequence[Mapping[str, Json]]) -> set[str]:
    """The codes of warnings."""
    return {warning["code"] for warning in warnings}


def strict(body: bytes) -> Json:
    """What strict JSON in strict UTF-8 holds; integers of any length, no lone surrogates."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    # Integers stay texts: Python itself refuses to read very long ones.
    value = json.loads(body.decode(), parse_constant=refuse, parse_int=str)
    assert not re.search("[\ud800-\udfff]", json.dumps(value, ensure_ascii=False))
    return value


class RawDaemon:
    """A daemon spoken to in frames that a test can look at byte for byte.

    Attributes:
        process: the daemon.
        bodies: every message that it has sent, in order.
    """

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.bodies: list[bytes] = []
        self._asked = 0

    def send(self, *messages: object) -> None:
        """Send messages, or bytes as bodies, each in a frame."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(map(framed, messages)))
        self.process.stdin.flush()

    def receive(self) -> bytes:
        """The body of the next message."""
        assert self.process.stdout is not None
        header = self.process.stdout.readline()
        assert header.startswith(b"Content-Length: "), header[:200]
        assert self.process.stdout.readline() == b"\r\n"
        body = self.process.stdout.read(int(header.removeprefix(b"Content-Length: ")))
        self.bodies.append(body)
        return body

    def ask(self, method: str, params: object) -> bytes:
        """Ask, and give the body of the answer."""
        self._asked += 1
        name = f"ask-{self._asked}"
        self.send(request(method, params, name))
        while True:
            body = self.receive()
            if strict(body).get("id") == name:
                return body

    def initialize(self, **params: object) -> None:
        """Introduce ourselves."""
        self.ask("initialize", {"capabilities": {}, **params})
        self.send(notification("initialized", {}))


@contextmanager
def raw_daemon(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    seconds: float = 3 * DEADLINE,
    **streams: Any,
) -> Iterator[RawDaemon]:
    """Start a daemon; it is ended, by its id, with the block, or if it takes too long."""
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **streams}
    with subprocess.Popen(command, env=environment, **options) as process:
        watchdog = threading.Timer(seconds, process.kill)
        watchdog.start()
        try:
            yield RawDaemon(process)
        finally:
            watchdog.cancel()
            process.kill()  # does nothing to a process that has ended
            process.wait(DEADLINE)
