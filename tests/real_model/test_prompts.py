"""Prompts answered by a real model. What it says is its own affair: the protocol is asserted."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.editor import CANCEL_SECONDS, Editor, asked, editor, said, session, told
from tests.e2e.world import SLACK, lines_of
from tests.real_model.real_model import RealModel

Json = Any
SECONDS = 300.0
LONGEST = 24
"""Tokens that an answer may have: enough to see it stream."""


def settings(model: RealModel, **more: Json) -> Json:
    known = {"contextWindow": model.context_window, "maxOutputTokens": LONGEST}
    prompt = {"baseUrl": model.base_url, "model": model.name}
    return {"prompt": prompt, "models": {f"local/{model.name}": known}, **more}


@pytest.fixture
def path(agent_dir: Path) -> Path:
    return session(agent_dir, asked("u1", None, "Hello."), told("a1", "u1", *said("Hello!")))


def entry_of(path: Path, entry_id: str) -> Json:
    (found,) = [record for record in lines_of(path) if record.get("id") == entry_id]
    return found


def ask(ed: Editor, text: str) -> Json:
    """Ask, and check that what was streamed is what was answered and stored."""
    ed.forget()
    answer = ed.ask("prompt", content=text, workDoneToken="t")
    stored = entry_of(ed.path, answer["assistantEntryId"])["message"]
    streamed = "".join(one["delta"] for one in ed.news("session/messageText"))
    assert streamed.strip() == "".join(one["text"] for one in stored["content"]).strip() != ""
    assert stored["usage"] == answer["usage"]
    assert answer["usage"]["input"] + answer["usage"]["cacheRead"] > 0
    assert 0 < answer["usage"]["output"] <= LONGEST
    assert stored["stopReason"] == answer["stopReason"] in ("stop", "length")
    assert entry_of(ed.path, answer["userEntryId"])["message"]["content"] == text
    assert answer["leafId"] == answer["assistantEntryId"] == ed.leaf()
    ed.assert_one_job("prompt")
    return answer


def test_ask_edit_ask_again_switch_back_and_go_on(
    environment: dict[str, str], path: Path, model: RealModel
) -> None:
    with editor(environment, path, settings(model), seconds=SECONDS) as ed:
        first = ask(ed, "What is a parser?")
        change = entry_of(path, entry_of(path, first["userEntryId"])["parentId"])
        assert (change["type"], change["modelId"]) == ("model_change", model.name)
        picked = ed.ask("switchLeaf", targetId=first["userEntryId"])
        assert picked["editorContent"]["text"] == "What is a parser?"
        second = ask(ed, "What is a scanner?")
        branches = ed.ask("branches")["branches"]
        tips = {first["assistantEntryId"], second["assistantEntryId"]}
        assert {one["tipId"] for one in branches} == tips
        back = {"targetId": first["assistantEntryId"], "position": "at"}
        wish = {"mode": "write", "summarizer": "offline"}
        switched = ed.ask("switchLeaf", **back, summary=wish)
        third = ask(ed, "And what is a lexer?")
        way = ed.ask("context")["sources"]
        assert way[-5:] == [
            first["userEntryId"],
            first["assistantEntryId"],
            switched["summaryEntryId"],
            third["userEntryId"],
            third["assistantEntryId"],
        ]


def test_an_answer_is_cancelled_in_the_middle_and_what_came_is_kept(
    environment: dict[str, str], path: Path, endless_model: RealModel
) -> None:
    endless = {"prompt": {"baseUrl": endless_model.base_url, "model": endless_model.name}}
    with editor(environment, path, endless, seconds=SECONDS) as ed:
        work = ed.start("prompt", content="Tell me everything.")
        ed.see(lambda one: one.get("method") == "session/messageText")
        started = time.monotonic()
        ed.cancel(work)
        error = ed.wait(work)["error"]
        assert time.monotonic() - started < CANCEL_SECONDS * SLACK
        assert error["code"] == -32800
        stored = entry_of(path, error["data"]["assistantEntryId"])["message"]
        assert stored["stopReason"] == "aborted"
        streamed = "".join(one["delta"] for one in ed.news("session/messageText"))
        assert stored["content"][0]["text"] == streamed.strip()
        assert endless_model.is_free_by(time.monotonic() + CANCEL_SECONDS * SLACK)
        sent = ed.ask("context", format="openai")["messages"]
        assert sent[-1] == {"role": "user", "content": "Tell me everything."}


@pytest.mark.parametrize("auto", [False, True])
def test_what_does_not_fit_is_compacted_only_if_that_is_wished(
    environment: dict[str, str], agent_dir: Path, model: RealModel, auto: bool
) -> None:
    words = "Look into the file, and drop its bad rows, and sort what is left. " * 20
    records = [asked("u0", None, words)]
    for turn in range(12):
        records.append(told(f"a{turn}", records[-1]["id"], *said(words)))
        records.append(asked(f"u{turn + 1}", records[-1]["id"], words))
    path = session(agent_dir, *records)
    # The window is not known to the daemon: the server says that it does not fit.
    wished = settings(model, summarizer={"use": "offline"})
    wished["models"][f"local/{model.name}"]["contextWindow"] = 100_000
    wished["compaction"] = {"auto": auto, "keepRecentTokens": 100}
    with editor(environment, path, wished, seconds=SECONDS) as ed:
        if auto:
            answer = ed.ask("prompt", content="What next?")
            types = [record["type"] for record in lines_of(path)]
            assert types[-4:] == ["message", "context_edit", "compaction", "message"]
            assert answer["leafId"] == ed.leaf()
            return
        error = ed.wait(ed.start("prompt", content="What next?"))["error"]
        assert (error["code"], error["data"]["status"]) == (4012, 400)
        assert {one["id"] for one in error["data"]["largest"]} <= {one["id"] for one in records}
        assert error["data"]["largest"][0]["tokens"] > 300
        assert "compaction" not in {record["type"] for record in lines_of(path)}
