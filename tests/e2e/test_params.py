"""Params that careless JSON-RPC libraries mangle come back as they were sent."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import SERVE, isolated
from tests.e2e.world import RawDaemon, add_bytes, raw_daemon, strict
from tests.unit.wire_client import framed, request

DATA: dict[str, Any] = {
    "a message within": {"jsonrpc": "2.0", "id": 9, "method": "foo", "params": {"x": 1}},
    "an answer within": {"jsonrpc": "2.0", "id": 9, "result": None, "error": {"code": 1}},
    "odd keys": {"a-b": 1, "from": 2, "_x": 3, "ok": 4, "class": 5, "type_name": 6, "": 7},
    "reserved names": {"__class__": "x", "_fields": [], "typeName": 1, "$ref": "#", "é😀": {}},
    "empty things": {"list": [], "object": {}, "text": "", "nothing": None, "no": False},
    "a list of such": [{"jsonrpc": "2.0"}, [{"method": "exit"}], "text", 0.5, -0.0],
    "deep nesting": json.loads("[" * 200 + "]" * 200),
    "line ends": "a\u2028b\u0085c\r\nd\u0000e",
}


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawDaemon]:
    """One daemon for all tests here."""
    environment = isolated(tmp_path_factory.mktemp("params"))
    with raw_daemon(SERVE, environment, seconds=300) as daemon:
        daemon.initialize()
        yield daemon


@pytest.fixture
def path(copy_session: Callable[..., Path]) -> Path:
    return copy_session("60-two-writers")


def appending(path: Path, data: Any) -> dict[str, Any]:
    """The params that append a custom entry with this data."""
    entry = {"type": "custom", "customType": "test", "data": data}
    return {"session": str(path), "entries": [entry]}


@pytest.mark.parametrize("name", DATA)
def test_data_comes_back_key_for_key(raw: RawDaemon, path: Path, name: str) -> None:
    data = DATA[name]
    answer = json.loads(raw.ask("session/append", appending(path, data)))
    entry_id = answer["result"]["entries"][0]["id"]
    params = {"session": str(path), "ids": [entry_id]}
    (stored,) = json.loads(raw.ask("session/entries", params))["result"]["entries"]
    assert stored["data"] == data
    assert stored["customType"] == "test"
    assert json.loads(path.read_bytes().splitlines()[-1])["data"] == data


@pytest.mark.parametrize("header", [b"content-length: ", b"CONTENT-LENGTH:", b"Content-length:  "])
@pytest.mark.parametrize("line_end", [b"\r\n", b"\n"])
def test_a_header_may_be_spelled_otherwise(raw: RawDaemon, header: bytes, line_end: bytes) -> None:
    body = json.dumps(request("session/list", {"scope": "all", "query": "é"}, "spelled")).encode()
    assert raw.process.stdin is not None
    other = b"Content-Type: application/vscode-jsonrpc; charset=utf-8"
    parts = [header + str(len(body)).encode(), other, b"", body]
    raw.process.stdin.write(line_end.join(parts))
    raw.process.stdin.flush()
    assert strict(raw.receive())["id"] == "spelled"


def test_results_are_strict_json_whatever_the_file_holds(raw: RawDaemon, path: Path) -> None:
    add_bytes(
        path,
        b'{"type":"custom","customType":"t","data":{"nan":NaN,"inf":[Infinity,-Infinity],'
        b'"half":"\\ud83d","big":9007199254740993,"huge":1e999},'
        b'"id":"b0000001","parentId":"a0000004","timestamp":"2026-02-03T11:00:00.000Z"}\n',
    )
    answer = raw.ask("session/entries", {"session": str(path), "ids": ["b0000001"]})
    (stored,) = strict(answer)["result"]["entries"]
    assert stored["data"]["nan"] is None
    assert stored["data"]["inf"] == [None, None]
    assert stored["data"]["half"] == "\ufffd"
    assert stored["data"]["big"] == "9007199254740993"
    assert b"9007199254740993" in answer
    for method in ("tree", "context", "stats", "check"):
        assert "result" in strict(raw.ask(f"session/{method}", {"session": str(path)}))


def test_twenty_megabytes_keep_nobody_waiting(raw: RawDaemon, path: Path) -> None:
    data = "x" * 20_000_000
    raw.send(
        request("session/append", appending(path, data), "large"),
        request("session/list", {"scope": "all"}, "small"),
    )
    answers = [strict(raw.receive()) for _ in range(2)]
    assert {answer["id"] for answer in answers} == {"large", "small"}
    assert all("result" in answer for answer in answers)
    assert path.stat().st_size > len(data)


def test_every_answer_has_the_id_of_its_request(raw: RawDaemon) -> None:
    ids = [7, "7", "seven", 0, -1, 2**31, "", "7"]
    params = {"scope": "all"}
    raw.send(*(request("session/list", params, one) for one in ids))
    answers = [json.loads(raw.receive()) for _ in ids]
    assert sorted(repr(answer["id"]) for answer in answers) == sorted(map(repr, ids))


def test_two_requests_with_one_id_get_two_answers(raw: RawDaemon, path: Path) -> None:
    wrong = request("session/tree", {"session": str(path), "limit": -1}, 5)
    raw.send(request("session/tree", {"session": str(path)}, 5), wrong)
    answers = [json.loads(raw.receive()) for _ in range(2)]
    assert [answer["id"] for answer in answers] == [5, 5]
    assert sum("error" in answer for answer in answers) >= 1


def test_two_frames_in_one_write_are_two_requests(raw: RawDaemon) -> None:
    assert raw.process.stdin is not None
    frames = [framed(request("session/list", {"scope": "all"}, name)) for name in ("a", "b")]
    raw.process.stdin.write(b"".join(frames))
    raw.process.stdin.flush()
    assert {json.loads(raw.receive())["id"] for _ in frames} == {"a", "b"}
