"""The only two operations that replace a session file: upgrade and repair. Both are this one.

The new file is made beside the old one and flushed, the old one gets a second name (``.bak``,
``.bak.1``, …), and one rename puts the new one in its place, at the resolved path, with the old
one's owner and mode. Killed at any point, there is one complete file. What somebody appended
meanwhile is carried over.

What changes is what a check names: old versions become version 3, records on damaged lines get
lines of their own, a placeholder becomes a ``custom`` record that keeps the chain, links that
cannot be followed are cut where they are cut when read. Every other record keeps its bytes.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from branchline import codec
from branchline.entries import CURRENT_VERSION, DAMAGED_RECORD, Kind
from branchline.errors import ReadOnly, StorageFailure
from branchline.log.format import new_id, now, record_line
from branchline.log.session_file import SessionFile
from branchline.log.session_reader import NO_PERMISSION
from branchline.tree.index import NONE, Tree

MENDED: Final = frozenset(
    {
        "torn-tail",
        "no-final-newline",
        "nul-bytes",
        "bom",
        "invalid-utf8",
        "bad-line",
        "placeholder",
        "not-an-entry",
        "duplicate-id",
        "orphan",
        "cycle",
        "header-not-first",
        "extra-header",
        "migrated-v1",
        "migrated-v2",
    }
)
"""Warnings that a rewrite takes the cause from. The others say what only a person can mend."""


def rewrite(file: SessionFile, tree: Tree) -> Path:
    """Replace the file by a clean one; give the path of the old one.

    The caller holds the file's lock and opens the session anew afterwards. Raises `ReadOnly` (a
    rename would ask no permission of the file), `StorageFailure`; then the old file is where it
    was.
    """
    path = file.path
    if not os.access(path, os.W_OK):
        raise ReadOnly(path, NO_PERMISSION)
    temporary: Path | None = None
    try:
        status = os.stat(path)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        temporary = Path(name)
        with os.fdopen(descriptor, "wb") as target:
            target.writelines(_lines(file, tree))
            target.flush()
            _keep_owner_and_mode(target.fileno(), status)
            os.fsync(target.fileno())
        backup = _second_name(path)
        os.rename(temporary, path)
        temporary = None
        _carry_over(backup, path, file.size)
        _sync_folder(path.parent)
    except OSError as error:
        raise StorageFailure(path, "rewrite", error) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
    return backup


def _lines(file: SessionFile, tree: Tree) -> Iterator[bytes]:
    yield header_line(file)
    rewritten = {
        one.entry_id for one in file.warnings if one.code == "invalid-utf8" and one.entry_id
    }
    cut = {one.ordinal for one in tree.problems if one.code in ("orphan", "cycle")}
    before: int | None = None
    for ordinal in sorted(range(len(tree)), key=file.places.offsets.__getitem__):
        entry_id = tree.ids[ordinal]
        if tree.kinds[ordinal] == Kind.PLACEHOLDER:
            yield record_line(
                {
                    "type": "custom",
                    "customType": DAMAGED_RECORD,
                    "data": {"note": "This record was damaged; the old file is kept beside it."},
                    "id": entry_id,
                    "parentId": tree.id_of(tree.parents[ordinal]),
                    # Pi draws siblings by their timestamps: the record keeps about its place.
                    "timestamp": _timestamp(file, before),
                }
            )
        elif ordinal in tree.superseded or ordinal in cut:
            entry = file.entry(ordinal)
            if ordinal in tree.superseded:
                entry["id"] = new_id(tree.find)
            if tree.parents[ordinal] == NONE:
                entry["parentId"] = None
            yield record_line(entry)
        elif entry_id in rewritten:
            yield record_line(file.entry(ordinal))
        else:
            yield file.raw(ordinal) + b"\n"
        before = ordinal


def _timestamp(file: SessionFile, ordinal: int | None) -> str:
    """The timestamp of the record on this place, or of now where there is none."""
    timestamp = None if ordinal is None else file.entry(ordinal).get("timestamp")
    return timestamp if isinstance(timestamp, str) else now()


def header_line(file: SessionFile) -> bytes:
    """The file's header as a line of the current version, LF included."""
    if file.header.version >= CURRENT_VERSION:
        return file.header_record + b"\n"
    header = codec.decode(file.header_record)
    header.pop("version", None)
    return record_line({"type": header.pop("type"), "version": CURRENT_VERSION, **header})


def _second_name(path: Path) -> Path:
    """Give the old file a free second name; a copy where the file system has no hard links."""
    number = 0
    while True:
        backup = path.with_name(f"{path.name}.bak" + (f".{number}" if number else ""))
        try:
            os.link(path, backup)
        except FileExistsError:
            number += 1
        except OSError:
            if backup.exists():
                number += 1
                continue
            shutil.copy2(path, backup)
            return backup
        else:
            return backup


def _carry_over(old: Path, new: Path, known: int) -> None:
    """Append what was written to the old file after it was read."""
    with old.open("rb") as source:
        source.seek(known)
        late = source.read()
    if late:
        with new.open("ab") as target:
            target.write(late.lstrip(b"\n"))
            target.flush()
            os.fsync(target.fileno())


def _keep_owner_and_mode(descriptor: int, status: os.stat_result) -> None:
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid):
        os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
