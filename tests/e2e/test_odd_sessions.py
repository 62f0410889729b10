"""Old and newer versions, unknown types, and what does not survive a careless reader."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from branchline.demo.client import Client, DaemonError
from tests.e2e.conftest import SERVE, StartDaemon
from tests.e2e.world import RawDaemon, lines_of, raw_daemon, record, snapshot, strict, user

CopySession = Callable[..., Path]
READING: list[tuple[str, dict[str, Any]]] = [
    ("tree", {"filter": "all"}),
    ("tree", {"filter": "all", "layout": "pi", "runs": "tools", "query": "a"}),
    ("context", {}),
    ("context", {"format": "openai"}),
    ("branches", {}),
    ("stats", {}),
    ("check", {}),
    ("open", {}),
]


def context_of(client: Client, path: Path, **params: Any) -> dict[str, Any]:
    context: dict[str, Any] = client.request("session/context", {"session": str(path), **params})
    return context


def append(client: Client, path: Path, *entries: dict[str, Any]) -> list[dict[str, Any]]:
    """Append entries (by default a user message); give their ids and parentIds."""
    given = list(entries) or [user("one more")]
    answer = client.request("session/append", {"session": str(path), "entries": given})
    added: list[dict[str, Any]] = answer["entries"]
    return added


def texts(messages: list[dict[str, Any]]) -> list[Any]:
    contents = [message.get("summary") or message["content"] for message in messages]
    return [content if isinstance(content, str) else content[0].get("text") for content in contents]


def every_answer(daemon: RawDaemon, path: Path) -> list[bytes]:
    """The bodies of the answers to every method that reads."""
    answers = [
        daemon.ask(f"session/{method}", {"session": str(path), **params})
        for method, params in READING
    ]
    ids = strict(answers[2])["result"]["path"]
    answers.append(daemon.ask("session/entries", {"session": str(path), "ids": ids}))
    answers.append(daemon.ask("session/list", {"scope": "all"}))
    for answer in answers:
        assert "result" in strict(answer)
    return answers


class TestVersionOne:  # 19
    def test_ids_are_the_same_at_every_opening(
        self, daemon: StartDaemon, copy_session: CopySession
    ) -> None:
        path = copy_session("19-v1-linear")
        first, second = context_of(daemon(), path), context_of(daemon(), path)
        assert first["path"] == second["path"]
        assert len(set(first["path"])) == 5

    def test_the_first_append_upgrades_it_and_keeps_the_old_file(
        self, daemon: StartDaemon, copy_session: CopySession
    ) -> None:
        path = copy_session("19-v1-linear")
        original = path.read_bytes()
        client = daemon()
        opened = client.request("session/open", {"session": str(path)})
        before = context_of(client, path)
        (added,) = append(client, path, user("v1 six"))
        assert added["parentId"] == opened["leafId"]
        assert path.with_name(path.name + ".bak").read_bytes() == original
        records = lines_of(path)
        assert records[0]["version"] == 3
        assert [one["id"] for one in records[1:]] == [*before["path"], added["id"]]
        assert "firstKeptEntryIndex" not in json.dumps(records)
        after = context_of(daemon(), path)
        assert after["path"] == [*before["path"], added["id"]]
        assert texts(after["messages"]) == ["v1 summary", "v1 three", "v1 five", "v1 six"]
        news = [params for name, params in client.notifications if name == "session/changed"]
        assert [one["leafId"] for one in news] == [opened["leafId"], added["id"]]
        assert sorted(path.parent.iterdir()) == [path, path.with_name(path.name + ".bak")]

    def test_an_index_counts_damaged_lines(
        self, daemon: StartDaemon, copy_session: CopySession
    ) -> None:
        path = copy_session("19-v1-linear")
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join([lines[0], b'{"type":"mes\n', b"\n", *lines[2:]]))
        client = daemon()
        wanted = ["v1 summary", "v1 three", "v1 five"]
        assert texts(context_of(client, path)["messages"]) == wanted
        append(client, path, user("v1 six"))
        assert texts(context_of(daemon(), path)["messages"]) == [*wanted, "v1 six"]


def test_version_two_is_upgraded_with_the_first_append(
    daemon: StartDaemon, copy_session: CopySession
) -> None:  # 20
    path = copy_session("20-v2-hookmessage")
    original = path.read_bytes()
    client = daemon()
    assert "custom" in [message["role"] for message in context_of(client, path)["messages"]]
    chat = context_of(client, path, format="openai")["messages"]
    assert ("user", "3 problems") in [(one["role"], one["content"]) for one in chat]
    assert path.read_bytes() == original
    append(client, path)
    assert path.with_name(path.name + ".bak").read_bytes() == original
    assert lines_of(path)[0]["version"] == 3
    assert b"hookMessage" not in path.read_bytes()
    assert context_of(daemon(), path)["path"][:3] == ["a0000001", "a0000002", "a0000003"]


def test_unknown_types_are_kept_byte_for_byte(
    daemon: StartDaemon, copy_session: CopySession
) -> None:  # 21
    path = copy_session("21-unknown-entry-type")
    client = daemon()
    forked = client.request("session/fork", {"session": str(path), "cwd": "/w/demo"})
    copy = Path(forked["session"]["path"])
    lines = path.read_bytes().splitlines()
    assert copy.read_bytes().splitlines()[1:] == lines[1:]
    assert append(client, path)[0]["parentId"] == "a0000006"
    rows = client.request("session/tree", {"session": str(path), "filter": "all"})["rows"]
    assert {"quantum_note", "another_future_type"} <= {row["type"] for row in rows}


def test_a_newer_version_is_read_and_never_written(
    daemon: StartDaemon, copy_session: CopySession
) -> None:  # 22
    path = copy_session("22-future-version")
    before = snapshot(path.parent)
    client = daemon()
    assert client.request("session/open", {"session": str(path)})["session"]["readOnly"]
    assert len(context_of(client, path)["messages"]) == 4
    for method, params in (
        ("append", {"entries": [user("x")]}),
        ("label", {"targetId": "a0000001", "label": "x"}),
        ("rename", {"name": "x"}),
        ("edit", {"targetId": "a0000001", "replacement": None}),
        ("switchLeaf", {"targetId": "a0000002"}),
        ("repair", {}),
    ):
        with pytest.raises(DaemonError) as refused:
            client.request(f"session/{method}", {"session": str(path), **params})
        assert refused.value.data["kind"] == "readOnly"
        assert refused.value.code == 4006
    assert snapshot(path.parent) == before


class TestNumbers:  # 23
    def test_digits_are_kept_everywhere(
        self, environment: dict[str, str], copy_session: CopySession
    ) -> None:
        path = copy_session("23-big-integers")
        stored = path.read_bytes().splitlines()
        with raw_daemon(SERVE, environment) as daemon:
            daemon.initialize()
            answers = every_answer(daemon, path)
            fork = strict(daemon.ask("session/fork", {"session": str(path), "cwd": "/w/demo"}))
        assert stored[2] in b"".join(answers)
        call = strict(answers[3])["result"]["messages"][1]["tool_calls"][0]["function"]
        for digits in ("1234567890123456789", "9007199254740993", "-9007199254740995"):
            assert digits in call["arguments"]
        strict(call["arguments"].encode())
        assert "Infinity" not in b"".join(answers).decode()
        assert Path(fork["result"]["session"]["path"]).read_bytes().splitlines()[1:] == stored[1:]

    @pytest.mark.parametrize("kind", ["custom", "call"])
    def test_an_integer_of_thousands_of_digits_is_no_obstacle(
        self, environment: dict[str, str], copy_session: CopySession, kind: str
    ) -> None:
        path = copy_session("03-no-final-newline")
        digits = b"7" * 5000
        common = {"id": "b0000001", "parentId": "a0000004", "timestamp": "2026-02-03T11:00:00Z"}
        call = {"type": "toolCall", "id": "c1", "name": "f", "arguments": {"n": 55}}
        message = {"role": "assistant", "content": [call], "usage": {"totalTokens": 55}}
        line = (
            record(type="custom", customType="t", data={"n": 55}, **common)
            if kind == "custom"
            else record(type="message", message=message, **common)
        ).replace(b"55", digits)
        path.write_bytes(path.read_bytes() + b"\n" + line)
        with raw_daemon(SERVE, environment) as daemon:
            daemon.initialize()
            answers = every_answer(daemon, path)
            (added,) = strict(
                daemon.ask("session/append", {"session": str(path), "entries": [user("x")]})
            )["result"]["entries"]
        assert added["parentId"] == "b0000001"
        assert line.rstrip() in b"".join(answers)

    def test_digits_that_a_client_sends_are_stored(
        self, environment: dict[str, str], copy_session: CopySession
    ) -> None:
        path = copy_session("03-no-final-newline")
        numbers = b'{"a":12345678901234567890123,"b":-9007199254740995,"c":1.5,"d":1e-7}'
        entry = b'{"type":"custom","customType":"t","data":' + numbers + b"}"
        with raw_daemon(SERVE, environment) as daemon:
            daemon.initialize()
            name = json.dumps(str(path)).encode()
            daemon.send(
                b'{"jsonrpc":"2.0","id":"append","method":"session/append","params":{"session":'
                + name
                + b',"entries":['
                + entry
                + b"]}}"
            )
            answer = strict(daemon.receive())
        assert answer["id"] == "append"
        assert b'"a":12345678901234567890123,"b":-9007199254740995,"c":1.5' in path.read_bytes()


class TestHalvesOfSurrogatePairs:  # 24
    def test_they_leave_as_replacement_characters(
        self, environment: dict[str, str], copy_session: CopySession
    ) -> None:
        path = copy_session("24-lone-surrogate")
        original = path.read_bytes()
        with raw_daemon(SERVE, environment) as daemon:
            daemon.initialize()
            answers = every_answer(daemon, path)
        for form in (2, 3):
            told = json.dumps(strict(answers[form]), ensure_ascii=False)
            assert "cut in the middle: \ufffd" in told
            assert "\ufffd low half alone, pair ok: \U0001f600" in told
        stored = strict(answers[-2])["result"]["entries"][1]["message"]["content"]
        assert stored[0]["text"] == "cut in the middle: \ufffd"
        assert stored[1]["text"] == "\ufffd low half alone, pair ok: \U0001f600"
        assert path.read_bytes() == original

    def test_those_that_a_client_sends_are_stored_and_told_safely(
        self, environment: dict[str, str], copy_session: CopySession
    ) -> None:
        path = copy_session("24-lone-surrogate")
        text = "x" * 199 + "\U0001f600 \ud83d"
        with raw_daemon(SERVE, environment) as daemon:
            daemon.initialize()
            for method, params in (
                ("open", {}),
                ("append", {"entries": [user(text)]}),
                ("label", {"targetId": "a0000001", "label": text}),
                ("rename", {"name": text}),
                ("edit", {"targetId": "a0000001", "replacement": {"content": text}}),
                ("switchLeaf", {"targetId": "a0000001", "position": "at", "label": text}),
            ):
                answer = daemon.ask(f"session/{method}", {"session": str(path), **params})
                assert "result" in strict(answer), answer
            every_answer(daemon, path)
            refused = strict(daemon.ask("session/entries", {"session": str(path), "ids": [text]}))
            assert refused["error"]["data"]["kind"] == "notFound"
            for body in daemon.bodies:
                strict(body)
        for line in path.read_bytes().splitlines():
            line.decode()
        assert path.read_bytes().count(b"\\ud83d") > 1


def test_a_fork_gives_the_model_the_same(
    daemon: StartDaemon, copy_session: CopySession
) -> None:  # 35
    path = copy_session("35-firstkept-label")
    client = daemon()
    ours = context_of(client, path)
    params = {"session": str(path), "entryId": "a0000007", "position": "at", "cwd": "/w/demo"}
    forked = client.request("session/fork", params)["session"]["path"]
    theirs = context_of(daemon(), forked)
    assert theirs["messages"] == ours["messages"]
    assert theirs["sources"] == ours["sources"]
    labels = [client.request("session/branches", {"session": str(one)}) for one in (path, forked)]
    assert labels[0]["labels"] == labels[1]["labels"]


def test_compaction_is_due_by_what_the_text_comes_to(
    daemon: StartDaemon, copy_session: CopySession
) -> None:  # 41 and 43
    zero, stale = copy_session("41-usage-zero"), copy_session("43-stale-usage")
    small = daemon({"contextWindow": 2048, "compaction": {"reserveTokens": 256}})
    assert small.request("session/open", {"session": str(zero)})["usage"]["due"]
    large = daemon({"contextWindow": 200_000})
    assert not large.request("session/open", {"session": str(stale)})["usage"]["due"]


@pytest.mark.parametrize(
    ("name", "parent_id"),
    [("44-leaf-valid", "a0000002"), ("45-leaf-unknown", "a0000005"), ("46-leaf-null", None)],
)
def test_the_next_append_goes_where_a_leaf_record_points(
    daemon: StartDaemon, copy_session: CopySession, name: str, parent_id: str | None
) -> None:
    path = copy_session(name)
    original = path.read_bytes()
    (added,) = append(daemon(), path)
    assert added["parentId"] == parent_id
    assert daemon().request("session/open", {"session": str(path)})["leafId"] == added["id"]
    written = path.read_bytes()
    assert written.startswith(original)
    assert b'"leaf"' not in written[len(original) :]


def test_edits_hold_on_their_own_branch_only(
    daemon: StartDaemon, copy_session: CopySession
) -> None:  # 50
    path = copy_session("50-context-edit")
    client = daemon()
    edited = context_of(client, path)
    assert edited["messages"][1]["content"] == [{"type": "text", "text": "short output"}]
    client.request("session/switchLeaf", {"session": str(path), "targetId": "a0000008",
                                          "position": "at"})  # fmt: skip
    plain = context_of(client, path)
    assert plain["sources"] == ["a0000001", "a0000002", "a0000003", "a0000004", "a0000008"]
    assert texts(plain["messages"])[0] == "secret pasted here"
    assert texts(plain["messages"])[2] == "very long output"
    ids = ["a0000001", "a0000003"]
    stored = client.request("session/entries", {"session": str(path), "ids": ids})["entries"]
    assert texts([entry["message"] for entry in stored]) == [
        "secret pasted here",
        "very long output",
    ]


@pytest.mark.parametrize("leaf_id", ["a0000006", "a0000008"])
def test_the_system_message_is_folded_before_and_after_a_compaction(
    daemon: StartDaemon, copy_session: CopySession, leaf_id: str
) -> None:  # 51
    path = copy_session("51-system-sections")
    client = daemon()
    context = context_of(client, path, leafId=leaf_id)
    system = context["messages"][0]
    assert system["sections"] == {"preamble": "be brief", "cwd": "/w", "skills": "s1"}
    assert system["content"] == "extra rule"
    assert [tool["name"] for tool in context["tools"]] == ["read"]
    chat = context_of(client, path, leafId=leaf_id, format="openai")["messages"]
    assert [message["role"] for message in chat].count("system") == 1
    for part in ("be brief", "/w", "s1", "extra rule"):
        assert part in chat[0]["content"]


def test_markup_travels_as_the_text_that_it_is(
    daemon: StartDaemon, copy_session: CopySession
) -> None:  # 56
    path = copy_session("56-markup")
    client = daemon()
    opened = client.request("session/open", {"session": str(path)})["session"]
    assert opened["name"] == "<script>mark()</script> line two"
    listed = client.request("session/list", {"scope": "all"})["sessions"]
    assert listed[0]["name"] == opened["name"]
    client.request("session/rename", {"session": str(path), "name": " two\r\n lines\t& more "})
    renamed = client.request("session/open", {"session": str(path)})["session"]["name"]
    assert renamed == "two lines & more"
    rows = client.request("session/tree", {"session": str(path)})["rows"]
    assert rows[0]["text"] == '<img src=q onerror="mark()"> and [go](javascript:mark())'
    assert "\x1b" not in json.dumps(rows, ensure_ascii=False)
    stored = client.request("session/entries", {"session": str(path), "ids": ["a0000002"]})
    assert "</summary><b>bold</b> \x1b]8;;" in stored["entries"][0]["message"]["content"][0]["text"]
