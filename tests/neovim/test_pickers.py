"""Lists in a real picker: Telescope, which takes `vim.ui.select` over."""

from pathlib import Path

import pytest

from tests.e2e.talk import write_session
from tests.neovim.conftest import StartEditor
from tests.neovim.editor import HERE, INSTALLED, Editor, until
from tests.unit.session_files import assistant, user

SHARED = INSTALLED / "sid" / "usr" / "share"


@pytest.fixture
def picking(start: StartEditor, environment: dict[str, str], demo: Path) -> Editor:
    """An editor that has Telescope."""
    for name in ("telescope", "plenary"):
        folder = SHARED / f"neovim-{name}"
        if not folder.is_dir():
            pytest.skip("Telescope is not installed: `tests/neovim/install-from-sid` says why")
        environment[name.upper()] = str(folder)
    return start(arguments=("-S", str(HERE / "telescope.lua")), columns=160, lines=40)


def previewed(editor: Editor) -> list[str]:
    """The lines of what is previewed."""
    lines: list[str] = editor.lua(
        """
        for _, win in ipairs(vim.api.nvim_list_wins()) do
          local buf = vim.api.nvim_win_get_buf(win)
          if vim.bo[buf].filetype == 'branchline-preview' then
            return vim.api.nvim_buf_get_lines(buf, 0, -1, false)
          end
        end
        return {}"""
    )
    return lines


def test_sessions_in_telescope(picking: Editor, sessions: Path, project: Path) -> None:
    for number in range(40):
        said = [
            user("a", None, f"talk number {number}x"),
            assistant("b", "a", [{"type": "text", "text": f"answer {number}x"}]),
        ]
        write_session(sessions, *said, name=f"s{number}.jsonl", id=f"s{number}", cwd=str(project))
    picking.keys(":Branchline sessions<CR>")
    picking.sees("Session (branchline.session)")
    picking.sees("CSV importer: fast and correct")
    picking.keys("number 17x")
    picking.sees("> ", "talk number 17x")
    picking.sees("answer 17x")
    assert previewed(picking) == ["talk number 17x", "answer 17x"]
    picking.keys("<CR>")
    picking.sees("answer 17x", "◀ here")
    picking.is_complete()
    assert picking.buffer() == ["● talk number 17x", "· answer 17x"]


def test_entries_in_telescope(picking: Editor) -> None:
    picking.tree()
    picking.keys(":Branchline pick<CR>")
    picking.sees("Entry (branchline.entry)")
    picking.keys("pandas first")
    picking.sees("> ", "⚑pandas  Try pandas first")
    until(lambda: any("Less code for us to own." in line for line in previewed(picking)))
    picking.sees("# user")
    picking.keys("<CR>")
    picking.is_on("Try pandas first")
    assert picking.call("foldclosed", ".") == picking.call("line", ".")


def test_a_picker_that_is_left_does_nothing(picking: Editor) -> None:
    picking.tree()
    line = picking.line()
    picking.keys(":Branchline pick<CR>")
    picking.sees("Entry (branchline.entry)")
    picking.keys("<Esc><Esc>")
    picking.sees_not("Entry (branchline.entry)")
    assert picking.line() == line
    assert picking.messages() == ""


def test_health_sees_the_picker(picking: Editor) -> None:
    picking.command("checkhealth branchline")
    assert any("A picker has taken vim.ui.select over" in line for line in picking.buffer())
