"""Summaries from the command line: planned, watched, edited, cancelled, undone, and by whom."""

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import COMMAND, Run
from tests.e2e.editor import CONVERSATION, FORK, GOOD, gate
from tests.e2e.talk import write_session
from tests.e2e.world import lines_of
from tests.model_server import (
    DEADLINE,
    ScriptedServer,
    Then,
    model_server,
    refuses,
    says,
    starts,
)

COMPACT = ("compact", "--keep", "5")
SWITCH = ("switch", "a1", "--at", "--summarize")


@pytest.fixture
def path(agent_dir: Path, project: Path) -> Path:
    """A session to compact; its folder is the project. The leaf is on ``a4``."""
    return write_session(agent_dir / "sessions" / "--w--", *CONVERSATION, cwd=str(project))


@pytest.fixture
def forked(agent_dir: Path, project: Path) -> Path:
    """A session with a branch to leave."""
    return write_session(agent_dir / "sessions" / "--w--", *FORK, cwd=str(project))


def uses(environment: dict[str, str], server: ScriptedServer) -> None:
    """Have the summaries of the command line written by a server."""
    config = Path(environment["XDG_CONFIG_HOME"]) / "branchline" / "settings.json"
    config.parent.mkdir(parents=True)
    summarizer = {"baseUrl": server.base_url, "model": "m"}
    config.write_text(json.dumps({"summarizer": summarizer}))


def context(run: Run) -> Any:
    return json.loads(run("context", "--json").stdout)


# --- plan ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("path")
def test_a_plan_is_a_table_of_what_is_covered_and_kept(run: Run) -> None:
    shown = run(*COMPACT, "--dry-run").stdout.splitlines()
    assert shown[0].split() == ["covered", "6", "messages"]
    assert shown[1].split()[:5] == ["from", "u1", "Make", "the", "parser"]
    assert shown[2].split()[:3] == ["to", "a3", "The"]
    assert shown[3].split() == ["kept", "2", "messages"]
    words = {line.split()[0]: line for line in shown[6:]}
    assert words["tokens"].split()[2:4] == ["→", "about"]
    assert words["read"].split()[1:] == ["a.py"]
    assert words["modified"].split()[1:] == ["b.py"]
    assert words["written"].endswith("offline (rules, no model; nothing is sent)")


def test_an_append_that_makes_it_due_is_followed_by_a_compaction(
    run: Run, path: Path, environment: dict[str, str]
) -> None:
    config = Path(environment["XDG_CONFIG_HOME"]) / "branchline" / "settings.json"
    config.parent.mkdir(parents=True)
    compaction = {"auto": True, "reserveTokens": 100, "keepRecentTokens": 50}
    config.write_text(json.dumps({"contextWindow": 1500, "compaction": compaction}))
    run("append", "-m", "go on")
    assert [record["type"] for record in lines_of(path)[-2:]] == ["message", "compaction"]


# --- undo ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("path")
def test_a_compaction_is_undone_and_done_again(run: Run) -> None:
    before = context(run)
    run(*COMPACT)
    compacted = context(run)
    assert compacted["messages"] != before["messages"]
    assert run("undo").stdout.endswith("the leaf is a4\n")
    assert context(run) == before
    again = json.loads(run("undo", "--json").stdout)
    assert again["leafId"] == compacted["leafId"]
    assert context(run) == compacted


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize("options", [(), ("--summarize",), ("--label", "x"), ("--summary", "y")])
def test_a_switch_is_undone(run: Run, options: tuple[str, ...]) -> None:
    before = context(run)
    run("switch", "a1", "--at", *options)
    assert context(run)["messages"] != before["messages"]
    run("undo")
    assert context(run) == before


def test_there_must_be_something_to_undo(run: Run, forked: Path) -> None:
    assert "no move or compaction" in run("undo", wanted=1).stderr
    run("switch", "a1", "--at")
    run("append", "-m", "another way")
    before = forked.read_bytes()
    refused = run("undo", wanted=1).stderr
    assert "1 messages were appended" in refused
    assert "move it to a4" in refused
    failure = json.loads(run("undo", "--json", wanted=1).stderr)["error"]
    assert failure["code"] == 4013
    assert failure["data"] == {"kind": "nothingToUndo", "cameFromId": "a4", "messagesSince": 1}
    assert forked.read_bytes() == before


# --- editing -------------------------------------------------------------------------------------


def edits(folder: Path, script: str) -> dict[str, str]:
    """Variables by which a shell script is the person's editor; ``$1`` is the file."""
    editor = folder / "editor"
    editor.write_text(f"#!/bin/sh\n{script}\n")
    editor.chmod(0o700)
    return {"EDITOR": str(editor)}


@pytest.mark.parametrize("command", [COMPACT, SWITCH])
def test_a_summary_is_edited_before_it_is_stored(
    run: Run, agent_dir: Path, project: Path, command: tuple[str, ...]
) -> None:
    records = CONVERSATION if command is COMPACT else FORK
    path = write_session(agent_dir / "sessions" / "--w--", *records, cwd=str(project))
    shown = run(*command, "--edit", variables=edits(project, 'echo "- edited" >> "$1"')).stdout
    stored = lines_of(path)[-1]
    assert "- edited" in stored["summary"]
    assert stored["summary"].count("<read-files>") == 1
    assert stored["summary"].endswith("</modified-files>")
    assert stored["details"]["readFiles"] == ["a.py"]
    assert "- edited" in shown


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (': > "$1"', "The text is blank"),
        ('printf "\\n  \\n" > "$1"', "The text is blank"),
        ("exit 1", "Editing failed"),
    ],
)
@pytest.mark.parametrize("command", [COMPACT, SWITCH])
def test_nothing_is_stored_of_what_was_not_edited_to_the_end(
    run: Run, project: Path, agent_dir: Path, command: tuple[str, ...], script: str, said: str
) -> None:
    records = CONVERSATION if command is COMPACT else FORK
    path = write_session(agent_dir / "sessions" / "--w--", *records, cwd=str(project))
    before = path.read_bytes()
    assert said in run(*command, "--edit", wanted=1, variables=edits(project, script)).stderr
    assert path.read_bytes() == before


@pytest.mark.usefixtures("path")
def test_editing_is_for_what_is_stored(run: Run) -> None:
    for wrong in (
        (*COMPACT, "--edit", "--preview"),
        (*COMPACT, "--edit", "--dry-run"),
        ("switch", "a1", "--edit"),
        ("switch", "a1", "--summarize", "--edit", "--dry-run"),
    ):
        assert "--edit" in run(*wrong, wanted=2).stderr


# --- watching and cancelling ---------------------------------------------------------------------


@contextmanager
def watched(
    environment: dict[str, str], project: Path, *arguments: str
) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """A command whose stderr is a terminal, and the end of it that shows what is seen there."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=slave,
        env={**environment, "TERM": "xterm", "COLUMNS": "80", "LINES": "24"},
        cwd=project,
    ) as process:
        os.close(slave)
        try:
            yield process, master
        finally:
            process.kill()
            os.close(master)


def wait_for(master: int, text: bytes) -> None:
    """Look at the terminal until it shows the text."""
    seen = b""
    while text not in seen:
        seen += os.read(master, 65_536)


@pytest.mark.parametrize("command", [COMPACT, SWITCH])
def test_a_summary_is_seen_while_it_is_written(
    environment: dict[str, str], agent_dir: Path, project: Path, command: tuple[str, ...]
) -> None:
    records = CONVERSATION if command is COMPACT else FORK
    path = write_session(agent_dir / "sessions" / "--w--", *records, cwd=str(project))
    wait = gate()
    first, rest = "## Goal\nMake it \x1b[31mquick-\u202ely.\n", "\n## Next Steps\n1. Measure\n"
    with model_server(says(first, rest, pause=wait)) as server:
        uses(environment, server)
        with watched(environment, project, *command) as (process, master):
            wait_for(master, b"Make it [31mquick-ly.")  # nothing of it reaches the terminal itself
            wait.set()
            wait_for(master, b"\x1b[2K")  # the sign is taken away
            assert process.stdout is not None
            shown = process.stdout.read().decode()
            assert process.wait(DEADLINE) == 0
    assert "1. Measure" in shown
    assert lines_of(path)[-1]["summary"].count("Measure") == 1


@pytest.mark.parametrize("command", [COMPACT, SWITCH])
def test_ctrl_c_cancels_and_leaves_nothing(
    environment: dict[str, str], agent_dir: Path, project: Path, command: tuple[str, ...]
) -> None:
    records = CONVERSATION if command is COMPACT else FORK
    path = write_session(agent_dir / "sessions" / "--w--", *records, cwd=str(project))
    before = path.read_bytes()
    with model_server(starts("## Goal\nBegun.", then=Then.HANG)) as server:
        uses(environment, server)
        with watched(environment, project, *command) as (process, master):
            wait_for(master, b"Begun.")
            process.send_signal(signal.SIGINT)
            wait_for(master, b"branchline: The request was cancelled")
            assert process.wait(DEADLINE) == 130
        assert server.requests[0].left.wait(DEADLINE)
    assert path.read_bytes() == before


# --- who writes ----------------------------------------------------------------------------------


def test_who_writes_is_told_and_why(run: Run, environment: dict[str, str]) -> None:
    shown = run("summarizer", "--test").stdout
    assert shown.startswith("written by    offline")
    assert "summarizer.model names no model" in shown
    assert "test          a small summary took" in shown
    with model_server(says(GOOD), refuses(401)) as server:
        uses(environment, server)
        shown = run("summarizer").stdout
        assert server.requests == []
        assert f"openai m at {server.host}; the first that is there" in shown
        tested = json.loads(run("summarizer", "--test", "--json").stdout)["test"]
        assert (tested["kind"], tested["model"]) == ("openai", "m")
        assert tested["usage"]["totalTokens"] == 120
        (request,) = server.requests
        assert "Rename `parse` to `read`" in request.texts[1]
        refused = run("summarizer", "--test", wanted=1).stderr
        assert f"The summary failed: {server.host}" in refused
