"""Sessions opened by way of a saved index, to be compared with sessions that were read."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from branchline.entries import Kind
from branchline.log.saved_index import SavedIndexes
from branchline.log.session_file import SessionFile
from tests.unit.session_files import opened, shape

WHOLE = 1 << 40


def saved_indexes(folder: Path) -> SavedIndexes:
    """Indexes of sessions of any size."""
    return SavedIndexes(folder / "indexes", least_bytes=0)


def save(path: Path, indexes: SavedIndexes) -> None:
    """Read a session and save its index, as the daemon does."""
    with opened(path, verify_up_to=WHOLE) as file:
        indexes.save(file.verify(lambda: None))


@contextmanager
def opened_again(path: Path) -> Iterator[SessionFile]:
    """A session that is open by its saved index."""
    indexes = saved_indexes(path.parent)
    save(path, indexes)
    with opened(path, indexes=indexes) as file:
        yield file


def picture(file: SessionFile) -> dict[str, Any]:
    """All that is known of an open session, so that two ways of opening it can be compared.

    The order of warnings and problems says nothing.
    """
    tree = file.tree
    return {
        **shape(tree),
        "leaf": tree.leaf,
        "superseded": tree.superseded,
        "missing": tree.missing,
        "problems": Counter(tree.problems),
        "facts": {at: tree.facts.get(at) for at in range(len(tree))},
        "found": [tree.find(entry_id) for entry_id in tree.ids],
        "moves": [
            tree.move_target(at)
            for at in range(len(tree))
            if tree.kinds[at] in (Kind.MOVE, Kind.LEAF)
        ],
        "offsets": list(file.places.offsets),
        "lengths": list(file.places.lengths),
        "header": (file.header, file.header_record),
        "warnings": Counter(file.warnings),
        "size": file.size,
        "verified": file.verified,
    }


def picture_of(path: Path, indexes: SavedIndexes | None = None) -> dict[str, Any]:
    """The picture of a session that is opened for it alone, every line of it parsed."""
    with opened(path, verify_up_to=WHOLE, indexes=indexes) as file:
        return picture(file)
