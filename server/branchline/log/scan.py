"""From bytes to the columns of an index: which records a file holds and where they stand.

Pure: `LineScanner` is fed whole lines and never opens a file. Two ways through it:

* *verified*: every line is parsed; damage is found, token estimates are exact. For files up to
  `VERIFIED_BYTES`, for what others append, and in the background for the rest.
* *fast*: a line whose fixed prefix (or suffix) matches is taken without parsing it. Structural
  entries, odd key orders and visible damage are still parsed.

Damage is never skipped silently: each bad line gives a warning with its place.
"""

from collections.abc import Callable
from typing import Any, Final, Self

from branchline import codec
from branchline.entries import (
    CURRENT_VERSION,
    STRUCTURAL,
    Entry,
    Flag,
    Kind,
    blocks,
    content_of,
    facts_of,
    flags_of,
    kind_of,
    message_of,
)
from branchline.log.fast_lines import Places, take_messages, take_payload_first
from branchline.log.format import (
    BLANK,
    BOM,
    FILLER,
    HEADER_BYTES,
    HEADER_LINES,
    Header,
    SessionWarning,
    read_header,
)
from branchline.log.migrate import VersionOneIds, upgrade
from branchline.log.recovery import salvage
from branchline.log.scan_state import LostRecord, ScanState
from branchline.tree.index import Columns
from branchline.tree.tokens import entry_tokens

VERIFIED_BYTES: Final = 16 * 1024 * 1024

_KNOWN_BLOCKS: Final = frozenset({"text", "image", "thinking", "toolCall"})
_KNOWN_STOPS: Final = frozenset({None, "stop", "length", "toolUse", "error", "aborted"})


class LineScanner:
    """Reads the lines of one session file in order.

    Attributes:
        columns, places: what was found, for the index and for reading bodies.
        warnings: damage met so far, in file order.
        header, header_record: the session header, once met, and its bytes.
        lines: how many lines were read.
        lost: damaged records by id, for placeholders.
        first_kept: version 1 only: what a compaction's index means, by ordinal.
    """

    def __init__(self, *, verified: bool) -> None:
        self.columns = Columns()
        self.places = Places()
        self.warnings: list[SessionWarning] = []
        self.header: Header | None = None
        self.header_record = b""
        self.lines = 0
        self.lost: dict[str, LostRecord] = {}
        self.first_kept: dict[int, str | None] = {}
        self._verified = verified
        self._fast = False
        self._non_blank = 0
        self._header_index = 0
        self._handed_over = 0
        self._given_up = False
        self._version_one: VersionOneIds | None = None
        self._version_one_ids: set[str] = set()
        self._odd_kinds: set[str] = set()

    @classmethod
    def resume(cls, state: ScanState) -> Self:
        """One that goes on where another ended, collecting anew; see `begin_batch`."""
        scanner = cls(verified=True)
        scanner.header_record = state.header_record
        scanner.header = read_header(codec.decode(state.header_record))
        scanner.lines = state.lines
        scanner.lost = state.lost
        scanner._odd_kinds = state.odd_kinds
        return scanner

    def state(self) -> ScanState:
        """What `resume` needs, for a file of the current version."""
        return ScanState(
            self.header_record,
            self.lines,
            self.warnings,
            self.lost,
            self._odd_kinds,
        )

    @property
    def version(self) -> int:
        """The version that the header gives; the current one until it is met."""
        return self.header.version if self.header else CURRENT_VERSION

    @property
    def hopeless(self) -> bool:
        """Whether the header was not found where it may stand: this is no session."""
        return self._given_up

    def feed(self, buffer: bytearray, end: int, base: int) -> int:
        """Read the whole lines in ``buffer[:end]``, which stands at ``base`` in the file.

        Gives how many bytes were used: up to and with the last LF.
        """
        position = 0
        while True:
            if self._fast:
                position, taken = take_messages(
                    self.columns, self.places, buffer, position, end, base
                )
                self._count(taken)
            newline = buffer.find(b"\n", position, end)
            if newline < 0 or self._given_up:
                return position
            if self._fast and take_payload_first(
                self.columns, self.places, buffer, position, newline, base
            ):
                self._count(1)
            else:
                self.lines += 1
                self._take_line(bytes(buffer[position:newline]), base + position)
            position = newline + 1

    def finish(self, rest: bytes, offset: int) -> int:
        """Read what stands behind the last LF at ``offset``.

        Gives how many bytes of it are settled: all, if it is blank or a whole record; up to the
        unfinished record otherwise, which is warned of and will be looked at again.
        """
        content = rest.strip(FILLER)
        if not content:
            if not rest.strip(BLANK):
                return 0
            self._warn_unfinished(rest, offset, self.lines + 1)
            return 0
        start = rest.find(content)
        body = content.removeprefix(BOM) if offset + start == 0 else content
        try:
            value = codec.decode(body)
        except codec.DecodeError:
            value = None
        whole = salvage(content, with_ids=self.version > 1).records if self.header else []
        settled = start + whole[-1][1] if whole else 0
        if settled == start + len(content) or read_header(value):
            self.lines += 1
            self._take_line(rest, offset)
            self._warn("no-final-newline", "The last line has no line end", offset, len(rest))
            return len(rest)
        if whole:
            self.lines += 1
            self._non_blank += 1
            self._take_records(content, whole, offset + start)
        self._warn_unfinished(rest[settled:], offset + settled, self.lines + (not whole))
        return settled

    def _warn_unfinished(self, rest: bytes, offset: int, line: int) -> None:
        message = f"The last record is unfinished: {len(rest)} bytes without a line end"
        self.warnings.append(SessionWarning("torn-tail", message, line, offset, len(rest)))

    def begin_batch(self, *, mid_line: bool) -> None:
        """Start to collect anew: what was found so far was taken over by the caller.

        From here on every line is parsed. ``mid_line``: what is fed next goes on in the line that
        was read last.
        """
        self._handed_over += len(self.columns)
        self.columns = Columns()
        self.places = Places()
        self.warnings = []
        self._fast = False
        if mid_line:
            self.lines -= 1
            self._non_blank -= 1

    def _count(self, taken: int) -> None:
        self.lines += taken
        self._non_blank += taken

    # --- one line ----------------------------------------------------------------------------

    def _take_line(self, line: bytes, offset: int) -> None:
        if offset == 0 and line.startswith(BOM):
            self._warn("bom", "The file begins with a byte order mark", 0, len(BOM))
            line, offset = line[len(BOM) :], len(BOM)
        content = line.strip(BLANK)
        if not content:
            return
        if self.header is None and (offset >= HEADER_BYTES and self.lines > HEADER_LINES):
            self._given_up = True
            return
        self._non_blank += 1
        if b"\x00" in content:
            stripped = content.strip(FILLER)
            if len(stripped) != len(content):
                nuls = len(content) - len(stripped)
                self._warn("nul-bytes", f"{nuls} NUL bytes around a record", offset, len(line))
            content = stripped
            if not content:
                return
        offset += line.find(content)
        try:
            value = codec.decode(content)
        except codec.DecodeError:
            self._take_damaged(content, offset)
            return
        self._take_value(value, content, offset)

    def _take_damaged(self, line: bytes, offset: int) -> None:
        found = salvage(line, with_ids=self.version > 1)
        count = len(found.records)
        saved = f"; {count} whole record{'s' if count != 1 else ''} on it" if count else ""
        message = f"This line is not one JSON record{saved}"
        self._warn("bad-line", message, offset, len(line), found.lost_id)
        if found.lost_id is not None:
            lost = LostRecord(found.lost_parent_id, self.lines, offset, len(line))
            self.lost[found.lost_id] = lost
        self._take_records(line, found.records, offset)

    def _take_records(self, line: bytes, records: list[tuple[int, int]], offset: int) -> None:
        for start, end in records:
            raw = line[start:end]
            self._take_value(codec.decode(raw), raw, offset + start)

    def _take_value(self, value: Any, raw: bytes, offset: int) -> None:
        if not raw.isascii() and not _is_utf8(raw):
            message = "Invalid UTF-8, read with replacement characters"
            entry_id = value.get("id") if isinstance(value, dict) else None
            self._warn("invalid-utf8", message, offset, len(raw), entry_id)
        header = read_header(value)
        if self.header is None:
            if header is not None:
                self._take_header(header, raw, offset)
            return
        if header is not None:
            self._warn("extra-header", "Another session header; ignored", offset, len(raw))
            return
        if self._version_one is not None and isinstance(value, dict) and _has_type(value):
            index = self._non_blank - 1 - self._header_index
            ids = self._version_one_ids
            self._version_one.adopt(value, index, raw, ids.__contains__)
            ids.add(value["id"])
        entry_id = value.get("id") if isinstance(value, dict) and _has_type(value) else None
        if not isinstance(entry_id, str) or not entry_id:
            message = "A JSON value that is no entry: it has no type and id"
            self._warn("not-an-entry", message, offset, len(raw))
            return
        self._take_entry(value, entry_id, raw, offset)

    def _take_header(self, header: Header, raw: bytes, offset: int) -> None:
        self.header = header
        self.header_record = raw
        self._fast = not self._verified and header.version == CURRENT_VERSION
        self._header_index = self._non_blank - 1
        if self._header_index > 0:
            message = f"The session header stands on line {self.lines}, not first"
            self._warn("header-not-first", message, offset)
        if header.version > CURRENT_VERSION:
            message = f"Version {header.version} is newer than {CURRENT_VERSION}: read-only here"
            self._warn("newer-version", message, offset)
        elif header.version < CURRENT_VERSION:
            message = f"Version {header.version}, read as version {CURRENT_VERSION}"
            self._warn(f"migrated-v{header.version}", message, offset)
        if header.version < 2:
            self._version_one = VersionOneIds(header.id)

    def _take_entry(self, entry: Entry, entry_id: str, raw: bytes, offset: int) -> None:
        ordinal = self._handed_over + len(self.columns)
        if self._version_one is not None and "firstKeptEntryIndex" in entry:
            self.first_kept[ordinal] = self._version_one.first_kept(entry)
        entry = upgrade(entry, self.version, self.first_kept.get(ordinal))
        kind = kind_of(entry)
        parent_id = entry.get("parentId")
        self._look_for_unknown(entry, kind, offset, len(raw))
        self.columns.add(
            entry_id,
            # A parent that is no text names nothing: the entry is an orphan under its own value.
            parent_id if parent_id is None or isinstance(parent_id, str) else _shown(parent_id),
            kind,
            flags_of(entry, kind),
            entry_tokens(entry, kind),
            facts_of(entry, kind) if kind in STRUCTURAL else None,
        )
        self.places.add(offset, len(raw))

    def _look_for_unknown(self, entry: Entry, kind: Kind, offset: int, length: int) -> None:
        """Warn once for each type, role, block or stop reason that is new to us."""
        odd: list[str] = []
        if kind is Kind.UNKNOWN:
            odd.append(f"entry type {entry['type']!r}")
        elif kind is Kind.UNKNOWN_ROLE:
            odd.append(f"message role {_shown(message_of(entry).get('role'))}")
        else:
            odd += [
                f"content block {_shown(block.get('type'))}"
                for block in blocks(content_of(entry))
                if not _is_one_of(block.get("type"), _KNOWN_BLOCKS)
            ]
            if kind is Kind.ASSISTANT:
                reason = message_of(entry).get("stopReason")
                if not _is_one_of(reason, _KNOWN_STOPS):
                    odd.append(f"stop reason {_shown(reason)}")
        for thing in odd:
            name = thing[:120]
            if name not in self._odd_kinds:
                self._odd_kinds.add(name)
                message = f"Unknown {name}: kept, not sent to the model"
                self._warn("unknown-type", message, offset, length, entry["id"])

    # --- the end -----------------------------------------------------------------------------

    def add_placeholders(self, known: Callable[[str], bool]) -> None:
        """Put a placeholder for each lost record that a found one names as its parent.

        ``known`` tells the ids that were there before this scan began.
        """
        if not self.lost:
            return
        present = set(self.columns.ids)
        wanted = list(self.columns.parent_ids)
        while wanted:
            parent_id = wanted.pop()
            lost = self.lost.get(parent_id) if parent_id is not None else None
            if parent_id is None or lost is None or parent_id in present or known(parent_id):
                continue
            present.add(parent_id)
            self.columns.add(parent_id, lost.parent_id, Kind.PLACEHOLDER, Flag.EXACT, 0)
            self.places.add(lost.offset, lost.length)
            wanted.append(lost.parent_id)
            message = f"The record {parent_id} is damaged; a placeholder keeps its place"
            self.warnings.append(
                SessionWarning(
                    "placeholder", message, lost.line, lost.offset, lost.length, parent_id
                )
            )

    def _warn(
        self,
        code: str,
        message: str,
        offset: int,
        length: int | None = None,
        entry_id: str | None = None,
    ) -> None:
        self.warnings.append(SessionWarning(code, message, self.lines, offset, length, entry_id))


def _shown(value: object) -> str:
    try:
        return repr(value)
    except RecursionError:  # it is nested as deeply as a file may be
        return codec.encode_record(value).decode()


def _is_one_of(value: object, known: frozenset[str | None] | frozenset[str]) -> bool:
    return isinstance(value, (str, type(None))) and value in known


def _has_type(value: Entry) -> bool:
    return isinstance(value.get("type"), str)


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
