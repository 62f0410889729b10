"""Every error of the protocol on the screen, in words that say what to do; nothing is half-done."""

import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from branchline.errors import (
    BranchlineError,
    Busy,
    Cancelled,
    CancelledByClient,
    FileChanged,
    InvalidEntry,
    InvalidParams,
    InvalidSession,
    LeafChanged,
    NotFound,
    NothingToCompact,
    NothingToUndo,
    PromptFailed,
    ReadOnly,
    StorageFailure,
    SummaryFailed,
)
from branchline.wire import messages
from tests.e2e.shared import SharedDaemon
from tests.model_server import ScriptedServer, hangs, model_server, refuses, says
from tests.neovim.conftest import StartEditor
from tests.neovim.editor import Editor, Terminal, entries_of, until
from tests.neovim.test_moving import types_of

FILE = Path("/home/dev/s.jsonl")
SHOWN: dict[BranchlineError, str] = {
    InvalidParams("label", "must be text"): "Parameter 'label' must be text",
    Cancelled(): "Branchline: Cancelled",
    NotFound.entry("gone"): "The tree is read anew",
    InvalidSession(FILE, "no header"): "Choose another with :Branchline sessions",
    InvalidEntry("entries[0].type", "is unknown"): "Field: entries[0].type",
    LeafChanged("a", "b"): "Somebody else went on meanwhile",
    FileChanged(FILE, "truncated"): "Open it again with :Branchline tree",
    ReadOnly(FILE, "newer version"): "F copies the branch into a session of your own",
    StorageFailure(FILE, "append to", OSError(28, "No space left")): "Make room, then try again",
    Busy({"id": "j", "kind": "prompt"}): "Something else is being written here; <C-c> ends it.",
    NothingToCompact(
        100, 20_000
    ): "Nothing to compact: the newest 20k tokens stay, and there are 100.",
    NothingToUndo("a", 30): "Nothing to undo: 30 messages came since the last move.",
    CancelledByClient(): "Branchline: ",
    messages.ParseError("The body is no JSON"): "Please report this",
    messages.InvalidRequest("It is no request"): "Please report this",
    messages.NotInitialized(): ":Branchline restart connects again",
    messages.MethodNotFound("session/label"): "update Branchline, then `branchline stop`",
    messages.InternalError(
        "session/rename", ValueError()
    ): "the log is named by :checkhealth branchline",
}


def wire_errors() -> list[tuple[dict[str, Any], str]]:
    """Each error as it travels, and words that are shown of it."""
    found = [
        ({"code": one.code, "message": one.message, "data": one.data}, words)
        for one, words in SHOWN.items()
    ]
    failed = {"provider": "host", "status": 500, "retryable": True}
    for cls, words in (
        (SummaryFailed, "It may work later"),
        (PromptFailed, "Your text is kept"),
    ):
        data = {"kind": cls.kind, **failed}
        found.append(({"code": cls.code, "message": "host failed", "data": data}, words))
    return found


def kinds(cls: type[BranchlineError]) -> set[str]:
    """The kinds of an error and of all below it."""
    own = {cls.kind} if isinstance(getattr(cls, "kind", None), str) else set()
    return own.union(*(kinds(below) for below in cls.__subclasses__()))


def test_every_error_is_shown_and_the_editor_goes_on(
    terminal: Terminal, plan: Path, demo: Path
) -> None:
    told = wire_errors()
    assert {error["data"]["kind"] for error, _ in told} == kinds(BranchlineError)
    terminal.keys(":Branchline", "Enter")
    terminal.sees("◀ here")
    for error, words in told:
        plan.write_text(json.dumps({"session/rename": {"error": error}}))
        terminal.keys("R", "C-u", "x", "Enter")
        shown = terminal.sees_text(words)
        assert "stack traceback" not in shown
        assert "E5108" not in shown
        if "Press ENTER" in shown:
            terminal.keys("Enter")
        terminal.keys(":echo 'going' 'on'", "Enter")
        terminal.sees_text("going on")


def test_a_daemon_that_hangs_up_in_the_middle_of_an_answer(
    editor: Editor, plan: Path, demo: Path
) -> None:
    editor.tree()
    editor.goto("Bitte auch")
    plan.write_text(json.dumps({"session/entries": {"cut": True}}))
    editor.keys("K")
    editor.says("The daemon ended before it answered")
    plan.unlink()
    editor.sees_not("no daemon")
    editor.is_complete()
    editor.goto("Bitte auch")
    editor.keys("K")
    editor.sees("# user")
    assert "Error" not in editor.messages()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A model server without answers yet."""
    with model_server() as running:
        yield running


def settings(url: str) -> tuple[str, str]:
    """The arguments of an editor whose summaries and prompts go to a server."""
    model = f"{{ baseUrl = '{url}', model = 'm', maxRetries = 0 }}"
    return (
        "--cmd",
        f"lua vim.g.branchline = {{settings = {{prompt = {model}, summarizer = {model}}}}}",
    )


def test_a_summary_that_failed_is_offered_offline(
    start: StartEditor, server: ScriptedServer, demo: Path
) -> None:
    server.add(refuses(500, "out of order"))
    server.add(refuses(500, "out of order"))
    editor = start(arguments=settings(server.base_url))
    editor.tree()
    editor.goto("Try pandas first")
    editor.keys("S")
    editor.sees("The summary failed")
    editor.sees("500")
    editor.sees("o  take the offline summary, made by rules")
    editor.keys("r")
    until(lambda: len(server.requests) == 2)
    editor.sees("r  try again")
    editor.keys("o")
    editor.sees(":w stores")
    editor.has_summary()
    assert types_of(demo) == []
    editor.keys(":w<CR>")
    editor.sees("⇄", "◀ here")
    assert "branch_summary" in types_of(demo)
    assert len(server.requests) == 2


def test_a_text_that_could_not_be_rewritten_is_still_there(
    start: StartEditor, server: ScriptedServer, demo: Path
) -> None:
    server.add(says("## Goal\nTo be fast.\n\n## Next Steps\n1. None\n"))
    server.add(refuses(500, "out of order"))
    editor = start(arguments=settings(server.base_url))
    editor.tree()
    editor.goto("Try pandas first")
    editor.keys("S")
    editor.sees("To be fast.")
    until(lambda: editor.request("nvim_get_option_value", "modifiable", {"buf": 0}))
    editor.keys("GoMy own words.<Esc>gRspeed<CR>")
    editor.sees("The summary failed")
    editor.keys("q")
    until(lambda: "My own words." in editor.buffer())
    assert "To be fast." in editor.buffer()


def test_before_a_summary_goes_to_another_host_one_is_asked_once(
    start: StartEditor, demo: Path, environment: dict[str, str]
) -> None:
    editor = start(arguments=settings("http://model.invalid/v1"))
    editor.tree()
    editor.goto("Try pandas first")
    editor.keys("S")
    editor.sees("Send it to model.invalid?")
    editor.keys("q")
    editor.sees_not("Send it to model.invalid?")
    assert "pandas" in editor.line()
    editor.keys("S")
    editor.sees("Send it to model.invalid?")
    editor.keys("y")
    editor.sees("The summary failed")
    editor.keys("q")
    editor.sees_not("The summary failed")
    editor.keys("S")
    editor.sees("The summary failed")
    hosts = Path(environment["XDG_STATE_HOME"]) / "nvim" / "branchline" / "hosts"
    assert hosts.read_text() == "model.invalid\n"
    assert types_of(demo) == []


def test_while_an_answer_is_written_a_summary_is_refused(
    start: StartEditor, server: ScriptedServer, demo: Path
) -> None:
    server.add(hangs())
    editor = start(arguments=settings(server.base_url))
    editor.tree()
    editor.keys("a")
    editor.sees(":w sends")
    editor.keys("iTell me.<Esc>:w<CR>")
    editor.sees("… waiting for the answer")
    editor.is_complete()
    editor.goto("Try pandas first")
    editor.keys("S")
    editor.says("Something else is being written here; <C-c> ends it.")
    editor.keys("<C-c>")
    editor.says("Cancelled")
    assert "branch_summary" not in types_of(demo)


def test_a_full_disk_is_named_and_nothing_is_added(
    editor: Editor, demo: Path, daemon: SharedDaemon
) -> None:
    editor.tree()
    before = demo.read_bytes()
    limit = os.stat(demo).st_size
    resource.prlimit(daemon.pid(), resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    editor.goto("Bitte auch")
    editor.keys("Lumlauts<CR>")
    editor.says("(EFBIG)")
    assert demo.read_bytes() == before
    resource.prlimit(daemon.pid(), resource.RLIMIT_FSIZE, (-1, -1))
    editor.goes_on()
    editor.keys("Lumlauts<CR>")
    editor.sees("Bitte auch", "⚑umlauts")


@pytest.mark.parametrize("what", ["truncated", "overwritten", "replaced by another file"])
def test_a_file_that_changed_is_read_anew(
    editor: Editor, demo: Path, tmp_path: Path, what: str
) -> None:
    editor.tree()
    lines = demo.read_text().splitlines(keepends=True)
    if what == "truncated":
        os.truncate(demo, sum(len(line.encode()) for line in lines[:10]))
    elif what == "overwritten":
        demo.write_text("".join(lines).replace("Bitte auch", "Please also"))
    else:
        other = tmp_path / "other.jsonl"
        other.write_text("".join(lines[:12]))
        other.chmod(0o600)
        other.replace(demo)
    editor.says(f"The session was {what}")
    until(lambda: not any("Bitte auch" in line for line in editor.buffer()))
    editor.is_complete()
    editor.sees("◀ here")
    editor.goes_on()
    editor.keys("L<C-u>after<CR>")
    until(lambda: entries_of(demo)[-1].get("label") == "after", editor.messages)


def test_a_wrong_setting_is_named_and_not_tried_again(start: StartEditor, demo: Path) -> None:
    told = "lua vim.g.branchline = { settings = { contextWindow = 'large' } }"
    editor = start(arguments=("--cmd", told))
    editor.command("Branchline")
    editor.says("contextWindow")
    until(
        lambda: (
            editor.lua(
                "for _, c in pairs(require('branchline.client').connections) do return c.state end"
            )
            == "failed"
        )
    )
    assert editor.messages().count("contextWindow") == 1
    assert "stack traceback" not in editor.messages()
    editor.goes_on()
    editor.lua("vim.g.branchline = nil")
    editor.command("Branchline")
    editor.sees("◀ here")
