"""The tree in a buffer: what is on the screen, what is text, what keys do."""

import json
import subprocess
from pathlib import Path

from tests.e2e.shared import SharedDaemon
from tests.neovim.conftest import StartEditor
from tests.neovim.editor import Editor, entries_of, until


def test_the_picture_is_that_of_the_terminal(
    editor: Editor, demo: Path, daemon: SharedDaemon
) -> None:
    editor.tree()
    picture = daemon.command("tree", str(demo), "--no-ids").stdout.splitlines()
    shown = editor.screen()
    assert shown[0].startswith(" CSV importer: fast and correct · 3 branches · 5k/128k · default")
    rows = [line for line in shown[1:] if line[:1] in tuple("┃┆◆◉")]
    # The terminal is narrower: lanes, signs and first words are the same, and the numbers.
    bodies = picture[1:]
    assert len(rows) == len(bodies) == 27
    for ours, theirs in zip(rows, bodies, strict=True):
        assert ours[:22] == theirs[:22]
        assert ours.split()[-2:] == theirs.split()[-2:]


def test_rows_are_text_and_lanes_are_not(editor: Editor, demo: Path) -> None:
    editor.tree()
    assert len(editor.buffer()) == 44
    assert not any(lane in line for line in editor.buffer() for lane in "┃┆├└◉◀⚑")
    assert "· First back to a clean state, then the reader." in editor.buffer()
    assert editor.request("nvim_get_option_value", "modifiable", {"buf": 0}) is False


def test_branches_and_runs_are_folds_of_vim(editor: Editor, demo: Path) -> None:
    editor.tree()
    editor.goto("Try pandas first")
    assert editor.call("foldclosed", ".") == 8
    editor.sees("└╴⊞ Try pandas first. Less code for us to own. · 11 messages", "⚑pandas", "692")
    editor.keys("zo")
    editor.sees("└╴⊟ ○ Try pandas first.")
    editor.sees("┃    · I will write it beside the old code")
    editor.keys("zc")
    editor.sees_not("I will write it beside the old code")
    editor.keys("gg")
    editor.sees("⚙ 3 steps: 2 bash 1 read", "692")
    editor.keys("zR")
    editor.sees("⚙ read importer/customers.py")
    editor.keys("zM")
    editor.sees_not("⚙ read importer/customers.py")


def test_a_search_finds_what_is_folded(editor: Editor, demo: Path) -> None:
    editor.tree()
    editor.keys("gg/3,2 GB<CR>")
    until(lambda: "3,2 GB" in editor.line())
    assert editor.call("foldclosed", ".") == -1
    editor.sees("3,2 GB sind zu viel")


def test_motions(editor: Editor, demo: Path) -> None:
    editor.tree()
    steps = [
        ("gg", "You are a coding agent"),
        ("]u", "The nightly import"),
        ("]u", "Try pandas first"),
        ("]l", "Streaming it is"),
        ("]l", "2.1 million lines"),
        ("[l", "Streaming it is"),
        ("[u", "3,2 GB"),
        ("gl", "Done. The batch size"),
        ("[b", "Add a progress bar"),
        ("]b", "Print a progress line"),
        ("gg2]u", "Try pandas first"),
    ]
    for keys, text in steps:
        editor.keys(keys)
        editor.is_on(text)


def test_filters(editor: Editor, demo: Path) -> None:
    editor.tree()
    for keys, count, name in (
        ("fu", 7, "userOnly"),
        ("fl", 4, "labeledOnly"),
        ("fn", 23, "noTools"),
    ):
        editor.keys(keys)
        editor.sees("3 branches", name)
        editor.is_complete()
        assert len(editor.buffer()) == count, editor.buffer()
    editor.keys("fa")
    editor.is_complete()
    assert len(editor.buffer()) > 50
    editor.keys("fd")
    editor.is_complete()
    assert len(editor.buffer()) == 44
    editor.keys("f/pandas<CR>")
    editor.sees('"pandas"')
    editor.is_complete()
    assert editor.buffer()
    assert all("anda" in line or "├" not in line for line in editor.buffer())


def test_the_cursor_stays_on_its_entry_when_others_write(
    editor: Editor, demo: Path, daemon: SharedDaemon
) -> None:
    editor.tree()
    editor.goto("Streaming it is")
    daemon.command("append", str(demo), "-m", "from elsewhere")
    editor.sees("● from elsewhere", "◀ here")
    assert "Streaming it is" in editor.line()
    assert editor.leaf() == entries_of(demo)[-1]["id"]
    editor.is_complete()
    assert len(editor.buffer()) == 45
    # A branch above the cursor moves its line.
    other = daemon.connect()
    other.request("session/switchLeaf", {"session": str(demo), "targetId": "7bd89a8f"})
    said = {"type": "message", "message": {"role": "user", "content": "another way"}}
    other.request("session/append", {"session": str(demo), "entries": [said]})
    editor.sees("● another way", "◀ here")
    editor.is_complete()
    assert "Streaming it is" in editor.line()


def test_what_a_program_without_locks_appends_appears(editor: Editor, demo: Path) -> None:
    editor.tree()
    entry = {
        "type": "message",
        "id": "eeee0001",
        "parentId": editor.leaf(),
        "timestamp": "2026-03-01T10:00:00.000Z",
        "message": {"role": "user", "content": "typed in another program", "timestamp": 1},
    }
    with demo.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")
    editor.sees("● typed in another program", "◀ here")
    assert editor.leaf() == "eeee0001"


def test_preview_shows_calls_and_results(editor: Editor, demo: Path) -> None:
    editor.tree()
    editor.keys("zR")
    editor.goto("Could not find the exact text")
    editor.keys("K")
    editor.sees("### ⚙ edit")
    editor.keys("<C-w>jG<C-w>k")
    editor.sees("### Result ✗")
    editor.goto("I will look at the importer")
    editor.keys("K")
    editor.sees("# assistant")
    editor.sees("path: `importer/customers.py`")
    highlighted = editor.lua(
        """
        for _, win in ipairs(vim.api.nvim_list_wins()) do
          local buf = vim.api.nvim_win_get_buf(win)
          if vim.bo[buf].filetype == 'branchline-preview' then
            return vim.treesitter.highlighter.active[buf] ~= nil
          end
        end"""
    )
    assert highlighted is True


def test_yanks(editor: Editor, demo: Path) -> None:
    editor.tree()
    editor.goto("Try pandas first")
    editor.keys('"agy')
    until(lambda: editor.call("getreg", "a") == "Try pandas first. Less code for us to own.\n")
    editor.goto("The nightly import")
    editor.keys('"bgY')
    until(lambda: "## user" in editor.call("getreg", "b"))
    assert "The nightly import takes eleven" in editor.call("getreg", "b")
    assert "pandas" not in editor.call("getreg", "b")


def test_the_file_of_a_tool_call_opens_at_its_line(
    editor: Editor, demo: Path, project: Path
) -> None:
    (project / "importer").mkdir()
    (project / "importer" / "customers.py").write_text("a\nb\nc\n")
    editor.tree()
    editor.keys("zR")
    editor.goto("read importer/customers.py")
    editor.keys("gf")
    until(lambda: editor.call("bufname").endswith("importer/customers.py"))
    assert editor.buffer() == ["a", "b", "c"]


def test_keys_are_shown_and_can_be_left_out(start: StartEditor, demo: Path) -> None:
    editor = start()
    editor.tree()
    editor.keys("g?")
    editor.sees("ask from here")
    editor.keys("q")
    editor.sees_not("ask from here")
    bare = start(arguments=("--cmd", "lua vim.g.branchline = { keys = false }"))
    bare.tree()
    assert bare.call("maparg", "K", "n") == ""
    assert bare.call("maparg", "<Plug>(branchline-preview)", "n") != "" or bare.lua(
        "return vim.fn.maparg('<Plug>(branchline-preview)', 'n', false, true).buffer == 1"
    )


def test_the_daemon_killed_and_back(editor: Editor, demo: Path, daemon: SharedDaemon) -> None:
    editor.tree()
    first = daemon.pid()
    daemon.kill()
    until(lambda: (found := daemon.status()) is not None and found["pid"] != first)
    editor.sees("CSV importer", "default")
    editor.sees_not("no daemon")
    daemon.command("append", str(demo), "-m", "after the crash")
    editor.sees("● after the crash", "◀ here")


def test_no_daemon_says_what_to_do(start: StartEditor, environment: dict[str, str]) -> None:
    Path(environment["PATH"].split(":")[0], "branchline").unlink()
    environment["PATH"] = "/usr/bin:/bin"
    editor = start()
    editor.command("Branchline")
    editor.says("cannot be run. Install Branchline")


def test_leaving_leaves_nothing_running(editor: Editor, demo: Path, daemon: SharedDaemon) -> None:
    editor.tree()
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(editor.pid)], capture_output=True, text=True, check=True
    ).stdout.split()
    assert children
    editor.leave()
    until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))
    until(lambda: (found := daemon.status()) is not None and not found["clients"])


def test_the_real_layout_of_ascii(start: StartEditor, demo: Path) -> None:
    editor = start(arguments=("--cmd", "lua vim.g.branchline = { icons = 'ascii' }"))
    editor.tree()
    editor.sees("| `-+ Try pandas first. Less code for us to own. - 11 messages", "!pandas")
    editor.sees("@ . Done.", "< here")


def test_another_buffer_in_its_window_is_as_it_was(
    editor: Editor, demo: Path, project: Path
) -> None:
    (project / "other.txt").write_text("{{{\n" * 3)
    names = ("wrap", "foldmethod", "winbar", "fillchars", "cursorline")

    def options() -> list[object]:
        return [editor.request("nvim_get_option_value", name, {}) for name in names]

    before = options()
    editor.tree()
    assert options() != before
    editor.command("edit other.txt")
    assert options() == before
    editor.command("buffer #")
    editor.sees("┃ └╴⊞ Try pandas first.")


def test_what_goes_on_looks_as_if_it_were_read_anew(
    editor: Editor, demo: Path, daemon: SharedDaemon
) -> None:
    editor.tree()
    other = daemon.connect()
    calls = [{"type": "toolCall", "id": f"c{n}", "name": "read", "arguments": {}} for n in range(3)]
    usage = {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2}
    model = {"api": "x", "provider": "local", "model": "m", "usage": usage, "stopReason": "toolUse"}
    result = {"role": "toolResult", "toolName": "read", "isError": False}
    said: list[dict[str, object]] = [
        {"role": "user", "content": "read three"},
        {"role": "assistant", "content": calls, **model},
        *({**result, "toolCallId": f"c{n}", "content": []} for n in range(3)),
        {"role": "assistant", "content": [{"type": "text", "text": "all read"}], **model},
    ]
    for message in said:
        entries = [{"type": "message", "message": message}]
        other.request("session/append", {"session": str(demo), "entries": entries})
        until(lambda: editor.leaf() == entries_of(demo)[-1]["id"])
        editor.is_complete()
        before, screen = editor.buffer(), editor.screen()
        editor.keys("fd")
        editor.is_complete()
        assert editor.buffer() == before
        assert editor.screen()[1:29] == screen[1:29]
    editor.keys("gl")
    editor.sees("· all read", "◀ here")
    assert sum("⚙ read" in line for line in editor.buffer()[-5:]) == 3


def test_the_cursors_of_two_windows_go_with_rows_that_move(
    editor: Editor, demo: Path, daemon: SharedDaemon
) -> None:
    editor.tree()
    editor.keys("zR")
    editor.goto("I will write it beside")
    editor.keys("<C-w>s")
    editor.goto("First back to a clean state")
    other = daemon.connect()
    other.request("session/switchLeaf", {"session": str(demo), "targetId": "e358839d"})
    until(lambda: editor.leaf() == "e358839d")
    editor.is_complete()
    lines = [line.partition(" ")[2] for line in editor.buffer()]
    moved = lines.index("I will write it beside the old code, so that both can be measured.")
    assert moved < lines.index("First back to a clean state, then the reader.") or moved > 20
    editor.is_on("First back to a clean state")
    editor.keys("<C-w>j")
    editor.is_on("I will write it beside")
