"""The rows around the leaf of a large session, shown before the daemon has read all of it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.shared import SharedDaemon
from tests.e2e.talk import write_session
from tests.neovim.conftest import StartEditor
from tests.neovim.editor import Editor, until
from tests.unit.session_files import assistant, user

READING = "the rest is still being read"
MESSAGES = 900
Json = dict[str, Any]
FILLING = "x" * 20_000
"""So much in each message that the file has more than 16 MB."""
LOOK = """
local _, tree = next(require('branchline.tree').trees)
local folds = {}
for line = 1, #tree.items do
  folds[line] = vim.fn.foldclosed(line)
end
return { vim.tbl_map(function(item) return item.key end, tree.items), folds }"""
NO_SESSION: Json = {
    "error": {"code": 4001, "message": "It is no session", "data": {"kind": "invalidSession"}}
}
SESSION = """
local _, session = next(require('branchline.session').sessions)
"""
COUNT = """
_G.answers = 0
for _, connection in pairs(require('branchline.client').connections) do
  local request = connection.request
  connection.request = function(self, method, params, callback)
    return request(self, method, params, method ~= 'session/tail' and callback or function(...)
      callback(...)
      _G.answers = _G.answers + 1
    end)
  end
end"""


@pytest.fixture
def large(sessions: Path, project: Path) -> Path:
    """A session of 18 MB with branches, tools and a compaction near its end."""
    said: list[Any] = []
    for n in range(MESSAGES):
        text = f"message {n}, {FILLING}"
        above = f"m{n - 1}" if n else None
        if n % 2:
            made = assistant(f"m{n}", above, [{"type": "text", "text": text}])
        else:
            made = user(f"m{n}", above, text)
        said.append(made)
        if n in {100, MESSAGES - 20}:
            said += [user(f"a{n}", above, f"aside {n}"), user(f"b{n}", f"a{n}", f"beside {n}")]
    above = f"m{MESSAGES - 1}"
    calls = [{"type": "toolCall", "id": f"c{n}", "name": "read", "arguments": {}} for n in range(4)]
    said.append(assistant("calls", above, calls, "toolUse"))
    above = "calls"
    for n in range(4):
        result = user(f"r{n}", above, f"result {n}")
        result["message"].update(role="toolResult", toolCallId=f"c{n}", toolName="read")
        said.append(result)
        above = f"r{n}"
    compaction = {"type": "compaction", "id": "compaction", "parentId": above}
    compaction |= {"timestamp": "2026-01-02T03:04:05.678Z", "summary": "What was said."}
    said.append({**compaction, "firstKeptEntryId": f"m{MESSAGES - 10}", "tokensBefore": 1000})
    said.append(user("last", "compaction", "the end"))
    path = write_session(sessions, *said, cwd=str(project), name="large.jsonl", id="large")
    assert path.stat().st_size > 16 * 1024 * 1024
    return path


class Held:
    """The answer to a method, held back until `let_go`.

    ``change``: what else becomes of it, as a plan says; ``others``: plans for other methods.
    """

    def __init__(
        self, plan: Path, method: str, change: Json | None = None, others: Json | None = None
    ) -> None:
        self._plan = plan
        self._gate = plan.with_name("gate")
        os.mkfifo(self._gate)
        held = {"gate": str(self._gate), **(change or {})}
        plan.write_text(json.dumps({method: held, **(others or {})}))

    def let_go(self) -> None:
        """Let the answer that waits come, and those that follow."""
        with self._gate.open("wb") as gate:  # once there is an answer that waits
            self._plan.unlink()
            gate.write(b"go")


def begin(editor: Editor, command: str) -> None:
    """Open the tree, and wait for the rows of a session that is still being read."""
    editor.command(command)
    editor.sees("the end", "◀ here")
    editor.sees(READING)


def where(editor: Editor) -> list[tuple[str, int]]:
    """For each window, which message its cursor is on, and the line of the window."""
    found: list[tuple[str, int]] = editor.lua(
        """
        return vim.tbl_map(function(win)
          return vim.api.nvim_win_call(win, function()
            return { vim.api.nvim_get_current_line():match('%w+ %d+'), vim.fn.winline() }
          end)
        end, vim.api.nvim_tabpage_list_wins(0))"""
    )
    return found


def is_as_if_read_anew(editor: Editor) -> None:
    """What the buffer shows is what it shows after `:edit`."""
    editor.is_complete()
    shown = editor.lua(LOOK)
    editor.command("edit")
    editor.is_complete()
    assert shown == editor.lua(LOOK)


def test_the_rows_are_replaced_without_a_jump(editor: Editor, plan: Path, large: Path) -> None:
    held = Held(plan, "session/open")
    begin(editor, f"Branchline tree {large}")
    assert editor.line() == "● the end"
    assert editor.call("search", "message 850,", "nw") > 0
    assert editor.call("search", "message 2,", "nw") == 0
    editor.keys("<C-w>s10k<C-w>j<C-w>s15kzt3j<C-w>jggj")
    until(lambda: editor.lua("return #vim.api.nvim_tabpage_list_wins(0)") == 3)
    before = where(editor)
    assert [line for _, line in before][1:] == [4, 2]
    assert len({message for message, _ in before}) == 3
    window = editor.call("win_getid")
    assert editor.lua("return require('branchline').status()")
    held.let_go()
    editor.is_complete()
    assert where(editor) == before
    assert editor.call("win_getid") == window
    editor.sees("3 branches")
    editor.sees_not(READING)
    assert editor.lua(SESSION + "return session.tail") is None, "nobody shows the early rows again"
    assert len(editor.buffer()) > MESSAGES
    is_as_if_read_anew(editor)
    assert editor.messages() == ""


def test_what_needs_the_session_waits_for_it(editor: Editor, plan: Path, large: Path) -> None:
    held = Held(plan, "session/open")
    begin(editor, f"Branchline tree {large}")
    editor.goto(f"message {MESSAGES - 2},")
    editor.keys("Lmark<CR>")
    editor.lua(
        SESSION
        + """
        local label = { targetId = session.leafId, label = 'never' }
        session:request('session/label', label, function(problem) _G.kind = problem.data.kind end)()
        require('branchline').open(session.path, function(_, opened) _G.usage = opened.usage end)"""
    )
    assert editor.lua("return _G.kind") == "cancelled"
    editor.keys("/message 3,<CR>")
    assert editor.lua("return _G.usage") is None
    held.let_go()
    editor.is_on("message 3,")
    assert editor.lua("return _G.usage") is not None
    editor.keys("gl")
    editor.sees(f"message {MESSAGES - 2},", "⚑mark")
    editor.sees_not("never")
    editor.is_complete()
    assert editor.call("maparg", "/", "n") == "", "all rows are here, so Vim searches"
    assert "Error" not in editor.messages()


def test_a_motion_beyond_the_early_rows_waits(editor: Editor, plan: Path, large: Path) -> None:
    held = Held(plan, "session/open")
    begin(editor, f"Branchline tree {large}")
    editor.keys("g?")
    editor.sees("ask the daemon for the next entry with words")
    editor.keys("qgg")
    editor.sees_not("ask the daemon")
    first = int(editor.line().split("message ")[1].split(",")[0])
    editor.keys("jj3[u")  # one of them is here
    held.let_go()
    editor.is_on(f"message {(first - 1) // 2 * 2 - 2},")  # the even ones are the user's
    editor.is_complete()
    assert editor.messages() == ""


def test_a_session_that_cannot_be_opened_is_not_shown(
    editor: Editor, plan: Path, large: Path
) -> None:
    held = Held(plan, "session/open", NO_SESSION)
    begin(editor, f"Branchline tree {large}")
    editor.keys("Lmark<CR>K")
    editor.lua(
        SESSION
        + """
        session:request('session/branches', {}, function(problem) _G.kind = problem.data.kind end)
        require('branchline').open(session.path, function(problem) _G.problem = problem.message end)
        """
    )
    held.let_go()
    said = editor.says("It is no session")
    editor.sees_not("◀ here")
    assert said.count("Branchline:") == 1
    assert editor.lua("return { _G.kind, _G.problem }") == ["gone", "It is no session"]
    editor.goes_on()
    editor.tree(str(large))
    editor.sees("the end", "◀ here")


def connected(editor: Editor) -> None:
    """Connect an editor, and have it count the answers to ``session/tail``."""
    editor.lua("require('branchline.client').connect()")
    until(lambda: editor.state() == "ready")
    editor.lua(COUNT)


def test_a_daemon_that_does_not_know_how_is_no_error(
    editor: Editor, plan: Path, large: Path
) -> None:
    connected(editor)
    error = {"code": -32601, "message": "Unknown", "data": {"kind": "methodNotFound"}}
    held = Held(plan, "session/open", others={"session/tail": {"error": error}})
    editor.command(f"Branchline tree {large}")
    until(lambda: editor.lua("return _G.answers") == 1)
    assert editor.lua("return next(require('branchline.tree').trees)") is None
    held.let_go()
    editor.sees("the end", "◀ here")
    editor.is_complete()
    assert len(editor.buffer()) > MESSAGES
    assert editor.messages() == ""


def test_rows_that_come_too_late_are_ignored(editor: Editor, plan: Path, large: Path) -> None:
    connected(editor)
    held = Held(plan, "session/tail")
    editor.tree(str(large))
    before = editor.lua(LOOK)
    held.let_go()
    until(lambda: editor.lua("return _G.answers") == 1)
    assert editor.lua(LOOK) == before
    editor.sees_not(READING)
    assert editor.messages() == ""


def test_rows_that_come_after_an_error_are_ignored(editor: Editor, plan: Path, large: Path) -> None:
    connected(editor)
    held = Held(plan, "session/tail", others={"session/open": NO_SESSION})
    editor.command(f"Branchline tree {large}")
    editor.says("It is no session")
    held.let_go()
    until(lambda: editor.lua("return _G.answers") == 1)
    assert editor.lua("return next(require('branchline.tree').trees)") is None
    assert editor.lua("return next(require('branchline.session').sessions)") is None


def test_only_the_end_of_a_large_file_is_asked_for(
    start: StartEditor, large: Path, demo: Path, plan: Path
) -> None:
    editor = start(arguments=("--cmd", "lua vim.g.branchline = { filter = 'labeledOnly' }"))
    connected(editor)
    editor.tree(str(demo))
    editor.command("bwipeout!")
    editor.tree("large")
    editor.command("bwipeout!")
    assert editor.lua("return _G.answers") == 0, "a small one, and one whose path is not known"
    held = Held(plan, "session/open")
    editor.command(f"Branchline tree {large}")
    until(lambda: editor.lua("return _G.answers") == 1)
    assert editor.lua("return next(require('branchline.tree').trees)") is None, "it has no labels"
    held.let_go()
    editor.is_complete()
    editor.sees("labeledOnly")


def test_a_buffer_that_is_closed_meanwhile(editor: Editor, plan: Path, large: Path) -> None:
    held = Held(plan, "session/open")
    begin(editor, f"Branchline tree {large}")
    editor.command("bwipeout")
    held.let_go()
    until(lambda: editor.lua("return next(require('branchline.session').sessions)") is None)
    assert editor.lua("return next(require('branchline.tree').trees)") is None
    assert editor.messages() == ""


def test_a_buffer_that_is_closed_and_opened_again_meanwhile(
    editor: Editor, plan: Path, large: Path, daemon: SharedDaemon
) -> None:
    held = Held(plan, "session/open")
    begin(editor, f"Branchline tree {large}")
    editor.command("bwipeout")
    begin(editor, "Branchline")
    held.let_go()
    editor.is_complete()
    editor.sees("3 branches")
    daemon.command("append", str(large), "-m", "one more")
    until(lambda: editor.buffer()[-1] == "● one more")
    assert editor.messages() == ""


def test_a_buffer_that_is_read_anew_meanwhile(editor: Editor, plan: Path, large: Path) -> None:
    held = Held(plan, "session/open")
    editor.command("Branchline sessions")
    editor.sees("1: ", "message 0")
    editor.keys("1<CR>")
    editor.sees(READING)
    editor.command("edit")
    editor.sees("the end", "◀ here")
    editor.keys("fu")
    held.let_go()
    editor.is_complete()
    editor.sees("userOnly")
    is_as_if_read_anew(editor)
    assert editor.messages() == ""


def test_a_daemon_that_dies_meanwhile(
    editor: Editor, plan: Path, large: Path, daemon: SharedDaemon
) -> None:
    Held(plan, "session/open")
    begin(editor, f"Branchline tree {large}")
    editor.keys("10k")
    until(lambda: editor.call("line", ".") < editor.call("line", "$"))
    before = where(editor)
    plan.unlink()
    daemon.kill()
    editor.keys("Lmark<CR>")
    editor.sees("3 branches")
    editor.is_complete()
    assert where(editor)[0][1] == before[0][1]
    editor.sees("⚑mark")
    assert editor.messages() == ""
