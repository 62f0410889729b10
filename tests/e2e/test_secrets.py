"""What is secret stays out of logs, errors and messages, whatever goes wrong."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import SERVE
from tests.e2e.world import RawDaemon, add_bytes, foreign, raw_daemon, record, strict, user
from tests.model_server import KEY, SECRET
from tests.unit.wire_client import DEADLINE, notification, request

PRIVATE = f"private words {SECRET}"
SETTINGS: dict[str, Any] = {
    "summarizer": {"use": "openai", "baseUrl": "http://127.0.0.1:9/v1", "model": "m"},
    "apiKey": KEY,
    "models": {"local/m": {"apiKeyEnv": "OPENAI_API_KEY", "key": KEY}},
}


def told_unasked_or_as_error(bodies: list[bytes]) -> list[Any]:
    """All that reaches an editor's log: errors, messages, progress."""
    messages = map(strict, bodies)
    return [
        message
        for message in messages
        if "error" in message or str(message.get("method", "")).startswith(("window/", "$/"))
    ]


def use_everything(daemon: RawDaemon, path: Path) -> None:
    """Requests that go well, with secrets in what they store and ask for."""
    session = {"session": str(path)}
    for method, params in (
        ("append", {"entries": [user(PRIVATE)]}),
        ("append", {"entries": [{"type": "custom", "customType": "t", "data": {KEY: KEY}}]}),
        ("label", {"targetId": "a0000001", "label": KEY}),
        ("rename", {"name": PRIVATE}),
        ("edit", {"targetId": "a0000001", "replacement": {"content": PRIVATE}}),
        ("tree", {"query": KEY}),
        ("context", {"format": "openai"}),
        ("branches", {}),
        ("stats", {}),
        ("check", {}),
        ("switchLeaf", {"targetId": "a0000001", "summary": {"mode": "text", "text": PRIVATE}}),
        ("fork", {"cwd": "/w/demo"}),
        ("export", {"format": "html", "mask": True}),
        ("repair", {}),
    ):
        answer = strict(daemon.ask(f"session/{method}", {**session, **params}))
        assert "result" in answer, answer
    daemon.ask("session/list", {"scope": "all", "query": KEY})


def make_every_error(daemon: RawDaemon, path: Path) -> None:
    """Requests that fail, with secrets in their params."""
    session = {"session": str(path)}
    wrong: list[tuple[str, Any]] = [
        ("session/append", {**session, "entries": [user(PRIVATE, parentId=KEY)]}),
        ("session/append", {**session, "entries": [user(PRIVATE)], "expectedLeafId": "x"}),
        ("session/append", {**session, "entries": [{"type": "message", "message": KEY}]}),
        ("session/append", {**session, "entries": [{"type": "message", "message": {KEY: KEY}}]}),
        ("session/append", {**session, "entries": [{"type": "custom", "customType": [KEY]}]}),
        ("session/append", {**session, "entries": KEY}),
        ("session/append", {**session, "entries": [KEY]}),
        ("session/tree", {**session, "limit": KEY}),
        ("session/tree", {**session, "filter": KEY}),
        ("session/context", {**session, "leafId": [KEY]}),
        ("session/context", {**session, "format": KEY}),
        ("session/label", {**session, "targetId": "a0000001", "label": {KEY: KEY}}),
        ("session/edit", {**session, "targetId": "a0000001", "replacement": KEY}),
        ("session/edit", {**session, "targetId": "a0000001", "replacement": {"content": {}}}),
        ("session/switchLeaf", {**session, "targetId": "a0000001", "summary": {"mode": KEY}}),
        ("session/list", {"scope": KEY}),
        ("session/list", {"scope": "all", "cursor": 1, "query": [KEY]}),
        ("session/none", {"password": KEY}),
        ("session/open", [KEY]),
        ("session/open", {**session, "readOnly": KEY}),
    ]
    for method, params in wrong:
        answer = strict(daemon.ask(method, params))
        assert "error" in answer, (method, answer)
    for body in (
        b'{"jsonrpc":"2.0","id":1,"method":"session/open","params":{"x":"' + KEY.encode(),
        json.dumps({"jsonrpc": "2.0", "id": {"a": KEY}, "method": "session/list"}).encode(),
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": [KEY], "params": KEY}).encode(),
        json.dumps([KEY]).encode(),
    ):
        daemon.send(body)
        assert "error" in strict(daemon.receive())
    daemon.send(
        notification("workspace/didChangeConfiguration", {"settings": {"durability": KEY}}),
        notification("workspace/didChangeConfiguration", {"settings": {**SETTINGS, "x": KEY}}),
        notification("$/setTrace", {"value": KEY}),
        notification("no/such", {"value": KEY}),
        request("initialize", {"capabilities": {}, "initializationOptions": SETTINGS}, "again"),
    )
    while strict(daemon.receive()).get("id") != "again":
        pass


@pytest.fixture
def path(copy_session: Callable[..., Path]) -> Path:
    """A session with secrets in its messages, its tool output, and on a damaged line."""
    path = copy_session("60-two-writers")
    result = {"role": "toolResult", "toolCallId": "c", "toolName": "bash", "content": KEY}
    common = {"parentId": "a0000004", "timestamp": "2026-02-03T11:00:00.000Z"}
    add_bytes(
        path,
        foreign("b0000001", "a0000004", PRIVATE)
        + record(type="message", id="b0000002", **common, message=result)
        + record(type="message", id="b0000003", **common, message={"role": "user"})
        + foreign("b0000004", "dead0001", PRIVATE)[:-30]
        + b"\n"
        + record(type="quantum", id="b0000005", parentId="b0000003", payload=KEY),
    )
    return path


def test_nothing_secret_is_logged_or_told(
    environment: dict[str, str], path: Path, tmp_path: Path
) -> None:
    variables = {**environment, "OPENAI_API_KEY": KEY, "PI_SECRET": KEY}
    log_file = tmp_path / "stderr"
    with (
        log_file.open("wb") as log,
        raw_daemon([*SERVE, "--log-level", "debug"], variables, stderr=log) as daemon,
    ):
        # A key where only the name of a variable may stand is refused without repeating it.
        wrong = {"summarizer": {"apiKeyEnv": KEY}}
        refused = daemon.ask("initialize", {"capabilities": {}, "initializationOptions": wrong})
        assert "error" in strict(refused)
        daemon.initialize(initializationOptions=SETTINGS)
        opened = strict(daemon.ask("session/open", {"session": str(path)}))["result"]
        assert KEY not in json.dumps(opened["settings"])
        assert SECRET not in json.dumps(opened["warnings"])
        use_everything(daemon, path)
        make_every_error(daemon, path)
        os.truncate(path, 100)
        daemon.ask("session/append", {"session": str(path), "entries": [user(PRIVATE)]})
        daemon.ask("session/open", {"session": str(path)})
        daemon.ask("shutdown", None)
        daemon.send(notification("exit"))
        assert daemon.process.wait(DEADLINE) == 0
    told = told_unasked_or_as_error(daemon.bodies)
    assert len(told) > 25
    assert SECRET not in json.dumps(told)
    logged = log_file.read_text()
    assert "session/append" in logged  # it does log, and at this level says a lot
    assert SECRET not in logged
    assert "Traceback" not in logged
