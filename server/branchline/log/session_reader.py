"""One session file: its records read where they stand, and what others append to it.

Opening changes no byte. A file is read whole, or on from where a saved index ends. All methods
block: call them in a thread.
"""

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from branchline import codec
from branchline.entries import CURRENT_VERSION, Entry, Kind
from branchline.errors import FileChanged, InvalidSession, ReadOnly, StorageFailure
from branchline.log.fast_lines import Places
from branchline.log.format import Header, SessionWarning
from branchline.log.index_format import SavedIndex
from branchline.log.migrate import upgrade
from branchline.log.saved_index import Reading, SavedIndexes, covered, edges, edges_after
from branchline.log.scan import LineScanner
from branchline.tree.index import Columns, Tree

NO_PERMISSION: Final = "there is no permission to write to it"
"""Why a file is read-only here."""
TRANSIENT: Final = frozenset({"torn-tail", "no-final-newline"})
"""Warnings about the end of the file, which the next look may take back."""

_CHUNK: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Batch:
    """What others appended since the last look."""

    columns: Columns
    places: Places
    warnings: list[SessionWarning]
    ended_torn: bool


class SessionReader:
    """An open session file, as far as it is read.

    Attributes:
        path: the file's resolved path.
        header, header_record: its header, and the bytes it was read from.
        tree: the index of what was read; whoever opened the file lets it grow.
        places: where each entry stands, by ordinal.
        warnings: what is wrong with the bytes; the end of the file is looked at anew each time.
        size: bytes known, an unfinished last line included.
        verified: whether every line was parsed.
        indexed: how many of its bytes a saved index told of.
    """

    header: Header
    header_record: bytes
    tree: Tree
    places: Places
    warnings: list[SessionWarning]
    _known_bytes: tuple[bytes, bytes]

    def __init__(self, path: Path, verify_up_to: int, indexes: SavedIndexes | None) -> None:
        """Open the file and read it, parsing every line if it has at most ``verify_up_to`` bytes.

        As far as one of ``indexes`` tells of it, it is not read. Raises `InvalidSession` if it
        holds no session, `StorageFailure` if it cannot be read.
        """
        self.path = path
        self.size = self.indexed = 0
        self._descriptor = open_file(path, os.O_RDONLY, "read")
        try:
            status = os.fstat(self._descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise InvalidSession(path, "it is no regular file")
            self._identity = (status.st_dev, status.st_ino)
            saved = indexes.load(path, self._descriptor, status) if indexes else None
            rest = status.st_size - saved.covered.end if saved else 0
            if saved is None or rest > verify_up_to or not self._resume(saved):
                self._read_whole(verified=status.st_size <= verify_up_to)
        except OSError as error:
            os.close(self._descriptor)
            raise StorageFailure(path, "read", error) from error
        except BaseException:
            os.close(self._descriptor)
            raise
        self._remember()

    def _read_whole(self, *, verified: bool) -> None:
        self.verified = verified
        self._settled = 0
        self._mid_line = False
        self._scanner = scanner = LineScanner(verified=verified)
        self._scan(scanner)
        if scanner.header is None:
            raise InvalidSession(self.path, "it has no session header near its beginning")
        scanner.add_placeholders(lambda _: False)
        self.header, self.header_record = scanner.header, scanner.header_record
        self.tree = Tree(scanner.columns)
        self.places = scanner.places
        self.warnings = scanner.warnings
        self._parent_ids = scanner.columns.parent_ids if self.header.version < 2 else []
        self._first_kept = scanner.first_kept

    def _resume(self, saved: SavedIndex) -> bool:
        """Go on where a saved index ends. False if what came since changes what it tells."""
        self.verified = True
        self._settled = saved.covered.end
        self._mid_line = False
        self._scanner = scanner = LineScanner.resume(saved.state)
        self._scan(scanner)
        tree, columns = Tree(saved.columns, saved.links), scanner.columns
        scanner.add_placeholders(lambda entry_id: tree.find(entry_id) is not None)
        if scanner.header is None or not tree.missing.isdisjoint(scanner.lost):
            return False
        if len(columns) and (Kind.PLACEHOLDER in tree.kinds or not tree.grows_by(columns)):
            return False
        self.header, self.header_record = scanner.header, scanner.header_record
        self.tree, self.places = tree, saved.places
        for ordinal in range(len(columns)):
            tree.append_found(columns, ordinal)
        tree.place_leaf()
        self.places.extend(scanner.places)
        self.warnings = [*saved.state.warnings, *scanner.warnings]
        self._parent_ids = []
        self._first_kept = {}
        self.indexed = saved.covered.end
        return True

    def close(self) -> None:
        """Give the descriptors and the index back. The file cannot be used afterwards."""
        self.tree, self.places = Tree(Columns()), Places()
        os.close(self._descriptor)
        self._descriptor = -1  # its number may soon be another file's

    @property
    def needs_upgrade(self) -> bool:
        """Whether the file has to be rewritten as the current version before it can grow."""
        return self.header.version < CURRENT_VERSION

    @property
    def readable_by_others(self) -> bool:
        """Whether its mode lets the group or everybody read it."""
        return bool(os.fstat(self._descriptor).st_mode & 0o077)

    @property
    def modified_seconds(self) -> float:
        """When the file was last written to, in seconds since 1970."""
        return os.fstat(self._descriptor).st_mtime

    # --- reading -----------------------------------------------------------------------------

    def raw(self, ordinal: int) -> bytes:
        """The record's bytes as they stand in the file (versions 1 and 2: as upgraded).

        Raises `FileChanged` if there is no such record any more, `StorageFailure` on I/O errors.
        """
        raw = self.stored(ordinal)
        entry = self._entry_in(raw, ordinal)
        return codec.encode_record(entry) if self.header.version < CURRENT_VERSION else raw

    def stored(self, ordinal: int) -> bytes:
        """The record's bytes as they stand in the file, whatever its version."""
        length = self.places.lengths[ordinal]
        try:
            raw = os.pread(self._descriptor, length, self.places.offsets[ordinal])
        except OSError as error:
            raise StorageFailure(self.path, "read", error) from error
        if len(raw) != length:
            raise FileChanged(self.path, "truncated")
        return raw

    def entry(self, ordinal: int) -> Entry:
        """The decoded entry; of a placeholder, what is known of it. Raises what `raw` raises."""
        return self._entry_in(self.stored(ordinal), ordinal)

    def _entry_in(self, raw: bytes, ordinal: int) -> Entry:
        """The entry that the bytes at its place hold. Raises `FileChanged` if it is another."""
        entry_id = self.tree.ids[ordinal]
        if self.tree.kinds[ordinal] == Kind.PLACEHOLDER:
            return {"type": "placeholder", "id": entry_id}
        try:
            entry = codec.decode(raw)
        except codec.DecodeError:
            entry = None
        if isinstance(entry, dict):
            if ordinal < len(self._parent_ids):
                entry["id"] = entry_id
                entry["parentId"] = self._parent_ids[ordinal]
            if entry.get("id") == entry_id:
                return upgrade(entry, self.header.version, self._first_kept.get(ordinal))
        if self.verified:
            raise FileChanged(self.path, "overwritten")
        return {"type": "placeholder", "id": entry_id}

    def verify(self, pause: Callable[[], None]) -> Reading:
        """Read all whole lines again, parsing every one; ``pause`` is called now and then.

        The caller compares and takes over what differs, and saves the index of it.
        """
        scanner = LineScanner(verified=True)
        try:
            descriptor = os.dup(self._descriptor)  # whoever closes the file need not wait for this
            try:
                status = os.fstat(descriptor)
                end, _ = _scan(scanner, descriptor, 0, self._settled, pause)
                scanner.add_placeholders(lambda _: False)
                return Reading(self.path, covered(descriptor, status, end), scanner)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise StorageFailure(self.path, "read", error) from error

    # --- what others append ------------------------------------------------------------------

    def is_still_there(self) -> bool:
        """Whether the path still leads to the file that was opened."""
        status = self._status()
        return status is not None and status[0] == self._identity

    def has_changed(self) -> bool:
        """Whether the file differs from what was last seen, by its status alone."""
        return self._status() != self._seen

    def read_tail(self) -> Batch | None:
        """What was appended since the last look, or None.

        Raises `FileChanged` if the file was deleted, replaced, truncated or overwritten.
        """
        status = self._status()
        if status == self._seen:
            return None
        if status is None:
            raise FileChanged(self.path, "deleted or moved away")
        identity, size, _ = status
        if identity != self._identity:
            raise FileChanged(self.path, "replaced by another file")
        if size < self.size:
            raise FileChanged(self.path, "truncated")
        try:
            if edges(self._descriptor, self.size) != self._known_bytes:
                raise FileChanged(self.path, "overwritten")
            scanner = self._scanner
            scanner.begin_batch(mid_line=self._mid_line)
            self.warnings = [one for one in self.warnings if one.code not in TRANSIENT]
            self._scan(scanner)
        except OSError as error:
            raise StorageFailure(self.path, "read", error) from error
        scanner.add_placeholders(lambda entry_id: self.tree.find(entry_id) is not None)
        self.warnings.extend(scanner.warnings)
        self.places.extend(scanner.places)
        if self.header.version < 2:
            self._parent_ids.extend(scanner.columns.parent_ids)
        self._remember()
        torn = any(one.code == "torn-tail" for one in scanner.warnings)
        return Batch(scanner.columns, scanner.places, scanner.warnings, torn)

    # --- inside ------------------------------------------------------------------------------

    def _scan(self, scanner: LineScanner) -> None:
        """Feed the scanner from where the last look ended, and settle where the next begins."""
        settled, rest = _scan(scanner, self._descriptor, self._settled, None, None)
        self.size = settled + len(rest)
        taken = scanner.finish(rest, settled)
        self._settled = settled + taken
        self._mid_line = taken > 0

    def _status(self) -> tuple[tuple[int, int], int, int] | None:
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageFailure(self.path, "read", error) from error
        return (status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns

    def _remember(self, appended: bytes = b"") -> None:
        """Keep what the next look compares with; ``appended``: of what we have just written.

        The status is made from the size that was read, so that what came since is seen as new.
        """
        status = os.fstat(self._descriptor)
        self._seen = (self._identity, self.size, status.st_mtime_ns)
        self._known_bytes = (
            edges_after(self._known_bytes, appended)
            if appended
            else edges(self._descriptor, self.size)
        )


def _scan(
    scanner: LineScanner,
    descriptor: int,
    position: int,
    end: int | None,
    pause: Callable[[], None] | None,
) -> tuple[int, bytes]:
    """Feed the whole lines from ``position`` on, up to ``end`` or to the end of the file.

    Gives where the last of them ends, and what stands behind it.
    """
    rest = os.fstat(descriptor).st_size - position
    buffer = bytearray(min(max(rest, 0) + 1, _CHUNK))
    filled = 0
    while not scanner.hopeless:
        if filled == len(buffer):
            buffer.extend(bytes(len(buffer)))  # one line is longer than the buffer
        want = len(buffer) - filled
        if end is not None:
            want = min(want, end - position - filled)
        with memoryview(buffer) as view:
            got = os.preadv(descriptor, [view[filled : filled + want]], position + filled)
        if got == 0:
            break
        filled += got
        used = scanner.feed(buffer, filled, position)
        if used:
            buffer[: filled - used] = buffer[used:filled]
            filled -= used
            position += used
        if pause is not None:
            pause()
    return position, bytes(buffer[:filled])


def open_file(path: Path, flags: int, doing: str) -> int:
    """A descriptor of a session file. Raises `FileChanged`, `ReadOnly`, `StorageFailure`."""
    try:
        return os.open(path, flags | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError as error:
        if doing != "read" and error.errno == errno.ENOENT:
            raise FileChanged(path, "deleted or moved away") from error
        if doing != "read" and error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise ReadOnly(path, NO_PERMISSION) from error
        raise StorageFailure(path, doing, error) from error
