"""The links from parents to children, made from the parents when first asked for.

Many uses of a tree only walk up, and nearly every entry has one child. Siblings stand in file
order; what is skipped is in no list.
"""

from array import array
from collections.abc import Collection, Iterator
from typing import Final

_NONE: Final = -1


class Children:
    """Who is whose child, by ordinal. The parent -1 stands for none: its children are the roots."""

    def __init__(self, parents: "array[int]", skipped: Collection[int] = ()) -> None:
        # One place more than there are entries, so that the roots' place is the last one, -1.
        self._first = first = array("l", [_NONE]) * (len(parents) + 1)
        self._others: dict[int, list[int]] = {}
        for ordinal, parent in enumerate(parents):
            if skipped and ordinal in skipped:
                continue
            if first[parent] == _NONE:
                first[parent] = ordinal
            else:
                self._others.setdefault(parent, []).append(ordinal)

    def add(self, parent: int, ordinal: int) -> None:
        """Add the next entry, whose ordinal is the number of entries so far."""
        self._first.insert(ordinal, _NONE)
        if self._first[parent] == _NONE:
            self._first[parent] = ordinal
        else:
            self._others.setdefault(parent, []).append(ordinal)

    def of(self, parent: int) -> Iterator[int]:
        """The children in file order; of -1, the roots."""
        first = self._first[parent]
        if first != _NONE:
            yield first
            yield from self._others.get(parent, ())
