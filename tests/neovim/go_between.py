"""``python -m tests.neovim.go_between PLAN connect``: the real daemon, with some answers changed.

PLAN is a file that may change at any time, read before each answer: an object from methods to what
becomes of their answers, ``{"error": …}`` in its place, or ``{"cut": true}``, which sends half of
it and hangs up. With ``{"gate": PATH}`` too the answer waits until somebody writes to that FIFO.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any


def frames(stream: IO[bytes]) -> Iterator[bytes]:
    """The bodies that come, to the end of the stream."""
    while head := stream.readline():
        length = 0
        while head.strip():
            name, _, value = head.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
            head = stream.readline()
        yield stream.read(length)


def main() -> None:
    """Stand between an editor on stdin and stdout and the daemon."""
    plan = Path(sys.argv[1])
    methods: dict[Any, str] = {}
    command = [sys.executable, "-m", "branchline", *sys.argv[2:]]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as daemon:
        assert daemon.stdin is not None
        assert daemon.stdout is not None
        to_daemon = daemon.stdin

        def forth() -> None:
            for body in frames(sys.stdin.buffer):
                said = json.loads(body)
                if "method" in said and "id" in said:
                    methods[said["id"]] = said["method"]
                to_daemon.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
                to_daemon.flush()
            to_daemon.close()

        in_turn = threading.Lock()

        def back(frame: bytes, gate: str | None = None) -> None:
            if gate is not None:
                Path(gate).read_bytes()
            with in_turn:
                sys.stdout.buffer.write(frame)
                sys.stdout.buffer.flush()

        threading.Thread(target=forth, daemon=True).start()
        for body in frames(daemon.stdout):
            said = json.loads(body)
            planned = json.loads(plan.read_text()) if plan.exists() else {}
            change = planned.get(methods.get(said.get("id"), "")) if "method" not in said else None
            if change and "error" in change:
                told = {"jsonrpc": "2.0", "id": said["id"], "error": change["error"]}
                body = json.dumps(told).encode()
            frame = b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
            if change and change.get("cut"):
                back(frame[: len(frame) // 2])
                daemon.kill()
                break
            if change and "gate" in change:
                threading.Thread(target=back, args=(frame, change["gate"]), daemon=True).start()
            else:
                back(frame)


if __name__ == "__main__":
    main()
