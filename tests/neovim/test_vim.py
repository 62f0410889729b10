"""What people do to any buffer: reload it, split it, put it into a session, look at it narrowly."""

import re
from pathlib import Path

import pytest

from tests.e2e.shared import SharedDaemon
from tests.neovim.conftest import StartEditor
from tests.neovim.editor import Editor, entries_of, until


@pytest.mark.parametrize("reload", [":e<CR>", ":e!<CR>", ":edit %<CR>"])
def test_a_reload_reads_the_tree_anew(
    editor: Editor, demo: Path, daemon: SharedDaemon, reload: str
) -> None:
    editor.tree()
    editor.goto("Bitte auch")
    before = editor.buffer()
    editor.keys(reload)
    until(lambda: editor.buffer() == before)
    editor.is_complete()
    editor.sees("┃ └╴⊞ Try pandas first.", "⚑pandas")
    assert editor.request("nvim_get_option_value", "modifiable", {"buf": 0}) is False
    assert editor.request("nvim_get_option_value", "filetype", {"buf": 0}) == "branchline"
    daemon.command("append", str(demo), "-m", "from elsewhere")
    until(lambda: editor.buffer()[-1] == "● from elsewhere")
    editor.keys("gl")
    editor.sees("● from elsewhere", "◀ here")
    assert "Error" not in editor.messages()


def test_a_tree_in_several_windows_and_tab_pages(
    editor: Editor, demo: Path, daemon: SharedDaemon
) -> None:
    editor.command("set nohidden")
    editor.tree()
    editor.goto("Bitte auch")
    editor.keys(":tab split<CR>:vsplit<CR>")
    editor.goto("Try pandas first")
    daemon.command("append", str(demo), "-m", "from elsewhere")
    until(lambda: editor.buffer()[-1] == "● from elsewhere")
    editor.is_on("Try pandas first")
    editor.keys("<C-w>l")
    editor.is_on("Bitte auch")
    editor.keys("gt")
    editor.is_on("Bitte auch")
    editor.keys(":enew<CR>:buffer #<CR>")
    editor.is_on("Bitte auch")
    editor.sees("┃ └╴⊞ Try pandas first.")
    for _ in range(2):
        editor.keys("q")
    until(lambda: editor.call("tabpagenr", "$") == 1)
    assert "Error" not in editor.messages()


def test_a_session_of_vims_comes_back_without_errors(
    start: StartEditor, demo: Path, project: Path
) -> None:
    editor = start()
    editor.command("edit notes.txt")
    editor.keys("inotes<Esc>:w<CR>")
    editor.command("vertical Branchline tree")
    editor.is_complete()
    editor.command("mksession s.vim")
    editor.leave()
    again = start(arguments=("-S", "s.vim"))
    again.sees("notes")
    again.sees("◀ here")
    again.is_complete()
    assert not re.search(r"\bE\d+:", again.messages()), again.messages()
    names = again.lua("return vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())")
    assert sum(name.startswith("branchline://tree/") for name in names) == 1
    assert again.call("winnr", "$") == 2


def test_a_tree_is_opened_by_its_name(editor: Editor, demo: Path) -> None:
    editor.keys(":edit branchline://tree/62154fe7-682b-4c07-870b-f97d004574c6<CR>")
    editor.sees("Done. The batch size", "◀ here")
    editor.is_complete()
    assert len(editor.buffer()) == 44
    editor.keys(":edit branchline://tree/nothing<CR>")
    editor.says("There is no session nothing")


def test_two_editors_on_one_session(start: StartEditor, demo: Path) -> None:
    first, second = start(), start()
    first.tree()
    second.tree()
    first.goto("Bitte auch")
    first.keys("L<C-u>umlauts<CR>")
    second.sees("Bitte auch", "⚑umlauts")
    second.goto("First back to a clean state")
    second.keys("<CR>")
    second.sees("just go")
    second.keys("g")
    first.sees("First back to a clean state", "◀ here")
    first.is_on("Bitte auch")
    first.keys("u")
    second.sees("Done. The batch size", "◀ here")
    assert first.leaf() == second.leaf()
    assert [e["type"] for e in entries_of(demo)[59:]].count("label") == 1


@pytest.mark.parametrize("columns", [20, 80, 200])
def test_any_width(start: StartEditor, demo: Path, columns: int) -> None:
    editor = start(columns=columns, lines=24)
    editor.command("set cmdheight=0")
    editor.tree()
    assert all(len(line) <= columns for line in editor.screen())
    editor.sees("┃ ●")
    editor.keys("ggzR")
    editor.sees("┃    ○")
    editor.keys("zMgg")
    for opens, closes in (("g?", "q"), ("K", "<C-w>wq")):
        editor.keys(opens)
        until(lambda: editor.call("winnr", "$") > 1)
        editor.keys(closes)
        until(lambda: editor.call("winnr", "$") == 1, editor.messages)
    editor.goto("First back to a clean state")
    editor.keys("<CR>")
    editor.sees("just go")
    editor.keys("s")
    editor.has_summary()
    editor.keys("gq")
    until(lambda: editor.call("winnr", "$") == 1)
    assert "Error" not in editor.messages()


@pytest.mark.parametrize("background", ["light", "dark"])
@pytest.mark.parametrize("colours", ["termguicolors", "notermguicolors"])
def test_every_group_has_a_colour(
    start: StartEditor, demo: Path, background: str, colours: str
) -> None:
    editor = start(arguments=("--cmd", f"set background={background} {colours}"))
    editor.tree()
    for name in ("default", "habamax", "shine"):
        editor.command(f"colorscheme {name}")
        missing = editor.lua(
            """
            return vim.tbl_filter(function(name)
              return vim.fn.hlexists(name) == 0
                or vim.tbl_isempty(vim.api.nvim_get_hl(0, { name = name, create = false }))
            end, vim.tbl_keys(require('branchline.highlights').GROUPS))"""
        )
        assert missing == []
