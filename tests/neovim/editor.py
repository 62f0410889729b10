"""The real Neovim, driven from outside: embedded over RPC, or in a terminal.

Each editor runs the plugin of this checkout with a home of its own, and finds the real daemon on
its PATH as ``branchline``. Nothing here waits for time: `until` asks until a condition holds.
"""

import json
import os
import select
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

ROOT: Final = Path(__file__).resolve().parents[2]
HERE: Final = Path(__file__).resolve().parent
PLUGIN: Final = ROOT / "clients" / "neovim"
INSTALLED: Final = ROOT / ".cache" / "neovim"
DEADLINE: Final = 20.0
PAUSE: Final = 0.02

T = TypeVar("T")
Json = Any


def until(
    condition: Callable[[], T],
    what: str | Callable[[], str] = "it",
    seconds: float = DEADLINE,
) -> T:
    """Ask again and again until the answer is true; give it."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(
                f"did not happen in time: {what if isinstance(what, str) else what()}"
            )
        time.sleep(PAUSE)


def missing() -> str | None:
    """Why there is no editor for the tests; None if there is one."""
    lock = INSTALLED / "installed.txt"
    if not lock.exists() or lock.read_bytes() != (HERE / "requirements.txt").read_bytes():
        return "Neovim 0.11 is not installed; `make neovim-deps` says why"
    return None


def editors() -> list[Path]:
    """The editors that are installed, the oldest first."""
    return sorted((INSTALLED / "bin").glob("nvim-*")) if missing() is None else []


def variables(daemon_environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The environment of an editor whose ``branchline`` is the daemon of this checkout."""
    commands = folder / "bin"
    commands.mkdir(exist_ok=True)
    command = commands / "branchline"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m branchline "$@"\n')
    command.chmod(0o755)
    return {
        **daemon_environment,
        "PATH": f"{commands}{os.pathsep}{daemon_environment['PATH']}",
        "BRANCHLINE_PLUGIN": str(PLUGIN),
        "NVIM_LOG_FILE": str(folder / "nvim.log"),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TERM": "xterm-256color",
    }


def entries_of(path: Path) -> list[Json]:
    """The entries of a session file, without its header."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[1:]]


class EditorError(Exception):
    """The editor answered with an error."""


class Editor:
    """An embedded Neovim, spoken to over its stdin and stdout. A context manager.

    Attributes:
        pid: its process.
    """

    def __init__(
        self,
        binary: Path,
        environment: Mapping[str, str],
        folder: Path,
        *,
        arguments: Sequence[str] = (),
        columns: int = 100,
        lines: int = 32,
    ) -> None:
        import msgpack

        self._process = subprocess.Popen(
            [
                *(str(binary), "--embed", "--headless", "-u", str(HERE / "init.lua")),
                *("-i", "NONE", "-n", "--cmd", f"set lines={lines} columns={columns}", *arguments),
            ],
            env=environment,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._pack = msgpack.Packer().pack
        # Handles of buffers and windows are extension types that hold a number.
        self._received = msgpack.Unpacker(
            ext_hook=lambda _, data: msgpack.unpackb(data), strict_map_key=False
        )
        self._last_id = 0
        self.pid = self._process.pid

    def __enter__(self) -> "Editor":
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:
            try:
                self.leave()
            finally:
                self._process.kill()  # does nothing to a process that has ended

    def has_ended(self) -> bool:
        """Whether the editor has left."""
        return self._process.poll() is not None

    def leave(self) -> None:
        """Leave the editor without saving, and wait for its end."""
        if self._process.poll() is None:
            self._send("nvim_command", ("qall!",))
            self._process.wait(DEADLINE)

    def _send(self, method: str, arguments: Sequence[Json]) -> None:
        self._last_id += 1
        assert self._process.stdin is not None
        self._process.stdin.write(self._pack([0, self._last_id, method, arguments]))
        self._process.stdin.flush()

    def request(self, method: str, *arguments: Json) -> Json:
        """Call a function of Neovim's API."""
        self._send(method, arguments)
        while True:
            for kind, number, *rest in self._received:
                if kind == 1 and number == self._last_id:
                    error, result = rest
                    if error is not None:
                        raise EditorError(f"{method}: {error}")
                    return result
            assert self._process.stdout is not None
            ready, _, _ = select.select([self._process.stdout], [], [], DEADLINE)
            assert ready, f"{method}: the editor does not answer"
            data = os.read(self._process.stdout.fileno(), 1 << 16)
            assert data, f"{method}: the editor has ended"
            self._received.feed(data)

    def lua(self, code: str, *arguments: Json) -> Json:
        """Run Lua in the editor; give what it returns."""
        return self.request("nvim_exec_lua", code, arguments)

    def command(self, text: str) -> None:
        """Run an Ex command, as a plugin would: nobody types it."""
        self.request("nvim_command", text)

    def keys(self, text: str) -> None:
        """Type keys, as a person would."""
        assert self.request("nvim_input", text) > 0

    def screen(self) -> list[str]:
        """The lines of the screen, without what follows the last character."""
        self.command("redraw")
        shown: list[str] = self.lua(
            """
            local shown = {}
            for row = 1, vim.o.lines do
              local cells = {}
              for column = 1, vim.o.columns do
                cells[#cells + 1] = vim.fn.screenstring(row, column)
              end
              shown[row] = (table.concat(cells):gsub('%s+$', ''))
            end
            return shown"""
        )
        return shown

    def goes_on(self) -> None:
        """Leave the prompt that long messages end with, if there is one."""
        if self.request("nvim_get_mode")["mode"] == "r":
            self.keys("<CR>")

    def sees(self, *texts: str) -> str:
        """Wait until a line of the screen holds all the texts; give that line."""

        def find() -> str | None:
            return next(
                (line for line in self.screen() if all(text in line for text in texts)), None
            )

        found = until(find, lambda: f"{texts} on the screen\n" + "\n".join(self.screen()))
        assert found is not None
        return found

    def sees_not(self, text: str) -> None:
        """Wait until the screen does not hold the text."""
        until(
            lambda: not any(text in line for line in self.screen()),
            lambda: f"{text!r} going away\n" + "\n".join(self.screen()),
        )

    def tree(self, *arguments: str) -> None:
        """Open the tree and wait until all its rows are there."""
        self.command(" ".join(("Branchline", "tree", *arguments)))
        self.is_complete()

    def is_complete(self) -> None:
        """Wait until the tree of the current tab page has all its rows."""
        until(
            lambda: self.lua(
                """
                for _, tree in pairs(require('branchline.tree').trees) do
                  return tree.complete and not tree.reload_planned
                end"""
            ),
            lambda: "the whole tree\n" + "\n".join(self.screen()) + self.messages(),
        )

    def messages(self) -> str:
        """What the editor has said."""
        said: str = self.call("execute", "messages")
        return said

    def says(self, text: str) -> str:
        """Wait until the editor has said the text; give all it has said."""
        until(
            lambda: text in self.messages(),
            lambda: f"{text!r} among the messages:\n{self.messages()}\n" + "\n".join(self.screen()),
        )
        return self.messages()

    def has_summary(self) -> None:
        """Wait until the current buffer is a summary that is written to its end."""
        until(
            lambda: (
                any("## Goal" in line for line in self.buffer())
                and self.request("nvim_get_option_value", "modifiable", {"buf": 0})
            ),
            lambda: "a whole summary\n" + "\n".join(self.screen()),
        )

    def is_on(self, text: str) -> None:
        """Wait until the line under the cursor holds the text."""
        until(lambda: text in self.line(), lambda: f"{text!r} in {self.line()!r}")

    def goto(self, text: str) -> None:
        """Put the cursor on the row with the text."""
        found = self.call("search", "\\V" + text, "cw")
        assert found, f"no row with {text!r}:\n" + "\n".join(self.buffer())

    def call(self, function: str, *arguments: Json) -> Json:
        """Call a function of Vim script."""
        return self.request("nvim_call_function", function, arguments)

    def buffer(self) -> list[str]:
        """The lines of the current buffer."""
        found: list[str] = self.request("nvim_buf_get_lines", 0, 0, -1, True)
        return found

    def line(self) -> str:
        """The line under the cursor."""
        found: str = self.request("nvim_get_current_line")
        return found

    def state(self) -> Json:
        """The state of the only connection."""
        return self.lua(
            "for _, c in pairs(require('branchline.client').connections) do return c.state end"
        )

    def leaf(self) -> Json:
        """The id of the leaf of the only session that is open."""
        return self.lua(
            "for _, s in pairs(require('branchline.session').sessions) do return s.leafId end"
        )


class Terminal:
    """Neovim in a terminal of its own: tmux. A context manager."""

    def __init__(
        self,
        binary: Path,
        environment: Mapping[str, str],
        folder: Path,
        sockets: Path,
        *arguments: str,
    ) -> None:
        self._socket = sockets / "tmux"
        self._environment = dict(environment)
        command = [str(binary), "-u", str(HERE / "init.lua"), "-i", "NONE", "-n", *arguments]
        self._tmux(
            "-f", "/dev/null", "new-session", "-d", "-x100", "-y30", "-c", str(folder), *command
        )
        self._tmux("set", "-g", "escape-time", "0")
        self._tmux("set", "-g", "remain-on-exit", "on")

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        self._tmux("kill-server")

    def _tmux(self, *arguments: str) -> str:
        tmux = shutil.which("tmux")
        assert tmux is not None
        done = subprocess.run(
            [tmux, "-u", "-S", str(self._socket), *arguments],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def keys(self, *keys: str) -> None:
        """Type keys, in tmux's names."""
        self._tmux("send-keys", *keys)

    def text(self) -> str:
        """What the terminal shows."""
        return self._tmux("capture-pane", "-p")

    def sees(self, *texts: str) -> str:
        """Wait until one line holds all the texts; give the whole screen."""

        def find() -> str | None:
            shown = self.text()
            lines = shown.splitlines()
            return shown if any(all(text in line for text in texts) for line in lines) else None

        found = until(find, lambda: f"{texts} in the terminal\n{self.text()}")
        assert found is not None
        return found

    def sees_text(self, words: str) -> str:
        """Wait until the screen holds words, wherever its lines break; give the whole screen."""

        def find() -> str | None:
            shown = self.text()
            return shown if "".join(words.split()) in "".join(shown.split()) else None

        found = until(find, lambda: f"{words!r} in the terminal\n{self.text()}")
        assert found is not None
        return found

    def has_ended(self) -> bool:
        """Whether the editor has left."""
        return self._tmux("display", "-p", "#{pane_dead}").strip() == "1"
