"""The real Pi as a process: which versions there are, and how to ask one.

It owns the processes it starts. It knows nothing of Branchline.
"""

import json
import shutil
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

HERE: Final = Path(__file__).resolve().parent
INSTALLED: Final = HERE.parents[1] / ".cache" / "pi"
OLDEST_NODE: Final = 20
"""The session code of all versions runs there, though Pi itself asks for a newer one."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of Pi, by the folder that `pi/package.json` gives it.

    Attributes:
        folder: its folder below ``node_modules``.
        kind: what the driver makes of it.
        edits_and_system: whether it knows context edits, system messages and usage entries.
        blank_rows: entry types that its ``/tree`` draws as a row without text.
    """

    folder: str
    kind: Literal["coding-agent", "agent-core"]
    edits_and_system: bool = False
    blank_rows: frozenset[str] = frozenset()


PI_1_6: Final = Version(
    "pi-1.6.0",
    "coding-agent",
    edits_and_system=True,
    blank_rows=frozenset({"active_tools_change", "leaf"}),
)
PI_0_78: Final = Version(
    "pi-0.78.0",
    "coding-agent",
    blank_rows=frozenset({"active_tools_change", "leaf", "context_edit", "usage"}),
)
AGENT_CORE: Final = Version("agent-core-0.78.0", "agent-core")
VERSIONS: Final = (PI_1_6, PI_0_78, AGENT_CORE)


def missing() -> str | None:
    """Why the real Pi cannot be run here; None if it can."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return "the real Pi: Node and npm are not installed"
    found = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    if int(found.removeprefix("v").partition(".")[0]) < OLDEST_NODE:
        return f"the real Pi: it needs Node {OLDEST_NODE}, this is {found.strip()}"
    lock = INSTALLED / "installed-lock.json"
    if not lock.exists() or lock.read_bytes() != (HERE / "pi" / "package-lock.json").read_bytes():
        return "the real Pi: npm did not install it; `make interop-deps` says why"
    return None


class PiError(Exception):
    """Pi refused."""


class Pi:
    """One running Pi with at most one session open. A context manager: it ends with the block."""

    def __init__(self, version: Version, environment: Mapping[str, str], *, seconds: float) -> None:
        """Start it; after ``seconds`` it counts as stuck and is killed."""
        package = INSTALLED / "node_modules" / version.folder
        command = ["node", str(HERE / "pi_driver.mjs"), version.kind, str(package)]
        self.version = version
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(environment)
        )
        self._watchdog = threading.Timer(seconds, self._process.kill)
        self._watchdog.daemon = True
        self._watchdog.start()

    def end(self) -> None:
        """End the process."""
        self._watchdog.cancel()
        self._process.kill()
        self._process.communicate()

    def create(self, path: Path, cwd: str) -> None:
        """Begin a session; its file may appear only when something was said."""
        self._ask("create", path=str(path), cwd=cwd)

    def open(self, path: Path) -> None:
        """Open a session as a Pi that was just started does."""
        self._ask("open", path=str(path))

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of the session. Raises `PiError`."""
        return self._ask("call", method=method, arguments=arguments)

    def look(self) -> dict[str, Any]:
        """All that it says of the session; see the driver."""
        found: dict[str, Any] = self._ask("look")
        return found

    def path_to(self, leaf_id: str | None) -> list[str]:
        """The ids from the root to an entry."""
        found: list[str] = self._ask("path", leaf=leaf_id) if leaf_id else []
        return found

    def _ask(self, what: str, **parameters: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = json.dumps({"do": what, **parameters}).encode()
        self._process.stdin.write(request + b"\n")
        self._process.stdin.flush()
        reply = self._process.stdout.readline()
        assert reply, f"{self.version.folder} ended, or was ended because it did not answer"
        answer = json.loads(reply)
        if "error" in answer:
            raise PiError(f"{self.version.folder}, {what} {parameters}: {answer['error']}")
        return answer["value"]
