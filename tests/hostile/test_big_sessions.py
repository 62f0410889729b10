"""Sessions that are large in some way: every method answers, in time and in little memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import StartDaemon
from tests.hostile.world import MIB, Asker, make, message
from tests.unit.wire_client import DEADLINE

FORKS = 1_000
DEEP = 50_000
TAIL = 30
LONG = 5_000_000
MEMORY = 6
"""One answer may cost this many times the size of the file, or of the params."""
ROOM = 16 * MIB
"""What the first use of a method costs, whatever the file."""


def chain(root: str | None, name: str, count: int, text: str = "hello") -> Iterator[bytes]:
    """Messages one below the other, the first below ``root``."""
    parent_id = root
    for number in range(count):
        entry_id = f"{name}-{number}"
        yield message(entry_id, parent_id, f"{text} {number}")
        parent_id = entry_id


def forks(tail: int) -> Iterator[bytes]:
    """A thousand branches from one entry, each with a tail."""
    yield message("root", None)
    for number in range(FORKS):
        yield from chain("root", f"f{number}", tail + 1)


def forked_chain() -> Iterator[bytes]:
    """A chain with a fork at its end, so that every branch is as deep as the file is long."""
    # Of a usual length: a decoded message takes about two kilobytes, however short it is.
    yield from chain(None, "c", DEEP, "hello " * 80)
    yield from chain(f"c-{DEEP - 1}", "x", 1)
    yield from chain(f"c-{DEEP - 2}", "y", 1)


def comb() -> Iterator[bytes]:
    """A chain with a branch at each of its entries."""
    parent_id = None
    for number in range(DEEP // 10):
        yield message(f"c-{number}", parent_id)
        yield message(f"side-{number}", parent_id)
        parent_id = f"c-{number}"


def backward_chain() -> Iterator[bytes]:
    """A chain whose every entry stands before its parent."""
    for number in range(DEEP // 10):
        yield message(f"b-{number}", f"b-{number + 1}")
    yield message(f"b-{DEEP // 10}", None)


def move_records() -> Iterator[bytes]:
    """A session that was only ever moved about in."""
    yield from chain(None, "c", 3)
    parent_id = "c-2"
    for number in range(DEEP // 10):
        line = message(f"l-{number}", parent_id).replace(b'"type":"message"', b'"type":"leaf"')
        yield line.replace(b'"message":{', b'"targetId":"c-1","message":{')
        parent_id = f"l-{number}"


def long_lines() -> Iterator[bytes]:
    """Lines of five million characters, one below the other, one of a character in 5 bytes."""
    yield message("one", None, "hello a " * (LONG // 8))
    yield message("two", "one", "é" * (LONG // 6))
    yield message("three", "two", [{"type": "text", "text": "word\n" * (LONG // 5)}])


@pytest.mark.parametrize(
    ("lines", "entry_id", "count", "seconds"),
    [
        (forks(0), "f7-0", FORKS + 1, 1),
        (forks(TAIL), f"f7-{TAIL}", FORKS * (TAIL + 1) + 1, 2),
        (forked_chain(), "c-30000", DEEP + 2, 3),
        (comb(), "side-77", DEEP // 5, 2),
        (backward_chain(), "b-77", DEEP // 10 + 1, 1),
        (move_records(), "c-1", DEEP // 10 + 3, 1),
        (long_lines(), "two", 3, 2),
    ],
    ids=["forks", "deep-forks", "deep", "comb", "backward", "moves", "long-lines"],
)
def test_every_method_answers(
    daemon: StartDaemon,
    agent_dir: Path,
    lines: Iterator[bytes],
    entry_id: str,
    count: int,
    seconds: float,
) -> None:
    path = make(agent_dir, *lines)
    size = path.stat().st_size
    asker = Asker(daemon(seconds=240), seconds, MEMORY * size + ROOM)
    opened = asker.look_at(path, entry_id)
    assert opened["session"]["entryCount"] == count
    asker.change(path, entry_id)


def nested(depth: int) -> bytes:
    """A call whose arguments, and details, are nested as deep."""
    inner = b'{"a":[' * (depth // 2) + b"1" + b"]}" * (depth // 2)
    content = b'[{"type":"toolCall","id":"c","name":"n","arguments":%b}]' % inner
    line = message("deep", "top", "HERE", role="assistant", details="HERE")
    return line.replace(b'"content":"HERE"', b'"content":' + content).replace(b'"HERE"', inner)


@pytest.mark.parametrize("depth", [200, 900, 1010, 10_000])
def test_deep_nesting_in_a_file(daemon: StartDaemon, agent_dir: Path, depth: int) -> None:
    path = make(agent_dir, message("top", None), nested(depth), message("end", "deep"))
    asker = Asker(daemon())
    opened = asker.ok("open", path)
    assert opened["leafId"] == "end"
    assert asker.ok("context", path, format="none")["path"] == ["top", "deep", "end"]
    lost = [one for one in opened["warnings"] if one["code"] in ("bad-line", "placeholder")]
    assert bool(lost) == (depth > 1020)
    for method in ("tree", "branches", "stats", "check", "context"):
        asker.ok(method, path)
    asker.ok("context", path, format="openai")
    asker.ok("list", scope="all")
    asker.ok("fork", path)
    asker.ok("repair", path)
    asker.ok("append", path, entries=[{"type": "custom", "customType": "x"}])


JUNK = {
    "record-beginnings": b'{"type":' * (LONG // 8),
    "empty-objects": b"{}" * (LONG // 2),
    "brackets": b"[" * LONG,
    "nuls": b"\0" * LONG,
    "escaped-quotes": b'"' + b'\\"' * (LONG // 2),
    "records-behind-damage": b"x" + b'{"type":"x","id":"a","parentId":null}' * (LONG // 37) + b"{",
    "long-prefixes": (b'{"type":"x","id":"' + b"a" * 2000) * (LONG // 2000),
    "digits": b"1" * LONG,
    "not-utf-8": b"\xff" * LONG,
    "surrogates": message("s", "top", "HERE").rstrip().replace(b"HERE", b"\\ud800" * (LONG // 6)),
}


@pytest.mark.parametrize("name", JUNK)
def test_a_line_of_junk(daemon: StartDaemon, agent_dir: Path, name: str) -> None:
    junk = JUNK[name]
    path = make(agent_dir, message("top", None), junk + b"\n", message("end", "top"))
    size = path.stat().st_size
    asker = Asker(daemon(), 2, MEMORY * size + ROOM)
    assert asker.look_at(path, "top")["leafId"] == "end"
    assert junk + b"\n" in path.read_bytes()
    asker.change(path, "top")


def test_ten_thousand_files_that_are_no_sessions(daemon: StartDaemon, agent_dir: Path) -> None:
    path = make(agent_dir, message("top", None))
    for number in range(10_000):
        path.with_name(f"{number}.jsonl").write_bytes(b"" if number % 2 else b"not a session\n")
    asker = Asker(daemon(), 3)
    for _ in range(2):
        (listed,) = asker.ok("list", scope="all")["sessions"]
        assert listed["path"] == str(path)
    assert asker.ok("open", "hostile")["leafId"] == "top"


@pytest.mark.parametrize("size", [100_000, 20_000_000])
def test_params_of_many_megabytes(daemon: StartDaemon, agent_dir: Path, size: int) -> None:
    path = make(agent_dir, message("top", None))
    asker = Asker(daemon(seconds=4 * DEADLINE), 3, MEMORY * size + ROOM)
    user = {"type": "message", "message": {"role": "user", "content": "x" * size}}
    answer = asker.ok("append", path, entries=[user])
    stored = asker.ok("entries", path, ids=[answer["leafId"]])["entries"]
    assert stored[0]["message"]["content"] == "x" * size
    many = [{"type": "custom", "customType": "x"}] * (size // 10_000)
    assert len(asker.ok("append", path, entries=many)["entries"]) == len(many)
    asker.ask("label", path, targetId="top", label="y" * size)
    asker.ask("rename", path, name="z " * (size // 2))
    asker.ask("entries", path, ids=["no such entry" * 10] * (size // 130))
    asker.ask("open", "q" * size)
    for method in ("tree", "branches", "check"):
        asker.ok(method, path)
