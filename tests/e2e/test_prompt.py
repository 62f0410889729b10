"""A prompt: the question stored, the model asked, its answer streamed and stored on its branch."""

import json
from typing import Any

from tests.e2e.conftest import StartDaemon
from tests.e2e.editor import CONVERSATION, asked, gate, result, said, told
from tests.e2e.prompts import (
    NO_COST,
    TALK,
    ZEROS,
    Desk,
    answers,
    new_records,
    prompt,
    streamed,
    texts,
    wire,
)
from tests.e2e.talk import Talk
from tests.e2e.world import lines_of
from tests.model_server import Then, model_server, replies, says, starts
from tests.unit.chat_rules import assert_sendable

Json = Any
IMAGE = {"type": "image", "data": "aW1hZ2U=", "mimeType": "image/png"}


# --- one question --------------------------------------------------------------------------------


def test_a_question_is_stored_asked_answered_and_stored(desk: Desk) -> None:
    wait = gate()
    answer = says("By code", " point.", reasoning=["Let me", " see."]).after(wait)
    with model_server(answer) as server:
        ed = desk.sit(answers(server), *CONVERSATION)
        before = ed.path.read_bytes()
        work = ed.start("prompt", content="How?", workDoneToken="t")
        server.wait_for_requests(1)
        change, question = new_records(ed, before)  # on disk before the model says a word
        assert (change["type"], change["provider"], change["modelId"]) == (
            "model_change", server.host, "m",
        )  # fmt: skip
        assert change["parentId"] == "a4"
        assert question["parentId"] == change["id"]
        assert question["message"].keys() == {"role", "content", "timestamp"}
        assert question["message"]["content"] == "How?"
        wait.set()
        done = ed.wait(work)["result"]

        stored = lines_of(ed.path)[-1]
        assert done == {
            "userEntryId": question["id"],
            "assistantEntryId": stored["id"],
            "leafId": stored["id"],
            "revision": 2,
            "stopReason": "stop",
            "usage": stored["message"]["usage"],
        }
        assert stored["parentId"] == question["id"]
        message = stored["message"]
        assert list(message) == [
            "role", "content", "api", "provider", "model", "usage", "stopReason", "timestamp",
        ]  # fmt: skip
        assert message["content"] == [
            {"type": "thinking", "thinking": "Let me see."},
            {"type": "text", "text": "By code point."},
        ]
        assert (message["api"], message["stopReason"]) == ("openai-completions", "stop")
        assert (message["provider"], message["model"]) == (server.host, "m")
        assert message["usage"] == {
            "input": 70, "output": 20, "cacheRead": 30, "cacheWrite": 0, "totalTokens": 120,
            "cost": NO_COST,
        }  # fmt: skip

        (request,) = server.requests
        assert request.path == "/v1/chat/completions"
        assert request.body.keys() == {"model", "messages", "stream", "stream_options"}
        assert request.body["model"] == "m"
        assert request.body["messages"] == wire(ed, question["id"])
        assert request.body["messages"][-1] == {"role": "user", "content": "How?"}
        assert_sendable(request.body["messages"])

        assert streamed(ed) == "By code point."
        ed.assert_one_job("prompt")
        methods = [one["method"] for one in ed.messages if "method" in one]
        told_of = [name for at, name in enumerate(methods) if name not in methods[:at]]
        assert told_of == ["$/progress", "session/busy", "session/changed", "session/messageText"]
        assert methods[-3:] == ["session/changed", "$/progress", "session/busy"]
        begin, end = (one["value"] for one in ed.news("$/progress"))
        assert begin == {
            "kind": "begin", "title": "Waiting for the answer", "cancellable": True,
        }  # fmt: skip
        assert end["kind"] == "end"
        job = ed.news("session/busy")[0]["job"]["id"]
        assert {one["jobId"] for one in ed.news("session/messageText")} == {job}


def test_texts_and_images_are_stored_as_given_and_sent(desk: Desk) -> None:
    content = [{"type": "text", "text": "What is this?"}, IMAGE]
    with model_server(says("A lens.")) as server:
        ed = desk.sit(answers(server))
        question = ed.entry(prompt(ed, content)["result"]["userEntryId"])
        assert question["message"]["content"] == content
        assert server.requests[0].body["messages"][-1]["content"] == [
            content[0],
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,aW1hZ2U="}},
        ]


def test_halves_of_a_surrogate_pair_do_not_keep_a_question_back(desk: Desk) -> None:
    broken = json.dumps(asked("u2", "a1", "half \ud83d")).encode()
    with model_server(says("Yes.")) as server:
        ed = desk.sit(answers(server), *TALK, broken)
        prompt(ed, "and \ud83d")
        sent = [one["content"] for one in server.requests[0].body["messages"]]
        assert sent[-2:] == ["half \ufffd", "and \ufffd"]
        assert lines_of(ed.path)[-2]["message"]["content"] == "and \ud83d"


def test_what_the_server_does_not_tell_is_nothing(desk: Desk) -> None:
    body = {"choices": [{"message": {"content": "All at once."}, "finish_reason": "length"}]}
    with model_server(replies(body)) as server:
        models = {"local/m": {"baseUrl": server.base_url, "maxOutputTokens": 77}}
        ed = desk.sit({"models": models})
        done = prompt(ed)["result"]
        assert server.requests[0].body["max_completion_tokens"] == 77
        assert done["stopReason"] == "length"
        assert done["usage"] == {**ZEROS, "cost": NO_COST}
        assert texts(ed.entry(done["leafId"])) == ["All at once."]
        assert streamed(ed) == "All at once."


WRONG: list[Json] = [
    "", " \n", [], [{"type": "text", "text": " "}], [{"type": "text"}], [{"type": "toolCall"}],
    [{"type": "image", "data": "", "mimeType": "image/png"}], [{**IMAGE, "data": "no base64!"}],
    [{**IMAGE, "mimeType": "text/html"}], [{"type": "text", "text": "x"}, {}], 5, ["x"],
]  # fmt: skip


def test_what_a_person_cannot_say_is_refused(desk: Desk) -> None:
    with model_server() as server:
        ed = desk.sit(answers(server))
        for content in WRONG:
            error = ed.error("prompt", content=content)
            assert error["code"] == -32602, content
            assert error["data"]["parameter"].startswith("content")
        assert ed.error("prompt", content="x", expectedLeafId="u1")["code"] == 4004
        assert server.requests == []
        assert ed.news("session/messageText") == []


def test_without_a_model_nothing_is_stored(desk: Desk) -> None:
    ed = desk.sit({"prompt": {"baseUrl": "http://127.0.0.1:9/v1"}})
    error = ed.error("prompt", content="x")
    assert (error["code"], error["data"]["kind"]) == (4012, "promptFailed")
    assert error["data"].keys() == {"kind", "provider", "status", "retryable"}
    assert "prompt.model" in error["message"]


# --- which model ---------------------------------------------------------------------------------


def test_a_model_is_named_where_it_changes_and_asked_where_the_user_says(desk: Desk) -> None:
    with model_server(*[says("x")] * 4) as usual, model_server(*[says("y")] * 2) as other:
        settings = answers(usual) | {"models": {"theirs/big": {"baseUrl": other.base_url}}}
        ed = desk.sit(settings)
        for model, server, named in (
            (None, usual, (usual.host, "m")),
            (None, usual, None),  # as before
            ("theirs/big", other, ("theirs", "big")),
            (None, other, None),  # the session's last has a server of its own
            ("small", usual, (usual.host, "small")),
            (None, usual, (usual.host, "m")),  # the session's last has none: the setting counts
        ):
            before, asked_before = ed.path.read_bytes(), len(server.requests)
            assert "result" in prompt(ed, model=model)
            *changes, _, answer = new_records(ed, before)
            told_models = [(one["provider"], one["modelId"]) for one in changes]
            assert told_models == ([] if named is None else [named])
            assert len(server.requests) == asked_before + 1
            assert server.requests[-1].body["model"] == answer["message"]["model"]
        assert ed.ask("context")["model"] == {"provider": usual.host, "modelId": "m"}


def test_a_session_file_chooses_no_server(desk: Desk) -> None:
    with model_server() as theirs, model_server(says("x")) as ours:
        evil = told("a2", "u2", *said("x"))
        evil["message"] |= {"provider": theirs.base_url, "model": "m", "baseUrl": theirs.base_url}
        change = {"provider": theirs.host, "modelId": "m", "baseUrl": theirs.base_url}
        records = [
            *TALK,
            asked("u2", "a1", "x"),
            evil,
            {"type": "model_change", "id": "m2", "parentId": "a2", "timestamp": "", **change},
        ]
        ed = desk.sit(answers(ours, model="mine"), *records)
        assert "result" in prompt(ed)
        assert theirs.requests == []
        assert ours.requests[0].body["model"] == "mine"


# --- a conversation ------------------------------------------------------------------------------


def test_a_conversation_with_a_way_back(
    desk: Desk, daemon: StartDaemon, environment: dict[str, str]
) -> None:
    """Ask, stop it, ask in other words, go back with a summary, go on."""
    with model_server(
        says("First answer."),
        starts("Half an ans", then=Then.HANG),
        says("Second answer."),
        says("## Goal\nTry scanning.\n\n## What Failed\n- nothing\n"),
        says("Third answer."),
    ) as server:
        writer = {"summarizer": {"use": "openai", "baseUrl": server.base_url, "model": "m"}}
        ed = desk.sit(answers(server) | writer)

        first = prompt(ed, "First question.")["result"]
        assert (ed.leaf(), texts(ed.entry(first["leafId"]))) == (first["leafId"], ["First answer."])

        work = ed.start("prompt", content="Secnod question.")
        ed.see(lambda one: one.get("params", {}).get("delta") == "Half an ans")
        ed.cancel(work)
        stopped = ed.wait(work)["error"]["data"]
        half = ed.entry(stopped["assistantEntryId"])
        assert (ed.leaf(), half["message"]["stopReason"]) == (half["id"], "aborted")
        assert texts(half) == ["Half an ans"]

        moved = ed.ask("switchLeaf", targetId=stopped["userEntryId"])
        assert moved["editorContent"]["text"] == "Secnod question."
        assert moved["leafId"] == first["leafId"]
        second = prompt(ed, "Second question.", expectedLeafId=moved["leafId"])["result"]
        question = ed.entry(second["userEntryId"])
        assert question["parentId"] == first["leafId"]
        spoken = [one["content"] for one in server.requests[2].body["messages"]]
        assert spoken == [
            "Make the parser fast.", "Regex or scan?", "First question.", "First answer.",
            "Second question.",
        ]  # fmt: skip
        assert len(ed.ask("branches")["branches"]) == 2

        back = ed.ask("switchLeaf", targetId="a1", summary={"mode": "write"})
        assert ed.entry(back["leafId"])["type"] == "branch_summary"
        assert ed.entry(back["leafId"])["fromId"] == second["leafId"]
        third = prompt(ed, "Third question.")["result"]
        sent = server.requests[4].body["messages"]
        assert len(sent) == 4
        assert "Try scanning." in sent[2]["content"]
        path = ed.ask("context")["path"]
        assert path[:3] == ["u1", "a1", back["leafId"]]
        assert path[-2:] == [third["userEntryId"], third["assistantEntryId"]]
        assert len(path) == 6  # the model of this place was another: that stands in between

        # 4 answers of 120 tokens of which one broke off before it was counted, and a summary.
        stats = ed.ask("stats")
        assert stats["whole"]["tokens"]["total"] == 4 * 120
        assert stats["whole"]["messages"] == {"user": 5, "assistant": 5}
        assert stats["active"]["tokens"]["total"] == 2 * 120
        (use,) = [one for one in stats["whole"]["models"] if one["provider"] == server.host]
        assert use["tokens"] == 3 * 120

        for request in server.requests:
            assert_sendable(request.body["messages"])
        context, drawn = ed.ask("context"), ed.ask("tree")["rows"]
        again = Talk(daemon(), ed.path)
        assert again.opened["leafId"] == third["leafId"]
        assert again.ask("context") == context
        assert again.ask("tree")["rows"] == drawn


def test_a_history_of_tool_calls_is_sent_whole(desk: Desk) -> None:
    call_id = "call_1|fc_" + "0" * 90
    call = {"type": "toolCall", "id": call_id, "name": "a.b", "arguments": {}}
    lost = {"type": "toolCall", "id": "c2", "name": "read", "arguments": {}}
    records = [
        *TALK,
        asked("u2", "a1", "Look."),
        told("a2", "u2", call, lost),
        result("r1", "a2", call_id, "found"),
        result("r2", "r1", "nobody asked", "lost"),
    ]
    with model_server(says("Fine.")) as server:
        ed = desk.sit(answers(server), *records)
        assert "result" in prompt(ed)
        sent = server.requests[0].body["messages"]
        assert_sendable(sent)
        assert [one["role"] for one in sent[-4:]] == ["assistant", "tool", "tool", "user"]
        assert "tools" not in server.requests[0].body
        assert lines_of(ed.path)[-1]["parentId"] == lines_of(ed.path)[-2]["id"]
