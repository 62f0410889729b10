"""The life of the shared daemon: who starts it, what ends with it, and when it leaves."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from branchline.cli.serving import serve
from branchline.folders import locks_dir
from branchline.log.lock import SessionLock
from tests.e2e.shared import CONNECT, SERVE, SharedDaemon, wait_until
from tests.e2e.world import SLACK, RawDaemon, lines_of, raw_daemon, user
from tests.unit.wire_client import DEADLINE, notification, request

GONE_SECONDS = 5.0
"""The promise: a forwarder is gone by then, whichever side dies."""
COLD_SECONDS = 1.0
"""The promise: from nothing to the answer to ``initialize``."""


@contextmanager
def editors(shared: SharedDaemon, count: int) -> Iterator[list[RawDaemon]]:
    """Editors that were started at once, and have introduced themselves."""
    with ExitStack() as running:
        streams = {"stderr": subprocess.PIPE}
        made = [
            running.enter_context(raw_daemon(CONNECT, shared.environment, **streams))
            for _ in range(count)
        ]
        for one in made:
            one.send(request("initialize", {"capabilities": {}}, "hello"))
        for one in made:
            assert b"serverInfo" in one.receive()
        yield made


def said(process: "subprocess.Popen[bytes]") -> str:
    """All of a process's stderr, once it has ended."""
    assert process.stderr is not None
    return process.stderr.read().decode()


# --- starting ------------------------------------------------------------------------------------


def test_twenty_editors_at_once_start_one_daemon(shared: SharedDaemon) -> None:
    with editors(shared, 20) as made:
        found = shared.status()
        assert found is not None
        connected = sorted(one["pid"] for one in found["clients"])
        assert connected == sorted(one.process.pid for one in made)
        for one in made:
            one.ask("shutdown", None)
            one.send(notification("exit"))
            assert one.process.wait(DEADLINE) == 0
            assert said(one.process) == ""
    assert shared.daemons() == 1


def test_a_cold_start_is_quick(shared: SharedDaemon) -> None:
    started = time.monotonic()
    shared.connect()
    assert time.monotonic() - started < COLD_SECONDS * SLACK


def test_the_daemon_is_nobodys_child(shared: SharedDaemon) -> None:
    """Editors end what they started together with its children, and with its process group."""
    with editors(shared, 1) as (first,):
        pid = shared.pid()
        assert os.getsid(pid) not in (os.getsid(0), os.getsid(first.process.pid))
        told = Path("/proc", str(pid), "stat")
        if told.exists():
            parent = int(told.read_text().rpartition(")")[2].split()[1])
            assert parent not in (os.getpid(), first.process.pid)
            assert os.readlink(f"/proc/{pid}/cwd") == "/"
        second = shared.connect()
        first.process.kill()
        first.process.wait(DEADLINE)
    assert second.request("session/list", {"scope": "all"})["total"] == 0
    assert shared.pid() == pid


def test_a_second_daemon_is_refused(shared: SharedDaemon) -> None:
    shared.connect()
    pid = shared.pid()
    assert f"serves at {shared.place.socket} already" in shared.command("serve", wanted=1).stderr
    shared.command("serve", "--detach")  # all that was asked for is that there is one
    assert shared.pid() == pid
    assert shared.daemons() == 1


def test_it_can_be_started_by_hand(shared: SharedDaemon) -> None:
    with subprocess.Popen(SERVE, env=shared.environment, stderr=subprocess.PIPE) as process:
        wait_until(lambda: shared.status() is not None)
        assert shared.pid() == process.pid
        if Path("/proc/self/cwd").exists():  # it keeps nobody from removing a folder
            assert os.readlink(f"/proc/{process.pid}/cwd") == "/"
        shared.connect()
        assert shared.pid() == process.pid
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE) == 0
        assert said(process).startswith(f"branchline: Serving at {shared.place.socket}, log in /")
    assert shared.daemons() == 1


BROKEN = """
import sys
if "serve" in sys.orig_argv:
    raise SystemExit("this daemon cannot start")
"""


def test_an_editor_is_told_why_the_daemon_does_not_start(
    shared: SharedDaemon, tmp_path: Path
) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "orjson.py").write_text(BROKEN)
    search = os.pathsep.join([str(tmp_path / "broken"), shared.environment["PYTHONPATH"]])
    variables = {**shared.environment, "PYTHONPATH": search}
    with raw_daemon(CONNECT, variables, stderr=subprocess.PIPE) as daemon:
        assert daemon.process.wait(DEADLINE) == 1
        told = said(daemon.process)
    assert "this daemon cannot start" in told
    assert "branchline: The daemon did not start" in told
    assert "connect --no-daemon" in told
    assert shared.is_free()


SHORT_LIVED = """
import sys
if "serve" in sys.orig_argv:
    import branchline.app

    async def serve_nobody(*_arguments):
        return

    branchline.app.serve_shared = serve_nobody
"""


def test_an_editor_gives_up_on_a_daemon_that_does_not_stay(
    shared: SharedDaemon, tmp_path: Path
) -> None:
    (tmp_path / "short").mkdir()
    (tmp_path / "short" / "sitecustomize.py").write_text(SHORT_LIVED)
    search = os.pathsep.join([str(tmp_path / "short"), shared.environment["PYTHONPATH"]])
    variables = {**shared.environment, "PYTHONPATH": search}
    with raw_daemon(CONNECT, variables, stderr=subprocess.PIPE) as daemon:
        assert daemon.process.wait(DEADLINE) == 1
        assert "ended as soon as it was started, 10 times" in said(daemon.process)


def test_without_the_daemon_an_editor_is_served_alone(shared: SharedDaemon) -> None:
    with raw_daemon([*CONNECT, "--no-daemon"], shared.environment) as daemon:
        daemon.initialize()
        assert shared.status() is None
        daemon.ask("shutdown", None)
        daemon.send(notification("exit"))
        assert daemon.process.wait(DEADLINE) == 0


# --- how a forwarder ends ------------------------------------------------------------------------


def shut_down_and_exit(daemon: RawDaemon) -> None:
    daemon.ask("shutdown", None)
    daemon.send(notification("exit"))


def shut_down_and_hang_up(daemon: RawDaemon) -> None:
    daemon.send(request("shutdown", None, "end"))
    hang_up(daemon)


def exit_at_once(daemon: RawDaemon) -> None:
    daemon.send(notification("exit"))


def hang_up(daemon: RawDaemon) -> None:
    assert daemon.process.stdin is not None
    daemon.process.stdin.close()


def stop_listening(daemon: RawDaemon) -> None:
    assert daemon.process.stdout is not None
    daemon.process.stdout.close()
    daemon.send(request("session/list", {"scope": "all"}))


LEAVING: dict[Callable[[RawDaemon], None], int] = {
    shut_down_and_exit: 0,
    shut_down_and_hang_up: 0,
    exit_at_once: 1,
    hang_up: 1,
    stop_listening: 1,
}


@pytest.mark.parametrize("leave", LEAVING)
def test_it_ends_as_a_daemon_of_its_own_would(
    shared: SharedDaemon, leave: Callable[[RawDaemon], None]
) -> None:
    with editors(shared, 2) as (leaving, other):
        leave(leaving)
        assert leaving.process.wait(GONE_SECONDS * SLACK) == LEAVING[leave]
        assert said(leaving.process) == ""
        assert b'"total":0' in other.ask("session/list", {"scope": "all"})


def test_all_end_when_the_daemon_is_killed_and_the_next_start_works(shared: SharedDaemon) -> None:
    with editors(shared, 3) as made:
        killed = shared.pid()
        os.kill(killed, signal.SIGKILL)
        started = time.monotonic()
        for one in made:
            assert one.process.wait(GONE_SECONDS * SLACK) == 1
            assert said(one.process).startswith("branchline: The daemon ended")
        assert time.monotonic() - started < GONE_SECONDS * SLACK
    assert shared.place.socket.is_socket()  # it is stale now
    client = shared.connect()
    assert shared.pid() != killed
    assert client.close() == 0


EDITOR = """
import os, subprocess, sys
forwarder = subprocess.Popen(sys.argv[2:], stdin=int(sys.argv[1]) or subprocess.PIPE)
sys.stdin.read()
"""


@pytest.mark.parametrize("keeps_stdin", [True, False])
def test_it_ends_when_the_editor_is_killed(shared: SharedDaemon, keeps_stdin: bool) -> None:
    """Where somebody else holds its stdin, only the parent tells."""
    shared.connect()
    near, far = os.pipe()
    stdin, held = os.pipe()
    try:
        os.set_inheritable(stdin, True)
        number = str(stdin) if keeps_stdin else "0"
        with subprocess.Popen(
            [sys.executable, "-c", EDITOR, number, *CONNECT],
            env=shared.environment,
            stdin=subprocess.PIPE,
            stdout=far,
            stderr=far,
            pass_fds=(stdin,),
        ) as editor:
            os.close(far)
            os.close(stdin)
            wait_until(lambda: len((shared.status() or {}).get("clients", ())) == 2)
            editor.kill()
            editor.wait(DEADLINE)
            ready, _, _ = select.select([near], [], [], GONE_SECONDS * SLACK)
            assert ready
            assert os.read(near, 1000) == b""  # nobody has its stdout any more
    finally:
        os.close(near)
        os.close(held)
    wait_until(lambda: len((shared.status() or {}).get("clients", ())) == 1)


# --- how the daemon ends -------------------------------------------------------------------------


def test_it_stays_a_minute_by_default() -> None:
    (option,) = (one for one in serve.params if one.name == "idle_seconds")
    assert option.default == 60
    assert option.envvar == "BRANCHLINE_IDLE_SECONDS"


def test_it_leaves_some_time_after_its_last_client(
    shared: SharedDaemon, copy_session: Callable[..., Path]
) -> None:
    path = copy_session("60-two-writers")
    shared.environment["BRANCHLINE_IDLE_SECONDS"] = "1"
    first = shared.connect()
    second = shared.connect()
    pid = shared.pid()
    for client in (first, second):
        client.request("session/open", {"session": str(path)})
        client.request("session/append", {"session": str(path), "entries": [user("one")]})
    assert first.close() == 0
    assert second.close() == 0
    back = shared.connect()
    assert shared.pid() == pid  # it was still there
    assert back.close() == 0
    started = time.monotonic()
    wait_until(shared.is_free)
    assert 0.9 < time.monotonic() - started < SLACK
    assert not shared.place.socket.exists()
    lock = SessionLock(locks_dir(shared.environment), path.resolve())
    lock.acquire()
    lock.close()
    assert shared.log().rstrip().endswith("Leaving: no client for 1 s")


def test_a_client_that_comes_as_it_leaves_finds_the_next(shared: SharedDaemon) -> None:
    shared.environment["BRANCHLINE_IDLE_SECONDS"] = "0"

    def come_and_go() -> int:
        codes = [shared.connect().close() for _ in range(3)]
        return sum(codes)

    with ThreadPoolExecutor(4) as threads:
        going = [threads.submit(come_and_go) for _ in range(4)]
        assert [one.result() for one in going] == [0] * 4
    wait_until(shared.is_free)
    before = shared.daemons()
    assert shared.connect().close() == 0
    assert shared.daemons() == before + 1


def test_a_person_who_interrupts_it_sees_no_traceback(shared: SharedDaemon) -> None:
    with editors(shared, 1) as (one,):
        one.process.send_signal(signal.SIGINT)
        assert one.process.wait(DEADLINE) == -signal.SIGINT
        assert said(one.process) == ""


def test_an_editor_without_stdin_or_stdout_is_told(shared: SharedDaemon) -> None:
    for closed in ("<&-", ">&-"):
        command = ["sh", "-c", f'exec "$@" {closed}', "sh", *CONNECT]
        done = subprocess.run(
            command, env=shared.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        assert "An editor has to be on stdin and stdout" in done.stderr
    assert shared.status() is None


def flood(daemon: RawDaemon, path: Path, count: int) -> None:
    for number in range(count):
        entry = {"type": "custom", "customType": "flood", "data": f"{number:05}" + "x" * 50_000}
        daemon.send(request("session/append", {"session": str(path), "entries": [entry]}, number))


@pytest.mark.parametrize("way", ["stop", "signal"])
def test_what_is_being_written_when_it_is_stopped_is_written(
    shared: SharedDaemon, copy_session: Callable[..., Path], way: str
) -> None:
    path = copy_session("60-two-writers")
    original = path.read_bytes()
    with editors(shared, 2) as (busy, idle):
        pid = shared.pid()
        busy.ask("session/open", {"session": str(path)})
        flood(busy, path, 200)
        busy.receive()  # it has begun
        stopping = shared.start("stop") if way == "stop" else None
        if stopping is None:
            os.kill(pid, signal.SIGTERM)
        for one in (busy, idle):
            output, errors = one.process.communicate(timeout=DEADLINE)
            assert one.process.returncode == 1
            assert errors == b"branchline: The daemon was stopped\n"
            assert output.count(b"Content-Length") == output.count(b'"jsonrpc"')
        if stopping is not None:
            assert stopping.communicate(timeout=DEADLINE)[0] == f"Stopped process {pid}\n"
            assert shared.is_free()
    wait_until(shared.is_free)
    assert not shared.place.socket.exists()
    content = path.read_bytes()
    assert content.startswith(original)
    assert len(content) > len(original)
    lines_of(path)


def test_stop_and_status_say_when_there_is_no_daemon(shared: SharedDaemon) -> None:
    assert "No daemon runs" in shared.command("status", wanted=3).stdout
    found = shared.command("status", "--json", wanted=3).stdout
    assert found == f'{{"running":false,"socket":"{shared.place.socket}"}}\n'
    assert "No daemon runs" in shared.command("stop").stdout
    assert shared.status() is None
