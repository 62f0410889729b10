"""The forwarder: what it imports, and how it tells a daemon that ends from one that dies."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import branchline
from branchline.wire import forwarder

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
        env={"PYTHONPATH": str(Path(branchline.__file__).parents[1])},
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


@pytest.fixture
def stdio(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, int]]:
    """Our ends of what the forwarder takes for its stdin and stdout."""
    stdin, far_stdin = os.pipe()
    far_stdout, stdout = os.pipe()
    real_read, real_write = os.read, os.write
    monkeypatch.setattr(os, "read", lambda fd, count: real_read(stdin if fd == 0 else fd, count))
    monkeypatch.setattr(os, "write", lambda fd, data: real_write(stdout if fd == 1 else fd, data))
    try:
        yield far_stdin, far_stdout
    finally:
        monkeypatch.undo()
        for descriptor in (stdin, far_stdin, far_stdout, stdout):
            os.close(descriptor)


class Forwarding:
    """A forwarder in a thread, and the daemon's end of its socket."""

    def __init__(self) -> None:
        self.daemon, near = socket.socketpair()
        self.result: tuple[int, str] | None = None

        def forward() -> None:
            self.result = forwarder._forward(near)
            near.close()

        self._thread = threading.Thread(target=forward)
        self._thread.start()

    def end(self) -> tuple[int, str] | None:
        self.daemon.close()
        self._thread.join(20)
        return self.result


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
def test_the_daemons_last_word_is_the_exit_code(
    stdio: tuple[int, int], last: list[bytes], code: int, reason: str
) -> None:
    far_stdin, far_stdout = stdio
    forwarding = Forwarding()
    os.write(far_stdin, b"to the daemon")
    assert forwarding.daemon.recv(100) == b"to the daemon"
    frames = b"Content-Length: 2\r\n\r\n{}"
    forwarding.daemon.sendall(frames)
    assert os.read(far_stdout, 100) == frames
    for piece in last:
        forwarding.daemon.sendall(piece)
    assert forwarding.end() == (code, reason)
    if last and last[0].startswith(b"more"):
        assert os.read(far_stdout, 100) == b"more"
    os.set_blocking(far_stdout, False)
    with pytest.raises(BlockingIOError):
        os.read(far_stdout, 100)
