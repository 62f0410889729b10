"""A model server that follows a script: real HTTP on loopback, in threads of its own.

    with model_server(refuses(429), says("## Goal\nx")) as server:
        ...ask server.base_url...
        assert server.requests[1].body["model"] == "m"

Each request takes the next answer. One without an answer gets status 404, which nobody tries again.
Nothing here waits for time: what an answer is to wait for is a `threading.Event` among its steps.
"""

import json
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

Json = Any
DEADLINE: Final = 30.0
"""Seconds that a test may take; more means that it is stuck."""


SECRET: Final = "0123456789abcdef"
KEY: Final = f"sk-test-{SECRET}"
"""The key of the tests, and what of it may be found nowhere."""


class Then(Enum):
    """What a server does besides sending."""

    DROP = "closes the connection"
    HANG = "does nothing more until the client leaves"
    ECHO_KEY = "sends the Authorization header of the request"


Step = bytes | threading.Event | Then


@dataclass(frozen=True)
class Answer:
    """What is done about one request: with a status its head is sent first, then come the steps."""

    status: int | None
    steps: tuple[Step, ...]
    headers: Mapping[str, str] = field(default_factory=dict)
    chunked: bool = True
    """False: the body ends with the connection, so that the client cannot tell a drop from it."""

    def after(self, event: threading.Event) -> "Answer":
        """The same, whose body comes once the event is set."""
        return replace(self, steps=(event, *self.steps))


def event(**chunk: Json) -> bytes:
    """One server-sent event that holds a chunk."""
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def delta(finish_reason: str | None = None, **fields: Json) -> bytes:
    """One server-sent event with a delta."""
    choice = {"index": 0, "delta": fields, "finish_reason": finish_reason}
    return event(id="c", object="chat.completion.chunk", model="m", choices=[choice])


DONE: Final = b"data: [DONE]\n\n"
USAGE: Final = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 30},
}


def streams(*steps: Step, chunked: bool = True) -> Answer:
    """Status 200 and these steps as an event stream."""
    return Answer(200, steps, {"Content-Type": "text/event-stream"}, chunked)


def says(
    *pieces: str,
    finish_reason: str | None = "stop",
    usage: Json = USAGE,
    reasoning: Sequence[str] = (),
    pause: threading.Event | None = None,
) -> Answer:
    """A streamed text in these pieces. ``pause`` is waited for after the first."""
    steps: list[Step] = [delta(role="assistant", content="")]
    steps += [delta(reasoning_content=text) for text in reasoning]
    steps += [delta(content=text) for text in pieces]
    if pause is not None:
        steps.insert(2 + len(reasoning), pause)
    steps.append(delta(finish_reason))
    if usage is not None:
        steps.append(event(choices=[], usage=usage))
    return streams(*steps, DONE)


def starts(*pieces: str, then: Then) -> Answer:
    """A streamed text that is never finished."""
    return streams(*(delta(content=text) for text in pieces), then)


def calls_tool(name: str = "read", finish_reason: str = "tool_calls") -> Answer:
    """A tool call in place of a text."""
    call = {
        "index": 0,
        "id": "1",
        "type": "function",
        "function": {"name": name, "arguments": "{}"},
    }
    return streams(delta(tool_calls=[call]), delta(finish_reason), DONE)


def replies(body: Json, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """A body of JSON, not streamed."""
    head = {"Content-Type": "application/json", **(headers or {})}
    return Answer(status, (json.dumps(body).encode(),), head)


def refuses(
    status: int,
    message: str = "no",
    *,
    code: Json = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """An error, as OpenAI words it."""
    return replies({"error": {"message": message, "code": code, "type": "t"}}, status, headers)


def refuses_echoing_key(status: int = 401) -> Answer:
    """An error whose body and headers repeat what the client authorised itself with."""
    steps = (b'{"error": {"message": "Incorrect key: ', Then.ECHO_KEY, b'"}}')
    return Answer(status, steps, {"Content-Type": "application/json", "X-Request-Id": "<key>"})


def drops() -> Answer:
    """No answer: the connection is closed."""
    return Answer(None, (Then.DROP,))


def hangs() -> Answer:
    """No answer: the connection stays open."""
    return Answer(None, (Then.HANG,))


@dataclass
class Request:
    """A request that came in.

    Attributes:
        path: with the query.
        headers: with names in lower case.
        body: decoded.
        left: set when the client closes the connection before the answer is over.
    """

    path: str
    headers: dict[str, str]
    body: Json
    left: threading.Event = field(default_factory=threading.Event)

    @property
    def texts(self) -> list[str]:
        """The content of each message."""
        return [message["content"] for message in self.body["messages"]]


class ScriptedServer:
    """What a test sees of the server. ``requests`` are in the order in which they came."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.requests: list[Request] = []
        self._answers = list(answers)
        self._arrived = threading.Condition()
        self._open: set[socket.socket] = set()
        self._events: list[threading.Event] = []
        self._http = _HttpServer(self)

    @property
    def base_url(self) -> str:
        """The base URL, without a slash at its end."""
        return f"http://{self.host}/v1"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._http.server_address[1]}"

    def add(self, *answers: Answer) -> None:
        """Put more answers at the end of the script."""
        self._answers += answers

    def wait_for_requests(self, count: int) -> None:
        """Wait until so many have come in."""
        with self._arrived:
            came = self._arrived.wait_for(lambda: len(self.requests) >= count, DEADLINE)
        assert came, f"{len(self.requests)} of {count} requests came"

    def next_answer(self, request: Request) -> Answer:
        """Record a request; give what it gets."""
        with self._arrived:
            self.requests.append(request)
            self._arrived.notify_all()
            answer = self._answers.pop(0) if self._answers else refuses(404, "not in the script")
            self._events += [step for step in answer.steps if isinstance(step, threading.Event)]
            return answer

    def opened(self, connection: socket.socket) -> None:
        self._open.add(connection)

    def serve(self) -> threading.Thread:
        thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        return thread

    def close(self, thread: threading.Thread) -> None:
        """End what still waits, then the server and all its threads."""
        self._http.shutdown()
        thread.join(DEADLINE)
        for waited_for in self._events:
            waited_for.set()
        for connection in self._open:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # it is closed already
        self._http.server_close()


@contextmanager
def model_server(*answers: Answer) -> Iterator[ScriptedServer]:
    """A server on a free port, for as long as the block runs."""
    server = ScriptedServer(answers)
    thread = server.serve()
    try:
        yield server
    finally:
        server.close(thread)


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = False  # so that closing waits for them
    request_queue_size = 64

    def __init__(self, owner: ScriptedServer) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _HttpServer

    def setup(self) -> None:
        super().setup()
        self.server.owner.opened(self.connection)

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:
            self.close_connection = True  # the client left between two requests

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the test's output is not for this."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, headers, json.loads(body))
        answer = self.server.owner.next_answer(request)
        try:
            self._send_head(answer, request)
            for step in answer.steps:
                if not self._do(step, answer, request):
                    self.close_connection = True
                    return
            if answer.status is not None and answer.chunked:
                self.wfile.write(b"0\r\n\r\n")
        except ConnectionError:
            self.close_connection = True
            request.left.set()

    def _send_head(self, answer: Answer, request: Request) -> None:
        if answer.status is None:
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value.replace("<key>", request.headers.get("authorization", "")))
        if answer.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Connection", "close")
        self.end_headers()

    def _do(self, step: Step, answer: Answer, request: Request) -> bool:
        """Do one step; False if it was the last."""
        match step:
            case bytes():
                self._send(step, answer)
            case Then.ECHO_KEY:
                self._send(request.headers.get("authorization", "").encode(), answer)
            case threading.Event():
                assert step.wait(DEADLINE), "the test did not set the event"
            case Then.HANG:
                if not self.rfile.read(1):
                    request.left.set()
                return False
            case Then.DROP:
                return False
        return True

    def _send(self, data: bytes, answer: Answer) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if answer.chunked else data)
        self.wfile.flush()
