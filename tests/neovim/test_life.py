"""How a connection begins, is lost, comes back, and is given up."""

import os
from pathlib import Path

from tests.e2e.shared import SharedDaemon
from tests.neovim.editor import Editor, entries_of, until

STARTS = 6


def command_of(environment: dict[str, str]) -> Path:
    """The `branchline` that the editor finds."""
    return Path(environment["PATH"].split(":")[0]) / "branchline"


def test_a_daemon_that_never_comes_is_given_up_after_six_starts(
    editor: Editor, demo: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    command = command_of(environment)
    real = command.read_text()
    starts = tmp_path / "starts"
    command.write_text(f"#!/bin/sh\necho started >>'{starts}'\nexit 3\n")
    editor.command("Branchline")
    editor.says(f"The daemon ended {STARTS} times (code 3, signal 0).")
    editor.says(":Branchline restart tries again")
    editor.goes_on()
    assert starts.read_text().count("started") == STARTS
    assert editor.messages().count("The daemon ended") == 1
    command.write_text(real)
    editor.command("Branchline restart")
    until(lambda: editor.state() == "ready")
    editor.command("Branchline")
    editor.sees("Done. The batch size", "◀ here")


def test_a_daemon_that_dies_again_and_again_is_given_up_with_the_tree_open(
    editor: Editor, demo: Path, environment: dict[str, str], daemon: SharedDaemon
) -> None:
    editor.tree()
    command = command_of(environment)
    real = command.read_text()
    command.write_text("#!/bin/sh\nexit 3\n")
    daemon.kill()
    editor.sees("no daemon, trying again")
    editor.says("The daemon ended ")
    editor.goes_on()
    editor.sees("no daemon; :Branchline restart")
    assert len(editor.buffer()) == 44
    editor.keys("K")
    editor.says("There is no connection to the daemon; :Branchline restart makes one")
    editor.goes_on()
    command.write_text(real)
    editor.keys(":Branchline restart<CR>")
    editor.sees_not("no daemon")
    daemon.command("append", str(demo), "-m", "after all that")
    editor.sees("● after all that", "◀ here")


def test_what_is_asked_before_the_daemon_is_ready_waits(
    editor: Editor, demo: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    command = command_of(environment)
    command.write_text(command.read_text().replace("exec", f"read _ <'{gate}'\nexec", 1))
    editor.command("Branchline")
    editor.lua(
        """require('branchline').context({ format = 'none' }, function(problem, context)
          _G.answer = problem and problem.message or context.leafId
        end)"""
    )
    assert editor.state() == "starting"
    assert editor.lua("return _G.answer") is None
    gate.write_text("go\n")
    editor.sees("Done. The batch size", "◀ here")
    until(lambda: editor.lua("return _G.answer ~= nil"))
    assert editor.lua("return _G.answer") == editor.leaf()
    assert editor.messages() == ""


def test_a_summary_that_the_daemon_has_forgotten_is_stored_all_the_same(
    editor: Editor, demo: Path, daemon: SharedDaemon
) -> None:
    editor.tree()
    editor.goto("Try pandas first")
    editor.keys("S")
    editor.has_summary()
    editor.keys("GoMy own words.<Esc>")
    first = daemon.pid()
    daemon.kill()
    until(lambda: (found := daemon.status()) is not None and found["pid"] != first)
    until(lambda: editor.state() == "ready")
    editor.keys(":w<CR>")
    editor.sees("⇄", "◀ here")
    (summary,) = (e for e in entries_of(demo)[59:] if e["type"] == "branch_summary")
    assert "My own words." in summary["summary"].splitlines()


def test_what_is_asked_while_the_daemon_is_away_waits_too(
    editor: Editor, demo: Path, environment: dict[str, str], daemon: SharedDaemon, tmp_path: Path
) -> None:
    editor.tree()
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    command = command_of(environment)
    command.write_text(command.read_text().replace("exec", f"read _ <'{gate}'\nexec", 1))
    daemon.kill()
    editor.sees("no daemon, trying again")
    editor.goto("Bitte auch")
    editor.keys("Lumlauts<CR>")
    gate.write_text("go\n")
    editor.sees("Bitte auch", "⚑umlauts")
    editor.sees_not("no daemon")
