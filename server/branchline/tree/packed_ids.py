"""The ids of a saved index, used as they were saved: one text, cut where somebody looks.

100,000 ids as a list of texts and a table from each to its ordinal take 15 milliseconds to make and
12 MB to hold; this takes neither. What is appended later stands beside it.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Self, overload


class PackedIds(Sequence[str]):
    """Ids by ordinal, and ordinals by id: both the list and the table of an index."""

    def __init__(self, text: str, ends: "array[int]", order: "array[int]") -> None:
        """The ids in one ``text``; ``ends`` says where each ends, counted in characters.

        ``order`` are the ordinals by the alphabet of their ids; without those superseded.
        """
        self._text = text
        self._ends = ends
        self._order = order
        self._packed = len(ends)
        self._added: list[str] = []
        self._added_ordinals: dict[str, int] = {}

    @classmethod
    def of(cls, ids: Sequence[str], left_out: set[int]) -> Self:
        """Pack ids; those ``left_out`` are not found by id."""
        ends = array("i")
        end = 0
        for entry_id in ids:
            end += len(entry_id)
            ends.append(end)
        ordinals = (ordinal for ordinal in range(len(ids)) if ordinal not in left_out)
        return cls("".join(ids), ends, array("i", sorted(ordinals, key=ids.__getitem__)))

    @property
    def parts(self) -> "tuple[str, array[int], array[int]]":
        """What it was made from."""
        return self._text, self._ends, self._order

    def __len__(self) -> int:
        return self._packed + len(self._added)

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> list[str]: ...

    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[ordinal] for ordinal in range(*at.indices(len(self)))]
        if at < 0:
            at += len(self)
        if at >= self._packed:
            return self._added[at - self._packed]
        return self._text[self._ends[at - 1] if at > 0 else 0 : self._ends[at]]

    def __iter__(self) -> Iterator[str]:
        text, start = self._text, 0
        for end in self._ends:
            yield text[start:end]
            start = end
        yield from self._added

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list | PackedIds):
            return NotImplemented
        return len(self) == len(other) and all(
            one == another for one, another in zip(self, other, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]  # it grows, as a list does

    def append(self, entry_id: str) -> None:
        """Add the id of the next entry."""
        self._added.append(entry_id)

    def get(self, entry_id: str) -> int | None:
        """The ordinal of the entry with this id; None if there is none."""
        added = self._added_ordinals.get(entry_id)
        if added is not None:
            return added
        order = self._order
        at = bisect_left(order, entry_id, key=self.__getitem__)
        if at < len(order) and self[order[at]] == entry_id:
            return order[at]
        return None

    def __setitem__(self, entry_id: str, ordinal: int) -> None:
        """Name the ordinal of an id that was appended."""
        self._added_ordinals[entry_id] = ordinal
