"""Every damaged, old and odd file of ``tests/cases`` gives what is expected of it, and stays as is.

One daemon reads them all, each from a copy of its own.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from branchline.demo.client import Client, DaemonError
from tests.e2e.conftest import CASES, SERVE, isolated
from tests.e2e.world import codes, snapshot

EXPECTED: dict[str, Any] = json.loads((CASES / "expected.json").read_bytes())
GOOD = [name for name, wanted in EXPECTED.items() if wanted["open"] == "ok"]
BAD = [name for name, wanted in EXPECTED.items() if wanted["open"] != "ok"]
OF_THE_PLACE = {"cwd-missing", "readable-by-others"}
"""Warnings about where a copy lies, not about the session."""

FILTERS = ("default", "noTools", "userOnly", "labeledOnly", "all")
DIRECTIONS = (
    "parent",
    "fork",
    "nextSibling",
    "previousSibling",
    "nextUser",
    "previousUser",
    "nextLabel",
    "previousLabel",
    "nextHit",
    "previousHit",
    "leaf",
)


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a private copy of each case."""
    folder = tmp_path_factory.mktemp("cases") / "agent" / "sessions" / "--w-demo--"
    folder.mkdir(parents=True)
    for name in EXPECTED:
        shutil.copyfile(CASES / f"{name}.jsonl", folder / f"{name}.jsonl")
        (folder / f"{name}.jsonl").chmod(0o600)
    return folder


@pytest.fixture(scope="module")
def reader(sessions: Path) -> Iterator[Client]:
    """The daemon that reads all of them, without pinned summaries."""
    with Client(SERVE, environment=isolated(sessions.parents[2]), seconds=120) as client:
        client.initialize(Path("/w/demo"), {"branchSummary": {"pinnedTokens": 0}})
        yield client


def ask(reader: Client, method: str, path: Path, **params: Any) -> Any:
    return reader.request(f"session/{method}", {"session": str(path), **params})


def outline(messages: list[dict[str, Any]]) -> list[str]:
    """Messages in chat-completions form as ``expected.json`` writes them."""
    parts = []
    for message in messages:
        role, calls = message["role"], message.get("tool_calls")
        if role == "tool":
            parts.append(f"tool:{message['tool_call_id']}")
        elif calls:
            parts.append(f"{role}({','.join(call['id'] for call in calls)})")
        else:
            parts.append(role)
    return parts


def text_of(message: dict[str, Any]) -> str:
    content = message.get("summary") or message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def every_id(reader: Client, path: Path) -> list[str]:
    rows = ask(reader, "tree", path, filter="all", layout="pi", limit=20_000)["rows"]
    return [row["id"] for row in rows]


@pytest.mark.parametrize("name", GOOD)
def test_leaf_and_context_are_as_expected(reader: Client, sessions: Path, name: str) -> None:
    path, wanted = sessions / f"{name}.jsonl", EXPECTED[name]
    opened = ask(reader, "open", path)
    context = ask(reader, "context", path)
    if "leaf" in wanted:
        assert opened["leafId"] == wanted["leaf"]
        assert context["leafId"] == wanted["leaf"]
    if "ctx" in wanted:
        assert context["sources"] == wanted["ctx"]
    if "ctx_texts" in wanted:
        assert list(map(text_of, context["messages"])) == wanted["ctx_texts"]
    if "tokens_min" in wanted:
        assert wanted["tokens_min"] <= context["usage"]["tokens"] <= wanted["tokens_max"]
        assert opened["usage"] == context["usage"]


@pytest.mark.parametrize("name", GOOD)
def test_warnings_are_as_expected(reader: Client, sessions: Path, name: str) -> None:
    path = sessions / f"{name}.jsonl"
    opened, context = ask(reader, "open", path), ask(reader, "context", path)
    found = codes(opened["warnings"]) | codes(context["warnings"])
    assert found - OF_THE_PLACE == set(EXPECTED[name]["warnings"])
    assert codes(ask(reader, "check", path)["warnings"]) == codes(opened["warnings"])


@pytest.mark.parametrize(
    "name", [name for name in GOOD if EXPECTED[name].keys() & {"wire", "sections", "never_sent"}]
)
def test_the_wire_form_is_as_expected(reader: Client, sessions: Path, name: str) -> None:
    path, wanted = sessions / f"{name}.jsonl", EXPECTED[name]
    if "wire" in wanted:
        chat = ask(reader, "context", path, format="openai")
        assert outline(chat["messages"]) == wanted["wire"]
    if "sections" in wanted:
        context = ask(reader, "context", path)
        assert list(context["messages"][0]["sections"]) == wanted["sections"]
        assert [tool["name"] for tool in context["tools"]] == wanted["tools"]
    for secret in wanted.get("never_sent", []):
        for entry_id in every_id(reader, path):
            chat = ask(reader, "context", path, format="openai", leafId=entry_id)
            assert secret not in json.dumps(chat)
        stored = ask(reader, "entries", path, ids=every_id(reader, path))
        assert secret in json.dumps(stored)  # people do see it


@pytest.mark.parametrize("name", [name for name in GOOD if "labels" in EXPECTED[name]])
def test_labels_are_as_expected(reader: Client, sessions: Path, name: str) -> None:
    labels = ask(reader, "branches", sessions / f"{name}.jsonl")["labels"]
    assert {label["id"]: label["label"] for label in labels} == EXPECTED[name]["labels"]


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_session_is_refused_and_not_listed(
    reader: Client, sessions: Path, name: str
) -> None:
    path = sessions / f"{name}.jsonl"
    before = snapshot(sessions)
    for method in ("open", "tree", "check", "repair", "delete"):
        with pytest.raises(DaemonError) as refused:
            ask(reader, method, path)
        assert refused.value.data["kind"] == "invalidSession"
        assert str(path) in refused.value.message
    with pytest.raises(DaemonError):
        ask(reader, "append", path, entries=[{"type": "custom", "customType": "t"}])
    listed = reader.request("session/list", {"scope": "all", "limit": 1000})["sessions"]
    assert str(path) not in {session["path"] for session in listed}
    assert snapshot(sessions) == before


def test_every_session_is_listed_whatever_the_others_are(reader: Client, sessions: Path) -> None:
    for scope, order in (("all", "recent"), ("workspace", "threaded")):
        result = reader.request("session/list", {"scope": scope, "order": order, "limit": 1000})
        listed = {session["path"] for session in result["sessions"]}
        assert listed == {str(sessions / f"{name}.jsonl") for name in GOOD}
        assert result["total"] == len(GOOD)


@pytest.mark.parametrize("name", GOOD)
def test_reading_changes_nothing_and_always_answers(
    reader: Client, sessions: Path, name: str
) -> None:
    path = sessions / f"{name}.jsonl"
    before = snapshot(sessions.parent)
    opened = ask(reader, "open", path)
    ids = every_id(reader, path)
    assert len(ids) >= opened["session"]["entryCount"]
    for filter_name in FILTERS:
        for layout in ("pinned", "pi"):
            for runs in ("none", "tools"):
                view = {"filter": filter_name, "layout": layout, "runs": runs}
                drawn = ask(reader, "tree", path, **view)
                assert len(drawn["rows"]) == drawn["total"]
    ask(reader, "tree", path, query="question", expanded=ids)
    for entry_id in ids:
        for form in ("messages", "openai", "none"):
            context = ask(reader, "context", path, leafId=entry_id, format=form)
            assert context["path"][-1:] == [entry_id]
            assert (context["messages"] is None) == (form == "none")
        for direction in DIRECTIONS:
            ask(reader, "locate", path, **{"from": entry_id, "to": direction, "query": "a"})
        ask(reader, "switchLeaf", path, targetId=entry_id, dryRun=True)
    ask(reader, "context", path, leafId=None)
    assert [entry["id"] for entry in ask(reader, "entries", path, ids=ids)["entries"]] == ids
    for method in ("branches", "stats", "check"):
        ask(reader, method, path)
    assert ask(reader, "open", path, readOnly=True)["session"]["readOnly"]
    ask(reader, "close", path)
    assert snapshot(sessions.parent) == before
    assert path.read_bytes() == (CASES / path.name).read_bytes()
