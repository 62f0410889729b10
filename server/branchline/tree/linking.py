"""Linking: from the columns of a scan to who is whose parent, and what the entries say of others.

The rules are those of `index`. It is done once, when a file was scanned; what it finds can be saved
beside the columns, and then need not be found again.
"""

from array import array
from dataclasses import dataclass
from itertools import repeat
from typing import Final

from branchline.entries import Entry, Kind, single_spaced
from branchline.tree.columns import NONE, Columns, Label, Problem
from branchline.tree.packed_ids import PackedIds

_MISSING: Final = -2
"""Stands for a parent that is not in the file while the links are made."""


@dataclass(frozen=True, slots=True)
class Links:
    """What linking finds; the attributes of `LinkedEntries` say what each is."""

    by_id: dict[str, int] | PackedIds
    parents: "array[int]"
    superseded: set[int]
    problems: list[Problem]
    labels: dict[int, Label]
    name: str | None
    missing: set[str]


class LinkedEntries:
    """Entries with their links. `Tree` is the one that is asked, and that grows.

    Attributes:
        ids, kinds, flags, tokens: the columns of the entries, by ordinal.
        parents: the parent's ordinal, or `NONE` for a root.
        facts: small fields of structural entries, by ordinal.
        labels: the label of each labelled entry, by ordinal.
        name: the session's name on one line, or None.
        problems: what is wrong with the links.
        superseded: ordinals whose id a later record took over; they are no part of the tree.
        missing: the ids that entries name, and that no entry has.
    """

    def __init__(self, columns: Columns, links: Links | None = None) -> None:
        """Link the columns, or take over what linking them found before."""
        self.ids = columns.ids
        self.kinds = columns.kinds
        self.flags = columns.flags
        self.tokens = columns.tokens
        self.facts = columns.facts
        found = links or Links({}, array("i"), set(), [], {}, None, set())
        self._by_id = found.by_id
        self.parents = found.parents
        self.superseded = found.superseded
        self.problems = found.problems
        self.labels = found.labels
        self.name = found.name
        self.missing = found.missing
        self._turns: list[int] | None = None  # made when first asked for
        if links is None:
            self._by_id = by_id = self._index_ids()
            self._link_parents(by_id, columns.parent_ids)
            self._break_cycles()
            self._read_facts()

    def links(self) -> Links:
        """What linking found, as it is now."""
        return Links(
            self._by_id,
            self.parents,
            self.superseded,
            self.problems,
            self.labels,
            self.name,
            self.missing,
        )

    def move_target(self, ordinal: int) -> int | None:
        """Where a move record (ours or Pi's ``leaf``) leads; None if its target is unknown."""
        target = self.facts.get(ordinal, {}).get("targetId")
        if target is None:
            return NONE
        return self._by_id.get(target) if isinstance(target, str) else None

    # --- by id -------------------------------------------------------------------------------

    def _index_ids(self) -> dict[str, int]:
        by_id = dict(zip(self.ids, range(len(self.ids)), strict=True))  # the later one counts
        if len(by_id) == len(self.ids):
            return by_id
        by_id.clear()
        for ordinal, entry_id in enumerate(self.ids):
            earlier = by_id.get(entry_id)
            if earlier is not None:
                self.superseded.add(earlier)
                message = f"The id {entry_id} is used again; the later record counts"
                self.problems.append(Problem("duplicate-id", message, ordinal))
            by_id[entry_id] = ordinal
        return by_id

    def _link_parents(self, by_id: dict[str, int], parent_ids: list[str | None]) -> None:
        # No entry has the id None, so a root is found missing, too.
        self.parents.extend(map(by_id.get, parent_ids, repeat(_MISSING)))  # type: ignore[arg-type]
        parents, ordinal = self.parents, -1
        for _ in range(parents.count(_MISSING)):
            ordinal = parents.index(_MISSING, ordinal + 1)
            parents[ordinal] = NONE
            parent_id = parent_ids[ordinal]
            if parent_id is None:
                continue
            self.missing.add(parent_id)
            if ordinal not in self.superseded:
                message = f"The parent {parent_id} of {self.ids[ordinal]} is not in the file"
                self.problems.append(Problem("orphan", message, ordinal))

    def _break_cycles(self) -> None:
        """Make the first member of each cycle a root.

        Only an entry that stands before its own parent can close a cycle, so the walks start there.
        """
        parents = self.parents
        cleared = bytearray(len(parents))
        starts = [start for start in self._all_turns() if parents[start] >= start]
        for start in starts:
            if start in self.superseded:
                continue
            trail: list[int] = []
            on_trail: set[int] = set()
            current = start
            while current != NONE and not cleared[current] and current not in on_trail:
                trail.append(current)
                on_trail.add(current)
                current = parents[current]
            if current != NONE and current in on_trail:
                first = min(trail[trail.index(current) :])
                parents[first] = NONE
                message = (
                    f"The ancestors of {self.ids[first]} lead back to it; it is read as a root"
                )
                self.problems.append(Problem("cycle", message, first))
            for entry in trail:
                cleared[entry] = 1

    def _all_turns(self) -> list[int]:
        """The entries, in file order, that do not stand right behind their parent."""
        if self._turns is None:
            before = enumerate(self.parents, -1)
            self._turns = [other + 1 for other, parent in before if parent != other]
        return self._turns

    # --- what entries say of others ----------------------------------------------------------

    def _read_facts(self) -> None:
        for ordinal in sorted(self.facts):
            if ordinal not in self.superseded:
                self.read_fact(ordinal, Kind(self.kinds[ordinal]), self.facts[ordinal])

    def read_fact(self, ordinal: int, kind: Kind, facts: Entry) -> None:
        """Take over what one structural entry says about the session as a whole."""
        match kind:
            case Kind.LABEL:
                self._read_label(ordinal, facts)
            case Kind.SESSION_INFO:
                name = facts.get("name")
                self.name = (single_spaced(name) or None) if isinstance(name, str) else None
            case Kind.CONTEXT_EDIT if self._target(facts) is None:
                self._miss("edit-target-missing", ordinal, facts.get("targetId"))
            case Kind.LEAF | Kind.MOVE if self.move_target(ordinal) is None:
                self._miss("leaf-target-missing", ordinal, facts.get("targetId"))
            case _:
                pass

    def _read_label(self, ordinal: int, facts: Entry) -> None:
        target = self._target(facts)
        if target is None:
            self._miss("label-target-missing", ordinal, facts.get("targetId"))
            return
        text = facts.get("label")
        if isinstance(text, str) and text.strip():
            timestamp = facts.get("timestamp")
            self.labels[target] = Label(text, timestamp if isinstance(timestamp, str) else None)
        else:
            self.labels.pop(target, None)

    def _target(self, facts: Entry) -> int | None:
        target = facts.get("targetId")
        return self._by_id.get(target) if isinstance(target, str) else None

    def _miss(self, code: str, ordinal: int, target: object) -> None:
        if isinstance(target, str):
            self.missing.add(target)
        # What is no text may be nested deeper than anything here could print.
        named = f"the entry {target}" if isinstance(target, str) else "an entry, but not by its id"
        message = f"{self.ids[ordinal]} names {named}, which is not in the file"
        self.problems.append(Problem(code, message, ordinal))
