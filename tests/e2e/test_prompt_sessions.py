"""Prompts in new, old and large sessions, and in those of a project that has instructions."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.editor import asked, gate, result, said, told
from tests.e2e.prompts import Desk, answers, prompt
from tests.e2e.world import lines_of
from tests.model_server import model_server, says
from tests.unit.chat_rules import assert_sendable
from tests.unit.session_files import text_of_file

Json = Any


@pytest.mark.parametrize("name", [None, "With a name"])
def test_a_new_session_begins_with_its_first_question(
    desk: Desk, tmp_path: Path, name: str | None
) -> None:
    wait = gate()
    with model_server(says("x").after(wait)) as server:
        ed = desk.sit(answers(server))
        made = ed.wait(ed.send("session/create", cwd=str(tmp_path), name=name))["result"]
        ed.path = Path(made["session"]["path"])
        assert not ed.path.exists()
        work = ed.start("prompt", content="?")
        server.wait_for_requests(1)
        head, *records = lines_of(ed.path)
        assert head["type"] == "session"
        first = [] if name is None else ["session_info"]
        assert [one["type"] for one in records] == [*first, "model_change", "message"]
        assert [one["parentId"] for one in records] == [None, *(one["id"] for one in records[:-1])]
        wait.set()
        assert ed.wait(work)["result"]["leafId"] == ed.leaf()


@pytest.mark.parametrize("case", ["19-v1-linear", "20-v2-hookmessage"])
def test_an_old_session_is_upgraded_by_a_question(
    desk: Desk, copy_session: Callable[..., Path], case: str
) -> None:
    with model_server(says("x")) as server:
        ed = desk.sit(answers(server))
        ed.take_up(copy_session(case), answers(server))
        done = prompt(ed)["result"]
        head, *records = lines_of(ed.path)
        assert head["version"] == 3
        assert records[-1]["id"] == done["leafId"]
        assert_sendable(server.requests[0].body["messages"])


LARGE = 100_000


def many_turns() -> bytes:
    """The lines of turns of four entries, each turn below the one before; the same call each time.

    They are made as text: as objects they would take longer than all the rest.
    """
    call = {"type": "toolCall", "id": "c", "name": "read", "arguments": {}}
    turn = text_of_file(
        asked("u@", "e@-", "question @"),
        told("a@", "u@", *said("looking"), call),
        result("r@", "a@", "c", "found"),
        told("e@", "r@", *said("answer")),
    )
    turns = [
        turn.replace(b"@-", b"%d" % (number - 1)).replace(b"@", b"%d" % number)
        for number in range(LARGE // 4)
    ]
    return b"".join(turns).replace(b'"e-1"', b"null").removesuffix(b"\n")


def test_a_session_of_a_hundred_thousand_entries_is_asked_in(desk: Desk) -> None:
    """One branch without a compaction: all of it is sent, in a form that a server takes."""
    with model_server(says("x")) as server:
        ed = desk.sit(answers(server, timeoutSeconds=60), many_turns())
        assert ed.opened["session"]["entryCount"] == LARGE
        size = ed.path.stat().st_size
        done = prompt(ed)["result"]
        sent = server.requests[0].body["messages"]
        assert len(sent) == LARGE + 1
        assert_sendable(sent)
        with ed.path.open("rb") as file:
            file.seek(size)
            assert [json.loads(line)["id"] for line in file][-1] == done["leafId"]
        ed.path.unlink()  # it is large, and the folders of several runs are kept


# --- instructions of the project -----------------------------------------------------------------


def test_instructions_of_the_project_are_sent_and_follow_their_files(
    environment: dict[str, str], tmp_path: Path, daemon: StartDaemon
) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "AGENTS.md").write_text("Use tabs.")
    with model_server(*[says("x")] * 6) as server:
        client = daemon(answers(server), folder=project)
        made = client.request("session/create", {"cwd": str(project)})
        path = Path(made["session"]["path"])
        session = {"session": str(path)}

        def ask() -> tuple[Json, str]:
            """Ask; give the question's system message if it has one, and the one that was sent."""
            count = len(lines_of(path)) if path.exists() else 0
            client.request("session/prompt", {**session, "content": "?"})
            new = [one["message"] for one in lines_of(path)[count:] if one["type"] == "message"]
            first = server.requests[-1].body["messages"][0]
            sent = first["content"] if first["role"] == "system" else ""
            return next((one for one in new if one["role"] == "system"), None), sent

        stored, sent = ask()
        name = "project instructions: AGENTS.md"
        assert stored.keys() == {"role", "content", "sections", "timestamp"}
        assert (stored["role"], stored["content"], [*stored["sections"]]) == ("system", "", [name])
        assert sent == stored["sections"][name]
        assert sent.endswith("\n\nUse tabs.")
        records = lines_of(path)[1:]
        assert [one["type"] for one in records[:2]] == ["message", "model_change"]
        assert records[0]["parentId"] is None

        assert ask() == (None, sent)  # nothing changed, nothing is stored
        (project / "CLAUDE.md").write_text("Be brief.")
        stored, both = ask()
        assert [*stored["sections"]] == ["project instructions: CLAUDE.md"]
        assert both.startswith(sent)
        assert both.endswith("\n\nBe brief.")
        shown = client.request("session/context", session)["messages"][0]
        assert (shown["role"], "\n\n".join(shown["sections"].values())) == ("system", both)

        (project / "AGENTS.md").unlink()
        stored, rest = ask()
        assert stored["sections"] == {name: None}
        assert "tabs" not in rest

        off = {"settings": answers(server, projectInstructions=False)}
        client.notify("workspace/didChangeConfiguration", off)
        stored, nothing = ask()
        assert stored["sections"] == {"project instructions: CLAUDE.md": None}
        assert nothing == ""
        assert ask() == (None, "")
