"""A person's view: Neovim in a terminal, typed keys, the screen as text."""

import os
from pathlib import Path

from tests.neovim.editor import Terminal, entries_of, until


def test_a_whole_walk(terminal: Terminal, demo: Path, binary: Path) -> None:
    terminal.sees("~")
    terminal.keys(":Branchline", "Enter")
    terminal.sees("◉ · Done. The batch size", "◀ here")
    terminal.sees("CSV importer: fast and correct · 3 branches · 5k/128k · default")
    terminal.sees("┃ └╴⊞ Try pandas first.", "· 11 messages", "⚑pandas")
    terminal.keys("/Try pandas", "Enter", "zo")
    terminal.sees("┃ └╴⊟ ○ Try pandas first.")
    opened = terminal.sees("┃    · I will write it beside the old code")
    terminal.keys("j", "Enter")
    terminal.sees("Leave", "messages", "tokens")
    question = terminal.sees("s  take a summary along")
    terminal.keys("s")
    terminal.sees(":w stores")
    draft = terminal.sees("## Goal")
    terminal.keys(":w", "Enter")
    terminal.sees("⇄", "◀ here")
    assert "branch_summary" in [entry["type"] for entry in entries_of(demo)[59:]]
    terminal.keys("u")
    moved = terminal.sees("◉ · Done. The batch size", "◀ here")
    folder = os.environ.get("BRANCHLINE_SCREENS")
    if folder:
        for name, shown in (
            ("open", opened),
            ("question", question),
            ("draft", draft),
            ("undone", moved),
        ):
            (Path(folder) / f"{binary.name}-{name}.txt").write_text(shown)
    terminal.keys(":qa!", "Enter")
    until(terminal.has_ended)
