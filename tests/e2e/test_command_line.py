"""Every command of the command line, as a person or a script runs it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Run
from tests.e2e.talk import SAMPLE, write_session


@pytest.fixture
def path(agent_dir: Path, project: Path) -> Path:
    """The sample session; its folder is the project. The leaf is on ``d``."""
    return write_session(agent_dir / "sessions" / "--p--", *SAMPLE, cwd=str(project))


def last_record(path: Path) -> Any:
    return json.loads(path.read_bytes().splitlines()[-1])


def test_list_shows_the_sessions_of_this_folder(run: Run, path: Path) -> None:
    assert "first question" in run("list").stdout
    listed = json.loads(run("list", "--json").stdout)
    assert [info["path"] for info in listed["sessions"]] == [str(path)]
    assert run("list", "nosuchword").stdout == ""


@pytest.mark.usefixtures("path")
def test_the_tree_of_the_newest_session_is_drawn(run: Run) -> None:
    drawn = run("tree").stdout.splitlines()
    assert drawn[0].startswith("first question · 2 branches")
    assert [line.split()[0] for line in drawn[1:]] == ["a", "b", "e", "c", "d"]
    assert "◀ here" in drawn[-1]
    assert "another way" in drawn[3]


def test_a_branch_of_the_tree_can_be_opened(run: Run, path: Path) -> None:
    drawn = run("tree", str(path), "--expand", "e").stdout
    assert "reading" in drawn
    found = json.loads(run("tree", str(path), "-q", "another", "--json").stdout)
    assert [row["id"] for row in found["rows"]] == ["e"]


def test_entries_are_shown_in_full(run: Run, path: Path) -> None:
    assert "first answer" in run("show", "b").stdout
    assert "second answer" in run("show").stdout  # the leaf
    shown = json.loads(run("show", str(path), "f", "--json").stdout)
    assert shown["entries"][0]["message"]["content"][1]["name"] == "read"
    assert "neither an entry nor a session zzz" in run("show", "zzz", wanted=3).stderr


@pytest.mark.usefixtures("path")
def test_the_context_is_printed(run: Run) -> None:
    printed = run("context")
    assert printed.stdout.index("first question") < printed.stdout.index("second answer")
    assert printed.stderr.startswith("4 messages")
    chat = json.loads(run("context", "--leaf", "b", "--format", "openai", "--json").stdout)
    assert [message["role"] for message in chat["messages"]] == ["user", "assistant"]


def test_a_message_is_appended(run: Run, path: Path) -> None:
    entry_id = run("append", "-m", "go on").stdout.strip()
    record = last_record(path)
    assert (record["id"], record["parentId"]) == (entry_id, "d")
    assert record["message"]["content"] == "go on"


def test_entries_are_appended_from_stdin(run: Run, path: Path) -> None:
    lines = (
        '{"type":"custom","customType":"ci","data":1}\n{"type":"label","targetId":"a","label":"x"}'
    )
    appended = json.loads(run("append", str(path), "--parent", "b", "--json", stdin=lines).stdout)
    custom, label = appended["entries"]
    assert (custom["parentId"], label["parentId"]) == ("b", custom["id"])
    before = path.read_bytes()
    assert "not JSON" in run("append", str(path), wanted=2, stdin="{").stderr
    run("append", str(path), "-m", "x", "--expect-leaf", "a", wanted=4)
    assert path.read_bytes() == before


def test_the_leaf_is_switched(run: Run, path: Path) -> None:
    before = path.read_bytes()
    assert run("switch", "e", "--dry-run").stdout.startswith("would leave 2 messages")
    assert path.read_bytes() == before
    switched = run("switch", "e").stdout
    assert switched.startswith("left 2 messages")
    assert "another way" in switched  # to be sent again
    assert last_record(path)["data"] == {"targetId": "b"}
    run("switch", str(path), "f", "--summary", "no cure", "--label", "tried")
    assert "root" not in run("switch", "root").stderr
    assert last_record(path)["data"] == {"targetId": None}


def test_a_summary_goes_along_without_a_model(run: Run, path: Path) -> None:
    done = json.loads(run("switch", "f", "--at", "--summarize", "--json").stdout)
    assert done["plan"]["summarizer"]["kind"] == "offline"
    assert last_record(path)["type"] == "branch_summary"
    assert "second question" in last_record(path)["summary"]


def test_the_branch_is_compacted_without_a_model(run: Run, path: Path) -> None:
    before = path.read_bytes()
    assert run("compact", "--keep", "1", "--dry-run").stdout.startswith("covered")
    assert "first question" in run("compact", "--keep", "1", "--preview").stdout
    assert path.read_bytes() == before
    refused = run("compact", "--keep", "1", "--writer", "openai", wanted=2)
    assert "summarizer.model names no model" in refused.stderr
    assert "stored as" in run("compact", "--keep", "1").stdout
    assert last_record(path)["type"] == "compaction"


def test_labels_names_and_edits(run: Run, path: Path) -> None:
    run("label", "a", "start here")
    assert last_record(path)["label"] == "start here"
    run("label", str(path), "a", "--clear")
    assert "label" not in last_record(path)
    run("rename", "Parser speed")
    assert last_record(path)["name"] == "Parser speed"
    run("edit", "b", "--omit")
    assert last_record(path)["replacement"] is None
    run("edit", "b", "--replace", "-", stdin="shorter")
    assert last_record(path)["replacement"]["content"][0]["text"] == "shorter"
    run("edit", "b", wanted=2)


def test_a_forgotten_argument_changes_no_other_session(run: Run, path: Path) -> None:
    before = path.read_bytes()
    for command in (["rename"], ["switch"], ["edit", "--omit"], ["label", "--clear"]):
        assert "wanted:" in run(*command, "x.jsonl", wanted=2).stderr
    assert path.read_bytes() == before


def test_a_session_is_exported(run: Run, path: Path, tmp_path: Path) -> None:
    assert run("export").stdout.startswith("<!doctype html>")
    assert "another way" not in run("export", str(path), "--format", "markdown").stdout
    assert "another way" in run("export", "--format", "markdown", "--all").stdout
    copy = tmp_path / "copy.jsonl"
    assert run("export", "--all", "-o", str(copy)).stderr == f"Written: {copy}\n"
    assert copy.read_bytes() == path.read_bytes()
    assert copy.stat().st_mode & 0o777 == 0o600
    assert run("export", "--all", "--format", "jsonl").stdout == copy.read_text()
    refused = run("export", "-o", str(copy), wanted=5).stderr
    assert str(copy) in refused
    assert "never overwritten" in refused
    run("append", "-m", "password=hunter22")
    hidden = run("export", "--mask", "--format", "markdown")
    assert "hunter22" not in hidden.stdout
    assert hidden.stderr.startswith("1 key hidden; this goes by looks")
    answer = json.loads(run("export", "--mask", "--json", "-o", str(tmp_path / "x.md")).stdout)
    assert answer == {"path": str(tmp_path / "x.md"), "masked": [{"kind": "key", "count": 1}]}
    assert (tmp_path / "x.md").read_text().startswith("# first question")


def test_a_branch_is_forked_to_a_new_session(run: Run, path: Path) -> None:
    new = Path(run("fork", "--at", "b").stdout.strip())
    assert new.read_bytes().splitlines()[1:] == path.read_bytes().splitlines()[1:3]
    assert "second question" in run("fork", str(path), "--before", "c").stdout


@pytest.mark.usefixtures("path")
def test_branches_and_figures(run: Run) -> None:
    branches = run("branches").stdout.splitlines()
    assert [line.split()[0] for line in branches] == ["f", "*"]
    assert "calls read" in run("stats").stdout
    assert json.loads(run("stats", "--json").stdout)["whole"]["entries"] == 6


def test_damage_is_found_and_mended(run: Run, path: Path) -> None:
    assert "Nothing is wrong" in run("check").stdout
    assert "nothing to repair" in run("repair").stdout
    damaged = path.read_bytes() + b"oops\n"
    path.write_bytes(damaged)
    assert "line 8" in run("check", wanted=1).stdout
    backup = run("repair").stdout.split()[-1]
    assert Path(backup).read_bytes() == damaged
    run("check")


def test_a_session_goes_to_the_trash(run: Run, path: Path) -> None:
    run("delete", str(path), stdin="n\n", wanted=1)
    assert path.exists()
    run("delete", str(path), "--yes")
    assert not path.exists()
    assert "no session" in run("delete", str(path), wanted=3).stderr


def test_a_failure_is_one_line_and_for_scripts_json(run: Run, tmp_path: Path) -> None:
    assert "There is no session of this folder" in run("tree", wanted=3).stderr
    junk = tmp_path / "junk.jsonl"
    junk.write_text("not a session\n")
    failed = run("tree", str(junk), "--json", wanted=3)
    assert failed.stdout == ""
    assert json.loads(failed.stderr)["error"]["data"]["kind"] == "invalidSession"


@pytest.mark.usefixtures("path")
def test_wrong_settings_are_told_of_once(run: Run, environment: dict[str, str]) -> None:
    config = Path(environment["XDG_CONFIG_HOME"]) / "branchline" / "settings.json"
    config.parent.mkdir(parents=True)
    config.write_text('{"summarizer": {"modle": "x"}}')
    assert run("tree").stderr.count("summarizer.modle") == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_get_a_completion_script(run: Run, shell: str) -> None:
    assert "_BRANCHLINE_COMPLETE" in run("completion", shell).stdout


def test_every_command_has_help_with_its_options(run: Run) -> None:
    listed = run("--help").stdout
    commands = listed.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert len(commands) == 26
    assert "Exit codes" in listed
    for line in commands:
        assert "--help" in run(line.split()[0], "--help").stdout
