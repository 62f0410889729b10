"""Pickers, the Lua API, autocommands, the statusline, and the hook that writes summaries."""

from pathlib import Path

from tests.e2e.shared import SharedDaemon
from tests.e2e.talk import write_session
from tests.neovim.conftest import StartEditor
from tests.neovim.editor import Editor, entries_of, until
from tests.unit.session_files import user

PICKER = """
vim.ui.select = function(items, options, choose)
  _G.picked = { kind = options.kind, lines = vim.tbl_map(options.format_item, items) }
  _G.preview = options.preview_item and options.preview_item(items[1])
  vim.schedule(function() choose(items[_G.choice or 1], _G.choice or 1) end)
end"""


def test_a_picker_takes_the_sessions(
    editor: Editor, demo: Path, sessions: Path, project: Path
) -> None:
    write_session(sessions, user("a", None, "an older one"), id="older", cwd=str(project))
    editor.lua(PICKER)
    editor.command("Branchline sessions")
    editor.is_complete()
    picked = editor.lua("return _G.picked")
    assert picked["kind"] == "branchline.session"
    assert len(picked["lines"]) == 2
    assert any("CSV importer: fast and correct" in line for line in picked["lines"])
    shown = editor.lua("return vim.api.nvim_buf_get_lines(_G.preview.buf, 0, -1, false)")
    assert shown != [""]


def test_a_picker_takes_the_entries(editor: Editor, demo: Path) -> None:
    editor.tree()
    editor.lua(PICKER + "\n_G.choice = 2")
    editor.command("Branchline pick")
    until(lambda: editor.lua("return _G.picked") is not None)
    picked = editor.lua("return _G.picked")
    editor.is_on(picked["lines"][1].rpartition("  ")[2])
    assert "Streaming it is" in editor.line()
    assert picked["kind"] == "branchline.entry"
    assert len(picked["lines"]) == 7
    until(lambda: editor.lua("return vim.api.nvim_buf_line_count(_G.preview.buf)") > 1)


def test_the_plain_list_of_sessions(editor: Editor, demo: Path) -> None:
    editor.command("Branchline sessions")
    editor.sees("1:", "CSV importer: fast and correct")
    editor.keys("1<CR>")
    editor.sees("◉ · Done. The batch size", "◀ here")


def test_many_messages_without_a_picker_are_a_filtered_tree(
    editor: Editor, sessions: Path, project: Path
) -> None:
    said = [user(f"m{n}", f"m{n - 1}" if n else None, f"message {n}") for n in range(40)]
    path = write_session(sessions, *said, cwd=str(project))
    editor.tree(str(path))
    editor.command("Branchline pick")
    editor.sees("userOnly")
    editor.is_complete()
    assert len(editor.buffer()) == 40


def test_append_context_and_changes(editor: Editor, demo: Path) -> None:
    editor.lua(
        """
        local branchline = require('branchline')
        _G.changes = {}
        _G.stop = branchline.on_change(function(change) table.insert(_G.changes, change) end)
        branchline.append('from a plugin', nil, function(problem, answer)
          _G.problem, _G.answer = problem, answer
          branchline.context({ format = 'openai' }, function(_, context) _G.context = context end)
        end)"""
    )
    until(lambda: editor.lua("return _G.context ~= nil"))
    assert editor.lua("return _G.problem") is None
    assert entries_of(demo)[-1]["message"]["content"] == "from a plugin"
    assert editor.lua("return _G.context.messages[#_G.context.messages].content") == "from a plugin"
    assert editor.lua("return _G.changes[1].appended[1].text") == "from a plugin"
    assert editor.lua("return _G.changes[1].origin") == "client"
    editor.lua("_G.stop() require('branchline').append('another')")
    until(lambda: entries_of(demo)[-1]["message"]["content"] == "another")
    until(lambda: editor.leaf() == entries_of(demo)[-1]["id"])
    assert editor.lua("return #_G.changes") == 1


def test_autocommands(editor: Editor, demo: Path, daemon: SharedDaemon) -> None:
    editor.lua(
        """
        _G.seen = {}
        vim.api.nvim_create_autocmd('User', { pattern = 'Branchline*', callback = function(event)
          table.insert(_G.seen, event.match)
          _G.last = event.data
        end })"""
    )
    editor.tree()
    until(lambda: "BranchlineTree" in editor.lua("return _G.seen"))
    editor.goto("First back to a clean state")
    editor.keys("<CR>")
    editor.sees("just go")
    editor.keys("g")
    until(lambda: "BranchlineSwitched" in editor.lua("return _G.seen"))
    assert "BranchlineChanged" in editor.lua("return _G.seen")


def test_the_statusline(editor: Editor, demo: Path) -> None:
    assert editor.lua("return require('branchline').status()") == ""
    editor.command("set laststatus=2")
    editor.command("set statusline=%{%v:lua.require'branchline'.status()%}")
    editor.tree()
    editor.sees("CSV importer: fast and correct · 3%")


SUMMARIZER = """
vim.g.branchline = nil
require('branchline').setup({ summarize = function(request, done)
  _G.request = request
  vim.defer_fn(function()
    done({ text = 'Written in Lua: ' .. request.kind, model = 'mine' })
  end, 1)
end })"""


def test_summaries_by_a_lua_function(start: StartEditor, demo: Path) -> None:
    editor = start()
    editor.lua(SUMMARIZER)
    editor.tree()
    editor.goto("Try pandas first")
    editor.keys("S")
    editor.sees("Written in Lua: branch")
    assert editor.lua("return _G.request.cancelled()") is False
    editor.keys(":w<CR>")
    editor.sees("⇄", "Written in Lua: branch", "◀ here")
    summaries = [e for e in entries_of(demo)[59:] if e["type"] == "branch_summary"]
    assert "Written in Lua: branch" in summaries[0]["summary"]


def test_a_lua_function_that_fails_is_named(start: StartEditor, demo: Path) -> None:
    editor = start()
    editor.lua("require('branchline').setup({ summarize = function() error('no model here') end })")
    editor.tree()
    editor.goto("Try pandas first")
    editor.keys("S")
    editor.says("The summarize function failed")
    assert [e["type"] for e in entries_of(demo)[59:]] == []


def test_several_workspaces(editor: Editor, demo: Path, tmp_path: Path, sessions: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    write_session(sessions, user("a", None, "over there"), id="there", cwd=str(other))
    editor.tree()
    editor.command(f"tabnew | tcd {other}")
    editor.command("Branchline")
    editor.sees("● over there", "◀ here")
    assert editor.lua("return vim.tbl_count(require('branchline.client').connections)") == 2
    editor.command("tabprevious")
    editor.sees("CSV importer")
