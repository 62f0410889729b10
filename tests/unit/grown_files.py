"""A session file that grows, as the service lets it grow and as others do."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from branchline.entries import Entry, Kind
from branchline.log.format import record_line
from branchline.log.session_file import SessionFile
from branchline.tree.index import Columns
from tests.unit.session_files import (
    opened,
)


class Grown:
    """A file and the index that grows with it, as the service keeps them."""

    def __init__(self, file: SessionFile) -> None:
        self.file = file
        self.tree = file.tree

    def look(self) -> list[str]:
        """Take in what others appended; give the ids."""
        batch = self.file.read_tail()
        if batch is None:
            return []
        return self.take(batch.columns)

    def take(self, columns: Columns) -> list[str]:
        for at in range(len(columns)):
            self.tree.append_found(columns, at)
        return list(columns.ids)

    def append(self, *records: Entry) -> bool:
        """Append as the service does."""
        batch = self.file.begin_append()
        if batch is not None:
            self.take(batch.columns)
        placed = self.file.finish_append([record_line(one) for one in records], "flush")
        if placed:
            for one in records:
                parent = one["parentId"] and self.tree.find(one["parentId"])
                self.tree.append(one["id"], -1 if parent is None else parent, Kind.USER, 0, 1)  # type: ignore[arg-type]
        return placed

    def raw(self) -> list[bytes]:
        return [self.file.raw(at) for at in range(len(self.tree))]


@contextmanager
def grown(path: Path) -> Iterator[Grown]:
    with opened(path) as file:
        yield Grown(file)


def add(path: Path, content: bytes) -> None:
    """Write to the end of a file as another program does."""
    with path.open("ab") as file:
        file.write(content)


def replaced(path: Path, content: bytes) -> None:
    """Put another file in its place."""
    other = path.with_name("other")
    other.write_bytes(content)
    other.replace(path)
