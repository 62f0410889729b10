"""What a list of sessions says of each: the protocol's SessionInfo.

Small files are scanned whole, of large ones the head and the tail are read. Nothing is kept here.
"""

import os
import stat
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Any, Final

from branchline.entries import (
    CURRENT_VERSION,
    MESSAGES,
    Entry,
    Kind,
    message_of,
    text_of,
)
from branchline.errors import BranchlineError, InvalidSession, StorageFailure
from branchline.log.excerpt import BodiesInMemory, header_line_in
from branchline.log.format import HEADER_BYTES, iso_timestamp
from branchline.log.locations import id_in_name
from branchline.log.scan import LineScanner
from branchline.log.session_reader import SessionReader
from branchline.tree.index import Bodies, Tree
from branchline.tree.preview import one_line

SessionInfo = dict[str, Any]

SMALL_BYTES: Final = 64 * 1024
"""Files up to this size are scanned whole unless somebody says otherwise."""
_FIRST_EDGE_BYTES: Final = 16 * 1024
_EDGE_BYTES: Final = 256 * 1024
"""How much of a large file's head and tail is read first, and at most."""
_LATEST: Final = 253_402_300_799_000
"""The last second of the year 9999, in milliseconds: a timestamp has four digits for the year."""


def read_info(
    path: Path, status: os.stat_result, whole_up_to: int = SMALL_BYTES
) -> SessionInfo | None:
    """The info of one regular file; None if it is not a session. Blocks.

    Files up to ``whole_up_to`` bytes are scanned whole, and so their entries counted.
    """
    try:
        if status.st_size > whole_up_to:
            return _from_edges(path, status)
        file = SessionReader(path, 0, None)
    except InvalidSession:
        return None
    except (StorageFailure, OSError):
        return _unreadable(path, status)
    try:
        return describe(file, file.tree, read_only=False)
    except BranchlineError:
        return _unreadable(path, status)  # it changed while it was read
    finally:
        file.close()


def read_session_id(path: Path) -> str | None:
    """The id in the header of a file; None if it has none or cannot be read."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None  # a FIFO would make whoever opens it wait
        with path.open("rb") as file:
            head = file.read(HEADER_BYTES)
    except OSError:
        return None
    found = header_line_in(head)
    return found[0].id if found else None


def describe(file: SessionReader, tree: Tree, *, read_only: bool) -> SessionInfo:
    """The info of a scanned session."""
    counts = Counter(tree.kinds)
    counts.subtract(tree.kinds[ordinal] for ordinal in tree.superseded)
    header = file.header
    return {
        "id": header.id,
        "path": str(file.path),
        "cwd": header.cwd,
        "name": one_line(tree.name) if tree.name else None,
        "version": header.version,
        "createdAt": header.timestamp,
        "modifiedAt": _newest_message(tree, file, range(len(tree)))
        or header.timestamp
        or _iso(file.modified_seconds),
        "entryCount": counts.total() - counts[Kind.PLACEHOLDER],
        "messageCount": sum(counts[kind] for kind in MESSAGES),
        "branchCount": len(tree.tips()),
        "firstMessage": _first_message(tree, file, tree.entries()),
        "parentSession": header.parent_session,
        "sizeBytes": file.size,
        "readOnly": read_only or header.version > CURRENT_VERSION or not _writable(file.path),
        "readable": True,
    }


def _newest_message(tree: Tree, bodies: Bodies, among: range) -> str | None:
    for ordinal in reversed(among):
        if tree.kinds[ordinal] in (Kind.USER, Kind.ASSISTANT):
            return message_time(bodies.entry(ordinal))
    return None


def _first_message(tree: Tree, bodies: Bodies, among: Iterable[int]) -> str | None:
    for ordinal in among:
        if tree.kinds[ordinal] == Kind.USER:
            text = one_line(text_of(message_of(bodies.entry(ordinal)).get("content"), " "))
            if text:
                return text
    return None


def message_time(entry: Entry) -> str | None:
    """When a message was sent, as ISO 8601: its own timestamp (milliseconds), else the entry's."""
    sent = message_of(entry).get("timestamp")
    if isinstance(sent, (int, float)) and not isinstance(sent, bool) and 0 < sent < _LATEST:
        return _iso(sent / 1000)
    timestamp = entry.get("timestamp")
    return timestamp if isinstance(timestamp, str) else None


def _from_edges(path: Path, status: os.stat_result) -> SessionInfo | None:
    """The info of a large file by its head and tail: what lies between is not counted.

    Of both so much is read that the first and the newest message are among it, up to a limit.
    """
    head = tail = _FIRST_EDGE_BYTES
    with path.open("rb", buffering=0) as file:
        while True:
            first, last = _edges_of(file, status.st_size, head, tail)
            both = first + last
            scanner = LineScanner(verified=False)
            scanner.feed(both, len(first), 0)
            if scanner.header is None and head >= HEADER_BYTES:
                return None
            in_head = len(scanner.columns)
            scanner.feed(last, len(last), len(first))
            tree = Tree(scanner.columns)
            bodies = BodiesInMemory(both, scanner.places)
            is_whole = head + tail >= status.st_size
            opening = _first_message(tree, bodies, range(in_head))
            newest = _newest_message(tree, bodies, range(0 if is_whole else in_head, len(tree)))
            is_enough = opening and newest and scanner.header
            if is_enough or is_whole or min(head, tail) >= _EDGE_BYTES:
                break
            head = head if opening else head * 4
            tail = tail if newest else tail * 4
    header = scanner.header
    if header is None:
        return None
    return {
        **_unreadable(path, status),
        "id": header.id,
        "cwd": header.cwd,
        "name": one_line(tree.name) if tree.name else None,
        "version": header.version,
        "createdAt": header.timestamp,
        "modifiedAt": newest or (is_whole and header.timestamp) or _iso(status.st_mtime),
        "firstMessage": opening,
        "parentSession": header.parent_session,
        "readOnly": header.version > CURRENT_VERSION or not _writable(path),
        "readable": True,
    }


def _edges_of(file: FileIO, size: int, head: int, tail: int) -> tuple[bytearray, bytearray]:
    """The whole lines among the first bytes of a file and among the last; all if they meet."""
    if head + tail >= size:
        head, tail = size, 0
    first = os.pread(file.fileno(), head, 0)
    last = os.pread(file.fileno(), tail, size - tail)
    begins = last.find(b"\n") + 1 or len(last)
    ends = first.rfind(b"\n") + 1 if tail else len(first)
    return bytearray(first[:ends] + b"\n"), bytearray(last[begins:] + b"\n")


def _unreadable(path: Path, status: os.stat_result) -> SessionInfo:
    return {
        "id": id_in_name(path),
        "path": str(path),
        "cwd": None,
        "name": None,
        "version": None,
        "createdAt": None,
        "modifiedAt": _iso(status.st_mtime),
        "entryCount": None,
        "messageCount": None,
        "branchCount": None,
        "firstMessage": None,
        "parentSession": None,
        "sizeBytes": status.st_size,
        "readOnly": True,
        "readable": False,
    }


def _writable(path: Path) -> bool:
    return os.access(path, os.W_OK)


def _iso(seconds: float) -> str:
    return iso_timestamp(datetime.fromtimestamp(seconds, UTC))
