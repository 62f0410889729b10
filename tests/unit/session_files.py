"""Session files for the tests of the file layer: records, lines, and random ones of both."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import strategies as st

from branchline import codec
from branchline.entries import Entry
from branchline.log.scan import LineScanner
from branchline.log.session_file import SessionFile
from branchline.tree.index import Tree
from tests.unit.helpers import entry, message

SESSION_ID = "5e550000-0000-4000-8000-000000000001"
TIMESTAMP = "2026-01-02T03:04:05.678Z"
USAGE = {"input": 9, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 10}


def header(version: int = 3, **fields: Any) -> Entry:
    """A session header; version 1 has no version in it."""
    named = {"version": version} if version > 1 else {}
    return {
        "type": "session",
        **named,
        "id": SESSION_ID,
        "timestamp": TIMESTAMP,
        "cwd": "/",
        **fields,
    }


def user(entry_id: str, parent_id: str | None = None, text: str = "hello") -> Entry:
    """A user message."""
    return message(entry_id, parent_id, "user", text, timestamp=1767323045678)


def assistant(
    entry_id: str,
    parent_id: str | None,
    content: list[Entry],
    stop_reason: str = "stop",
    **fields: Any,
) -> Entry:
    """An assistant message with its fields in Pi's order."""
    return message(
        entry_id,
        parent_id,
        "assistant",
        content,
        api="openai-completions",
        provider="local",
        model="m",
        usage=USAGE,
        stopReason=stop_reason,
        timestamp=1767323045678,
        **fields,
    )


def text_line(record: Entry) -> bytes:
    """A record as Pi writes it, without its LF."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()


def text_of_file(*records: Entry | bytes) -> bytes:
    """A file of these records, each with its LF; bytes are a line as it is."""
    return b"".join(
        (record if isinstance(record, bytes) else text_line(record)) + b"\n" for record in records
    )


def write(folder: Path, content: bytes, name: str = "session.jsonl") -> Path:
    """Make a private session file."""
    path = folder / name
    path.write_bytes(content)
    path.chmod(0o600)
    return path


@contextmanager
def opened(path: Path, **options: Any) -> Iterator[SessionFile]:
    """The file, scanned; closed at the end."""
    file = SessionFile(path, path.parent / "locks", **options)
    try:
        yield file
    finally:
        file.close()


@contextmanager
def opened_content(content: bytes, **options: Any) -> Iterator[SessionFile]:
    """A file of this content, scanned; gone at the end. For tests with many examples."""
    with TemporaryDirectory() as folder:
        path = write(Path(folder), content)
        with opened(path, **options) as file:
            yield file


def scan(content: bytes, cuts: Iterable[int] = (), *, verified: bool = True) -> LineScanner:
    """Feed a scanner with the content, in pieces that end at ``cuts``."""
    scanner = LineScanner(verified=verified)
    pending = bytearray()
    base = 0
    start = 0
    for cut in [*sorted(cuts), len(content)]:
        pending += content[start:cut]
        start = cut
        used = scanner.feed(pending, len(pending), base)
        del pending[:used]
        base += used
    scanner.finish(bytes(pending), base)
    scanner.add_placeholders(lambda _: False)
    return scanner


def codes(found: LineScanner | SessionFile) -> list[str]:
    """The codes of the warnings, in their order."""
    return [warning.code for warning in found.warnings]


def ids(found: LineScanner | SessionFile) -> list[str]:
    """The ids of the entries found, in their order."""
    return list(found.tree.ids if isinstance(found, SessionFile) else found.columns.ids)


def records_of(content: bytes, found: LineScanner | SessionFile) -> list[bytes]:
    """The bytes at each place that was found."""
    places = found.places
    return [
        content[offset : offset + length]
        for offset, length in zip(places.offsets, places.lengths, strict=True)
    ]


def shape(tree: Tree) -> dict[str, Any]:
    """All that a tree says of its links, by ids, so that two trees can be compared."""
    return {
        "ids": list(tree.ids),
        "parents": [tree.id_of(parent) for parent in tree.parents],
        "kinds": bytes(tree.kinds),
        "flags": bytes(tree.flags),
        "tokens": list(tree.tokens),
        "roots": [tree.ids[root] for root in tree.roots()],
        "children": [[tree.ids[child] for child in tree.children(at)] for at in range(len(tree))],
        "labels": {tree.ids[at]: label for at, label in tree.labels.items()},
        "name": tree.name,
        "tips": [tree.ids[tip] for tip in tree.tips()],
    }


# --- random ones -----------------------------------------------------------------------------

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
NUMBERS = (
    st.integers()
    | st.integers(-(2**200), 2**200)
    | st.floats(allow_nan=False, allow_infinity=False)
)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
_BLOCKS = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, st.text('ab \n"é日🙂', min_size=1)),
    st.builds(lambda text: {"type": "thinking", "thinking": text}, TEXTS),
    st.builds(
        lambda path: {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": path}},
        TEXTS,
    ),
)


def _has_blank_text(content: list[Entry]) -> bool:
    return any(block.get("text", "x").strip() == "" for block in content)


@st.composite
def pi_entries(draw: st.DrawFn, *, most: int = 12) -> list[Entry]:
    """Entries of a session as Pi writes them: well-formed, each below an earlier one or a root."""
    made: list[Entry] = []
    for number in range(draw(st.integers(0, most))):
        entry_id = f"{draw(st.integers(0, 0xFFFF)):04x}{number:04x}"
        parent_id = draw(st.sampled_from([None, *(one["id"] for one in made)]))
        made.append(_pi_entry(draw, entry_id, parent_id, made))
    return made


def _pi_entry(draw: st.DrawFn, entry_id: str, parent_id: str | None, made: list[Entry]) -> Entry:
    target = draw(st.sampled_from([one["id"] for one in made])) if made else entry_id
    text = draw(TEXTS)
    match draw(st.integers(0, 12)):
        case 0 | 1:
            return user(entry_id, parent_id, text)
        case 2 | 3:
            # Pi writes no blank text, which only a parsed line can tell from others.
            content = draw(
                st.lists(_BLOCKS, max_size=3).filter(lambda one: not _has_blank_text(one))
            )
            reason = draw(st.sampled_from(["stop", "length", "toolUse", "error", "aborted"]))
            extra = {"errorMessage": text} if reason == "error" else {}
            return assistant(entry_id, parent_id, content, reason, **extra)
        case 4:
            content = [{"type": "text", "text": text}]
            return message(
                entry_id,
                parent_id,
                "toolResult",
                content,
                toolCallId="c1",
                toolName="read",
                isError=draw(st.booleans()),
            )
        case 5:
            return entry(entry_id, parent_id, "label", targetId=target, label=text)
        case 6:
            return entry(entry_id, parent_id, "session_info", name=text)
        case 7:
            return entry(entry_id, parent_id, "model_change", provider="local", modelId=text)
        case 8:
            return _payload_first(entry_id, parent_id, "custom", data=draw(JSON))
        case 9:
            return _payload_first(
                entry_id, parent_id, "custom_message", content=text, display=draw(st.booleans())
            )
        case 10:
            return _payload_first(
                entry_id,
                target,
                "custom",
                customType="branchline.leaf",
                data={"targetId": target},
            )
        case 11:
            return entry(
                entry_id,
                parent_id,
                "compaction",
                summary=text,
                firstKeptEntryId=target,
                tokensBefore=9,
            )
        case _:
            return entry(entry_id, parent_id, "branch_summary", fromId="root", summary=text)


def _payload_first(entry_id: str, parent_id: str | None, name: str, **fields: Any) -> Entry:
    return {
        "type": name,
        "customType": "note",
        **fields,
        "id": entry_id,
        "parentId": parent_id,
        "timestamp": TIMESTAMP,
    }


@st.composite
def cuts_of(draw: st.DrawFn, content: bytes) -> list[int]:
    """Places at which the content may be cut into pieces."""
    return sorted(draw(st.lists(st.integers(0, len(content)), max_size=6)))


def decoded(raw: bytes) -> Any:
    """The value of a JSON text; a test's own reader beside `codec` would round what it must not."""
    return codec.decode(raw)
