"""What a list of sessions says of each: the protocol's SessionInfo.

Small files are scanned whole, of large ones the head and the tail are read; what was found is kept
until the file changes. One bad file never hides the others.
"""

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from branchline import codec
from branchline.entries import (
    CURRENT_VERSION,
    MESSAGES,
    Entry,
    Kind,
    message_of,
    text_of,
)
from branchline.errors import BranchlineError, InvalidSession, StorageFailure
from branchline.log.format import HEADER_BYTES, HEADER_LINES, iso_timestamp
from branchline.log.locations import id_in_name
from branchline.log.scan import VERIFIED_BYTES, LineScanner
from branchline.log.session_file import SessionFile
from branchline.tree.index import Bodies, Tree
from branchline.tree.preview import one_line

SessionInfo = dict[str, Any]

_EDGE_BYTES: Final = 256 * 1024
"""How much of a large file's head and tail a listing reads."""
_LATEST: Final = 253_402_300_799_000
"""The last second of the year 9999, in milliseconds: a timestamp has four digits for the year."""


@dataclass(frozen=True, slots=True)
class _Seen:
    status: tuple[int, int, int, int]
    info: SessionInfo | None


class Listing:
    """SessionInfos of files, each read once until it changes. Blocks: use it in a thread."""

    def __init__(self, locks_dir: Path) -> None:
        self._locks_dir = locks_dir
        self._seen: dict[Path, _Seen] = {}

    def infos(self, paths: Iterable[Path]) -> list[SessionInfo]:
        """The infos of those files that hold a session or cannot be read."""
        found = (self.info(path) for path in paths)
        return [info for info in found if info is not None]

    def info(self, path: Path) -> SessionInfo | None:
        """The info of one file; None if it is not a session."""
        try:
            status = os.stat(path)
        except OSError:
            return None  # deleted since the folder was read
        if not stat.S_ISREG(status.st_mode):
            return None
        key = _key(status)
        seen = self._seen.get(path)
        if seen is None or seen.status != key:
            seen = _Seen(key, self._read(path, status))
            self._seen[path] = seen
        return seen.info

    def session_id(self, path: Path) -> str | None:
        """The id in the header of a file; None if it has none or cannot be read."""
        seen = self._seen.get(path)
        try:
            status = os.stat(path)
            if seen is not None and seen.info is not None and seen.status == _key(status):
                return str(seen.info["id"])
            if not stat.S_ISREG(status.st_mode):
                return None  # a FIFO would make whoever opens it wait
            with path.open("rb") as file:
                head = file.read(HEADER_BYTES)
        except OSError:
            return None
        scanner = LineScanner(verified=True)
        for line in head.split(b"\n")[: HEADER_LINES + 1]:
            scanner.feed(bytearray(line + b"\n"), len(line) + 1, 0)
            if scanner.header is not None:
                return scanner.header.id
        return None

    def _read(self, path: Path, status: os.stat_result) -> SessionInfo | None:
        try:
            if status.st_size > VERIFIED_BYTES:
                return _from_edges(path, status)
            file = SessionFile(path, self._locks_dir, verify_up_to=0)
        except InvalidSession:
            return None
        except StorageFailure:
            return _unreadable(path, status)
        try:
            return describe(file, file.tree, read_only=False)
        except BranchlineError:
            return _unreadable(path, status)  # it changed while it was read
        finally:
            file.close()


def _key(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def describe(file: SessionFile, tree: Tree, *, read_only: bool) -> SessionInfo:
    """The info of a scanned session."""
    kinds = tree.kinds
    entries = [ordinal for ordinal in tree.entries() if kinds[ordinal] != Kind.PLACEHOLDER]
    header = file.header
    return {
        "id": header.id,
        "path": str(file.path),
        "cwd": header.cwd,
        "name": one_line(tree.name) if tree.name else None,
        "version": header.version,
        "createdAt": header.timestamp,
        "modifiedAt": _newest_message(tree, file)
        or header.timestamp
        or _iso(file.modified_seconds),
        "entryCount": len(entries),
        "messageCount": sum(1 for ordinal in entries if kinds[ordinal] in MESSAGES),
        "branchCount": len(tree.tips()),
        "firstMessage": _first_message(tree, file),
        "parentSession": header.parent_session,
        "sizeBytes": file.size,
        "readOnly": read_only or header.version > CURRENT_VERSION or not _writable(file.path),
        "readable": True,
    }


def _newest_message(tree: Tree, bodies: Bodies) -> str | None:
    for ordinal in range(len(tree) - 1, -1, -1):
        if tree.kinds[ordinal] in (Kind.USER, Kind.ASSISTANT):
            return message_time(bodies.entry(ordinal))
    return None


def _first_message(tree: Tree, bodies: Bodies) -> str | None:
    for ordinal in tree.entries():
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
    """The info of a large file by its head and tail: what lies between is not counted."""
    try:
        with path.open("rb") as file:
            head = file.read(_EDGE_BYTES)
            file.seek(max(len(head), status.st_size - _EDGE_BYTES))
            tail = file.read()
    except OSError:
        return _unreadable(path, status)
    scanner = LineScanner(verified=True)
    # A line cut by the gap is a line that will not parse: it is passed over like any damage.
    both = bytearray(head + b"\n" + tail)
    scanner.feed(both, len(both), 0)
    header = scanner.header
    if header is None:
        return None
    tree = Tree(scanner.columns)
    bodies = _EdgeBodies(bytes(both), scanner)
    return {
        **_unreadable(path, status),
        "id": header.id,
        "cwd": header.cwd,
        "name": one_line(tree.name) if tree.name else None,
        "version": header.version,
        "createdAt": header.timestamp,
        "modifiedAt": _newest_message(tree, bodies) or header.timestamp or _iso(status.st_mtime),
        "firstMessage": _first_message(tree, bodies),
        "parentSession": header.parent_session,
        "readOnly": header.version > CURRENT_VERSION or not _writable(path),
        "readable": True,
    }


class _EdgeBodies:
    """Bodies of the entries found in the head and tail of a file, read from memory."""

    def __init__(self, text: bytes, scanner: LineScanner) -> None:
        self._text = text
        self._places = scanner.places

    def entry(self, ordinal: int) -> Entry:
        """The decoded entry."""
        offset = self._places.offsets[ordinal]
        entry: Entry = codec.decode(self._text[offset : offset + self._places.lengths[ordinal]])
        return entry


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
