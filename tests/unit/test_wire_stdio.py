"""A server process on stdio: what reaches its stdout, and how it ends."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from tests.unit.wire_client import DEADLINE, Client, framed, notification, request

ROOT = Path(__file__).resolve().parents[2]
GONE_SECONDS = 5.0
"""The promise: in every case the process is gone by then."""

Stream = int | IO[bytes]


@contextmanager
def program(*arguments: str, **streams: Any) -> Iterator[subprocess.Popen[bytes]]:
    options: dict[str, Any] = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.DEVNULL,
        **streams,
    }
    path = os.pathsep.join([str(ROOT), str(ROOT / "server")])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": ""}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.unit.wire_program", *arguments],
        env=environment,
        **options,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def client_of(process: subprocess.Popen[bytes]) -> Client:
    assert process.stdin is not None
    assert process.stdout is not None
    return Client(process.stdout.fileno(), process.stdin.fileno())


def close(stream: IO[bytes] | None) -> None:
    assert stream is not None
    stream.close()


def assert_gone(process: subprocess.Popen[bytes], code: int) -> None:
    """It leaves in time, with this code, and without having spun."""
    assert process.wait(GONE_SECONDS) == code


def test_nothing_but_frames_reaches_stdout() -> None:
    with program("pollute", stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        messages = [
            request("initialize", {"capabilities": {}}, 1),
            request("session/append", {"session": "s", "entries": [{"text": "é😀"}]}, 2),
            request("shutdown", None, 3),
            notification("exit"),
        ]
        output, errors = process.communicate(b"".join(map(framed, messages)), DEADLINE)
    assert process.returncode == 0
    received = []
    while output:
        header, rest = output.split(b"\r\n\r\n", 1)
        assert header.startswith(b"Content-Length: ")
        length = int(header.removeprefix(b"Content-Length: "))
        received.append(rest[:length])
        output = rest[length:]
    assert len(received) == 3
    assert '"é😀"'.encode() in received[1]
    for stray in (
        b"before the guard",
        b"printed",
        b"warned",
        b"written to the descriptor",
        b"from a child",
        b"a child read 0 bytes",
    ):
        assert stray in errors


def leave_by_closing_stdin(process: subprocess.Popen[bytes]) -> None:
    close(process.stdin)


def leave_by_exit(process: subprocess.Popen[bytes]) -> None:
    client_of(process).send(notification("exit"))


def leave_by_closing_both(process: subprocess.Popen[bytes]) -> None:
    close(process.stdout)
    close(process.stdin)


def leave_by_shutdown_only(process: subprocess.Popen[bytes]) -> None:
    client_of(process).send(request("shutdown", None, "end"))
    close(process.stdin)


@pytest.mark.parametrize(
    ("leave", "code"),
    [
        (leave_by_closing_stdin, 1),
        (leave_by_exit, 1),
        (leave_by_closing_both, 1),
        (leave_by_shutdown_only, 0),
    ],
)
@pytest.mark.parametrize("busy_with", [None, "session/check", "session/stats", "session/repair"])
def test_the_process_ends_when_its_client_leaves(
    leave: Callable[[subprocess.Popen[bytes]], None], code: int, busy_with: str | None
) -> None:
    """Also while a request waits, floods a client that does not read, or blocks a thread."""
    with program() as process:
        client = client_of(process)
        client.initialize()
        if busy_with is not None:
            assert client.request(busy_with, {"session": "s"})["method"] == "session/changed"
        leave(process)
        assert_gone(process, code)


def test_the_process_ends_when_stdout_closes_during_a_flood() -> None:
    with program(stderr=subprocess.PIPE) as process:
        client = client_of(process)
        client.initialize()
        client.request("session/stats", {"session": "s"})
        close(process.stdout)  # stdin stays open
        assert_gone(process, 1)
        assert process.stderr is not None
        log = process.stderr.read()
    assert b"Traceback" not in log
    assert len(log) < 10_000


def test_the_process_ends_when_the_process_of_its_client_is_killed() -> None:
    """Even if somebody else still holds the pipes."""
    with (
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as editor,
        program() as process,
    ):
        client_of(process).initialize(processId=editor.pid)
        editor.send_signal(signal.SIGKILL)
        assert_gone(process, 1)


def test_a_process_that_never_was_is_not_waited_for() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    with program() as process:
        client = client_of(process)
        client.initialize(processId=gone.pid)
        assert "result" in client.request("session/append", {"session": "s", "entries": [{}]})
        client.request("shutdown")
        client.send(notification("exit"))
        assert_gone(process, 0)


def test_it_uses_little_time_when_idle_and_when_leaving() -> None:
    with program() as process:
        client = client_of(process)
        client.initialize()
        client.request("session/repair", {"session": "s"})
        before = cpu_seconds(process.pid)
        started = time.monotonic()
        close(process.stdin)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        elapsed = time.monotonic() - started
        assert cpu_seconds(process.pid) - before < 4 * 0.1 * max(elapsed, 1)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


FAREWELL = [
    request("initialize", {"capabilities": {}}, 1),
    request("session/append", {"session": "s", "entries": [{}]}, 2),
    request("shutdown", None, 3),
    notification("exit"),
]


def test_regular_files_will_do(tmp_path: Path) -> None:
    script, output = tmp_path / "in", tmp_path / "out"
    script.write_bytes(b"".join(map(framed, FAREWELL)))
    with (
        script.open("rb") as source,
        output.open("wb") as sink,
        program(stdin=source, stdout=sink) as process,
    ):
        assert_gone(process, 0)
    assert output.read_bytes().count(b"Content-Length: ") == 3


def test_the_null_device_will_do() -> None:
    with program(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        assert_gone(process, 1)


def test_one_socket_for_both_directions_will_do() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, program(stdin=theirs, stdout=theirs) as process:
        client = Client(ours.fileno(), ours.fileno())
        client.initialize()
        assert "result" in client.request("session/append", {"session": "s", "entries": [{}]})
        ours.shutdown(socket.SHUT_RDWR)
        assert_gone(process, 1)


def test_a_terminal_will_do() -> None:
    master, slave = os.openpty()
    try:
        with program(stdin=slave, stdout=subprocess.PIPE) as process:
            os.close(slave)
            assert process.stdout is not None
            client = Client(process.stdout.fileno(), master)
            client.send_bytes(b"Content-Length: 2\n\n{}\n")
            assert client.receive()["error"]["code"] == -32600
            os.close(master)
            master = -1
            assert_gone(process, 1)
    finally:
        if master >= 0:
            os.close(master)
