r"""The bytes of a session file: the one place that knows how a record looks.

    file    = [BOM] line*                 UTF-8, LF (CRLF, blank lines, no last LF are read)
    line    = record LF                   one JSON object a line
    header  = {"type":"session","version":3,"id":…,"timestamp":ISO,"cwd":…,"parentSession"?:path}
    entry   = {"type":…,"id":…,"parentId":…|null,"timestamp":ISO, …own fields}

Lines are framed on byte 0x0A alone. Pi writes the four common fields first, except for ``custom``
and ``custom_message``, whose payload stands before ``id``; that fixed order is what lets a scan
know an entry without parsing it. Versions 1 and 2 are described in `migrate`.

This module only knows bytes and values; it opens no file.
"""

import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from branchline import codec
from branchline.entries import CURRENT_VERSION, Entry

BOM: Final = b"\xef\xbb\xbf"
HEADER_BYTES: Final = 64 * 1024
HEADER_LINES: Final = 16
"""A header is looked for in the first `HEADER_BYTES` or `HEADER_LINES`, whichever is more."""
BLANK: Final = b" \t\r\n"
FILLER: Final = BLANK + b"\x00"
"""What may surround a record on its line: blanks, and the NULs that a power cut leaves."""

_ID = rb'"([^"\\\x00-\x1f]{1,200})"'
_LINKS = rb'"id":' + _ID + rb',"parentId":(?:null|' + _ID + rb"),"
_COMMON = _LINKS + rb'"timestamp":"[^"\\]{0,64}"'

MESSAGE_PREFIX: Final = re.compile(
    rb'\{"type":"message",'
    + _LINKS
    # Any text up to a quote is matched several times as fast. An escaped quote would not be the
    # end of the time, but what has to follow here cannot follow that in a line that is JSON.
    + rb'"timestamp":"[^"]{0,64}",'
    + rb'"message":\{"role":"(user|assistant|toolResult|bashExecution|system|custom)",'
)
"""The fixed beginning of a message entry: groups id, parentId, role."""

PAYLOAD_FIRST: Final = re.compile(rb'\{"type":"(custom|custom_message)","customType":"([^"\\]*)",')
"""The beginning of an entry whose common fields stand at its end: groups type, customType."""

COMMON_SUFFIX: Final = re.compile(rb"," + _COMMON + rb"\}\Z")
"""The fixed end of such an entry: groups id, parentId. A single closing brace behind a text means
that these are fields of the entry itself, not of something inside it."""

SUFFIX_BYTES: Final = 600
"""How far from the end of the line `COMMON_SUFFIX` may begin: two ids, a timestamp, the names."""

READABLE_PREFIX: Final = re.compile(
    rb'\{"type":"([^"\\]{1,64})","id":' + _ID + rb',"parentId":(?:(null)|' + _ID + rb")"
)
"""What must be readable of a damaged record to keep its chain: groups type, id, null, parentId."""


@dataclass(frozen=True, slots=True)
class SessionWarning:
    """Something about a session that a person should know; the protocol's Warning.

    ``line`` counts from 1; ``offset`` and ``length`` are bytes in the file. Unknown ones are None.
    """

    code: str
    message: str
    line: int | None = None
    offset: int | None = None
    length: int | None = None
    entry_id: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The warning as it travels."""
        return {
            "code": self.code,
            "message": self.message,
            "line": self.line,
            "offset": self.offset,
            "length": self.length,
            "entryId": self.entry_id,
        }


@dataclass(frozen=True, slots=True)
class Header:
    """The first record of a session file."""

    id: str
    version: int
    timestamp: str | None
    cwd: str | None
    parent_session: str | None

    def line(self) -> bytes:
        """The header as it is written into a new file, LF included."""
        record: Entry = {
            "type": "session",
            "version": self.version,
            "id": self.id,
            "timestamp": self.timestamp,
            "cwd": self.cwd,
        }
        if self.parent_session is not None:
            record["parentSession"] = self.parent_session
        return record_line(record)


def read_header(record: Any) -> Header | None:
    """The header that a decoded record is, or None if it is another record."""
    if not isinstance(record, dict) or record.get("type") != "session":
        return None
    session_id = record.get("id")
    if not isinstance(session_id, str) or not session_id:
        return None

    def text(name: str) -> str | None:
        value = record.get(name)
        return value if isinstance(value, str) else None

    return Header(
        id=session_id,
        version=_version(record.get("version")),
        timestamp=text("timestamp"),
        cwd=text("cwd"),
        parent_session=text("parentSession"),
    )


def _version(value: Any) -> int:
    """A header without a version is version 1, as in Pi; one that is no number says nothing."""
    if value is None:
        return 1
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return max(1, int(value))
    return CURRENT_VERSION


def record_line(record: Entry) -> bytes:
    """One record as it is appended, LF included."""
    return codec.encode_record(record) + b"\n"


def now() -> str:
    """The present moment as an entry's timestamp: ISO 8601, UTC, milliseconds."""
    return iso_timestamp(datetime.now(UTC))


def iso_timestamp(moment: datetime) -> str:
    """A moment as an entry's timestamp."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milliseconds(timestamp: object) -> int | None:
    """An entry's timestamp in milliseconds since 1970, or None if it is none."""
    if not isinstance(timestamp, str):
        return None
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


def new_id(taken: Callable[[str], object]) -> str:
    """A random id of 8 hex digits for which ``taken`` gives None."""
    while True:
        candidate = secrets.token_hex(4)
        if taken(candidate) is None:
            return candidate
