"""Session text that wants to do something, and errors that are to be seen."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.talk import write_session
from tests.neovim.conftest import StartEditor
from tests.neovim.editor import Editor, until
from tests.unit.session_files import assistant, user

ATTACKS = [
    "%{system('touch owned')} %#Error# %{%execute('q')%}",
    "\x1b]0;title\x07\x1b[2J\x1b[31mred",
    "line one\nline two\r\n\x00null",
    "\u202eevil\u2066 \u200b\ufeff hidden",
    "vim: set modeline exrc foldmethod=marker: {{{1",
    "```\n# not a heading\n```lua\nos.exit()\n",
    "漢字" * 200,
    "👩‍💻" * 100,
    "<img src=x onerror=alert(1)> :q!\x03\x16",
]


@pytest.fixture
def hostile(sessions: Path, project: Path) -> Path:
    """A session whose every text is an attack."""
    records: list[Any] = []
    above = None
    for number, text in enumerate(ATTACKS):
        records.append(user(f"u{number}", above, text))
        above = f"u{number}"
        records.append(assistant(f"a{number}", above, [{"type": "text", "text": text}]))
        above = f"a{number}"
        label = {"type": "label", "id": f"l{number}", "parentId": above, "targetId": f"u{number}"}
        records.append({**label, "label": text, "timestamp": "2026-02-03T10:00:00.000Z"})
        above = f"l{number}"
    info = {"type": "session_info", "id": "i", "parentId": above, "name": ATTACKS[0] + ATTACKS[1]}
    records.append({**info, "timestamp": "2026-02-03T10:00:00.000Z"})
    return write_session(sessions, *records, cwd=str(project))


def test_hostile_text_is_only_text(editor: Editor, hostile: Path, project: Path) -> None:
    editor.command(f"Branchline tree {hostile}")
    editor.is_complete()
    lines = editor.buffer()
    assert len(lines) == 18
    for line in [*lines, *editor.screen()]:
        assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in line), repr(line)
        assert not any(c in line for c in "\u202e\u2066\u200b\ufeff"), repr(line)
    editor.sees("%{system('touch owned')}", "1 branch")
    editor.command("set laststatus=2")
    editor.command("set statusline=%{%v:lua.require'branchline'.status()%}")
    editor.sees("%{system('touch owned')} %#Er… · 0%")
    assert not (project / "owned").exists()
    for number in range(len(ATTACKS)):
        editor.call("cursor", 2 * number + 1, 1)
        editor.keys("K")
        editor.sees("# user")
        editor.keys("<C-w>j")
        until(
            lambda: editor.request("nvim_get_option_value", "filetype", {}) == "branchline-preview"
        )
        for line in editor.buffer():
            assert not any(ord(c) < 32 and c != "\t" for c in line), repr(line)
        editor.keys("<C-w>k")
    assert editor.request("nvim_get_option_value", "foldmethod", {}) == "expr"


@pytest.mark.parametrize("columns", [20, 80])
def test_hostile_text_and_bytes_that_are_no_text_in_any_width(
    start: StartEditor, hostile: Path, columns: int
) -> None:
    record = {**user("last", "i", "bytes BYTES end"), "label": "x"}
    line = json.dumps(record).encode().replace(b"BYTES", b"\xff\xfe\x80\xc3") + b"\n"
    with hostile.open("ab") as file:
        file.write(line)
    editor = start(columns=columns, lines=24)
    editor.command(f"Branchline tree {hostile}")
    editor.is_complete()
    assert len(editor.buffer()) == 19
    assert editor.buffer()[-1].startswith("● bytes \ufffd")
    editor.keys("ggK")
    until(lambda: editor.call("winnr", "$") == 2)
    for line_of_screen in editor.screen():
        assert editor.call("strdisplaywidth", line_of_screen) <= columns
        assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in line_of_screen)
    assert "Error" not in editor.messages()


def test_damaged_and_odd_files_open(editor: Editor, sessions: Path) -> None:
    cases = Path(__file__).parents[1] / "cases"
    for case in ("01-torn-last-line", "15-two-roots", "24-lone-surrogate", "32-two-compactions"):
        path = sessions / f"{case}.jsonl"
        path.write_bytes((cases / f"{case}.jsonl").read_bytes())
        editor.command(f"Branchline tree {path}")
        editor.sees("◀ here")
        editor.command("bwipeout!")
    assert "Error" not in editor.messages()


def test_no_session_is_said(editor: Editor, sessions: Path) -> None:
    path = sessions / "none.jsonl"
    path.write_text(json.dumps({"type": "message"}) + "\n")
    editor.command(f"Branchline tree {path}")
    editor.says("Choose another with :Branchline sessions.")
    editor.command("Branchline tree no-such-id")
    editor.says(":Branchline sessions! shows all sessions")


def test_a_deleted_session_is_said_and_closed(editor: Editor, demo: Path) -> None:
    editor.tree()
    demo.unlink()
    editor.says("The session was ")


def test_a_read_only_session_says_what_to_do(editor: Editor, demo: Path) -> None:
    lines = demo.read_text().splitlines(keepends=True)
    header = json.loads(lines[0])
    header["version"] = 99
    demo.write_text(json.dumps(header) + "\n" + "".join(lines[1:]))
    editor.command(f"Branchline tree {demo}")
    editor.sees("read only")
    editor.is_complete()
    editor.goto("The nightly import")
    editor.keys("Lx<CR>")
    editor.says("F copies the branch into a session of your own.")
