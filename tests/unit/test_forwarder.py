"""The forwarder: what it imports, and how it tells a daemon that ends from one that dies."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

import branchline
from tests.unit.wire_client import DEADLINE

SERVER = str(Path(branchline.__file__).parents[1])
GONE = "The daemon ended, or dropped this editor because it did not read"
IMPORTS = """
import sys
from branchline.wire import forwarder
forwarder.main = lambda: print(*sys.modules)
sys.argv[1:] = ["connect"]
from branchline.__main__ import main
main()
"""


def test_it_needs_the_standard_library_only() -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-c", IMPORTS],  # without site there is nothing else
        env={"PYTHONPATH": SERVER},
        capture_output=True,
        text=True,
        check=True,
    )
    modules = {name.split(".")[0] for name in done.stdout.split()}
    assert modules - set(sys.stdlib_module_names) == {"branchline", "__main__"}
    slow = {"asyncio", "dataclasses", "inspect", "logging", "subprocess", "tempfile", "hashlib"}
    assert modules & slow == set()
    ours = {name for name in done.stdout.split() if name.startswith("branchline.")}
    assert not any(name.startswith("branchline.cli") for name in ours)


FORWARDER = """
import os, socket, sys
from branchline.wire import forwarder
code, reason = forwarder._forward(socket.socket(fileno=int(sys.argv[1])))
os.write(2, reason.encode())
os._exit(code)
"""


@pytest.mark.parametrize(
    ("last", "code", "reason"),
    [
        ([b"\x000"], 0, ""),
        ([b"\x00", b"1"], 1, ""),
        ([b"more\x001The daemon", b" was stopped"], 1, "The daemon was stopped"),
        ([b"more"], 1, GONE),
        ([b"more\x00"], 1, GONE),
        ([], 1, GONE),
    ],
)
def test_the_daemons_last_word_is_the_exit_code(last: list[bytes], code: int, reason: str) -> None:
    daemon, near = socket.socketpair()
    with (
        daemon,
        subprocess.Popen(
            [sys.executable, "-c", FORWARDER, str(near.fileno())],
            env={"PYTHONPATH": SERVER},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[near.fileno()],
        ) as process,
    ):
        near.close()
        daemon.settimeout(DEADLINE)
        assert process.stdin is not None
        process.stdin.write(b"to the daemon")
        process.stdin.flush()
        assert daemon.recv(100) == b"to the daemon"
        frames = b"Content-Length: 2\r\n\r\n{}"
        for piece in (frames, *last):
            daemon.sendall(piece)
        daemon.shutdown(socket.SHUT_RDWR)
        output, errors = process.communicate(timeout=DEADLINE)
    more = b"more" if last and last[0].startswith(b"more") else b""
    assert (output, errors.decode(), process.returncode) == (frames + more, reason, code)
