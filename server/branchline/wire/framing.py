"""The frames of the LSP base protocol, as bytes in and events out. Does no I/O.

    Content-Length: 13\\r\\n
    \\r\\n
    {"id":1,…}

Read leniently: header names in any case, lines that end in LF alone, other headers ignored, frames
split or joined anywhere. Written strictly. Nothing a client sends ends the process or makes this
hold more than one message: a header without a usable length is reported and skipped, and so is a
body above the limit, which is thrown away as it arrives.
"""

import re
from dataclasses import dataclass

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""The longest body that is read."""

_MAX_SKIPPED_BYTES = 16 * MAX_MESSAGE_BYTES
"""A length above this is taken for nonsense: no body of that size will follow."""

_MAX_HEADER_BYTES = 64 * 1024
_KEPT_HEADER_BYTES = 1024
"""How much of an endless header is kept, so that a header that begins in it is still found."""

_HEADER_END = re.compile(rb"\r?\n\r?\n")
# Not tied to the start of a line: after a body that was skipped as a header, the next real header
# follows it without a line break.
_CONTENT_LENGTH = re.compile(rb"(?<!-)content-length[ \t]*:[ \t]*([^\r\n]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Frame:
    """One complete message body."""

    body: bytes


@dataclass(frozen=True, slots=True)
class Malformed:
    """Bytes that are no frame were skipped. ``reason`` quotes none of them."""

    reason: str


Event = Frame | Malformed


def frame(body: bytes) -> bytes:
    """The body with its header, ready to be written."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Framer:
    """Cuts a stream of bytes into frames. The time taken is linear in the bytes fed."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0  # no header ends before this place in the buffer
        self._length: int | None = None  # of the body that comes next; None while in a header
        self._to_skip = 0  # bytes of an oversized body still to come
        self._lost = False  # inside a header that is too long, which was already reported

    def feed(self, data: bytes) -> list[Event]:
        """Take the next bytes of the stream; give what they complete, in order."""
        self._buffer += data
        events: list[Event] = []
        while self._advance(events):
            pass
        return events

    def _advance(self, events: list[Event]) -> bool:
        """Take one step; say whether another may follow without more bytes."""
        buffer = self._buffer
        if self._to_skip:
            skipped = min(self._to_skip, len(buffer))
            del buffer[:skipped]
            self._to_skip -= skipped
            return bool(buffer)
        if self._length is None:
            return self._read_header(events)
        if len(buffer) < self._length:
            return False
        events.append(Frame(bytes(buffer[: self._length])))
        del buffer[: self._length]
        self._length = None
        return True

    def _read_header(self, events: list[Event]) -> bool:
        buffer = self._buffer
        if not self._searched and buffer.startswith((b"\r", b"\n")):
            # Line breaks before a header are no header: some clients end a body with one.
            del buffer[: len(buffer) - len(buffer.lstrip(b"\r\n"))]
        end = _HEADER_END.search(buffer, self._searched, _MAX_HEADER_BYTES)
        if end is None:
            return self._wait_for_header(events)
        header = bytes(buffer[: end.start()])
        del buffer[: end.end()]
        self._searched = 0
        lost, self._lost = self._lost, False
        lengths = _CONTENT_LENGTH.findall(header)
        if lengths:
            self._take_length(lengths[-1].strip(), events)
        elif not lost:
            events.append(Malformed("a header has no Content-Length"))
        return True

    def _wait_for_header(self, events: list[Event]) -> bool:
        buffer = self._buffer
        if len(buffer) < _MAX_HEADER_BYTES:
            self._searched = max(0, len(buffer) - 3)  # a blank line may be half here
            return False
        if not self._lost:
            self._lost = True
            events.append(Malformed(f"a header is longer than {_MAX_HEADER_BYTES} bytes"))
        del buffer[: _MAX_HEADER_BYTES - _KEPT_HEADER_BYTES]
        self._searched = _KEPT_HEADER_BYTES - 3
        return True

    def _take_length(self, text: bytes, events: list[Event]) -> None:
        # Twenty digits are nonsense already; Python itself refuses to convert thousands.
        length = int(text) if text.isdigit() and len(text) <= 20 else None
        if length is None or length > _MAX_SKIPPED_BYTES:
            events.append(Malformed("a Content-Length is not a usable number of bytes"))
        elif length > MAX_MESSAGE_BYTES:
            self._to_skip = length
            events.append(
                Malformed(f"a message of {length} bytes is longer than {MAX_MESSAGE_BYTES}")
            )
        else:
            self._length = length
