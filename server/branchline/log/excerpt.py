"""What can be told of a session file by some of its bytes, in memory."""

from branchline import codec
from branchline.entries import Entry
from branchline.log.fast_lines import Places
from branchline.log.format import HEADER_LINES, Header
from branchline.log.scan import LineScanner


class BodiesInMemory:
    """Bodies of entries that were scanned from bytes in memory, unverified."""

    def __init__(self, text: bytearray, places: Places) -> None:
        self._text = text
        self._places = places

    def entry(self, ordinal: int) -> Entry:
        """The decoded entry; of a record that turns out to be damaged, that it is one."""
        offset = self._places.offsets[ordinal]
        raw = bytes(self._text[offset : offset + self._places.lengths[ordinal]])
        try:
            entry = codec.decode(raw)
        except codec.DecodeError:
            entry = None
        return entry if isinstance(entry, dict) else {"type": "placeholder"}


def header_line_in(head: bytes) -> tuple[Header, bytes] | None:
    """The session header among the first bytes of a file, and its record; None without one."""
    scanner = LineScanner(verified=True)
    for line in head.split(b"\n")[: HEADER_LINES + 1]:
        scanner.feed(bytearray(line + b"\n"), len(line) + 1, 0)
        if scanner.header is not None:
            return scanner.header, scanner.header_record
    return None
