"""One connection, seen by a client that sends raw frames."""

import asyncio
import gc
import json
import logging
import re
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from branchline import __version__, errors
from branchline.wire import transport as transport_module
from branchline.wire.methods import NOTIFICATIONS
from branchline.wire.protocol import BranchlineProtocol
from branchline.wire.server import BranchlineServer, serve_connection
from branchline.wire.transport import StdioTransport, StreamTransport, Transport
from tests.unit.wire_client import DEADLINE, Client, framed, notification, request
from tests.unit.wire_program import Owner, Program


class Connection:
    """A server in a thread of its own, and the client's end of a socket to it."""

    def __init__(self, kind: str, owner: Owner) -> None:
        self.owner = owner
        self.code: int | None = None
        self.unanswered: list[str] = []
        self.server: weakref.ref[BranchlineServer] | None = None
        self.socket, self._far_end = socket.socketpair()
        self.client = Client(self.socket.fileno(), self.socket.fileno())
        self._kind = kind
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()

    def end(self) -> int | None:
        """Wait until the server has left; give its exit code."""
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive(), "the server did not leave"
        return self.code

    def hang_up(self) -> int | None:
        """Close the client's end; wait until the server has left."""
        self.socket.close()
        return self.end()

    async def _serve(self) -> None:
        program = Program(await self._transport(), self.owner)
        self.server = weakref.ref(program.server)
        try:
            self.code = await serve_connection(program.server)
            if program.asking is not None:
                await program.asking
                self.unanswered = program.unanswered
        finally:
            if self._kind == "descriptors":  # asyncio closes what it was given itself
                self._far_end.close()

    async def _transport(self) -> Transport:
        if self._kind == "descriptors":
            return StdioTransport(self._far_end.fileno(), self._far_end.fileno())
        return StreamTransport(*await asyncio.open_connection(sock=self._far_end))


Connect = Callable[..., Connection]


@contextmanager
def connections(kind: str) -> Iterator[Connect]:
    opened: list[Connection] = []

    def connect(owner: Owner | None = None) -> Connection:
        opened.append(Connection(kind, owner or Owner()))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.hang_up()


@pytest.fixture(params=["descriptors", "streams"])
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    with connections(request.param) as opener:
        yield opener


@pytest.fixture
def client(connect: Connect) -> Client:
    """A client that has been through ``initialize``."""
    client = connect().client
    client.initialize()
    return client


def code_of(answer: Any) -> int:
    assert isinstance(answer["error"]["message"], str)
    assert answer["error"]["data"]["kind"]
    code: int = answer["error"]["code"]
    return code


def append(*entries: object) -> dict[str, object]:
    return {"session": "s", "entries": list(entries)}


# --- initialize and the end -----------------------------------------------------------------


def test_the_answer_to_initialize(connect: Connect) -> None:
    result = connect().client.initialize()["result"]
    ours = result["capabilities"]["experimental"]["branchline"]
    assert result["serverInfo"] == {"name": "branchline", "version": __version__}
    assert ours["protocolVersion"] == 1
    assert ours["methods"] == sorted(ours["methods"])
    assert "session/append" in ours["methods"]
    assert ours["notifications"] == sorted(NOTIFICATIONS)
    assert "textDocumentSync" not in result["capabilities"]
    assert result["capabilities"]["workspace"]["workspaceFolders"]["supported"] is True


@pytest.mark.parametrize(
    ("params", "folders"),
    [
        (
            {"workspaceFolders": [{"uri": "file:///w/a%20b", "name": "a"}, {"uri": "file:///w/c"}]},
            ["/w/a b", "/w/c"],
        ),
        ({"rootUri": "file:///w/root", "rootPath": "/w/other"}, ["/w/root"]),
        ({"rootPath": "/w/path", "workspaceFolders": None}, ["/w/path"]),
        ({"workspaceFolders": [], "rootUri": "file:///w/root"}, []),
        ({"workspaceFolders": [{"uri": "http://[x"}, {"uri": "untitled:a"}, {"uri": ""}]}, []),
        ({"workspaceFolders": [{"uri": "file:///w/a%00b"}]}, []),
        ({}, []),
    ],
)
def test_the_owner_learns_the_workspace_folders(
    connect: Connect, params: dict[str, object], folders: list[str]
) -> None:
    connection = connect()
    connection.client.initialize(**params)
    assert connection.owner.folders == folders


def test_options_and_capabilities_arrive_as_they_were_sent(connect: Connect) -> None:
    options = {"jsonrpc": "2.0", "a-b": 1, "type_name": {"class": None}}
    capabilities = {"textDocument": "nonsense", "experimental": {"branchline": {"x_y": 1}}}
    connection = connect()
    connection.client.initialize(initializationOptions=options, capabilities=capabilities)
    assert connection.owner.options == options
    assert connection.owner.capabilities == capabilities


@pytest.mark.parametrize(
    ("params", "parameter"),
    [
        ({"processId": "x"}, "processId"),
        ({"processId": 2**40}, "processId"),
        ({"workspaceFolders": [{}]}, "workspaceFolders[0].uri"),
        ({"capabilities": []}, "capabilities"),
    ],
)
def test_wrong_params_of_initialize_are_named(
    connect: Connect, params: dict[str, object], parameter: str
) -> None:
    client = connect().client
    answer = client.request("initialize", params)
    assert code_of(answer) == -32602
    assert answer["error"]["data"]["parameter"] == parameter
    assert "result" in client.initialize()


def test_a_refused_initialize_can_be_tried_again(connect: Connect) -> None:
    owner = Owner(errors.InvalidParams("durability", "must be 'fsync' or 'flush'"))
    client = connect(owner).client
    answer = client.initialize()
    assert code_of(answer) == -32602
    assert answer["error"]["data"] == {"kind": "invalidParams", "parameter": "durability"}
    assert code_of(client.request("session/append", append({}))) == -32002
    assert "result" in client.initialize()


def test_initialize_can_be_cancelled(connect: Connect) -> None:
    owner = Owner()
    owner.hangs = True
    client = connect(owner).client
    client.send(
        request("initialize", {"capabilities": {}}, 1),
        request("session/append", append({}), 2),
        notification("$/cancelRequest", {"id": 1}),
    )
    assert code_of(client.receive()) == -32800
    assert code_of(client.receive()) == -32002  # what had waited behind it
    owner.hangs = False
    assert "result" in client.initialize()


def test_requests_before_initialize_are_refused(connect: Connect) -> None:
    client = connect().client
    for method in ("session/append", "shutdown", "no/such"):
        assert code_of(client.request(method, {})) == -32002


def test_initialize_may_come_once(client: Client) -> None:
    assert code_of(client.initialize()) == -32600


def test_what_follows_initialize_at_once_is_answered_in_order(connect: Connect) -> None:
    client = connect().client
    client.send(
        request("initialize", {"capabilities": {}}, 1),
        notification("initialized", {}),
        request("session/append", append({"n": 1}), 2),
        request("no/such", {}, 3),
    )
    answers = [client.receive() for _ in range(3)]
    assert [answer["id"] for answer in answers] in ([1, 2, 3], [1, 3, 2])
    assert answers[0]["result"]["serverInfo"]


def test_after_shutdown_only_exit_is_left(connect: Connect) -> None:
    connection = connect()
    client = connection.client
    client.initialize()
    assert client.request("shutdown") == {"jsonrpc": "2.0", "id": 1, "result": None}
    assert code_of(client.request("session/append", append({}))) == -32600
    assert code_of(client.request("shutdown")) == -32600
    client.send(notification("exit"))
    assert connection.end() == 0
    assert connection.owner.closings == 1


def test_shutdown_waits_for_what_is_being_written(connect: Connect) -> None:
    connection = connect()
    client = connection.client
    client.initialize()
    client.send(
        request("session/rename", {"session": "s", "name": "n"}, 2),
        request("session/check", {"session": "s"}, 3),
        request("shutdown", None, 4),
        notification("exit"),
    )
    received = [client.receive() for _ in range(5)]
    answers = {message["id"]: message for message in received if "id" in message}
    assert answers[2]["result"]["revision"] == 1
    assert code_of(answers[3]) == -32800
    assert answers[4]["result"] is None
    assert connection.end() == 0


@pytest.mark.parametrize(
    ("farewell", "code"),
    [([notification("exit")], 1), ([], 1), ([request("shutdown")], 0)],
)
def test_the_exit_code_says_whether_shutdown_came(
    connect: Connect, farewell: list[dict[str, object]], code: int
) -> None:
    connection = connect()
    connection.client.initialize()
    connection.client.send(*farewell)
    connection.socket.shutdown(socket.SHUT_WR)
    assert connection.end() == code
    assert connection.owner.closings == 1


def test_running_requests_are_cancelled_at_the_end(connect: Connect) -> None:
    connection = connect()
    client = connection.client
    client.initialize()
    client.request("session/check", {"session": "s"}, 5)
    connection.socket.shutdown(socket.SHUT_WR)
    assert code_of(client.receive()) == -32800
    assert client.is_ended() or connection.end() == 1


def test_nothing_keeps_the_server_object_when_its_client_is_gone(connect: Connect) -> None:
    connection = connect()
    connection.client.initialize()
    connection.client.request("session/append", append({}))
    connection.client.request("session/create", {})
    connection.hang_up()
    gc.collect()
    assert connection.server is not None
    assert connection.server() is None


# --- messages -------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [b"", b"{", b"[1,", b'{"a":1}}', b"\xff\xfe", b"[" * 100_000])
def test_broken_json_is_answered_and_the_next_request_too(client: Client, body: bytes) -> None:
    client.send_bytes(framed(body))
    answer = client.receive()
    assert (answer["id"], code_of(answer)) == (None, -32700)
    assert "result" in client.request("session/append", append({}))


def test_a_length_of_nonsense_is_answered_and_the_next_request_too(client: Client) -> None:
    client.send_bytes(b"Content-Length: 99999999999999999999\r\n\r\n")
    answer = client.receive()
    assert (answer["id"], code_of(answer)) == (None, -32700)
    assert "result" in client.request("session/append", append({}))


@pytest.mark.parametrize(
    ("message", "answer_id"),
    [
        ([], None),
        ([request("session/append", append({}))], None),
        ("text", None),
        (None, None),
        ({}, None),
        ({"id": 1, "method": "session/append"}, 1),
        ({"jsonrpc": "1.0", "id": "x", "method": "session/append"}, "x"),
        ({"jsonrpc": "2.0", "id": 3}, 3),
        ({"jsonrpc": "2.0", "id": 4, "method": None}, 4),
        ({"jsonrpc": "2.0", "id": 5, "method": ["exit"]}, 5),
        ({"jsonrpc": "2.0", "id": None, "method": "session/append"}, None),
        ({"jsonrpc": "2.0", "id": True, "method": "session/append"}, None),
        ({"jsonrpc": "2.0", "id": {}, "method": "session/append"}, None),
        ({"jsonrpc": "2.0", "method": 7}, None),
    ],
)
def test_what_is_no_request_is_refused(client: Client, message: object, answer_id: object) -> None:
    client.send(message)
    answer = client.receive()
    assert (answer["id"], code_of(answer)) == (answer_id, -32600)


@pytest.mark.parametrize("request_id", ["a", "", "7", 7, 0, -1, 2**70, 1.5, "é😀"])
def test_an_answer_has_the_id_of_its_request(client: Client, request_id: object) -> None:
    for method, params in (("session/append", append({})), ("no/such", None)):
        answer = client.request(method, params, request_id)
        assert answer["id"] == request_id
        assert type(answer["id"]) is type(request_id)


def test_two_requests_with_one_id_get_an_answer_each(client: Client) -> None:
    client.send(
        request("session/entries", {"session": "s", "ids": []}, 1),
        request("session/entries", {"session": "s", "ids": ["a"]}, 1),
    )
    answers = [client.receive() for _ in range(2)]
    assert [answer["id"] for answer in answers] == [1, 1]
    assert sorted(answer["result"]["entries"] for answer in answers) == [[], ["a"]]


@pytest.mark.parametrize(
    "entry",
    [
        {"data": {"jsonrpc": "2.0", "id": 9, "method": "foo"}},
        {"data": {"jsonrpc": "2.0", "id": 9, "result": {"jsonrpc": "2.0", "error": None}}},
        {"data": {"a-b": 1, "from": 2, "_x": 3, "ok": 4}},
        {"type_name": "x", "class": {"__class__": 1, "": 2, "def": [{"jsonrpc": 1}]}},
        {"big": 2**70, "neg": -(2**63) - 1, "text": "é😀\u0000"},
    ],
)
def test_params_come_back_key_for_key(client: Client, entry: dict[str, object]) -> None:
    assert client.request("session/append", append(entry))["result"]["entries"] == [entry]


@pytest.mark.parametrize(
    "form",
    [
        b"content-length: %d\r\n\r\n%b",
        b"CONTENT-LENGTH:%d\n\n%b",
        b"Content-Type: x\r\nContent-Length: %d\r\n\r\n%b",
        b"Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n%b",
    ],
)
def test_headers_are_read_leniently(client: Client, form: bytes) -> None:
    body = json.dumps(request("session/append", append({"é": "😀"})), ensure_ascii=False).encode()
    client.send_bytes(form % (len(body), body))
    assert client.receive()["result"] == {"entries": [{"é": "😀"}]}


def test_frames_may_be_split_and_joined_anywhere(client: Client) -> None:
    stream = framed(request("session/append", append({"é": "😀"}), 1)) * 2
    for byte in stream:
        client.send_bytes(bytes([byte]))
    assert [client.receive()["id"] for _ in range(2)] == [1, 1]
    client.send_bytes(stream)
    assert [client.receive()["id"] for _ in range(2)] == [1, 1]


def test_output_is_strict_json_with_its_length_in_bytes(client: Client) -> None:
    answer = client.request("session/branches", {"session": "s"})
    assert answer["result"] == {"nan": None, "half": "a\ufffdb", "big": 2**70, "text": "é😀"}


def test_twenty_megabytes_come_back(client: Client) -> None:
    text = "x" * 20_000_000
    client.send(
        request("session/append", append({"text": text}), 1),
        request("session/append", append({}), 2),
    )
    answers = {answer["id"]: answer for answer in (client.receive(), client.receive())}
    assert answers[1]["result"]["entries"] == [{"text": text}]
    assert answers[2]["result"]["entries"] == [{}]


def test_what_is_nested_too_deeply_is_still_answered(client: Client) -> None:
    for depth in (200, 300, 500, 900, 1500):
        nested = b"[" * depth + b"]" * depth
        body = json.dumps(request("session/append", append({"data": 0}), depth)).encode()
        client.send_bytes(framed(body.replace(b'"data": 0', b'"data": ' + nested)))
        answer = client.receive()
        assert "result" in answer or code_of(answer) in (-32700, -32603)


def test_unknown_methods(client: Client) -> None:
    answer = client.request("session/nonsense", {}, 1)
    assert code_of(answer) == -32601
    assert answer["error"]["data"]["method"] == "session/nonsense"
    for method in ("$/cancelRequest", "exit", "initialized"):  # these are no requests
        assert code_of(client.request(method, {})) == -32601
    client.send(
        notification("textDocument/didOpen", {"textDocument": 1}),
        notification("session/append", append({})),
        notification("initialize", {}),
        notification("$/setTrace", "nonsense"),
        notification("workspace/didChangeWorkspaceFolders", {"event": 1}),
        notification("$/cancelRequest", []),
    )
    assert "result" in client.request("session/append", append({}))


@pytest.mark.parametrize(
    ("params", "parameter"),
    [
        (None, "session"),
        ({"session": 1, "entries": [{}]}, "session"),
        ({"session": "s"}, "entries"),
        ({"session": "s", "entries": []}, "entries"),
        ({"session": "s", "entries": [{}, 1]}, "entries[1]"),
        ([], "params"),
        ("text", "params"),
    ],
)
def test_wrong_params_are_named(client: Client, params: object, parameter: str) -> None:
    answer = client.request("session/append", params)
    assert code_of(answer) == -32602
    assert answer["error"]["data"] == {"kind": "invalidParams", "parameter": parameter}
    assert repr(parameter) in answer["error"]["message"]


def test_an_error_of_ours_is_answered_with_its_kind(client: Client) -> None:
    answer = client.request("session/close", {"session": "x"})
    assert answer["error"] == {
        "code": 4001,
        "message": "There is no session x",
        "data": {"kind": "notFound", "session": "x"},
    }


def test_an_unforeseen_error_says_only_where_it_was(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    answer = client.request("session/open", {"session": "x"})
    assert answer["error"] == {
        "code": -32603,
        "message": "Internal error in session/open: ValueError",
        "data": {"kind": "internalError"},
    }
    (record,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert re.fullmatch(
        r"session/open failed: ValueError at tests\.unit\.wire_program:\d+", record.getMessage()
    )


def test_a_result_that_is_no_json_is_an_internal_error(client: Client) -> None:
    answer = client.request("session/context", {"session": "x"})
    assert answer["error"]["message"] == "Internal error in session/context: TypeError"


def test_no_body_is_logged_at_any_level(connect: Connect, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    connection = connect()
    client = connection.client
    secret = "0123456789abcdef"
    client.initialize(initializationOptions={"key": secret}, rootUri=f"file:///{secret}")
    client.request("session/append", append({"text": secret}))
    client.request("session/append", {"session": [secret], "entries": secret})
    client.request("session/open", {"session": secret})
    client.send_bytes(framed(b'{"' + secret.encode()))
    client.receive()
    asked = client.request("session/create", {})
    client.send({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": 1, "message": secret}})
    client.receive()
    client.send(notification("workspace/didChangeConfiguration", {"settings": secret}))
    client.request("shutdown")
    connection.hang_up()
    assert "session/append 1: " in caplog.text
    assert secret not in caplog.text


# --- cancelling -----------------------------------------------------------------------------


def test_a_cancelled_request_is_answered_at_once(client: Client) -> None:
    assert client.request("session/check", {"session": "s"}, "job")["method"] == "session/changed"
    started = time.perf_counter()
    client.send(notification("$/cancelRequest", {"id": "job"}))
    answer = client.receive()
    assert time.perf_counter() - started < 4 * 0.5
    assert (answer["id"], code_of(answer)) == ("job", -32800)
    assert answer["error"]["data"] == {"kind": "cancelled"}


def test_a_request_cancelled_before_it_begins_is_not_run(client: Client) -> None:
    client.send(
        request("session/check", {"session": "s"}, 1),
        notification("$/cancelRequest", {"id": 1}),
    )
    answer = client.receive()
    assert (answer["id"], code_of(answer)) == (1, -32800)
    begun = client.request("session/check", {"session": "s"}, 2)
    assert begun["params"] == {"begun": 1}


def test_only_the_request_that_is_named_is_cancelled(client: Client) -> None:
    client.request("session/check", {"session": "s"}, 1)
    client.request("session/check", {"session": "s"}, "1")
    unknown: object
    for unknown in (2, None, [], {}, True):
        client.send(notification("$/cancelRequest", {"id": unknown}))
    client.send(notification("$/cancelRequest", {"id": "1"}))
    assert client.receive()["id"] == "1"
    client.send(notification("$/cancelRequest", {"id": "1"}))
    client.send(notification("$/cancelRequest", {"id": 1}))
    assert client.receive()["id"] == 1


def test_a_write_that_has_begun_is_not_cancelled(client: Client) -> None:
    client.request("session/rename", {"session": "s", "name": "n"}, 1)
    client.send(notification("$/cancelRequest", {"id": 1}))
    assert client.receive()["result"]["revision"] == 1


def test_a_waiting_request_does_not_hold_up_the_next(client: Client) -> None:
    client.request("session/check", {"session": "s"}, 1)
    assert client.request("session/append", append({}), 2)["id"] == 2


# --- from the server to the client ----------------------------------------------------------


def test_notifications_come_before_the_answer(client: Client) -> None:
    client.send(request("session/list", {"scope": "all"}, 1))
    received = [client.receive() for _ in range(4)]
    assert [message["params"]["revision"] for message in received[:3]] == [0, 1, 2]
    assert "id" not in received[0]
    assert received[3]["id"] == 1


def test_work_that_goes_on_is_not_left_waiting_for_a_client_that_has_gone(
    connect: Connect,
) -> None:
    connection = connect()
    connection.client.initialize()
    connection.client.send(
        request("session/label", {"session": "s", "targetId": "a", "label": None})
    )
    methods = {connection.client.receive().get("method") for _ in range(2)}
    assert methods == {None, "session/summarize"}
    connection.hang_up()
    assert len(connection.unanswered) == 2


def test_the_client_can_be_asked(client: Client) -> None:
    asked = client.request("session/create", {})
    assert (asked["method"], asked["params"]) == (
        "window/showMessageRequest",
        {"type": 3, "message": "Which?"},
    )
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"title": "This"}})
    assert client.receive()["result"] == {"title": "This"}


@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"code": -32601, "message": "no"}},
        {"error": "nonsense"},
        {"error": {"code": 2**40}},
        {"result": 7},
        {"result": {"title": {}, "x": 1}},
    ],
)
def test_a_client_that_answers_wrongly_fails_that_request_only(
    client: Client, answer: dict[str, object]
) -> None:
    asked = client.request("session/create", {}, 1)
    client.send({"jsonrpc": "2.0", "id": asked["id"], **answer})
    failed = client.receive()
    assert failed["id"] == 1
    assert "result" in failed or code_of(failed) == -32603
    assert "result" in client.request("session/append", append({}))


def test_answers_that_nobody_waits_for_are_ignored(client: Client) -> None:
    asked = client.request("session/create", {}, 1)
    client.send(notification("$/cancelRequest", {"id": 1}))
    assert code_of(client.receive()) == -32800
    answer_id: object
    for answer_id in (asked["id"], asked["id"], "unknown", 5, None, [], {}):
        client.send({"jsonrpc": "2.0", "id": answer_id, "result": None})
        client.send({"jsonrpc": "2.0", "id": answer_id, "error": {"code": 1, "message": "x"}})
    assert "result" in client.request("session/append", append({}))


def test_progress_and_its_cancel_button(client: Client) -> None:
    asked = client.request("session/delete", {"session": "token"}, 1)
    assert asked["method"] == "window/workDoneProgress/create"
    assert asked["params"] == {"token": "token"}
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": None})
    assert client.receive() == notification(
        "$/progress", {"token": "token", "value": {"kind": "begin", "title": "Working"}}
    )
    client.send(notification("window/workDoneProgress/cancel", {"token": "token"}))
    assert code_of(client.receive()) == -32800


def test_changed_folders_reach_the_owner_before_the_next_request(connect: Connect) -> None:
    connection = connect()
    client = connection.client
    client.initialize(rootUri="file:///w/a")
    event = {
        "added": [{"uri": "file:///w/b", "name": "b"}],
        "removed": [{"uri": "file:///w/a", "name": "a"}, {"uri": "file:///w/x", "name": "x"}],
    }
    client.send(notification("workspace/didChangeWorkspaceFolders", {"event": event}))
    client.request("session/append", append({}))
    assert connection.owner.folders == ["/w/b"]


def test_changed_settings_reach_the_owner(connect: Connect) -> None:
    connection = connect()
    client = connection.client
    client.initialize()
    client.send(notification("workspace/didChangeConfiguration", {"settings": {"a_b": 1}}))
    client.request("session/append", append({}))
    assert connection.owner.settings == {"a_b": 1}


def test_wrong_settings_are_shown_to_the_person(connect: Connect) -> None:
    connection = connect()
    client = connection.client
    client.initialize()
    connection.owner.refusals.append(errors.InvalidParams("durability", "must be a string"))
    client.send(notification("workspace/didChangeConfiguration", {"settings": {}}))
    assert client.receive() == notification(
        "window/showMessage", {"type": 1, "message": "Parameter 'durability' must be a string"}
    )


def test_a_client_that_does_not_read_is_dropped(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport_module, "MAX_PENDING_BYTES", 4_000_000)
    connection = connect()
    connection.client.initialize()
    connection.client.send(request("session/stats", {"session": "s"}))
    assert connection.end() == 1
    assert connection.owner.closings == 1


def test_each_connection_has_its_own_answers(connect: Connect) -> None:
    one, other = connect().client, connect().client
    one.initialize()
    other.initialize()
    one.send(request("session/append", append({"from": "one"}), 1))
    other.send(request("session/append", append({"from": "other"}), 1))
    assert other.receive()["result"] == {"entries": [{"from": "other"}]}
    assert one.receive()["result"] == {"entries": [{"from": "one"}]}


def test_a_handler_must_be_in_the_table() -> None:
    async def handler(_params: object) -> None:
        return None

    async def make() -> None:
        transport = StdioTransport(0, 1)
        try:
            with pytest.raises(ValueError, match="session/unheard"):
                BranchlineServer({"session/unheard": handler}, Owner(), transport)
        finally:
            await transport.close(0)

    asyncio.run(make())


def test_pyglss_cached_look_ups_are_not_inherited() -> None:
    for name in ("get_message_type", "get_result_type"):
        assert not hasattr(getattr(BranchlineProtocol, name), "cache_info")
