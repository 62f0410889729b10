"""`:Branchline export`: a session in a new file, with what is hidden said."""

import os
import stat
from pathlib import Path

import pytest

from tests.e2e.talk import write_session
from tests.neovim.editor import Editor, Terminal, until
from tests.unit.session_files import assistant, user

KEY = "sk-ant-api03-" + "Ab3dEf6hIj9kLm2nOp5q" * 4
OPENED = """
_G.opened = {}
vim.ui.open = function(path)
  table.insert(_G.opened, path)
  return nil, nil
end"""


@pytest.fixture
def talk(sessions: Path, project: Path) -> Path:
    """A session with a key, an address and a branch."""
    return write_session(
        sessions,
        user("a", None, f"How? My key is {KEY}, mail me: someone@example.org"),
        assistant("b", "a", [{"type": "text", "text": "like this"}]),
        user("c", "b", "an idea that was left"),
        user("e", "b", "go on"),
        cwd=str(project),
    )


def written(path: Path) -> str:
    """The text of an export, once it is there: nobody else may read it."""
    until(path.exists, str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return path.read_text()


def test_a_page_without_the_key(editor: Editor, talk: Path, project: Path) -> None:
    editor.lua(OPENED)
    editor.command("Branchline export --mask talk.html")
    editor.says("Written: talk.html; the active branch; hidden: 1 key, 1 e-mail address")
    page = written(project / "talk.html")
    assert page.startswith("<!DOCTYPE html>") or page.startswith("<!doctype html>")
    assert KEY not in page
    assert "someone@example.org" not in page
    assert "[key 1]" in page
    assert "an idea that was left" not in page
    assert editor.lua("return _G.opened") == []
    editor.command("Branchline! export html again.html --open")
    editor.says("Written: again.html; all branches")
    page = written(project / "again.html")
    assert KEY in page
    assert "an idea that was left" in page
    until(lambda: editor.lua("return _G.opened") == [str(project / "again.html")])


def test_the_other_formats(editor: Editor, talk: Path, project: Path) -> None:
    editor.command("Branchline export sub.md --open --mask")
    editor.says("Written: sub.md")
    until(lambda: editor.call("bufname") == "sub.md")
    assert "like this" in written(project / "sub.md")
    assert any("[key 1]" in line for line in editor.buffer())
    editor.command("Branchline export jsonl --all records")
    editor.says("Written: records; all branches")
    assert written(project / "records").encode() == talk.read_bytes()
    editor.command(f"Branchline tree {project / 'records'}")
    editor.is_complete()


def test_nothing_is_overwritten(editor: Editor, talk: Path, project: Path) -> None:
    (project / "mine.html").write_text("mine")
    editor.command("Branchline export mine.html")
    editor.says("There is mine.html already, and it stays as it is: take another name")
    assert (project / "mine.html").read_text() == "mine"
    editor.command("Branchline export no/folder/x.html")
    editor.says("(ENOENT)")
    editor.command("Branchline export --masked x.html")
    editor.says('"--masked" is no flag. There are: --all, --mask, --open')
    assert sorted(path.name for path in project.iterdir()) == ["mine.html"]


def test_a_path_is_asked_for(editor: Editor, talk: Path, project: Path) -> None:
    editor.command("Branchline tree")
    editor.is_complete()
    editor.keys(":Branchline rename<CR>")
    editor.keys("<C-u>Über the/../parser!<CR>")
    editor.sees("Über the/../parser! · 2 branches")
    (project / "über-the-parser.md").write_text("mine")
    editor.keys(":Branchline export markdown<CR>")
    editor.sees("Export to: über-the-parser-2.md")
    editor.keys("<C-u>über-the-parser.md<CR>")
    editor.sees("There is über-the-parser.md already; export to: über-the-parser.md")
    editor.keys("<C-u>new.md<CR>")
    editor.says("Written: new.md")
    assert KEY in written(project / "new.md")
    assert (project / "über-the-parser.md").read_text() == "mine"
    editor.keys(":Branchline export<CR>")
    editor.sees("Export to: über-the-parser.html")
    editor.keys("<Esc>")
    editor.sees_not("Export to")
    editor.keys(":Branchline export --mask<CR>")
    editor.sees("Export to: session.html")
    editor.keys("<Esc>")
    editor.sees_not("Export to")
    assert len(list(project.iterdir())) == 2


def test_words_are_completed(editor: Editor, project: Path) -> None:
    (project / "mine.md").touch()
    completed = editor.call("getcompletion", "Branchline! export m", "cmdline")
    assert completed == ["markdown", "mine.md"]
    assert editor.call("getcompletion", "Branchline export --", "cmdline") == [
        "--all",
        "--mask",
        "--open",
    ]


def test_in_a_terminal(terminal: Terminal, talk: Path, project: Path, binary: Path) -> None:
    terminal.sees("~")
    terminal.keys(":Branchline export --mask", "Enter")
    terminal.sees("Export to: session.html")
    terminal.keys("C-u", "talk.html", "Enter")
    shown = terminal.sees_text(
        "Written: talk.html; the active branch; hidden: 1 key, 1 e-mail address"
    )
    folder = os.environ.get("BRANCHLINE_SCREENS")
    if folder:
        (Path(folder) / f"{binary.name}-export.txt").write_text(shown)
    assert KEY not in written(project / "talk.html")
    terminal.keys(":qa!", "Enter")
    until(terminal.has_ended)
