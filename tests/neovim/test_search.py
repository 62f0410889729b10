"""`:Branchline search`: hits of all sessions in a buffer, and the way from there to their trees."""

import os
from pathlib import Path

import pytest

from tests.bench.neovim_speed import write_large_session
from tests.e2e.talk import CALL, write_session
from tests.neovim.conftest import StartEditor
from tests.neovim.editor import Editor, Terminal, until
from tests.unit.session_files import assistant, user

LARGE = 100_000
"""Characters of a message; a hundred of them are more than a search waits for."""
ATTACKS = [
    "needle %{system('touch owned')} %#Error# %{%execute('q')%}",
    "\x1b]0;title\x07\x1b[2J needle \x1b[31mred",
    "line one\nneedle two\r\n\x00null",
    "\u202eevil\u2066 \u200b needle \ufeff hidden",
    "vim: set modeline exrc foldmethod=marker: {{{1 needle",
    "👩\u200d💻 漢字 needle " + "漢字" * 200,
    "needle | :q!\x03\x16 <CR>",
]
MATCHES = """
local space = vim.api.nvim_create_namespace('branchline_hits')
local found = {}
for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, space, 0, -1, { details = true })) do
  if mark[4].hl_group == 'BranchlineMatch' then
    local line = vim.api.nvim_buf_get_lines(0, mark[2], mark[2] + 1, true)[1]
    found[#found + 1] = line:sub(mark[3] + 1, mark[4].end_col)
  end
end
return found"""


@pytest.fixture
def talks(sessions: Path, project: Path, tmp_path: Path) -> list[Path]:
    """Two sessions of the project, one of them with a branch, and one of another folder."""
    one = write_session(
        sessions,
        user("a", None, "how do we parse dates"),
        assistant("b", "a", [{"type": "text", "text": "with a parser"}]),
        user("c", "b", "and what of the aardvark"),
        assistant("d", "c", [{"type": "text", "text": "it is on a branch"}]),
        user("e", "b", "go on"),
        assistant("f", "e", [{"type": "text", "text": "done"}, CALL], "toolUse"),
        name="one.jsonl",
        id="one",
        cwd=str(project),
    )
    two = write_session(
        sessions,
        user("x", None, "a second talk"),
        assistant("y", "x", [{"type": "text", "text": "no aardvark here, no parser"}]),
        name="two.jsonl",
        id="two",
        cwd=str(project),
    )
    other = tmp_path / "other"
    other.mkdir()
    three = write_session(
        sessions.parent / "other",
        user("q", None, "an aardvark elsewhere"),
        name="three.jsonl",
        id="three",
        cwd=str(other),
    )
    return [one, two, three]


def search(editor: Editor, query: str, *shown: str) -> None:
    """Search, and wait for a line of the buffer and for the end of the indexing."""
    editor.command(f"Branchline {query}")
    until(
        lambda: is_shown(editor) and all(any(t in line for line in editor.buffer()) for t in shown),
        lambda: f"{shown}\n" + "\n".join([*editor.screen(), editor.messages()]),
    )
    until(lambda: editor.lua("return require('branchline.hits').current.indexing == nil"))


def is_shown(editor: Editor) -> bool:
    return bool(editor.call("bufname") == "branchline://search")


def keep_screen(binary: Path, name: str, lines: list[str]) -> None:
    """Keep a screen where somebody wants to look at it."""
    folder = os.environ.get("BRANCHLINE_SCREENS")
    if folder:
        (Path(folder) / f"{binary.name}-{name}.txt").write_text("\n".join(lines))


def test_hits_stand_below_their_sessions(editor: Editor, talks: list[Path], binary: Path) -> None:
    search(editor, "search aardvark", "and what of", "no aardvark here")
    assert sorted(editor.buffer()) == [
        "  · no aardvark here, no parser",
        "  ● and what of the aardvark",
        "a second talk",
        "how do we parse dates",
    ]
    editor.sees("aardvark · 2 hits in 2 sessions", "g? keys")
    assert editor.lua(MATCHES) == ["aardvark", "aardvark"]
    keep_screen(binary, "hits", editor.screen())
    search(editor, "search! aardvark", "an aardvark elsewhere")
    editor.sees("3 hits in 3 sessions · all folders")
    assert len(editor.buffer()) == 6


def test_a_hit_opens_its_tree_at_the_entry(editor: Editor, talks: list[Path], binary: Path) -> None:
    search(editor, "search aardvark", "and what of")
    editor.goto("and what of")
    editor.keys("<CR>")
    editor.is_on("and what of the aardvark")
    editor.is_complete()
    editor.is_on("○ and what of the aardvark")
    assert editor.call("foldclosed", ".") == -1, "the branch is open"
    editor.sees("○ and what of the aardvark")
    editor.sees("it is on a branch")
    editor.sees("how do we parse dates · 2 branches")
    keep_screen(binary, "hit-in-tree", editor.screen())
    editor.keys("<C-o>")
    editor.keys(":buffer branchline://search<CR>")
    until(lambda: is_shown(editor))
    editor.sees("2 hits in 2 sessions")
    editor.goto("no aardvark here")
    editor.keys("o")
    until(lambda: editor.call("winnr", "$") == 2)
    editor.is_on("no aardvark here, no parser")
    editor.sees("● a second talk")
    editor.sees("2 hits in 2 sessions")


def test_an_entry_that_the_filter_hides_is_shown(editor: Editor, talks: list[Path]) -> None:
    editor.command(f"Branchline tree {talks[0]}")
    editor.is_complete()
    editor.command("Branchline filter labeledOnly")
    until(lambda: len(editor.buffer()) == 1)
    search(editor, "search with parser", "with a parser")
    editor.goto("with a parser")
    editor.keys("<CR>")
    editor.is_on("· with a parser")
    editor.is_complete()
    editor.is_on("· with a parser")


def test_keys_of_the_buffer(editor: Editor, talks: list[Path]) -> None:
    search(editor, "search aardvark", "and what of")
    editor.goto("and what of")
    editor.keys("K")
    editor.sees("# user  2026-01-02")
    assert editor.call("winnr", "$") == 2
    assert is_shown(editor)
    editor.call("cursor", 1, 1)
    editor.keys("]]")
    editor.is_on(editor.buffer()[2])
    until(lambda: editor.call("line", ".") == 3)
    editor.keys("[[")
    until(lambda: editor.call("line", ".") == 1)
    editor.goto("no aardvark here")
    write_session(
        talks[0].parent,
        user("n", None, "a new aardvark"),
        name="n.jsonl",
        id="n",
        cwd=str(talks[0].parents[3] / "project"),
    )
    editor.keys("r")
    until(lambda: "  ● a new aardvark" in editor.buffer())
    editor.is_on("no aardvark here")
    (talks[0].parent / "n.jsonl").unlink()
    editor.keys(":e<CR>")
    until(lambda: len(editor.buffer()) == 4, lambda: str(editor.buffer()))
    editor.sees("2 hits in 2 sessions")
    assert editor.lua(MATCHES) == ["aardvark", "aardvark"]
    editor.keys(">")
    editor.says("These are all")
    editor.keys("g?")
    editor.sees("make the hits the quickfix list")
    editor.keys("q")
    editor.sees_not("make the hits the quickfix list")
    editor.keys("q")
    until(lambda: not is_shown(editor))


def test_quickfix_opens_trees(editor: Editor, talks: list[Path], binary: Path) -> None:
    search(editor, "search aardvark", "and what of", "no aardvark here")
    order = [line for line in editor.buffer() if line.startswith("  ")]
    editor.keys("gq")
    until(lambda: editor.call("getwinvar", 0, "quickfix_title") != "")
    assert editor.call("getqflist", {"title": 1})["title"] == "Branchline: aardvark"
    assert len(editor.call("getqflist")) == 2
    keep_screen(binary, "quickfix", editor.screen())
    editor.keys("<CR>")
    editor.is_on(order[0].strip()[2:])
    assert editor.call("bufname").startswith("branchline://tree/")
    editor.keys(":cnext<CR>")
    editor.is_on(order[1].strip()[2:].strip())
    editor.is_complete()
    editor.keys(":cprevious<CR>")
    editor.is_on(order[0].strip()[2:].strip())
    editor.keys(":cnext<CR>")
    editor.is_on(order[1].strip()[2:].strip())
    assert editor.call("winnr", "$") == 2
    editor.sees("how do we parse dates · " if "what of" in order[1] else "a second talk · ")


def test_what_is_no_query_is_said_in_a_sentence(editor: Editor, talks: list[Path]) -> None:
    editor.command("Branchline search role:king x")
    editor.says("Branchline: The query has an unknown role; known are")
    editor.command("Branchline search before:soon x")
    editor.says("has a wrong date: write before:2026-05-31")
    editor.command("Branchline search gnu")
    editor.says("No session of this folder has gnu; :Branchline search! looks in all")
    assert editor.buffer() == [""]
    editor.command("Branchline search file:%")
    editor.says("file:% needs a buffer with a file")


def test_which_sessions_touched_this_file(editor: Editor, talks: list[Path], project: Path) -> None:
    (project / ".git").mkdir()
    (project / "src").mkdir()
    (project / "src" / "my file.py").write_text("pass\n")
    call = {"type": "toolCall", "id": "k", "name": "edit"}
    for number, path in enumerate((project / "src" / "my file.py", "src/other.py")):
        arguments = {"path": str(path), "oldText": "a", "newText": "b"}
        write_session(
            talks[0].parent,
            user("u", None, f"edit number {number}"),
            assistant("v", "u", [{**call, "arguments": arguments}], "toolUse"),
            name=f"edit{number}.jsonl",
            id=f"edit{number}",
            cwd=str(project),
        )
    editor.command("edit src/my\\ file.py")
    search(editor, "search file:%", "edit number 0")
    editor.sees('file:"src/my file.py" · 1 hit in 1 session')
    assert len(editor.buffer()) == 2


def test_asking_for_the_query_completes(editor: Editor, talks: list[Path]) -> None:
    editor.command("nmap gz <Plug>(branchline-search)")
    editor.keys("gz")
    editor.sees("Search:")
    editor.keys("ro<Tab>as<Tab> aardvark")
    editor.sees("Search: role:assistant aardvark")
    editor.keys("<CR>")
    editor.sees("role:assistant aardvark · 1 hit in 1 session")
    completed = editor.call("getcompletion", "Branchline search! tool:", "cmdline")
    assert "tool:bash" in completed
    assert editor.call("getcompletion", "Branchline search -fi", "cmdline") == ["-file:"]
    assert editor.call("getcompletion", "Branchline search after:2", "cmdline")[0].count("-") == 2


def test_hostile_text_is_only_text(
    editor: Editor, sessions: Path, project: Path, binary: Path
) -> None:
    for number, text in enumerate(ATTACKS):
        info = {"type": "session_info", "id": "i", "parentId": "u", "name": text}
        write_session(
            sessions,
            user("u", None, text),
            {**info, "timestamp": "2026-02-03T10:00:00.000Z"},
            name=f"s{number}.jsonl",
            id=f"s{number}",
            cwd=str(project),
        )
    query = "needle -\"%{system('touch owned')}zzz\""
    search(editor, f"search {query}", "needle two")
    editor.sees(f"{query} · 14 hits in 7 sessions")
    lines = editor.buffer()
    assert len(lines) == 21
    for line in [*lines, *editor.screen()]:
        assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in line), repr(line)
        assert not any(c in line for c in "\u202e\u2066\u200b\ufeff"), repr(line)
    assert editor.lua(MATCHES) == ["needle"] * 14
    keep_screen(binary, "hostile", editor.screen())
    editor.keys("gq")
    until(lambda: len(editor.call("getqflist")) == 14)
    for line in editor.screen():
        assert not any(ord(c) < 32 for c in line), repr(line)
    editor.keys("5j<CR>")
    editor.sees("◀ here")
    assert not (project / "owned").exists()


def test_pages(editor: Editor, sessions: Path, project: Path) -> None:
    for number in range(70):
        write_session(
            sessions,
            user("a", None, f"needle number {number}"),
            name=f"s{number}.jsonl",
            id=f"s{number}",
            cwd=str(project),
        )
    search(editor, "search needle", "needle number")
    until(lambda: len(editor.buffer()) == 100, lambda: str(len(editor.buffer())))
    editor.sees("50+ hits in 50 sessions", "> more")
    editor.keys("5G")
    before = editor.line()
    editor.keys(">")
    until(lambda: len(editor.buffer()) == 140)
    editor.sees("70 hits in 70 sessions")
    assert editor.line() == before
    assert len(set(editor.buffer())) == 140
    search(editor, "search needle number", "needle number")
    until(lambda: len(editor.buffer()) == 100)
    editor.keys("G")
    until(lambda: len(editor.buffer()) == 140)
    assert editor.call("line", ".") == 100
    editor.keys("r")
    until(lambda: editor.lua("return not require('branchline.hits').current.asking"))
    assert len(editor.buffer()) == 140


def test_a_word_in_row_nine_thousand(
    editor: Editor, sessions: Path, project: Path, demo: Path, binary: Path
) -> None:
    write_large_session(sessions, project)
    editor.tree(str(demo))
    search(editor, "search word8999", "word8999")
    editor.sees("word8999 · 1 hit in 1 session")
    editor.goto("word8999")
    editor.keys("<CR>")
    editor.is_on("turn 8999 says word8999")
    editor.sees("turn 8999 says word8999")
    until(lambda: len(editor.buffer()) == 9_997)
    editor.is_complete()
    editor.is_on("turn 8999 says word8999")
    assert editor.call("line", ".") > 9_000
    assert editor.call("foldclosed", ".") == -1
    keep_screen(binary, "row-9000", editor.screen())
    search(editor, 'search "aside 4600 step 2"', "aside 4600 step 2")
    editor.goto("aside 4600 step 2")
    editor.keys("<CR>")
    editor.is_on("aside 4600 step 2")
    assert editor.call("foldclosed", ".") == -1, "the folded branch is open"
    editor.sees("aside 4600 step 2")


def test_the_lua_api(editor: Editor, talks: list[Path]) -> None:
    editor.lua(
        """require('branchline').search('aardvark', { all = true, wait = true, limit = 2 },
        function(problem, answer) _G.problem, _G.answer = problem, answer end)"""
    )
    answer = until(lambda: editor.lua("return _G.answer"))
    assert len(answer["hits"]) == 2
    assert answer["nextCursor"]
    assert {hit["session"]["id"] for hit in answer["hits"]} <= {"one", "two", "three"}
    editor.lua("require('branchline').search('role:king', nil, function(p) _G.problem = p end)")
    assert until(lambda: editor.lua("return _G.problem"))["data"]["parameter"] == "query"
    assert editor.buffer() == [""]


def test_indexing_is_said_and_followed(start: StartEditor, talks: list[Path]) -> None:
    """The daemon's notification, as the client takes it: what comes is asked for again."""
    editor = start()
    search(editor, "search aardvark", "and what of")
    editor.lua(
        """
        local list = require('branchline.hits').current
        local client = list.connection.client
        local request = client.request
        _G.asked = 0
        client.request = function(self, method, params, handler, ...)
          if method ~= 'session/search' then
            return request(self, method, params, handler, ...)
          end
          _G.asked = _G.asked + 1
          return request(self, method, params, function(problem, answer, ...)
            answer.indexing = _G.indexing
            handler(problem, answer, ...)
          end, ...)
        end
        _G.tell = function(sessions)
          client.handlers['session/indexing'](nil, { sessions = sessions, ofSessions = 5000 })
        end
        _G.indexing = { sessions = 100, ofSessions = 5000 }
        list:refresh()"""
    )
    editor.sees("2 hits in 2 sessions · indexing 100 of 5,000 sessions")
    editor.lua("_G.indexing.sessions = 120; _G.tell(120)")
    editor.sees("indexing 120 of 5,000 sessions")
    until(lambda: editor.lua("return _G.asked") == 2)
    editor.lua("_G.indexing = nil; _G.tell(5000)")
    editor.sees_not("indexing")
    until(lambda: editor.lua("return _G.asked") == 3)
    editor.lua("_G.tell(5000)")
    assert editor.lua("return _G.asked") == 3, "nothing is asked for when nothing was missing"


def test_what_is_indexed_meanwhile_appears(
    editor: Editor, sessions: Path, project: Path, demo: Path
) -> None:
    """Too much to wait for: the first answer comes before all is read, and nobody asks again."""
    filling = " ".join(f"word{number}" for number in range(LARGE // 8))
    for number in range(40):
        write_session(
            sessions,
            *(user(f"m{n}", f"m{n - 1}" if n else None, f"{filling} {n}") for n in range(3)),
            user("last", "m2", "the needle"),
            name=f"s{number}.jsonl",
            id=f"s{number}",
            cwd=str(project),
        )
    editor.tree(str(demo))
    editor.lua(
        """
        _G.told = {}
        local hits = require('branchline.hits')
        local on_indexing = hits.on_indexing
        hits.on_indexing = function(connection, progress)
          table.insert(_G.told, progress.sessions)
          on_indexing(connection, progress)
        end
        hits.search('the needle', {})"""
    )
    until(lambda: editor.buffer().count("  ● the needle") == 40, seconds=80)
    editor.sees("40 hits in 40 sessions")
    editor.sees_not("indexing")
    assert editor.lua("return _G.told") != []


def test_in_a_terminal(terminal: Terminal, talks: list[Path], binary: Path) -> None:
    terminal.sees("~")
    terminal.keys(":Branchline search aardvark", "Enter")
    terminal.sees("aardvark · ", "hits in 2 sessions")
    hits = terminal.sees("● and what of the aardvark")
    terminal.keys("/what of", "Enter", "Enter")
    tree = terminal.sees("└╴⊟ ○ and what of the aardvark")
    keep_screen(binary, "terminal-hits", hits.splitlines())
    keep_screen(binary, "terminal-tree", tree.splitlines())
    terminal.keys(":qa!", "Enter")
    until(terminal.has_ended)
