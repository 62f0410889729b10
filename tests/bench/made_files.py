"""Session files for measuring: made from a seed, as large as asked, like those of real agents.

The same seed gives the same bytes. Records have the key order that Pi writes. Over a long file an
entry has 3 kB in the mean; there is a fork in 200 entries, a compaction in 400, a label in 70, an
image in 300. The last compaction stands about 300 entries before the end, in every file, so that
the contexts of files of different lengths can be compared. A file may also be asked for without
forks and compactions: then all of it is in the context.

It owns the folder of made files. It measures nothing.
"""

import hashlib
import random
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from branchline.entries import Entry, move_record
from branchline.log.format import Header, iso_timestamp, record_line

CACHE: Final = Path(__file__).resolve().parents[2] / ".cache" / "bench"
CWD: Final = "/home/dev/project"

_START_MS: Final = 1_767_225_600_000  # 2026-01-01
_POOL: Final = 400_000
"""Characters of each kind of text to cut pieces from; pieces hide that it repeats."""
_CYCLE: Final = 400
_FORKS: Final = (120, 220)
"""Entries after a compaction where a branch is left. It goes back 60 entries at most."""
_LAST_STRETCH: Final = 300
_TOOLS: Final = ("read", "read", "edit", "bash", "bash", "grep")
_SYLLABLES: Final = ("ka", "lo", "mi", "ren", "tas", "ved", "sol", "par", "et", "ion", "der", "mu")
_LONGEST: Final = 40_000


class _Pool:
    """Pieces of texts of several kinds, cut from long ones made once."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        words = ["".join(rng.choices(_SYLLABLES, k=rng.randint(1, 4))) for _ in range(900)]
        self.words = words

        def lines(make: Callable[[str, str, str], str], mean: int) -> str:
            return "\n".join(make(*rng.choices(words, k=3)) for _ in range(_POOL // mean))

        self.prose = " ".join(rng.choices(words, k=_POOL // 7))
        self.code = lines(lambda a, b, c: f'    {a} = {b}["{c}"].strip("\\n")', 34)
        self.log = lines(lambda a, b, c: f"\x1b[32mok\x1b[0m\tsrc/{a}/{b}.py::{c} 200 “{a}”", 38)
        self.foreign = "".join(chr(rng.randint(0x4E00, 0x9FA0)) for _ in range(_POOL // 4))
        self.base64 = "".join(rng.choices("ABCDEFGHabcdefgh01234567+/", k=_POOL))

    def size(self, median: float, spread: float) -> int:
        """A length in characters; most near the median, a few many times as long."""
        return min(_LONGEST, max(1, int(median * self._rng.lognormvariate(0, spread))))

    def cut(self, text: str, size: int) -> str:
        """Some ``size`` characters of one of the long texts."""
        start = int(self._rng.random() * max(1, len(text) - size))
        return text[start : start + size]

    def said(self, median: float) -> str:
        """What a person or a model says: now and then in a script of three bytes a character."""
        size = self.size(median, 1.0)
        return self.cut(self.foreign, size // 3) if self._rng.random() < 0.1 else self.prosaic(size)

    def prosaic(self, size: int) -> str:
        """Plain words."""
        return self.cut(self.prose, size)


class MadeSession:
    """The lines of one session.

    Attributes:
        id: the session's id.
        milliseconds: the time of the newest entry, since 1970.
    """

    def __init__(
        self,
        rng: random.Random,
        pool: _Pool,
        entries: int,
        start_ms: int,
        *,
        in_one_line: bool = False,
    ) -> None:
        self.milliseconds = start_ms
        self._in_one_line = in_one_line
        self.id = f"{rng.getrandbits(128):032x}"
        self._rng = rng
        self._pool = pool
        self._wanted = entries
        self._lines: list[bytes] = []
        self._written = 0
        self._used: set[str] = set()
        self._leaf: str | None = None
        self._turns: list[tuple[str, str]] = []
        """User messages on the active path, each with its parent."""

    @property
    def file_name(self) -> str:
        """How Pi names the file of a session that begins now."""
        return f"{self._now().replace(':', '-').replace('.', '-')}_{self.id}.jsonl"

    def lines(self) -> Iterator[bytes]:
        """The header and as many entries as were asked for."""
        yield Header(self.id, 3, self._now(), CWD, None).line()
        self._add("model_change", provider="anthropic", modelId="claude-sonnet-4-5")
        self._add("thinking_level_change", thinkingLevel="medium")
        compaction = (self._wanted - _LAST_STRETCH) % _CYCLE or _CYCLE
        forks = [compaction - _CYCLE + at for at in _FORKS]
        if self._in_one_line:
            compaction, forks = self._wanted, []
        while self._written < self._wanted:
            if self._written >= compaction and len(self._turns) > 3:
                self._compact()
                forks = [compaction + at for at in _FORKS]
                compaction += _CYCLE
            elif forks and self._written >= forks[0] and len(self._turns) > 6:
                del forks[0]
                self._go_back()
            self._turn()
            room = len(self._lines) - max(0, self._written - self._wanted)
            yield from self._lines[:room]
            self._lines.clear()

    # --- parts of a conversation -------------------------------------------------------------

    def _turn(self) -> None:
        rng, pool = self._rng, self._pool
        content: list[Entry] = [{"type": "text", "text": pool.said(150)}]
        if rng.random() < 0.01:
            content.append(self._image())
        parent = self._leaf
        user = self._message(role="user", content=content)
        if parent is not None:
            self._turns.append((user, parent))
        for _ in range(rng.randint(1, 7)):
            tool = rng.choice(_TOOLS)
            call = {
                "type": "toolCall",
                "id": f"toolu_{rng.getrandbits(96):024x}",
                "name": tool,
                "arguments": self._arguments(tool),
            }
            self._answer(call)
            self._result(call)
        self._answer(None)
        if rng.random() < 0.15:
            self._add("label", targetId=user, label=rng.choice(pool.words))
        if rng.random() < 0.06:
            self._aside()

    def _answer(self, call: Entry | None) -> None:
        rng, pool = self._rng, self._pool
        content: list[Entry] = []
        if rng.random() < 0.6:
            thinking = {"type": "thinking", "thinking": pool.said(450)}
            thinking["thinkingSignature"] = pool.cut(pool.base64, rng.randint(200, 900))
            content.append(thinking)
        if call is None or rng.random() < 0.5:
            content.append({"type": "text", "text": pool.said(400)})
        if call is not None:
            content.append(call)
        counts = [rng.randint(1, 4000), rng.randint(20, 3000), rng.randint(0, 90_000)]
        prices = (3, 15, 0.3)
        costs = [round(one * price / 1e6, 6) for one, price in zip(counts, prices, strict=True)]
        self._message(
            role="assistant",
            content=content,
            api="anthropic-messages",
            provider="anthropic",
            model="claude-sonnet-4-5",
            usage={
                "input": counts[0],
                "output": counts[1],
                "cacheRead": counts[2],
                "cacheWrite": 0,
                "totalTokens": sum(counts),
                "cost": {
                    "input": costs[0],
                    "output": costs[1],
                    "cacheRead": costs[2],
                    "cacheWrite": 0,
                    "total": round(sum(costs), 6),
                },
            },
            stopReason="stop" if call is None else "toolUse",
        )

    def _arguments(self, tool: str) -> Entry:
        rng, pool = self._rng, self._pool
        path = f"src/{rng.choice(pool.words)}/{rng.choice(pool.words)}.py"
        if tool == "edit":
            sizes = (pool.size(500, 0.9), pool.size(600, 0.9))
            old, new = (pool.cut(pool.code, size) for size in sizes)
            return {"path": path, "oldText": old, "newText": new}
        if tool == "bash":
            return {"command": f"python -m pytest {path} -q"}
        return {"path": path, "offset": rng.randint(1, 900), "limit": 200}

    def _result(self, call: Entry) -> None:
        rng, pool = self._rng, self._pool
        tool = call["name"]
        text = pool.log if tool in ("bash", "grep") else pool.code
        content: list[Entry] = [{"type": "text", "text": pool.cut(text, pool.size(1_450, 1.3))}]
        if tool == "read" and rng.random() < 0.014:
            content.append(self._image())
        result: Entry = {"toolCallId": call["id"], "toolName": tool, "content": content}
        if tool == "edit":
            result["details"] = {"diff": pool.cut(pool.code, pool.size(600, 0.9))}
        self._message(role="toolResult", **result, isError=rng.random() < 0.04)

    def _image(self) -> Entry:
        data = self._pool.cut(self._pool.base64, self._rng.randrange(40_000, 240_000, 4))
        return {"type": "image", "data": data, "mimeType": "image/png"}

    def _aside(self) -> None:
        """What is no part of a turn."""
        rng, pool = self._rng, self._pool
        match rng.randrange(4):
            case 0:
                output = pool.cut(pool.log, pool.size(700, 1.2))
                fields = {"exitCode": 0, "cancelled": False, "truncated": False}
                self._message(role="bashExecution", command="git status", output=output, **fields)
            case 1:
                self._add("session_info", name=" ".join(rng.sample(pool.words, 3)))
            case 2:
                tasks = [{"text": pool.prosaic(50), "done": True} for _ in range(5)]
                self._add("custom", payload={"customType": "tasks", "data": {"tasks": tasks}})
            case _:
                payload = {"customType": "plan", "content": pool.said(300), "display": True}
                self._add("custom_message", payload=payload)

    def _compact(self) -> None:
        self._add(
            "compaction",
            summary=self._pool.prosaic(3_000),
            firstKeptEntryId=self._turns[-2][0],
            tokensBefore=self._rng.randint(90_000, 120_000),
            details=self._files(),
            fromHook=False,
        )

    def _go_back(self) -> None:
        """Leave the branch: go on beside one of the last user messages."""
        at = len(self._turns) - self._rng.randint(1, 4)
        left, self._leaf = self._leaf, self._turns[at][1]
        del self._turns[at:]
        if self._rng.random() < 0.5:
            summary = self._pool.prosaic(1_200)
            self._add("branch_summary", fromId=left, summary=summary, details=self._files())
        else:
            self._write(move_record(self._new_id(), self._leaf, self._now()))

    def _files(self) -> Entry:
        words = self._rng.sample(self._pool.words, 4)
        return {"readFiles": [f"src/{one}.py" for one in words], "modifiedFiles": ["src/main.py"]}

    # --- records -----------------------------------------------------------------------------

    def _message(self, **message: Any) -> str:
        return self._add("message", message={**message, "timestamp": self.milliseconds})

    def _add(self, type_name: str, payload: Entry | None = None, **fields: Any) -> str:
        """Add an entry below the leaf; ``payload`` stands before its id, as Pi has it."""
        entry_id = self._new_id()
        self.milliseconds += 1 + int(self._rng.expovariate(1 / 4_000))
        common = {"id": entry_id, "parentId": self._leaf, "timestamp": self._now()}
        self._write({"type": type_name, **(payload or {}), **common, **fields})
        self._leaf = entry_id
        return entry_id

    def _write(self, entry: Entry) -> None:
        self._lines.append(record_line(entry))
        self._written += 1

    def _new_id(self) -> str:
        while True:
            entry_id = f"{self._rng.getrandbits(32):08x}"
            if entry_id not in self._used:
                self._used.add(entry_id)
                return entry_id

    def _now(self) -> str:
        return iso_timestamp(datetime.fromtimestamp(self.milliseconds / 1000, UTC))


def write_session(path: Path, entries: int, seed: int = 1, *, in_one_line: bool = False) -> None:
    """Write one session of ``entries`` entries, the header not counted.

    ``in_one_line``: without forks and compactions, so that all of the file is in the context.
    """
    rng = random.Random(seed)
    session = MadeSession(rng, _Pool(rng), entries, _START_MS, in_one_line=in_one_line)
    _write(path, session)


def write_folder(folder: Path, sessions: int, seed: int = 1, *, longer: float = 1.0) -> None:
    """Write that many sessions of usual lengths: half have less than 75 entries, a few 4,000.

    ``longer``: so many times as many.
    """
    rng = random.Random(seed)
    pool = _Pool(rng)
    for number in range(sessions):
        entries = round(longer * min(4_000, max(4, int(rng.lognormvariate(4.3, 1.25)))))
        session = MadeSession(rng, pool, entries, _START_MS + number * 7_200_000)
        _write(folder / session.file_name, session)


def _write(path: Path, session: MadeSession) -> None:
    with path.open("wb", buffering=1 << 20) as file:
        path.chmod(0o600)
        file.writelines(session.lines())


def made_session(name: str, entries: int) -> Path:
    """A session from the folder of made files; written first if it is not there."""
    return _made(f"{name}-{entries}.jsonl", lambda path: write_session(path, entries))


def made_folder(sessions: int, *, longer: float = 1.0) -> Path:
    """A flat folder of sessions from the folder of made files; see `write_folder`."""

    def write(path: Path) -> None:
        path.mkdir(mode=0o700)
        write_folder(path, sessions, longer=longer)

    return _made(f"sessions-{sessions}-{longer}", write)


def _made(name: str, write: Callable[[Path], None]) -> Path:
    """What an earlier run made with the same source, else made now; other sources' is removed."""
    source = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
    folder = CACHE / f"made-{source}"
    if not folder.is_dir():
        for old in CACHE.glob("made-*"):
            shutil.rmtree(old)
        folder.mkdir(parents=True)
    path = folder / name
    if not path.exists():
        unfinished = folder / f"{name}.part"
        if unfinished.is_dir():
            shutil.rmtree(unfinished)
        write(unfinished)
        unfinished.rename(path)
    return path
