"""What is exported of a session: an index of its own, and bodies in which secrets are hidden.

An active branch becomes a session that holds nothing else, so that no format can show more than
was asked for, and nothing needs to know whether something is hidden.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from branchline.entries import Entry, Flag, Kind
from branchline.export.mask import Finder, Mask
from branchline.tree.index import NONE, Bodies, Columns, Label, Tree
from branchline.tree.stats import Totals, stats


class Records(Bodies, Protocol):
    """Where the records of a session are read from. Ordinals are those of its index."""

    def raw(self, ordinal: int) -> bytes:
        """The record as it stands in the file, without its LF."""
        ...


def labels_of(tree: Tree, ordinals: Sequence[int]) -> dict[int, Label]:
    """The labels that these entries have now."""
    return {ordinal: tree.labels[ordinal] for ordinal in ordinals if ordinal in tree.labels}


@dataclass(frozen=True, slots=True)
class Source:
    """A session as it is now, and which part of it is wanted. The tree may grow meanwhile.

    Attributes:
        tree, records: its index and its records.
        leaf, labels, name: what of the tree may change.
        header: its header, decoded.
        header_line: its header as a line, LF included.
        ordinals: the entries wanted, parents before children on one branch.
        whole: whether all branches are wanted.
    """

    tree: Tree
    records: Records
    leaf: int
    labels: Mapping[int, Label]
    name: str | None
    header: Entry
    header_line: bytes
    ordinals: Sequence[int]
    whole: bool

    def find_secrets(self, finder: Finder) -> Iterator[None]:
        """Let the finder look at all that an export can show; yields between entries."""
        finder.look_at([self.header, self.name])
        finder.look_at([label.text for label in self.labels.values()])
        for ordinal in self.ordinals:
            if self.tree.kinds[ordinal] != Kind.PLACEHOLDER:
                finder.look_at(self.records.entry(ordinal))
            yield


class Conversation:
    """The part of a session that is shown: the `Bodies` of a `Tree` of its own.

    Attributes:
        tree: the index of the wanted entries; its leaf is the session's, as far as it is there.
        header: the header, decoded.
        mask: what hides things; None if nothing is hidden.
        whole: whether all branches are here.
    """

    def __init__(self, source: Source, mask: Mask | None) -> None:
        self.mask = mask
        self.whole = source.whole
        self.header: Entry = self._hidden(source.header)
        self._records = source.records
        self._ordinals = list(source.ordinals)
        self.tree = self._index(source)

    @property
    def counts(self) -> list[dict[str, Any]]:
        """What is hidden, as ``masked`` in the answer."""
        return [] if self.mask is None else self.mask.counts

    def entry(self, ordinal: int) -> Entry:
        """The decoded entry, by its ordinal here."""
        entry: Entry = self._hidden(self._records.entry(self._ordinals[ordinal]))
        return entry

    def totals(self) -> Totals:
        """Counts, tokens and cost of all that is here."""
        found: Totals = self._hidden(
            stats(self.tree, _Unmasked(self._records, self._ordinals))["whole"]
        )
        return found

    def _hidden(self, value: Any) -> Any:
        return value if self.mask is None else self.mask.value(value)

    def _index(self, source: Source) -> Tree:
        tree = source.tree
        place = {ordinal: at for at, ordinal in enumerate(self._ordinals)}
        columns = Columns()
        for ordinal in self._ordinals:
            parent = tree.parents[ordinal]
            columns.add(
                self._hidden(tree.ids[ordinal]),
                self._hidden(tree.ids[parent]) if parent in place else None,
                tree.kind(ordinal),
                Flag(tree.flags[ordinal]),
                tree.tokens[ordinal],
                self._hidden(tree.facts.get(ordinal)),
            )
        made = Tree(columns)
        made.leaf = place.get(source.leaf, NONE)
        made.name = self._hidden(source.name)
        made.labels = {
            place[ordinal]: Label(self._hidden(label.text), label.timestamp)
            for ordinal, label in source.labels.items()
            if ordinal in place
        }
        return made


class _Unmasked:
    """The bodies as they are, for what only counts them: masking costs more than reading."""

    def __init__(self, records: Records, ordinals: Sequence[int]) -> None:
        self._records = records
        self._ordinals = ordinals

    def entry(self, ordinal: int) -> Entry:
        return self._records.entry(self._ordinals[ordinal])
