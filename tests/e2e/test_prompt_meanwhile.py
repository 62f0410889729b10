"""What others do while a prompt is answered: where its answer goes, and what has to wait."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.editor import Editor, gate
from tests.e2e.prompts import Desk, answers, prompt, texts
from tests.e2e.world import add_bytes, foreign, lines_of, user
from tests.model_server import model_server, says

Json = Any


def append_below(ed: Editor) -> str | None:
    """Say something below the question."""
    return ed.append("meanwhile")


def append_elsewhere(ed: Editor) -> str | None:
    """Say something on another branch, and go there."""
    return str(ed.ask("append", entries=[user("there")], parentId="u1")["leafId"])


def go_elsewhere(ed: Editor) -> str | None:
    """Move the leaf."""
    return str(ed.ask("switchLeaf", targetId="a1", position="at")["leafId"])


def go_before_all(ed: Editor) -> str | None:
    """Move the leaf to the place before the first entry."""
    assert ed.ask("switchLeaf", targetId=None)["leafId"] is None
    return None


def others_go_on(ed: Editor) -> str | None:
    """Another program says something below the question."""
    add_bytes(ed.path, foreign("f1", ed.leaf()))
    return "f1"


@pytest.mark.parametrize(
    "meanwhile", [append_below, append_elsewhere, go_elsewhere, go_before_all, others_go_on]
)
def test_the_answer_stands_below_its_question_and_the_leaf_where_others_put_it(
    desk: Desk, meanwhile: Callable[[Editor], str | None]
) -> None:
    wait = gate()
    with model_server(says("An", "swer.", pause=wait)) as server:
        ed = desk.sit(answers(server))
        work = ed.start("prompt", content="?")
        ed.see(lambda one: one.get("method") == "session/messageText")
        leaf = meanwhile(ed)
        wait.set()
        done = ed.wait(work)["result"]
        answer = ed.entry(done["assistantEntryId"])
        assert answer["parentId"] == done["userEntryId"]
        assert texts(answer) == ["Answer."]
        assert ed.leaf() == done["leafId"] == leaf
        assert lines_of(ed.path)[-1]["customType"] == "branchline.leaf"


def label(ed: Editor) -> None:
    """Put a label on the question."""
    ed.ask("label", targetId=ed.leaf(), label="asked")


def rename(ed: Editor) -> None:
    """Name the session."""
    ed.ask("rename", name="named")


def edit(ed: Editor) -> None:
    """Leave an earlier answer out."""
    ed.ask("edit", targetId="a1", replacement=None)


@pytest.mark.parametrize("meanwhile", [label, rename, edit])
def test_what_is_only_noted_meanwhile_makes_no_branch(
    desk: Desk, meanwhile: Callable[[Editor], None]
) -> None:
    wait = gate()
    with model_server(says("An", "swer.", pause=wait)) as server:
        ed = desk.sit(answers(server))
        work = ed.start("prompt", content="?")
        ed.see(lambda one: one.get("method") == "session/messageText")
        meanwhile(ed)
        note = lines_of(ed.path)[-1]
        wait.set()
        done = ed.wait(work)["result"]
        assert note["parentId"] == done["userEntryId"]
        assert ed.entry(done["assistantEntryId"])["parentId"] == note["id"]
        assert ed.leaf() == done["leafId"] == done["assistantEntryId"]
        assert len(ed.ask("branches")["branches"]) == 1


def test_one_at_a_time_and_all_else_goes_on(desk: Desk) -> None:
    wait = gate()
    with model_server(says("x").after(wait), says("y")) as server:
        ed = desk.sit(answers(server))
        work = ed.start("prompt", content="?")
        server.wait_for_requests(1)
        job = ed.news("session/busy")[0]["job"]
        before = ed.path.read_bytes()
        for method, params in (
            ("prompt", {"content": "!"}),
            ("compact", {"keepRecentTokens": 1}),
            ("switchLeaf", {"targetId": "u1", "position": "at", "summary": {"mode": "write"}}),
        ):
            error = ed.wait(ed.start(method, **params))["error"]
            assert (error["code"], error["data"]["job"]) == (4007, job)
        assert (job["kind"], job["startedBy"]) == ("prompt", "ed")
        assert ed.path.read_bytes() == before
        assert ed.ask("tree")["total"] > 0
        assert ed.ask("context")["usage"]["due"] is False
        wait.set()
        assert "result" in ed.wait(work)
        assert "result" in prompt(ed)


def test_who_looks_only_may_not_ask(desk: Desk) -> None:
    with model_server() as server:
        ed = desk.sit(answers(server))
        ed.ask("open", readOnly=True)
        assert ed.error("prompt", content="x")["code"] == 4006
        assert server.requests == []
