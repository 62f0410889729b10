"""The last entries of a session file, read backwards from its end, without the rest.

What stands below an entry stands behind it in the file. So the branch that leads to the leaf, from
some entry near the end on, is known whole by what was read from there: its forks, its labels and
what hangs below it. How many entries there are above is not.
"""

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from branchline.entries import CURRENT_VERSION, MOVES
from branchline.errors import BranchlineError
from branchline.log.excerpt import BodiesInMemory, header_line_in
from branchline.log.format import HEADER_BYTES, Header
from branchline.log.scan import LineScanner
from branchline.log.session_reader import open_file
from branchline.tree.index import NONE, Bodies, Tree

FIRST_BYTES: Final = 1024 * 1024
MOST_BYTES: Final = 16 * 1024 * 1024
"""How much of the end is read first, and at most: the scan takes a millisecond a megabyte."""


@dataclass(frozen=True, slots=True)
class Tail:
    """The tree of the last entries, as far as they are on one branch with the leaf or below it."""

    header: Header
    tree: Tree
    bodies: Bodies


def read_end(
    path: Path,
    is_enough: Callable[[Tail], bool],
    first_bytes: int = FIRST_BYTES,
    most_bytes: int = MOST_BYTES,
) -> Tail | None:
    """The end of a large file, and more of it until it ``is_enough``. Blocks.

    ``first_bytes`` are looked at first, then twice as many, ``most_bytes`` at most. None where that
    says nothing: of a file that has no more, of an older version, whose leaf stands further up,
    or that cannot be read. `SessionReader` reads it, or says what is wrong.
    """
    try:
        # To open what is no file can have effects of its own.
        if not _is_large_file(os.stat(path), most_bytes):
            return None
        descriptor = open_file(path, os.O_RDONLY, "read")
    except (BranchlineError, OSError, ValueError):
        return None
    try:
        status = os.fstat(descriptor)
        if not _is_large_file(status, most_bytes):
            return None
        found = header_line_in(os.pread(descriptor, HEADER_BYTES, 0))
        if found is None or found[0].version < CURRENT_VERSION:
            return None
        tail, length = None, first_bytes
        while length <= most_bytes:
            start = status.st_size - length
            tail = _tail_of(found, os.pread(descriptor, length, start)) or tail
            if tail is not None and is_enough(tail):
                break
            length *= 2
        return tail
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _is_large_file(status: os.stat_result, most_bytes: int) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_size > most_bytes


def _tail_of(found: tuple[Header, bytes], last: bytes) -> Tail | None:
    """The tail among the last bytes of a file; None if the leaf is not among them."""
    header, header_record = found
    # Behind the header, so that the scanner knows the version. The first line is half a one.
    text = bytearray(b"%b\n%b" % (header_record, last[last.find(b"\n") + 1 :]))
    scanner = LineScanner(verified=False)
    used = scanner.feed(text, len(text), 0)
    scanner.finish(bytes(text[used:]), used)
    scanner.add_placeholders(lambda _: False)
    tree = Tree(scanner.columns)
    if tree.leaf == NONE or tree.kinds[tree.leaf] in MOVES:
        return None  # moved to before the first entry, or to one further up
    return Tail(header, tree, BodiesInMemory(text, scanner.places))
