"""A client that speaks raw frames over two file descriptors, and knows no pygls."""

import json
import os
import select
from typing import Any

DEADLINE = 20.0
"""Seconds after which a test that waits for the server has failed."""


class Client:
    """Blocking reads and writes of whole messages. Output that is not strict JSON is an error."""

    def __init__(self, input_fd: int, output_fd: int) -> None:
        self._input = input_fd
        self._output = output_fd
        self._buffer = b""

    def send_bytes(self, data: bytes) -> None:
        """Write all bytes."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._output, rest) :]

    def send(self, *messages: object) -> None:
        """Write messages, all in one piece."""
        self.send_bytes(b"".join(map(framed, messages)))

    def receive(self) -> Any:
        """The next message."""
        while b"\r\n\r\n" not in self._buffer:
            self._read()
        header, self._buffer = self._buffer.split(b"\r\n\r\n", 1)
        assert header.startswith(b"Content-Length: "), header[:80]
        length = int(header.removeprefix(b"Content-Length: "))
        while len(self._buffer) < length:
            self._read()
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        return json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)

    def request(self, method: str, params: object = None, request_id: object = 1) -> Any:
        """Send a request; give the next message."""
        self.send(request(method, params, request_id))
        return self.receive()

    def initialize(self, **params: object) -> Any:
        """Introduce ourselves; give the answer."""
        answer = self.request("initialize", {"capabilities": {}, **params}, "initialize")
        self.send(notification("initialized", {}))
        return answer

    def is_ended(self) -> bool:
        """Whether the server closed its side, with nothing left to read."""
        return not self._buffer and self._readable() == b""

    def _read(self) -> None:
        data = self._readable()
        assert data, "the server closed the connection"
        self._buffer += data

    def _readable(self) -> bytes:
        ready, _, _ = select.select([self._input], [], [], DEADLINE)
        assert ready, "the server did not answer"
        return os.read(self._input, 1 << 20)


def framed(message: object) -> bytes:
    """A message as a frame; bytes are taken for its body."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def request(method: str, params: object = None, request_id: object = 1) -> dict[str, object]:
    """A request."""
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def notification(method: str, params: object = None) -> dict[str, object]:
    """A notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def _refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")
