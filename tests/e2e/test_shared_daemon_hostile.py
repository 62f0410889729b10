"""What one caller does harms no other: broken frames, floods, silence, an unsafe place."""

import json
import os
import random
import re
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from branchline import __version__
from branchline.demo.client import Client
from branchline.wire.daemon_socket import dial
from branchline.wire.framing import MAX_MESSAGE_BYTES, Frame, Framer
from branchline.wire.hello import call, hello_line
from branchline.wire.transport import MAX_PENDING_BYTES
from tests.e2e.shared import SharedDaemon, wait_until
from tests.e2e.talk import SAMPLE, write_session
from tests.e2e.world import SLACK
from tests.unit.wire_client import DEADLINE, framed, notification, request

PROMPT_SECONDS = 0.1
"""The promise: whatever one client does, another is answered by then."""

Attack = Callable[[socket.socket, Path], None]


@pytest.fixture
def path(agent_dir: Path) -> Path:
    return write_session(agent_dir / "sessions" / "--w--", *SAMPLE)


@contextmanager
def another_client_is_served(client: Client, path: Path) -> Iterator[list[float]]:
    """A client that asks all the time; each of its answers must come in time."""
    times: list[float] = []
    over = threading.Event()

    def ask() -> None:
        while not over.wait(0.002):
            started = time.monotonic()
            client.request("session/tree", {"session": str(path), "limit": 50})
            times.append(time.monotonic() - started)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield times
    finally:
        over.set()
        asking.join()
    assert len(times) > 5
    assert max(times) < PROMPT_SECONDS * SLACK


def reach(shared: SharedDaemon) -> socket.socket:
    """A connection past the greeting, without a forwarder."""
    called = call(shared.place, "client", shared.environment)
    assert called is not None
    called[0].settimeout(DEADLINE)
    return called[0]


HELLO = framed(request("initialize", {"capabilities": {}}, "hello"))


def split_frames(attacker: socket.socket, path: Path) -> None:
    data = HELLO + framed(request("session/list", {"scope": "all"}, 1)) * 20
    for at in range(len(data)):
        attacker.sendall(data[at : at + 1])


def garbage_headers(attacker: socket.socket, path: Path) -> None:
    noise = random.Random(1)
    for _ in range(200):
        attacker.sendall(noise.randbytes(20_000) + b"\r\n\r\n")
        attacker.sendall(b"Content-Length: x\r\n\r\nContent-Length:\r\n\r\n: \r\n\r\n")
    attacker.sendall(b"X-Endless: " + b"x" * 5_000_000)


def huge_lengths(attacker: socket.socket, path: Path) -> None:
    for length in (b"9" * 30, b"9" * 5000, b"-1", b"%d" % 2**63, b"%d" % 2**40):
        attacker.sendall(b"Content-Length: " + length + b"\r\n\r\n{}")
    attacker.sendall(b"Content-Length: %d\r\n\r\n" % (MAX_MESSAGE_BYTES + 1))
    block = b"x" * (1 << 20)
    for _ in range(MAX_MESSAGE_BYTES >> 20):
        attacker.sendall(block)
    attacker.sendall(b"x")
    attacker.sendall(b"Content-Length: %d\r\n\r\n" % MAX_MESSAGE_BYTES)
    for _ in range(10):
        attacker.sendall(block)


def wrong_ids(attacker: socket.socket, path: Path) -> None:
    attacker.sendall(HELLO)
    ids: tuple[object, ...] = (None, True, 1.5, [], {}, "x" * 100_000, 10**30, -1, 1, 1, 1)
    for message_id in ids:
        for method in ("session/list", "session/none", "initialize", 7):
            message = {"jsonrpc": "2.0", "id": message_id, "method": method, "params": {}}
            attacker.sendall(framed(message) * 20)
        attacker.sendall(framed(notification("$/cancelRequest", {"id": message_id})))


def replies_nobody_asked_for(attacker: socket.socket, path: Path) -> None:
    attacker.sendall(HELLO)
    for number in range(10_000):
        answer = {"jsonrpc": "2.0", "id": number, "result": {"text": "x" * 100}}
        error = {"jsonrpc": "2.0", "id": str(number), "error": {"code": 1, "message": "x"}}
        attacker.sendall(framed(answer) + framed(error))


def broken_bodies(attacker: socket.socket, path: Path) -> None:
    attacker.sendall(HELLO)
    deep = b'{"jsonrpc":"2.0","id":1,"method":"session/list","params":' + b"[" * 500_000
    for body in (b"{", b"\0", b"\xff" * 1000, b"[" * 1000, deep, b"1" * 100_000, b'"' * 9):
        attacker.sendall(framed(body) * 30)


def a_burst_of_requests(attacker: socket.socket, path: Path) -> None:
    attacker.sendall(HELLO + framed(request("session/list", {"scope": "none"})) * 3_000)


ATTACKS = (
    split_frames,
    garbage_headers,
    huge_lengths,
    wrong_ids,
    replies_nobody_asked_for,
    broken_bodies,
    a_burst_of_requests,
)


def read_all(attacker: socket.socket) -> None:
    """Read until the end, whatever it is."""
    try:
        while attacker.recv(1 << 20):
            continue
    except OSError:
        return


@pytest.mark.parametrize("reads", [True, False])
@pytest.mark.parametrize("attack", ATTACKS)
def test_others_are_served_while_one_attacks(
    shared: SharedDaemon, path: Path, attack: Attack, reads: bool
) -> None:
    with another_client_is_served(shared.connect(), path) as times, reach(shared) as attacker:
        reading = threading.Thread(target=read_all, args=(attacker,))
        if reads:
            reading.start()
        attack(attacker, path)
        asked = len(times)
        wait_until(lambda: len(times) > asked + 20)
        attacker.shutdown(socket.SHUT_RDWR)
        if reads:
            reading.join()
    assert "Traceback" not in shared.log()
    assert "Serving failed" not in shared.log()


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    chunks=st.lists(
        st.one_of(
            st.binary(max_size=300),
            st.sampled_from(
                [
                    HELLO,
                    framed(request("shutdown")),
                    framed(notification("exit")),
                    b"Content-Length: 5\r\n\r\n",
                    b"content-length:99999999\n\n",
                    b"\0",
                ]
            ),
            st.builds(framed, st.recursive(st.none() | st.text(max_size=9), st.lists)),
        ),
        max_size=8,
    )
)
def test_no_stream_of_bytes_harms_the_daemon(
    shared: SharedDaemon, path: Path, chunks: list[bytes]
) -> None:
    if shared.status() is None:
        shared.connect()
    pid = shared.pid()
    with reach(shared) as attacker:
        try:
            for chunk in chunks:
                attacker.sendall(chunk)
            attacker.shutdown(socket.SHUT_WR)
        except OSError:  # among them was an ``exit``
            assert any(b'"exit"' in chunk for chunk in chunks)
        read_all(attacker)
    assert shared.pid() == pid


def test_ten_thousand_notifications_to_a_client_that_does_not_read(
    shared: SharedDaemon, path: Path, agent_dir: Path
) -> None:
    other = write_session(agent_dir / "sessions" / "--o--", *SAMPLE, name="o.jsonl", id="o")
    writer = shared.connect({"durability": "flush"})
    with another_client_is_served(shared.connect(), other), reach(shared) as deaf:
        opening = request("session/open", {"session": str(path)}, "open")
        deaf.sendall(HELLO + framed(opening))
        wait_until(lambda: {"id": "s-1"}.items() <= opened(shared, path).items())
        for number in range(10_000):
            entry = {"type": "custom", "customType": "n", "data": number}
            writer.request("session/append", {"session": str(path), "entries": [entry]})
        # It was not dropped: when it reads at last, nothing is missing.
        assert len((shared.status() or {})["clients"]) == 3
        revisions = revisions_told(deaf, 10_000)
    assert revisions == list(range(1, 10_001))


def opened(shared: SharedDaemon, path: Path) -> dict[str, Any]:
    """What is known of an open session that somebody subscribes to."""
    found = (shared.status() or {})["sessions"]
    return next((one for one in found if one["path"] == str(path) and one["clients"]), {})


def revisions_told(connection: socket.socket, last: int) -> list[int]:
    """The revisions of the changes that a client is told of, up to the last one."""
    framer, found = Framer(), list[int]()
    while last not in found[-1:]:
        for event in framer.feed(connection.recv(1 << 20)):
            assert isinstance(event, Frame)
            message = json.loads(event.body)
            if message.get("method") == "session/changed":
                found.append(message["params"]["revision"])
    return found


def test_a_client_that_does_not_read_is_dropped_at_the_limit(
    shared: SharedDaemon, path: Path, agent_dir: Path
) -> None:
    size = 8_000_000
    big = {"type": "custom", "customType": "big", "data": "x" * size}
    writer = shared.connect()
    added = writer.request("session/append", {"session": str(path), "entries": [big]})
    ids = [added["entries"][0]["id"]]
    other = write_session(agent_dir / "sessions" / "--o--", *SAMPLE, name="o.jsonl", id="o")
    with another_client_is_served(shared.connect(), other), reach(shared) as deaf:
        deaf.sendall(HELLO)
        for number in range(MAX_PENDING_BYTES // size + 5):
            asking = request("session/entries", {"session": str(path), "ids": ids}, number)
            deaf.sendall(framed(asking))
        wait_until(lambda: len((shared.status() or {})["clients"]) == 2)
    (line,) = [line for line in shared.log().splitlines() if "does not read" in line]
    assert int(re.findall(r"(\d+) bytes", line)[0]) > MAX_PENDING_BYTES


# --- before the first frame ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"{}\n",
        b"Content-Length: 2\r\n\r\n{}",
        b"[" * 10_000 + b"\n",
        b"\xff\xfe\n",
        b'{"role": "root", "version": "%b", "cwd": "/", "pid": 1, "environment": {}}\n'
        % __version__.encode(),
    ],
)
def test_who_does_not_greet_is_sent_away(shared: SharedDaemon, line: bytes) -> None:
    client = shared.connect()
    with dialled(shared) as stranger:
        stranger.sendall(line)
        assert json.loads(stranger.recv(1000).partition(b"\n")[0])["refused"]
        read_all(stranger)
    assert client.close() == 0


def test_another_version_is_refused_by_name(shared: SharedDaemon) -> None:
    shared.connect()
    hello = json.loads(hello_line("client", {"OTHER_API_KEY": "secret"}))
    with dialled(shared) as stranger:
        stranger.sendall(json.dumps({**hello, "version": "0.0"}).encode() + b"\n")
        answer = stranger.recv(1000).partition(b"\n")[0]
    assert json.loads(answer) == {"refused": f"this daemon is version {__version__}"}


def test_an_endless_greeting_ends(shared: SharedDaemon) -> None:
    client = shared.connect()
    with dialled(shared) as stranger:
        try:
            for _ in range(64):
                stranger.sendall(b"x" * (1 << 20))
        except OSError:
            pass
        read_all(stranger)
    with dialled(shared) as silent:
        silent.sendall(b'{"role"')
        silent.shutdown(socket.SHUT_WR)
        read_all(silent)
    assert client.close() == 0
    assert "Refused a caller: there is no greeting (LimitOverrunError)" in shared.log()
    assert "Refused a caller: there is no greeting (IncompleteReadError)" in shared.log()


def dialled(shared: SharedDaemon) -> socket.socket:
    """A connection on which nothing was said."""
    connection = dial(shared.place)
    assert connection is not None
    connection.settimeout(DEADLINE)
    return connection


# --- an unsafe place -----------------------------------------------------------------------------


def a_symbolic_link(folder: Path) -> str:
    target = folder.parent / "target"
    target.mkdir(mode=0o700)
    folder.symlink_to(target)
    return "is a symbolic link"


def open_to_others(folder: Path) -> str:
    folder.mkdir()
    folder.chmod(0o750)
    return "is open to other users (mode 0750): chmod 700 it"


def somebody_elses(folder: Path) -> str:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    folder.mkdir(mode=0o700)
    os.chown(folder, 65534, 65534)
    return "belongs to another user"


def no_folder(folder: Path) -> str:
    folder.write_bytes(b"")
    return "is no folder"


@pytest.mark.parametrize("make", [a_symbolic_link, open_to_others, somebody_elses, no_folder])
@pytest.mark.parametrize("command", ["connect", "serve", "status", "stop"])
def test_an_unsafe_folder_is_refused(
    shared: SharedDaemon, make: Callable[[Path], str], command: str
) -> None:
    folder = shared.place.folder
    reason = make(folder)
    try:
        refused = shared.command(command, wanted=1)
        assert refused.stdout == ""
        assert f"branchline: {folder} {reason}" in refused.stderr
        assert ("connect --no-daemon" in refused.stderr) == (command == "connect")
        left = list(folder.iterdir()) if folder.is_dir() else []
        assert left == []
    finally:
        folder.rmdir() if folder.is_dir() and not folder.is_symlink() else folder.unlink()


def test_the_folder_and_all_in_it_are_ones_own(shared: SharedDaemon) -> None:
    umask = os.umask(0)
    try:
        shared.connect()
    finally:
        os.umask(umask)
    folder = shared.place.folder
    log = Path(shared.environment["XDG_STATE_HOME"], "branchline")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(log.stat().st_mode) == 0o700
    for file in (*folder.iterdir(), *log.iterdir()):
        assert file.stat().st_mode & 0o077 == 0, file
