"""Ids, texts, numbers, queries and cursors at their limits, in params and in files."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from branchline import codec
from branchline.demo.client import DaemonError
from tests.e2e.conftest import SERVE, StartDaemon
from tests.e2e.world import raw_daemon, record, strict
from tests.hostile.world import TIMESTAMP, Asker, make, message

TEXTS = [
    "",
    "__proto__",
    "constructor",
    "../x",
    "/",
    "x" * 1_000_000,
    "\x00",
    "\x1b[31m\r\n\t\x7f\x9b",
    "'\"`\\${x}%s%n",
    "\ud800",
    "\udc00\ud800",
    "\u202e\u2066\u2028\u0085\ufeff",
    "e\u0301\U0001f468\u200d\U0001f469",
    "🏳" * 5000,
]
NUMBERS = [
    b"9007199254740991", b"9007199254740993", b"-9007199254740993", b"18446744073709551616",
    b"1e400", b"-1e400", b"1e-400", b"1" * 5000, b"1" * 5000 + b".5", b"-0", b"-0.0", b"1e308",
    b"NaN", b"Infinity", b"-Infinity", b"8.64e15", b"253402300800000", b"null", b"true", b'"x"',
    b"[]", b"{}", b"[[[]]]", b"[" * 500 + b"]" * 500, b"[" * 1000 + b"]" * 1000,
]  # fmt: skip
"""Values, as they stand in a file, for every field that is a number, a text, or anything else."""
ROLES = ["user", "assistant", "toolResult", "bashExecution", "system", "custom", "no such role"]
TYPES: dict[str, tuple[str, ...]] = {
    "compaction": ("summary", "firstKeptEntryId", "tokensBefore", "details", "usage", "fromHook",
                   "systemMessage"),
    "branch_summary": ("fromId", "summary", "details", "usage"),
    "context_edit": ("targetId", "replacement"),
    "model_change": ("provider", "modelId"),
    "thinking_level_change": ("thinkingLevel",),
    "active_tools_change": ("activeToolNames",),
    "leaf": ("targetId",),
    "label": ("targetId", "label"),
    "session_info": ("name",),
    "usage": ("kind", "provider", "model", "usage"),
    "custom": ("customType", "data"),
    "custom_message": ("customType", "content", "display", "details"),
    "no such type": ("anything",),
}  # fmt: skip
BODY = ("timestamp", "usage", "stopReason", "toolCallId", "toolName", "isError", "details",
        "command", "output", "exitCode", "sections", "toolsAdded", "toolsRemoved", "customType",
        "display", "model", "provider", "excludeFromContext", "errorMessage")  # fmt: skip


def test_a_text_as_every_parameter(daemon: StartDaemon, agent_dir: Path) -> None:
    asker = Asker(daemon())
    for number, text in enumerate(TEXTS):
        path = make(agent_dir, message("top", None), name=f"{number}.jsonl")
        ask_with(asker, path, text)
        asker.look_at(path, "top")
        for line in path.read_bytes().splitlines():
            json.loads(line)


def ask_with(asker: Asker, path: Path, text: str) -> None:
    """Ask everything with one text in every place that takes one."""
    entry = {"type": "message", "id": text, "message": {"role": "user", "content": text}}
    asker.ask("append", path, entries=[entry])
    for params in (
        {"entries": [{"type": text}]},
        {"entries": [{"type": "custom", "customType": text, text: text}]},
        {"entries": [{"type": "label", "targetId": text, "label": text}]},
        {"entries": [{"type": "message", "message": {"role": text, "content": text}}]},
        {"entries": [entry], "parentId": text},
        {"entries": [entry], "expectedLeafId": text},
    ):
        asker.ask("append", path, **params)
    asker.ask("label", path, targetId="top", label=text)
    asker.ask("label", path, targetId=text, label=None)
    asker.ask("rename", path, name=text)
    asker.ask("edit", path, targetId="top", replacement={"content": text})
    asker.ask("switchLeaf", path, targetId=text)
    summary = {"mode": "text", "text": text}
    asker.ask("switchLeaf", path, targetId="top", position="at", summary=summary, label=text)
    asker.ask("tree", path, query=text, folded=[text], expanded=[text])
    asker.ask("tree", path, around=text, filter=text)
    asker.ask("locate", path, **{"from": text, "to": "parent"})
    asker.ask("locate", path, **{"from": "top", "to": "nextHit", "query": text})
    asker.ask("context", path, leafId=text)
    asker.ask("entries", path, ids=[text])
    asker.ask("fork", path, entryId=text, position="at")
    asker.ask("fork", path, cwd="/" + text)
    for cwd in (text, "/" + text):
        made = asker.ask("create", cwd=cwd, name=text, parentSession=text)
        if not isinstance(made, DaemonError):
            asker.ask("append", made["session"]["path"], entries=[{**entry, "id": "first"}])
    asker.ask("create", id=text)
    asker.ask("list", scope="all", query=text, cursor=text)
    asker.ask("list", scope=text)
    for name in (text, "/" + text, "file://" + text, "file:///" + text, f"{path}/{text}"):
        asker.ask("open", name)
        asker.ask("append", name, entries=[entry])


def test_texts_as_every_field_of_a_file(daemon: StartDaemon, agent_dir: Path) -> None:
    lines = [message("top", None)]
    for number, text in enumerate(TEXTS):
        lines.append(message(text, "top", text, model=text))
        lines.append(record(type=text, id=f"t{number}", parentId=text, timestamp=text))
        for name, fields in TYPES.items():
            values = dict.fromkeys(fields, text)
            entry_id = f"{name}{number}"
            lines.append(record(type=name, id=entry_id, parentId="top", timestamp=text, **values))
        for role in ROLES:
            body = dict.fromkeys(BODY, text)
            line = message(f"{role}{number}", "top", [{"type": "text", "text": text}],
                           **{**body, "role": role})  # fmt: skip
            lines.append(line)
    path = make(agent_dir, *lines)
    asker = Asker(daemon(seconds=240), 2)
    asker.look_at(path, "top")
    for row in asker.ok("tree", path, filter="all", layout="pi")["rows"]:
        # Half of a surrogate pair reaches no client, so an id that holds one cannot be asked for.
        ask = asker.ask if "\ufffd" in row["id"] else asker.ok
        ask("context", path, leafId=row["id"])
        ask("entries", path, ids=[row["id"]])
        ask("locate", path, **{"from": row["id"], "to": "parent"})
    asker.change(path, "top")


def test_a_value_as_every_field_of_a_file(daemon: StartDaemon, agent_dir: Path) -> None:
    asker = Asker(daemon(seconds=240))
    for number, value in enumerate(NUMBERS):
        path = make(agent_dir, *every_field(value), name=f"{number}.jsonl")
        assert asker.look_at(path, "end")["leafId"] == "end"
        for row in asker.ok("tree", path, filter="all")["rows"]:
            asker.ok("context", path, leafId=row["id"], format="openai")
            asker.ask("edit", path, targetId=row["id"], replacement=None)
        asker.change(path, "end")
        asker.ok("close", path)


def every_field(value: bytes) -> list[bytes]:
    """Entries of every type on one chain, so that the context meets all of them."""

    def filled(line: bytes) -> bytes:
        return line.replace(b'"HERE"', value)

    lines = [message("top", None)]
    parent_id = "top"
    for role in ROLES:
        blocks = [
            {"type": "text", "text": "HERE"},
            {"type": "toolCall", "id": "HERE", "name": "HERE", "arguments": "HERE"},
            {"type": "image", "data": "HERE", "mimeType": "HERE"},
            {"type": "thinking", "thinking": "HERE"},
            {"type": "HERE"},
            "HERE",
        ]
        usage: Any = {"input": "HERE", "totalTokens": "HERE", "cost": {"total": "HERE"}}
        fields: dict[str, Any] = dict.fromkeys(BODY, "HERE")
        for number, body in enumerate(
            ({**fields, "content": "HERE"}, {**fields, "content": blocks, "usage": usage})
        ):
            entry_id = f"{role}{number}"
            lines.append(filled(message(entry_id, parent_id, **{**body, "role": role, "text": 0})))
            parent_id = entry_id
    for name, names in TYPES.items():
        common = {"id": name, "parentId": parent_id, "timestamp": "HERE"}
        lines.append(filled(record(type=name, **common, **dict.fromkeys(names, "HERE"))))
        parent_id = name
    lines.append(filled(record(type="message", id="HERE", parentId="HERE", message="HERE")))
    lines.append(message("end", parent_id))
    return lines


def test_a_value_in_params_arrives_and_is_stored_as_json(
    environment: dict[str, str], agent_dir: Path
) -> None:
    path = make(agent_dir, message("top", None))
    with raw_daemon(SERVE, environment) as daemon:
        daemon.initialize()
        name = json.dumps(str(path)).encode()
        for value, (method, params) in product(NUMBERS, VALUE_PARAMS.items()):
            filled = params.replace(b"HERE", value)
            daemon.send(
                b'{"jsonrpc":"2.0","id":"%b","method":"session/%b","params":{"session":%b,%b}}'
                % (method.encode(), method.encode(), name, filled)
            )
            answer = strict(daemon.receive())
            assert answer["id"] == method
            # 4001: a number that no float holds is a text, and no entry has that id.
            known = "result" in answer or answer["error"]["code"] in ("-32602", "4001")
            assert known, (method, value[:20], answer)
        stored = strict(daemon.ask("session/entries", {"session": str(path), "ids": ["top"]}))
        assert "result" in stored
    for line in path.read_bytes().splitlines():
        assert codec.is_json(line)
        assert b"NaN" not in line
        assert b"Infinity" not in line


VALUE_PARAMS = {
    "append": b'"entries":[{"type":"custom","customType":"x","data":HERE}]',
    "tree": b'"limit":HERE,"offset":HERE',
    "entries": b'"ids":[HERE]',
    "label": b'"targetId":"top","label":HERE',
    "list": b'"scope":"all","limit":HERE,"cursor":HERE',
}


@pytest.mark.parametrize("depth", [100, 500, 900, 10_000])
def test_deep_nesting_in_params_has_one_answer(
    environment: dict[str, str], agent_dir: Path, depth: int
) -> None:
    path = make(agent_dir, message("top", None))
    value = b"[" * depth + b"]" * depth
    with raw_daemon(SERVE, environment) as daemon:
        daemon.initialize()
        name = json.dumps(str(path)).encode()
        for params in (
            b'"entries":[{"type":"custom","customType":"x","data":%b}]' % value,
            b'"entries":%b' % value,
            b'"unknown":%b,"entries":[{"type":"x"}]' % value,
        ):
            daemon.send(
                b'{"jsonrpc":"2.0","id":1,"method":"session/append","params":{"session":%b,%b}}'
                % (name, params)
            )
            answer = strict(daemon.receive())
            if "error" in answer:
                # Nested beyond every reader, it is no message: there is no id to answer to.
                assert answer["id"] == ("1" if depth < 1000 else None)
                assert answer["error"]["code"] in ("-32602", "-32700")
        drawn = strict(daemon.ask("session/tree", {"session": str(path), "filter": "all"}))
        assert drawn["result"]["total"] in ("1", "3")


LIMITS: list[Any] = [0, -1, 1, 20_000, 20_001, 2**31, 2**53 - 1, 2**53, 2**53 + 1, 2**64, 1.0,
                     1.5, -0.0, 1e308, True, None, "5", [], {}]  # fmt: skip


def test_limits_and_offsets(daemon: StartDaemon, agent_dir: Path) -> None:
    path = make(agent_dir, message("top", None))
    asker = Asker(daemon())
    for value in LIMITS:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        whole = number and value == int(value)
        limits = whole and 1 <= value <= 20_000
        assert isinstance(asker.ask("list", scope="all", limit=value), DaemonError) != limits
        assert isinstance(asker.ask("tree", path, limit=value), DaemonError) != limits
        offset = asker.ask("tree", path, offset=value)
        if whole and 0 <= value < 2**53:
            assert offset["total"] == 1
        else:
            assert (offset.code, offset.data["parameter"]) == (-32602, "offset")


CURSORS = ["", "garbage", "AAAA", "=", "////" * 10_000, "_-8=", "\ud800", "é", "\x00", "e30="]


def test_cursors_that_no_page_gave(daemon: StartDaemon, agent_dir: Path) -> None:
    make(agent_dir, message("top", None))
    asker = Asker(daemon())
    for cursor in CURSORS:
        answer = asker.ask("list", scope="all", cursor=cursor)
        if isinstance(answer, DaemonError):
            assert (answer.code, answer.data["parameter"]) == (-32602, "cursor")
        else:
            assert answer["sessions"] == []


QUERIES = {
    "regex-bomb": "(a+)+$ (a|a)*b ^(([a-z])+.)+[A-Z]([a-z])+$",
    "100-kb-word": "a" * 100_000,
    "100-kb-words": "a " * 50_000,
    "different-words": " ".join(f"a{number}" for number in range(20_000)),
    "wildcards": "%_*?[!]\\",
    "casefold": "ßİŉ" * 1000,
    "blank": " \t\n" * 1000,
    "quotes": "\"' OR 1=1; --",
}


@pytest.mark.parametrize("name", QUERIES)
def test_queries(daemon: StartDaemon, agent_dir: Path, name: str) -> None:
    text = "a" * 10_000 + " " + "a a1 a2 " * 1000 + "!"
    ids = [f"{number:08x}" for number in range(500)]
    parents = [None, *ids]
    lines = [message(one, parent, text) for one, parent in zip(ids, parents, strict=False)]
    path = make(agent_dir, *lines)
    asker = Asker(daemon(), 2)
    query = QUERIES[name]
    asker.ok("tree", path, query=query)
    asker.ok("locate", path, **{"from": ids[0], "to": "nextHit", "query": query})
    asker.ok("find", path, **{"from": ids[0], "query": query})
    asker.ok("list", scope="all", query=query)


HEADERS = [
    ("cwd", "\x00"), ("cwd", "/\ud800"), ("cwd", "/" + "a" * 5000), ("cwd", "/x" * 3000),
    ("cwd", "../.."), ("cwd", ""), ("cwd", 5), ("cwd", None),
    ("version", 2**64), ("version", -5), ("version", 1e308), ("version", "3"), ("version", []),
    ("timestamp", 5), ("timestamp", "yesterday"), ("timestamp", "\ud800"),
    ("parentSession", "\x00"), ("parentSession", {}), ("id", "../../x"), ("id", "x" * 10_000),
]  # fmt: skip


def test_a_header_of_a_stranger_hides_no_other_session(
    daemon: StartDaemon, agent_dir: Path
) -> None:
    good = make(agent_dir, message("top", None))
    asker = Asker(daemon(folder=Path("/w/demo")))
    common = {"type": "session", "version": 3, "id": "odd", "timestamp": TIMESTAMP, "cwd": "/w"}
    for number, (field, value) in enumerate(HEADERS):
        odd = good.with_name(f"{number}.jsonl")
        header = codec.encode_record({**common, field: value})
        odd.write_bytes(header + b"\n" + message("top", None))
        for order in ("recent", "threaded"):
            listed = asker.ok("list", scope="workspace", order=order)["sessions"]
            assert str(good) in [one["path"] for one in listed]
            everywhere = asker.ok("list", scope="all", order=order)["sessions"]
            assert {str(good), str(odd)} <= {one["path"] for one in everywhere}
        assert asker.ok("open", odd)["leafId"] == "top"
        asker.ask("fork", odd)
        asker.ask("append", odd, entries=[{"type": "custom", "customType": "x"}])
        asker.ok("check", odd)
