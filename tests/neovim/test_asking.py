"""Asking the model from a buffer: only a `:w` that was typed sends, and the answer streams."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.model_server import ScriptedServer, hangs, model_server, refuses, says
from tests.neovim.conftest import StartEditor
from tests.neovim.editor import Editor, entries_of, until


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A model server without answers yet."""
    with model_server() as running:
        yield running


def settings(base_url: str) -> tuple[str, str]:
    """The arguments of an editor whose prompts go to a server."""
    prompt = f"prompt = {{ baseUrl = '{base_url}', model = 'm', maxRetries = 0 }}"
    return "--cmd", f"lua vim.g.branchline = {{ settings = {{ {prompt} }} }}"


@pytest.fixture
def asking(start: StartEditor, server: ScriptedServer, demo: Path) -> Editor:
    """An editor that has the tree open and knows the server."""
    editor = start(arguments=settings(server.base_url))
    editor.tree()
    return editor


def texts_of(path: Path) -> list[Any]:
    """Role and text of the messages that were added to the sample."""
    found = []
    for entry in entries_of(path)[59:]:
        if entry["type"] == "message":
            content = entry["message"]["content"]
            text = content if isinstance(content, str) else "".join(b["text"] for b in content)
            found.append((entry["message"]["role"], text))
    return found


def test_a_typed_write_sends(asking: Editor, server: ScriptedServer, demo: Path) -> None:
    server.add(says("It is ", "done."))
    asking.keys("a")
    asking.sees("Ask", ":w sends")
    asking.keys("iIs it done?<Esc>:w<CR>")
    asking.sees("· It is done.", "◀ here")
    asking.sees("● Is it done?")
    assert texts_of(demo) == [("user", "Is it done?"), ("assistant", "It is done.")]
    assert server.requests[0].texts[-1] == "Is it done?"
    asking.sees_not(":w sends")
    assert asking.messages() == "" or "E" not in asking.messages()[:1]


@pytest.mark.parametrize(
    "write",
    [
        ":wa<CR>",
        "<Cmd>write<CR>",
        ":lua vim.cmd('silent! write')<CR>",
        ":set autowriteall<CR>:qall<CR>",
        ":doautocmd FocusLost<CR>:wall<CR>",
        ":1,1w<CR>",
        ":xa<CR>",
    ],
)
def test_other_writes_keep_the_text_and_send_nothing(
    asking: Editor,
    start: StartEditor,
    server: ScriptedServer,
    demo: Path,
    environment: dict[str, str],
    write: str,
) -> None:
    asking.keys("a")
    asking.sees("Ask", ":w sends")
    asking.keys("iA thought, half of it<Esc>" + write)
    drafts = Path(environment["XDG_STATE_HOME"]) / "nvim" / "branchline" / "drafts"

    def kept() -> list[Path]:
        return list(drafts.glob("*.md")) if drafts.exists() else []

    if write == ":1,1w<CR>":
        asking.sees("A thought")
    else:
        until(lambda: kept())
        assert kept()[0].read_text() == "A thought, half of it\n"
        assert kept()[0].stat().st_mode & 0o777 == 0o600
    assert texts_of(demo) == []
    assert server.requests == []
    if kept():
        again = start(arguments=settings(server.base_url))
        again.tree()
        again.keys("a")
        again.sees("A thought, half of it")


def test_answers_stream_into_the_tree_and_the_preview(
    asking: Editor, server: ScriptedServer, demo: Path
) -> None:
    more = threading.Event()
    server.add(says("The first part", " and the rest.", pause=more))
    asking.keys("K")
    asking.sees(" Entry")
    asking.keys("a")
    asking.sees(":w sends")
    asking.keys("iTell me.<Esc>:w<CR>")
    asking.sees("# The answer, as it comes")
    until(lambda: sum("The first part" in line for line in asking.screen()) == 2)
    asking.sees("answering")
    assert texts_of(demo) == [("user", "Tell me.")]
    more.set()
    asking.sees("· The first part and the rest.", "◀ here")
    asking.sees("# assistant")
    assert texts_of(demo)[-1] == ("assistant", "The first part and the rest.")


def test_a_cursor_that_was_moved_away_stays_there_when_the_answer_comes(
    asking: Editor, server: ScriptedServer, demo: Path
) -> None:
    more = threading.Event()
    server.add(says("The first part", " and the rest.", pause=more))
    asking.keys("a")
    asking.sees(":w sends")
    asking.keys("iTell me.<Esc>:w<CR>")
    asking.sees("The first part")
    asking.is_complete()
    asking.is_on("Tell me.")
    asking.goto("Bitte auch")
    more.set()
    asking.sees("· The first part and the rest.", "◀ here")
    asking.is_complete()
    asking.is_on("Bitte auch")


WORK = """
for _ = 1, 30 do
  vim.schedule(function()
    local ends = vim.uv.hrtime() + 20e6
    while vim.uv.hrtime() < ends do end
  end)
end"""
"""Much comes in at once: a <C-c> meanwhile is an interrupt to Neovim, and runs through no map."""


@pytest.mark.parametrize("work", ["", WORK], ids=["at rest", "at work"])
def test_an_answer_is_cancelled_by_one_press(
    asking: Editor, server: ScriptedServer, demo: Path, work: str
) -> None:
    for turn in range(5):  # whether it comes as an interrupt is a matter of chance
        server.add(hangs())
        asking.keys("a")
        asking.sees(":w sends")
        asking.keys(f"iTell me {turn}.<Esc>:w<CR>")
        asking.sees(f"● Tell me {turn}.", "◀ here")
        asking.sees("… waiting for the answer")
        asking.command("messages clear")
        asking.lua(work)
        asking.keys("<C-c>")
        asking.says("Cancelled; your message is stored")
        asking.sees_not("waiting for the answer")
        asking.is_complete()
    assert texts_of(demo)[0] == ("user", "Tell me 0.")
    stops = [entry.get("message", {}).get("stopReason") for entry in entries_of(demo)[59:]]
    assert stops.count("aborted") == 5
    asking.keys("gg")
    asking.is_on("You are a coding agent")


def test_a_server_that_refuses_is_named(asking: Editor, server: ScriptedServer, demo: Path) -> None:
    server.add(refuses(401, "no such key"))
    asking.keys("a")
    asking.sees(":w sends")
    asking.keys("iTell me.<Esc>:w<CR>")
    asking.says("Your message is stored; a asks again from there.")
    asking.sees("● Tell me.")
    assert entries_of(demo)[-1]["message"]["stopReason"] == "error"


def test_without_a_model_the_text_is_kept(editor: Editor, demo: Path) -> None:
    editor.tree()
    editor.keys("a")
    editor.sees(":w sends")
    editor.keys("iTell me.<Esc>:w<CR>")
    editor.says("Your text is kept")
    assert editor.buffer() == ["Tell me."]
    assert texts_of(demo) == []


def test_another_host_is_asked_about_once(
    start: StartEditor, demo: Path, environment: dict[str, str]
) -> None:
    editor = start(arguments=settings("http://model.invalid/v1"))
    editor.tree()
    editor.keys("a")
    editor.sees(":w sends")
    editor.keys("iA secret<Esc>:w<CR>")
    editor.sees("Send it to model.invalid?")
    editor.keys("q")
    editor.sees_not("Send it to model.invalid?")
    assert texts_of(demo) == []
    editor.keys(":w<CR>")
    editor.sees("Send it to model.invalid?")
    editor.keys("y")
    editor.says("Your message is stored")
    hosts = Path(environment["XDG_STATE_HOME"]) / "nvim" / "branchline" / "hosts"
    assert hosts.read_text() == "model.invalid\n"


def test_storing_asks_nobody(asking: Editor, server: ScriptedServer, demo: Path) -> None:
    asking.keys("a")
    asking.sees(":w sends")
    asking.keys("iOnly a note<Esc>gs")
    asking.sees("● Only a note", "◀ here")
    assert texts_of(demo) == [("user", "Only a note")]
    assert server.requests == []


def test_asking_from_an_earlier_entry_moves_there_first(
    asking: Editor, server: ScriptedServer, demo: Path
) -> None:
    server.add(says("Other answer."))
    asking.goto("First back to a clean state")
    asking.keys("a")
    asking.sees("just go")
    asking.keys("g")
    asking.sees(":w sends")
    asking.keys("iAnother way?<Esc>ZZ")
    asking.sees("· Other answer.", "◀ here")
    asked = next(e for e in entries_of(demo)[59:] if e["type"] == "message")
    parents = {entry["id"]: entry["parentId"] for entry in entries_of(demo)}
    above = set()
    at = asked["id"]
    while at:
        at = parents[at]
        above.add(at)
    assert "8a5a54ff" in above
    assert "626c4cda" not in above


def test_a_new_conversation(asking: Editor, server: ScriptedServer, sessions: Path) -> None:
    server.add(says("Hello."))
    asking.command("Branchline new Greetings")
    asking.sees(":w sends")
    asking.keys("iHi<Esc>:w<CR>")
    asking.sees("· Hello.", "◀ here")
    new = [path for path in sessions.parent.rglob("*.jsonl") if path.name != "demo.jsonl"]
    assert len(new) == 1
    roles = [e["message"]["role"] for e in entries_of(new[0]) if e["type"] == "message"]
    assert roles[-2:] == ["user", "assistant"]
