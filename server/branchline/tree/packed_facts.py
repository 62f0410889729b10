"""The facts of a saved index, used as they were saved: JSON, decoded where somebody looks."""

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Self, overload

from branchline import codec
from branchline.entries import Entry


class PackedFacts:
    """Facts by ordinal. Grows: what is set later stands beside what was saved."""

    def __init__(self, text: bytearray, ends: "array[int]", ordinals: "array[int]") -> None:
        """The JSON of all in one ``text``; where each ends; and the ordinals, in their order."""
        self._text = text
        self._ends = ends
        self._ordinals = ordinals
        self._known: dict[int, Entry] = {}  # decoded, or set later

    @classmethod
    def of(cls, facts: Mapping[int, bytes]) -> Self:
        """Pack facts that are JSON already, by ordinal."""
        text, ends = bytearray(), array("i")
        ordinals = sorted(facts)
        for ordinal in ordinals:
            text += facts[ordinal]
            ends.append(len(text))
        return cls(text, ends, array("i", ordinals))

    @property
    def parts(self) -> "tuple[bytearray, array[int], array[int]]":
        """What it was made from."""
        return self._text, self._ends, self._ordinals

    @overload
    def get(self, ordinal: int) -> Entry | None: ...

    @overload
    def get(self, ordinal: int, default: Entry) -> Entry: ...

    def get(self, ordinal: int, default: Entry | None = None) -> Entry | None:
        """The facts of an entry; ``default`` if it has none."""
        known = self._known.get(ordinal)
        if known is not None:
            return known
        at = bisect_left(self._ordinals, ordinal)
        if at == len(self._ordinals) or self._ordinals[at] != ordinal:
            return default
        text = self._text[self._ends[at - 1] if at else 0 : self._ends[at]]
        facts: Entry = codec.decode(bytes(text))
        self._known[ordinal] = facts
        return facts

    def __getitem__(self, ordinal: int) -> Entry:
        facts = self.get(ordinal)
        if facts is None:
            raise KeyError(ordinal)
        return facts

    def __setitem__(self, ordinal: int, facts: Entry) -> None:
        self._known[ordinal] = facts

    def __iter__(self) -> Iterator[int]:
        return iter(sorted({*self._ordinals, *self._known}))
