"""Session text in a terminal: what a session holds never drives the terminal that shows it."""

import os
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.world import record
from tests.hostile.world import TIMESTAMP, make, message
from tests.unit.wire_client import DEADLINE

ATTACKS = {
    "colour": "\x1b[31mred\x1b[0m",
    "clear": "\x1b[2J\x1b[H",
    "title": "\x1b]0;owned\x07",
    "clipboard": "\x1b]52;c;bWFsaWNl\x1b\\",
    "link": "\x1b]8;;http://example.invalid\x1b\\click\x1b]8;;\x1b\\",
    "c1": "\x9b31mred\x9d0;owned\x9c",
    "overwrite": "honest\r\x1b[Kforged",
    "backspace": "rm\x08\x08ls\x7f",
    "bidi": "\u202egnp.exe\u202c \u2066hidden\u2069",
    "bell": "\x07\x05\x0e\x0f",
    "lines": "one\nforged row\r\n\x0b\x0c\u0085\u2028two",
    "report": "\x1b[6n\x1b[c\x1bP$q\x1b\\",
    "nul": "a\x00b",
}
OWN = re.compile(rb"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[[0-9]*[AK]|\r\x1b\[(?:2K|1A)|\r\n")
"""What we say to a terminal ourselves: colours, line ends, and the sign that something is read."""
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]")
CLI = [sys.executable, "-m", "branchline"]


@pytest.fixture
def attacked(agent_dir: Path) -> Path:
    """A session whose every text is an attack."""
    lines = []
    parent_id = None
    for name, attack in ATTACKS.items():
        call = {"type": "toolCall", "id": attack, "name": attack, "arguments": {"path": attack}}
        content = [{"type": "text", "text": attack}, {"type": "thinking", "thinking": attack}, call]
        lines += [
            message(f"{name}-user", parent_id, attack),
            message(f"{name}-call", f"{name}-user", content, role="assistant", model=attack,
                    provider=attack, stopReason="error", errorMessage=attack),
            message(f"{name}-result", f"{name}-call", [{"type": "text", "text": attack}],
                    role="toolResult", toolCallId=attack, toolName=attack, isError=True),
            message(f"{name}-bash", f"{name}-result", role="bashExecution", command=attack,
                    output=attack),
            record(type="label", id=f"{name}-label", parentId=f"{name}-bash", timestamp=attack,
                   targetId=f"{name}-user", label=attack),
            record(type="branch_summary", id=f"{name}-summary", parentId=f"{name}-label",
                   timestamp=TIMESTAMP, fromId="root", summary=attack),
            record(type="custom_message", customType=attack, content=attack, display=True,
                   id=f"{name}-custom", parentId=f"{name}-summary", timestamp=attack),
            record(type=attack, id=attack, parentId=f"{name}-custom", timestamp=attack),
            message(f"{name}-odd", attack, attack, role=attack),
            record(type="session_info", id=f"{name}-name", parentId=f"{name}-odd",
                   timestamp=attack, name=attack),
        ]  # fmt: skip
        parent_id = f"{name}-name"
    return make(agent_dir, *lines, b"\x1b[31m broken\n")


def shown_on_terminal(arguments: list[str], environment: dict[str, str]) -> bytes:
    """All that a command writes to its terminal, stderr included."""
    master, slave = os.openpty()
    try:
        with subprocess.Popen(
            [*CLI, *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**environment, "TERM": "xterm-256color", "COLUMNS": "100", "PYTHONUTF8": "1"},
        ) as process:
            os.close(slave)
            shown = b""
            while data := _read(master):
                shown += data
            assert process.wait(DEADLINE) in (0, 1, 2, 3), shown
    finally:
        os.close(master)
    return shown


def _read(master: int) -> bytes:
    ready, _, _ = select.select([master], [], [], DEADLINE)
    assert ready, "the command did not end"
    try:
        return os.read(master, 1 << 16)
    except OSError:  # so does a terminal end whose other side is closed
        return b""


def forbidden_in(shown: bytes) -> set[str]:
    """What a terminal would obey, or be confused by, beside our own colours."""
    text = OWN.sub(b"\n", shown).decode()
    return set(CONTROLS.findall(text))


@pytest.mark.parametrize(
    "arguments",
    [
        ["list", "--all"],
        ["list", "--all", "--json"],
        ["list", "--all", "--threaded", "\x1b[31m"],
        ["tree", "SESSION"],
        ["tree", "SESSION", "--expand-all", "--filter", "all"],
        ["tree", "SESSION", "--filter", "all", "--no-color", "--no-runs"],
        ["tree", "SESSION", "--json"],
        ["context", "SESSION"],
        ["context", "SESSION", "--json"],
        ["branches", "SESSION"],
        ["stats", "SESSION"],
        ["check", "SESSION"],
        ["check", "SESSION", "--json"],
        ["show", "SESSION"],
        ["show", "SESSION", "\x1b[31mno such entry"],
        ["tree", "\x1b[31mno such session"],
    ],
    ids=" ".join,
)
def test_no_control_character_gets_through(
    attacked: Path, environment: dict[str, str], arguments: list[str]
) -> None:
    named = [str(attacked) if one == "SESSION" else one for one in arguments]
    shown = shown_on_terminal(named, environment)
    assert forbidden_in(shown) == set()
    assert b"owned" not in shown or b"\x1b]" not in shown


def test_every_entry_is_shown_without_them(attacked: Path, environment: dict[str, str]) -> None:
    suffixes = ("user", "call", "result", "bash", "label", "summary", "custom", "odd", "name")
    ids = [f"{name}-{suffix}" for name in ATTACKS for suffix in suffixes]
    for more in ([], ["--json"]):
        shown = shown_on_terminal(["show", str(attacked), *ids, *more], environment)
        assert forbidden_in(shown) == set()
        assert b"forged" in shown


def test_a_row_is_one_line(attacked: Path, environment: dict[str, str]) -> None:
    shown = shown_on_terminal(["tree", str(attacked), "--filter", "userOnly"], environment)
    rows = [line for line in shown.split(b"\r\n") if b"forged row" in line]
    assert rows
    for row in rows:
        assert b"one" in row


def test_the_check_itself_can_fail() -> None:
    for attack in ATTACKS.values():
        assert forbidden_in(attack.replace("\x1b[31m", "\x1b[31X").encode()) or "\n" in attack
