"""Hostile sessions, and a client that holds the daemon to its promises while it reads them.

Whatever is asked has one answer within the time promised: a result, or an error that the table of
the protocol has. An internal error is never one.
"""

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

from branchline.demo.client import Client, DaemonError
from branchline.errors import BranchlineError
from branchline.wire import messages as wire_errors
from tests.e2e.world import record

SLACK = 4
"""A promised time is asserted with this much slack."""
TIMESTAMP = "2026-02-03T10:00:01.000Z"
MIB = 1 << 20


def _codes(cls: type[BranchlineError]) -> set[int]:
    found = {cls.code} if "code" in vars(cls) else set()
    return found.union(*map(_codes, cls.__subclasses__()))


KNOWN_CODES = frozenset(_codes(BranchlineError) - {wire_errors.InternalError.code})
"""Codes of errors that an answer may have."""


def header(session_id: str = "hostile", cwd: Any = "/w/demo") -> bytes:
    """The first line of a session file."""
    return record(type="session", version=3, id=session_id, timestamp=TIMESTAMP, cwd=cwd)


def message(entry_id: str, parent_id: str | None, text: Any = "hello", **body: Any) -> bytes:
    """A user message, or with ``role`` another."""
    body = {"role": "user", "content": text, "timestamp": 1, **body}
    return record(
        type="message", id=entry_id, parentId=parent_id, timestamp=TIMESTAMP, message=body
    )


def make(agent_dir: Path, *lines: bytes, name: str = "hostile.jsonl") -> Path:
    """A session file where the daemon finds it; the header is put before the lines."""
    path = agent_dir / "sessions" / "--w-demo--" / name
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(header() + b"".join(lines))
    path.chmod(0o600)
    return path


EXPORTED_PER_SECOND = 10_000_000
"""Bytes of a session that are exported, with secrets masked, in a second."""


class Asker:
    """Asks one daemon; every answer is checked."""

    def __init__(self, client: Client, seconds: float = 1.0, most_bytes: int = 0) -> None:
        """``seconds``: how long an answer may take; asserted with `SLACK`.

        ``most_bytes``: by how much the daemon's memory may grow for one answer (0: no matter).
        """
        self.client = client
        self.seconds = seconds
        self.most_bytes = most_bytes

    def ask(self, method: str, session: object = None, /, **params: Any) -> Any:
        """The result, or the error if one came that is known."""
        if session is not None:
            params["session"] = str(session)
        memory = Memory(self.client._process.pid) if self.most_bytes else None
        started = time.monotonic()
        try:
            answer: Any = self.client.request(f"session/{method}", params)
        except DaemonError as error:
            answer = error
        elapsed = time.monotonic() - started
        if isinstance(answer, DaemonError):
            assert answer.code in KNOWN_CODES, (method, answer)
            assert len(answer.message) < 10_000, method
        assert elapsed < self.seconds * SLACK, (method, elapsed)
        grown = memory.grown() if memory else 0
        assert grown <= self.most_bytes, (method, grown)
        return answer

    def ok(self, method: str, session: object = None, /, **params: Any) -> Any:
        """The result; an error fails the test."""
        answer = self.ask(method, session, **params)
        assert not isinstance(answer, DaemonError), (method, answer)
        return answer

    def look_at(self, path: Path, entry_id: str) -> dict[str, Any]:
        """Ask for everything that can be seen of a session; give what opening said."""
        opened: dict[str, Any] = self.ok("open", path)
        for view in (
            {"filter": "all"},
            {"layout": "pi", "runs": "tools"},
            {"query": "hello a"},
            {"around": entry_id, "expanded": [entry_id]},
        ):
            self.ok("tree", path, **view)
        for to in ("parent", "fork", "nextSibling", "previousUser", "nextHit", "leaf"):
            self.ok("locate", path, **{"from": entry_id, "to": to}, filter="all")
        for form in ("messages", "openai", "none"):
            self.ok("context", path, format=form)
        self.ok("context", path, leafId=entry_id)
        self.ok("entries", path, ids=[entry_id])
        self.ok("switchLeaf", path, targetId=entry_id, dryRun=True)
        for method in ("branches", "stats", "check"):
            self.ok(method, path)
        # An export looks at everything, with a mask twice: it may take as long as there is much.
        seconds = 2 * self.seconds + path.stat().st_size / EXPORTED_PER_SECOND
        exporter = Asker(self.client, seconds, self.most_bytes)
        for form in ("html", "markdown", "jsonl"):
            target = path.with_name(f"exported.{form}")
            exporter.ok(
                "export", path, format=form, branches="all", mask=form == "html", path=str(target)
            )
            target.unlink()
        self.ok("list", scope="all")
        return opened

    def change(self, path: Path, entry_id: str) -> None:
        """Make every kind of change to a session, and mend it; it can be written to after that."""
        self.ok("append", path, entries=[{"type": "custom", "customType": "x"}])
        self.ok("label", path, targetId=entry_id, label="here")
        self.ok("switchLeaf", path, targetId=entry_id, position="at")
        self.ok("rename", path, name="hostile")
        self.ok("fork", path, cwd="/w/demo")
        self.ok("repair", path)
        user = {"type": "message", "message": {"role": "user", "content": "x"}}
        answer = self.ok("append", path, entries=[user])
        assert json.loads(path.read_bytes().splitlines()[-1])["id"] == answer["leafId"]


class Memory:
    """The memory of a process: how much its peak grows from now on."""

    def __init__(self, pid: int) -> None:
        self._folder = Path("/proc") / str(pid)
        self._before = 0
        if sys.platform.startswith("linux"):
            (self._folder / "clear_refs").write_text("5")  # the peak is from now on
            self._before = self._read("VmRSS")

    def grown(self) -> int:
        """Bytes; nothing where /proc does not tell."""
        return self._read("VmHWM") - self._before if self._before else 0

    def _read(self, name: str) -> int:
        found = re.search(rf"{name}:\s+(\d+) kB", (self._folder / "status").read_text())
        assert found
        return int(found[1]) * 1024
