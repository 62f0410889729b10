"""The real Pi writes, and the tree follows; and from the tree one goes on in Pi."""

from pathlib import Path

import pytest

from tests.interop.pi_process import PI_1_6, Pi, missing
from tests.neovim.editor import DEADLINE, Editor, entries_of


def test_what_the_real_pi_appends_appears(
    editor: Editor, demo: Path, environment: dict[str, str]
) -> None:
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    pi = Pi(PI_1_6, environment, seconds=DEADLINE * 3)
    try:
        editor.tree()
        pi.open(demo)
        pi.call("appendMessage", {"role": "user", "content": "asked in Pi", "timestamp": 1})
        editor.sees("● asked in Pi", "◀ here")
        assert editor.leaf() == entries_of(demo)[-1]["id"]
        editor.goto("Streaming it is")
        editor.keys("L<C-u>chosen<CR>")
        editor.sees("Streaming it is", "⚑chosen")
        pi.open(demo)
        assert pi.look()["labels"]["3a085b7c"] == "chosen"
    finally:
        pi.end()


def test_going_on_in_pi(editor: Editor, demo: Path, environment: dict[str, str]) -> None:
    """Which command is run is ours; what it does then is Pi's."""
    command = Path(environment["PATH"].split(":")[0]) / "pi"
    command.write_text('#!/bin/sh\necho "pi was called with $1 and ${2##*/}"\n')
    command.chmod(0o755)
    editor.tree()
    editor.command("Branchline pi")
    editor.sees("pi was called with --session and demo.jsonl")
