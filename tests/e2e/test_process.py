"""The daemon as a process: what reaches its stdout, and how it ends without its client's help."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import SERVE, StartDaemon
from tests.e2e.world import SLACK, RawDaemon, raw_daemon, strict, user
from tests.unit.wire_client import DEADLINE, framed, notification, request

GONE_SECONDS = 5.0
"""The promise: in every case the process is gone by then."""

POLLUTER = '''
"""A dependency that writes to stdout in every way: when it is imported, and in a thread."""
import os, subprocess, sys, threading, warnings

CHILD = "import sys; print('from a child, which read', len(sys.stdin.read()))"

def pollute(moment):
    print("printed", moment, flush=True)
    warnings.warn("warned " + moment)
    os.write(1, b"written to the descriptor " + moment.encode() + b"\\n")
    subprocess.run([sys.executable, "-I", "-S", "-c", CHILD])

def pollute_again():
    for _ in range(5):
        pollute("in a thread")
    print("the thread is done", flush=True)

class OnImport:
    def find_spec(self, name, path=None, target=None):
        if name == "pygls":
            sys.meta_path.remove(self)
            pollute("at import")
            threading.Thread(target=pollute_again, daemon=True).start()

print("printed before anything else")
sys.meta_path.insert(0, OnImport())
'''


def test_nothing_but_frames_reaches_stdout(
    environment: dict[str, str], copy_session: Callable[..., Path], tmp_path: Path
) -> None:
    path = copy_session("60-two-writers")
    (tmp_path / "polluter").mkdir()
    (tmp_path / "polluter" / "sitecustomize.py").write_text(POLLUTER)
    search = os.pathsep.join([str(tmp_path / "polluter"), environment["PYTHONPATH"]])
    text = "é😀\u2028\u0085"
    errors = tmp_path / "stderr"
    with (
        errors.open("wb") as log,
        raw_daemon(SERVE, {**environment, "PYTHONPATH": search}, stderr=log) as daemon,
    ):
        daemon.initialize()
        deadline = time.monotonic() + DEADLINE
        while b"the thread is done" not in errors.read_bytes():
            assert time.monotonic() < deadline
            params = {"session": str(path), "entries": [user(text)]}
            (added,) = strict(daemon.ask("session/append", params))["result"]["entries"]
            params = {"session": str(path), "ids": [added["id"]]}
            assert text.encode() in daemon.ask("session/entries", params)
        daemon.ask("shutdown", None)
        daemon.send(notification("exit"))
        assert daemon.process.wait(DEADLINE) == 0
        assert daemon.process.stdout is not None
        assert daemon.process.stdout.read() == b""
    for stray in (
        "printed before anything else",
        "printed at import",
        "warned at import",
        "written to the descriptor at import",
        "printed in a thread",
        "written to the descriptor in a thread",
        "from a child, which read 0",
    ):
        assert stray in errors.read_text()


def test_frames_may_be_cut_and_joined_anywhere(environment: dict[str, str]) -> None:
    asked = [
        request("initialize", {"capabilities": {}}, 1),
        notification("initialized", {}),
        request("session/list", {"scope": "all", "query": "é😀"}, 2),
        request("session/list", {"scope": "all"}, 3),
        request("shutdown", None, 4),
    ]
    data = b"".join(map(framed, asked))
    with raw_daemon(SERVE, environment) as daemon:
        assert daemon.process.stdin is not None
        for at in range(len(data) - 200):
            daemon.process.stdin.write(data[at : at + 1])
            daemon.process.stdin.flush()
        daemon.process.stdin.write(data[-200:])
        daemon.process.stdin.flush()
        answers = [strict(daemon.receive()) for _ in range(4)]
    # Lists concern no one session, so they have no turns: either may be answered first.
    assert sorted(answer["id"] for answer in answers) == ["1", "2", "3", "4"]
    assert all("result" in answer for answer in answers)


def flood(daemon: RawDaemon, path: Path, count: int = 60) -> None:
    """Ask for many large appends and read no answer: they pile up, and so does the news."""
    entry = {"type": "custom", "customType": "flood", "data": "x" * 200_000}
    for number in range(count):
        params = {"session": str(path), "entries": [entry]}
        daemon.send(request("session/append", params, f"flood-{number}"))


def close_stdin(daemon: RawDaemon) -> None:
    assert daemon.process.stdin is not None
    daemon.process.stdin.close()


def close_stdout(daemon: RawDaemon) -> None:
    assert daemon.process.stdout is not None
    daemon.process.stdout.close()


def exit_without_shutdown(daemon: RawDaemon) -> None:
    daemon.send(notification("exit"))


def shutdown_without_exit(daemon: RawDaemon) -> None:
    daemon.send(request("shutdown", None, "end"))
    close_stdin(daemon)


LEAVING = [close_stdin, close_stdout, exit_without_shutdown, shutdown_without_exit]


def assert_all_is_well(path: Path, original: bytes, daemon: StartDaemon) -> None:
    """No half record, nothing lost, and nobody holds the lock."""
    content = path.read_bytes()
    assert content.startswith(original)
    assert content.endswith(b"\n")
    for line in content.splitlines():
        json.loads(line)
    started = time.monotonic()
    daemon().request("session/append", {"session": str(path), "entries": [user("after")]})
    assert time.monotonic() - started < GONE_SECONDS * SLACK


@pytest.mark.parametrize("leave", LEAVING)
@pytest.mark.parametrize("busy", [False, True])
def test_it_ends_when_its_client_goes(
    daemon: StartDaemon,
    environment: dict[str, str],
    copy_session: Callable[..., Path],
    tmp_path: Path,
    leave: Callable[[RawDaemon], None],
    busy: bool,
) -> None:
    path = copy_session("60-two-writers")
    original = path.read_bytes()
    with (
        (tmp_path / "stderr").open("wb") as log,
        raw_daemon(SERVE, environment, stderr=log) as leaving,
    ):
        leaving.initialize()
        leaving.ask("session/open", {"session": str(path)})
        if busy or leave is close_stdout:
            flood(leaving, path)
            leaving.receive()  # it has begun
        leave(leaving)
        assert leaving.process.wait(GONE_SECONDS * SLACK) == (
            0 if leave is shutdown_without_exit else 1
        )
    log_text = (tmp_path / "stderr").read_text()
    assert "Traceback" not in log_text
    assert len(log_text) < 10_000
    assert_all_is_well(path, original, daemon)


@pytest.mark.parametrize("busy", [False, True])
def test_it_ends_when_the_editor_is_killed(
    daemon: StartDaemon,
    environment: dict[str, str],
    copy_session: Callable[..., Path],
    busy: bool,
) -> None:
    """Somebody else still holds the pipes, so only the process id tells."""
    path = copy_session("60-two-writers")
    original = path.read_bytes()
    with (
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as editor,
        raw_daemon(SERVE, environment) as leaving,
    ):
        leaving.initialize(processId=editor.pid)
        leaving.ask("session/open", {"session": str(path)})
        if busy:
            flood(leaving, path)
        editor.send_signal(signal.SIGKILL)
        editor.wait(DEADLINE)
        assert leaving.process.wait(GONE_SECONDS * SLACK) == 1
    assert_all_is_well(path, original, daemon)
