"""``branchline search`` as a person or a script runs it."""

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import Run
from tests.e2e.talk import SAMPLE, write_session
from tests.unit.session_files import user


@pytest.fixture
def path(agent_dir: Path, project: Path) -> Path:
    """The sample session of the project, and one of another folder."""
    folder = agent_dir / "sessions" / "--p--"
    write_session(folder, user("z", None, "second thoughts"), name="z.jsonl", id="z", cwd="/else")
    return write_session(folder, *SAMPLE, cwd=str(project))


def test_the_first_search_indexes_all_and_finds(run: Run, path: Path) -> None:
    found = run("search", "second").stdout.splitlines()
    assert found[0].startswith("first question")
    assert [line.split() for line in found[1:]] == [
        ["c", "user", "second", "question"],
        ["d", "assistant", "second", "answer"],
    ]
    everywhere = json.loads(run("search", "second", "--all", "--each", "1", "--json").stdout)
    assert {hit["session"]["id"] for hit in everywhere["hits"]} == {"s-1", "z"}
    assert len(everywhere["hits"]) == 2
    assert str(path) in {hit["session"]["path"] for hit in everywhere["hits"]}


@pytest.mark.usefixtures("path")
def test_words_and_filters_are_one_query(run: Run) -> None:
    assert "second question" in run("search", "second", "role:user").stdout
    assert "answer" not in run("search", "second", "role:user").stdout
    assert "read" in run("search", "file:x.py").stdout


@pytest.mark.usefixtures("path")
def test_nothing_is_found(run: Run) -> None:
    assert (
        run("search", "nosuchword").stderr
        == "Nothing found in this folder; --all searches all folders\n"
    )
    assert "needs a word" in run("search", "->", wanted=2).stderr
    assert "There is more" in run("search", "second", "--limit", "1").stderr


def test_what_a_terminal_would_obey_is_not_printed(run: Run, agent_dir: Path) -> None:
    evil = user("a", None, "\x1b]0;title\x07 needle \x1b[2J\u202e")
    write_session(agent_dir / "sessions" / "--p--", evil)
    printed = run("search", "needle", "--all").stdout
    assert "needle" in printed
    assert not set(printed) & set("\x1b\x07\u202e")
