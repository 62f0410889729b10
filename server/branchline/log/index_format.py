r"""The bytes of a saved index: the one place that knows how it looks. It opens no file.

    file     = mark LF crc32 covered lengths section*
    mark     = "branchline index" format package-version byte-order size-of-a-long
    crc32    = of all that follows, 4 bytes, little-endian
    covered  = the six numbers and the digest of `Covered`
    lengths  = of each section, 8 bytes each, little-endian
    sections = a JSON object with all that is small; the ids (UTF-8); the facts (JSON objects); and
               the columns and tables as they are in memory

The bodies of entries are not in it, nor the content of context edits, nor any other fact that is
long: these are read from the session file again.
"""

import struct
import sys
import zlib
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from branchline import __version__, codec
from branchline.entries import Entry, Kind, facts_of, kind_of
from branchline.log.fast_lines import Places
from branchline.log.scan_state import ScanState
from branchline.tree.columns import Columns, Label, Problem
from branchline.tree.linking import Links
from branchline.tree.packed_facts import PackedFacts
from branchline.tree.packed_ids import PackedIds

_FORMAT: Final = 1
"""Goes up when the sections change, or when what a scan makes of a file does."""
_MARK: Final = (
    f"branchline index {_FORMAT} {__version__} {sys.byteorder} {array('l').itemsize}\n".encode()
)
_SECTIONS: Final = "BBiiBiiiBBlqq"
"""The type codes of the sections: see `pack`."""
_NUMBERS: Final = struct.Struct(f"<6q32s{len(_SECTIONS)}Q")
"""What is covered, and the lengths of the sections."""
_HEAD_BYTES: Final = len(_MARK) + 4 + _NUMBERS.size
_LONG_FACTS: Final = 512
"""Facts of more bytes than this, as JSON, are left in the session file."""


@dataclass(frozen=True, slots=True)
class Covered:
    """Which part of which file an index is of.

    Attributes:
        device, inode: the file.
        size, modified_ns, changed_ns: its status before it was read; 0 where that proves nothing.
        end: where in it the last line that was read ends.
        edges: the SHA-256 of the first and the last bytes before ``end``.
    """

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int
    end: int
    edges: bytes


@dataclass(frozen=True, slots=True)
class SavedIndex:
    """An index as it was saved."""

    covered: Covered
    state: ScanState
    columns: Columns
    places: Places
    links: Links


def pack(
    covered: Covered, state: ScanState, columns: Columns, places: Places, links: Links
) -> bytes:
    """The bytes of an index. ``columns`` and ``links`` are those of a tree that has not grown."""
    facts, unsaved = _facts_to_save(columns)
    about = {
        "state": state.as_json(),
        "unsaved": unsaved,
        "superseded": sorted(links.superseded),
        "problems": [[one.code, one.message, one.ordinal] for one in links.problems],
        "labels": [[at, *label] for at, label in links.labels.items()],
        "name": links.name,
        "missing": sorted(links.missing),
    }
    ids, id_ends, id_order = PackedIds.of(columns.ids, links.superseded).parts
    sections: list[bytes | bytearray | array[int]] = [
        codec.encode_record(about),
        ids.encode("utf-8", "surrogatepass"),
        id_ends,
        id_order,
        *facts.parts,
        links.parents,
        columns.kinds,
        columns.flags,
        columns.tokens,
        places.offsets,
        places.lengths,
    ]
    views = [memoryview(section).cast("B") for section in sections]
    numbers = [getattr(covered, name) for name in Covered.__slots__]
    content = _NUMBERS.pack(*numbers, *map(len, views)) + b"".join(views)
    return _MARK + zlib.crc32(content).to_bytes(4, "little") + content


class IndexedFile(Protocol):
    """The session file that an index is said to be of."""

    def fits(self, covered: Covered) -> bool:
        """Whether it is the file that was indexed, and has at most grown since."""
        ...

    def read(self, offset: int, length: int) -> bytes:
        """What stands there."""
        ...


def unpack(
    size: int, fill: Callable[[memoryview], int | None], session: IndexedFile
) -> SavedIndex | None:
    """The index in a file of ``size`` bytes; None if they are not what `pack` makes of ``session``.

    ``fill`` reads the next bytes of it into a buffer, and gives how many. The facts that are not
    saved are read from the session; None, too, if their entries are not there.
    """
    head = bytearray(_HEAD_BYTES)
    if size < _HEAD_BYTES or fill(memoryview(head)) != len(head) or not head.startswith(_MARK):
        return None
    numbers = _NUMBERS.unpack_from(head, _HEAD_BYTES - _NUMBERS.size)
    covered, lengths = Covered(*numbers[:7]), numbers[7:]
    if sum(lengths) != size - _HEAD_BYTES or not session.fits(covered):
        return None
    checksum = zlib.crc32(head[-_NUMBERS.size :])
    sections: list[Any] = []
    for code, length in zip(_SECTIONS, lengths, strict=True):
        # Read to where they are to stay: to touch fresh memory is most of what this costs.
        section = array(code, [0]) * (length // array(code).itemsize)
        with memoryview(section).cast("B") as view:
            if len(view) != length or (length and fill(view) != length):
                return None
            checksum = zlib.crc32(view, checksum)
        sections.append(section)
    if checksum.to_bytes(4, "little") != head[len(_MARK) : len(_MARK) + 4]:
        return None
    return _understood(covered, sections, session)


def _understood(covered: Covered, sections: list[Any], session: IndexedFile) -> SavedIndex | None:
    about_text, id_text, id_ends, id_order, fact_text, fact_ends, fact_ordinals = sections[:7]
    parents, kinds, flags, tokens, offsets, lengths = sections[7:]
    try:
        about: dict[str, Any] = codec.decode(about_text.tobytes())
    except codec.DecodeError:
        return None  # a header nested a little too deeply, now that more is around it
    ids = PackedIds(str(id_text, "utf-8", "surrogatepass"), id_ends, id_order)
    facts = PackedFacts(bytearray(fact_text), fact_ends, fact_ordinals)
    columns = Columns(ids, [], bytearray(kinds), bytearray(flags), tokens, facts)
    for ordinal in about["unsaved"]:
        raw = session.read(offsets[ordinal], lengths[ordinal])
        found = _facts_again(raw, ids[ordinal], columns.kinds[ordinal])
        if found is None:
            return None
        facts[ordinal] = found
    links = Links(
        ids,
        parents,
        set(about["superseded"]),
        [Problem(code, message, ordinal) for code, message, ordinal in about["problems"]],
        {at: Label(text, timestamp) for at, text, timestamp in about["labels"]},
        about["name"],
        set(about["missing"]),
    )
    state = ScanState.of_json(about["state"])
    return SavedIndex(covered, state, columns, Places(offsets, lengths), links)


def _facts_to_save(columns: Columns) -> tuple[PackedFacts, list[int]]:
    """The facts that are saved; and by ordinal, whose are not."""
    saved: dict[int, bytes] = {}
    unsaved: list[int] = []
    for ordinal in columns.facts:
        facts = columns.facts[ordinal]
        text = codec.encode_record(facts)
        if columns.kinds[ordinal] == Kind.CONTEXT_EDIT or len(text) > _LONG_FACTS:
            unsaved.append(ordinal)
        else:
            saved[ordinal] = text
    return PackedFacts.of(saved), unsaved


def _facts_again(raw: bytes, entry_id: str, kind: int) -> Entry | None:
    """The facts of the entry with this id and kind, if the bytes are its record."""
    try:
        entry = codec.decode(raw)
    except codec.DecodeError:
        return None
    if not isinstance(entry, dict) or entry.get("id") != entry_id or kind_of(entry) != kind:
        return None
    return facts_of(entry, Kind(kind))
