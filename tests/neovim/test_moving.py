"""Moving the leaf, summaries and their drafts, undo, compaction; labels, names and forks."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.shared import SharedDaemon
from tests.neovim.conftest import StartEditor
from tests.neovim.editor import Editor, entries_of, until

LEAF = "8f6e735f"
PANDAS = "1f3a5e65"
BEFORE_STREAMING = "b279fd00"


def types_of(path: Path) -> list[str]:
    """The types of the entries that a test has added to the sample."""
    return [entry["type"] for entry in entries_of(path)[59:]]


def last(path: Path) -> Any:
    """The newest entry of a session file."""
    return entries_of(path)[-1]


def test_where_something_is_left_one_question_names_the_cost(editor: Editor, demo: Path) -> None:
    editor.tree()
    editor.goto("First back to a clean state")
    editor.keys("<CR>")
    editor.sees("Leave", "26 messages", "2k tokens", "2 files")
    editor.sees("g  just go")
    editor.keys("q")
    editor.sees_not("just go")
    assert types_of(demo) == []
    editor.keys("<CR>")
    editor.sees("g  just go")
    editor.keys("g")
    editor.sees("First back to a clean state", "◀ here")
    assert editor.leaf() == "8a5a54ff"
    assert len(types_of(demo)) == 1


def test_where_nothing_is_left_the_move_happens_at_once(
    editor: Editor, demo: Path, daemon: SharedDaemon
) -> None:
    daemon.command("switch", str(demo), "8a5a54ff")
    editor.tree()
    editor.sees("First back to a clean state", "◀ here")
    editor.keys("zR")
    editor.goto("Done. The batch size")
    editor.keys("<CR>")
    until(lambda: editor.leaf() == "626c4cda")
    editor.is_complete()
    editor.sees("Done. The batch size", "◀ here")


def test_what_is_left_is_shown_and_the_question_comes_back(editor: Editor, demo: Path) -> None:
    editor.tree()
    editor.goto("Bitte auch")
    editor.keys("<CR>")
    editor.sees("w  show what is left")
    editor.keys("w")
    editor.sees("What is left")
    editor.sees("assistant", "Die Züricher Datei geht schon")
    editor.keys("q")
    editor.sees("g  just go")
    assert types_of(demo) == []


def test_a_chosen_message_of_the_user_opens_for_editing(editor: Editor, demo: Path) -> None:
    editor.tree()
    editor.goto("Streaming it is")
    editor.keys("<CR>")
    editor.sees("just go")
    editor.keys("g")
    editor.sees("Your message, to change", ":w sends")
    until(lambda: editor.leaf() == BEFORE_STREAMING)
    assert editor.buffer()[0].startswith("Streaming it is: csv module")
    editor.keys("ccIn other words.<Esc>gs")
    editor.sees("● In other words.", "◀ here")
    assert last(demo)["message"]["content"] == "In other words."
    assert last(demo)["parentId"] in (BEFORE_STREAMING, entries_of(demo)[-2]["id"])


def test_a_summary_is_a_draft_until_it_is_stored(editor: Editor, demo: Path) -> None:
    editor.tree()
    editor.goto("Try pandas first")
    editor.keys("zo")
    editor.goto("I will write it beside")
    editor.keys("<CR>")
    editor.sees("s  take a summary along")
    editor.keys("s")
    editor.sees("Summary of the branch that is left", ":w stores")
    editor.has_summary()
    assert types_of(demo) == []
    editor.keys("GoIt was too slow.<Esc>")
    editor.command("wall")
    editor.command("silent! write")
    editor.keys("<Cmd>write<CR>")
    until(lambda: editor.request("nvim_get_option_value", "modified", {"buf": 0}) is False)
    assert types_of(demo) == []
    editor.keys(":w<CR>")
    editor.sees("⇄", "◀ here")
    summary = last(demo) if last(demo)["type"] == "branch_summary" else entries_of(demo)[-2]
    assert summary["type"] == "branch_summary"
    assert "It was too slow." in summary["summary"].splitlines()
    assert summary["fromId"] == LEAF
    assert summary["parentId"] == "57bbf33a"


def test_a_discarded_draft_stores_nothing(editor: Editor, demo: Path) -> None:
    editor.tree()
    editor.goto("Try pandas first")
    editor.keys("S")
    editor.sees("Summary of the branch that is left", ":w stores")
    until(lambda: len(editor.buffer()) > 3)
    editor.keys("gq")
    editor.sees_not("Summary of the branch")
    assert types_of(demo) == []
    assert editor.leaf() == LEAF


@pytest.mark.parametrize("leave", [":wa<CR>:qa<CR>", ":qa!<CR>"])
def test_a_summary_that_was_begun_survives_leaving(
    start: StartEditor, demo: Path, environment: dict[str, str], leave: str
) -> None:
    editor = start()
    editor.tree()
    editor.goto("Try pandas first")
    editor.keys("S")
    editor.has_summary()
    drafts = Path(environment["XDG_STATE_HOME"]) / "nvim" / "branchline" / "drafts"
    until(lambda: list(drafts.glob("draft-*.md")), "the summary in a file")
    editor.keys("GoIt was too slow.<Esc>" + leave)
    until(editor.has_ended)
    (kept,) = drafts.glob("draft-*.md")
    assert kept.stat().st_mode & 0o777 == 0o600
    edited = leave.startswith(":wa")
    assert ("It was too slow." in kept.read_text()) == edited
    assert types_of(demo) == []
    again = start()
    again.tree()
    again.goto("Try pandas first")
    again.keys("<CR>")
    again.sees("s  go on with the summary that was kept")
    again.keys("s")
    again.sees("Summary of the branch that is left", ":w stores")
    assert again.buffer() == kept.read_text().splitlines()
    again.keys("GoAnd after a night.<Esc>:w<CR>")
    again.sees("⇄", "◀ here")
    (summary,) = (e for e in entries_of(demo)[59:] if e["type"] == "branch_summary")
    assert "And after a night." in summary["summary"].splitlines()
    assert ("It was too slow." in summary["summary"].splitlines()) == edited
    assert not kept.exists()


def test_a_summary_is_kept_for_its_place_alone(start: StartEditor, demo: Path) -> None:
    editor = start()
    editor.tree()
    editor.goto("Try pandas first")
    editor.keys("S")
    editor.has_summary()
    editor.keys("GoMy own words.<Esc>:q<CR>")
    editor.goto("First back to a clean state")
    editor.keys("<CR>")
    editor.sees("s  take a summary along")
    editor.keys("q")
    editor.goto("Try pandas first")
    editor.keys("S")
    editor.sees("My own words.")
    editor.keys("gq")
    editor.sees_not("My own words.")
    editor.keys("<CR>")
    editor.sees("s  take a summary along")


def test_undo_and_redo(editor: Editor, demo: Path) -> None:
    editor.tree()
    editor.goto("First back to a clean state")
    editor.keys("<CR>")
    editor.sees("just go")
    editor.keys("g")
    until(lambda: editor.leaf() == "8a5a54ff")
    editor.keys("u")
    until(lambda: editor.leaf() == LEAF)
    editor.sees("Done. The batch size", "◀ here")
    editor.keys("u")
    editor.says("Only the last move can be taken back")
    assert editor.leaf() == LEAF
    editor.keys("<C-r>")
    until(lambda: editor.leaf() == "8a5a54ff")
    editor.sees("First back to a clean state", "◀ here")
    editor.keys("<C-r>")
    editor.says("Nothing to make again")
    assert len(types_of(demo)) == 3


def test_nothing_to_undo_is_said(editor: Editor, demo: Path, daemon: SharedDaemon) -> None:
    editor.tree()
    daemon.command("append", str(demo), "-m", "on we go")
    editor.sees("on we go", "◀ here")
    editor.keys("u")
    editor.says("Nothing to undo: 31 messages came since the last move.")
    assert types_of(demo) == ["message"]


def test_compaction(start: StartEditor, demo: Path) -> None:
    settings = "lua vim.g.branchline = { settings = { compaction = { keepRecentTokens = 300 } } }"
    editor = start(arguments=("--cmd", settings))
    editor.tree()
    editor.keys("c")
    editor.sees("Compact", "entries", "tokens")
    editor.sees("rules, offline")
    editor.keys("s")
    editor.sees("Summary of the past", ":w stores")
    editor.has_summary()
    editor.keys("GoNever touch the schema.<Esc>:w<CR>")
    editor.sees("◉", "◀ here")
    editor.says("Compacted to")
    compaction = last(demo)
    assert compaction["type"] == "compaction"
    assert "Never touch the schema." in compaction["summary"].splitlines()
    editor.is_complete()
    editor.keys("gg")
    editor.sees("┆ ● The nightly import")
    editor.keys("u")
    editor.sees("┃ ● The nightly import")
    assert types_of(demo)[0] == "compaction"


def test_nothing_to_compact_is_said(editor: Editor, demo: Path) -> None:
    editor.tree()
    editor.keys("c")
    editor.says("Nothing to compact: the newest 20k tokens stay")


def test_labels_names_and_forks(editor: Editor, demo: Path, sessions: Path) -> None:
    editor.tree()
    editor.goto("Bitte auch")
    editor.keys("Lumlauts<CR>")
    editor.sees("Bitte auch", "⚑umlauts")
    assert last(demo)["type"] == "label"
    assert last(demo)["label"] == "umlauts"
    editor.keys("R<C-u>Importer<CR>")
    editor.sees(" Importer · 3 branches")
    assert last(demo)["name"] == "Importer"
    editor.goto("Bitte auch")
    editor.keys("F")
    editor.sees("Ask", ":w sends")
    assert editor.buffer()[0].startswith("Bitte auch")
    forks = [path for path in sessions.parent.rglob("*.jsonl") if path != demo]
    assert len(forks) == 1
    assert entries_of(forks[0])[-1]["type"] in ("message", "label")


def test_a_leaf_that_moved_meanwhile_is_no_branch(
    editor: Editor, demo: Path, daemon: SharedDaemon
) -> None:
    editor.tree()
    editor.goto("First back to a clean state")
    editor.keys("<CR>")
    editor.sees("just go")
    daemon.command("append", str(demo), "-m", "meanwhile")
    until(lambda: editor.leaf() == last(demo)["id"])
    # The question was about another leaf than the one there is now.
    editor.lua(
        """for _, session in pairs(require('branchline.session').sessions) do
          session.leafId = ...
        end""",
        LEAF,
    )
    editor.keys("g")
    editor.says("Somebody else went on meanwhile")
    assert types_of(demo) == ["message"]


def test_without_a_tree_a_draft_follows_the_session(
    start: StartEditor, demo: Path, daemon: SharedDaemon
) -> None:
    settings = "lua vim.g.branchline = { settings = { compaction = { keepRecentTokens = 300 } } }"
    editor = start(arguments=("--cmd", settings))
    editor.command("Branchline compact")
    editor.sees("s  write it, and show it first")
    editor.keys("s")
    editor.has_summary()
    daemon.command("append", str(demo), "-m", "meanwhile")
    until(lambda: editor.leaf() == last(demo)["id"])
    editor.keys(":w<CR>")
    editor.says("Compacted to")
    assert types_of(demo)[:2] == ["message", "compaction"]
