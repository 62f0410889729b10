"""Which entries of a path count for the context, before any body is read.

The rules of format.md, "From a leaf to the model's context", 3 to 5: where the last compaction
begins, what context edits do, which branch summaries stay pinned. `context` makes messages of it,
and the boundary of a summary is reckoned on it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import compress
from typing import Any, Final

from branchline.entries import VISIBLE, Flag, Kind
from branchline.tree.index import NONE, Bodies, Tree
from branchline.tree.tokens import entry_tokens

EDITABLE: Final = frozenset(
    {Kind.USER, Kind.ASSISTANT, Kind.TOOL_RESULT, Kind.CUSTOM_ROLE, Kind.CUSTOM_MESSAGE}
)
"""Kinds to which context edits apply."""

SHOWN: Final = VISIBLE - {Kind.COMPACTION}
"""Kinds that show something where they stand: an older compaction shows nothing."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The structural part of a context.

    Attributes:
        path: ordinals from the root to the leaf; not to be changed.
        kinds: their kinds.
        compaction: position on the path of the compaction that counts, or `NONE`.
        stretch: ordinals of what it keeps and of what came after it; without one, the path.
        candidates: ordinals of what shows something, in context order, before edits omit.
        edits: by ordinal of the target, the content that replaces its own; None omits it.
        first_kept_missing: whether the compaction names no entry before it.
    """

    path: list[int]
    kinds: bytes
    compaction: int
    stretch: list[int]
    candidates: list[int]
    edits: dict[int, Any]
    first_kept_missing: bool

    @property
    def sources(self) -> list[int]:
        """The candidates that no edit omits."""
        edits = self.edits
        if not edits:
            return self.candidates
        return [
            ordinal
            for ordinal in self.candidates
            if ordinal not in edits or edits[ordinal] is not None
        ]


def select(tree: Tree, bodies: Bodies, leaf: int, pinned_tokens: int) -> Selection:
    """What counts at a leaf. Reads bodies of branch summaries at most, for the pinned ones."""
    path, kinds = tree.path_and_kinds(leaf)
    compaction = kinds.rfind(Kind.COMPACTION)
    candidates: list[int] = []
    shown, shown_kinds = path, kinds
    first_kept_missing = False
    if compaction != NONE:
        first_kept = _first_kept(tree, path, compaction)
        first_kept_missing = first_kept is None
        kept = compaction if first_kept is None else first_kept
        candidates.append(path[compaction])
        candidates += _pinned(tree, bodies, path, kinds[:kept], pinned_tokens)
        shown = path[kept:compaction] + path[compaction + 1 :]
        shown_kinds = kinds[kept:compaction] + kinds[compaction + 1 :]
    candidates += showing(tree, shown, shown_kinds, SHOWN)
    edits = edits_among(tree, (shown[at] for at in positions(shown_kinds, Kind.CONTEXT_EDIT)))
    return Selection(path, kinds, compaction, shown, candidates, edits, first_kept_missing)


def showing(tree: Tree, ordinals: list[int], kinds: bytes, which: frozenset[int]) -> list[int]:
    """The entries of these kinds, blank branch summaries left out."""
    wanted = kinds.translate(bytes(kind in which for kind in range(256)))
    blank = {
        ordinals[position]
        for position in positions(kinds, Kind.BRANCH_SUMMARY)
        if is_blank(tree, ordinals[position])
    }
    found = compress(ordinals, wanted)
    return [ordinal for ordinal in found if ordinal not in blank] if blank else list(found)


def shows(tree: Tree, ordinal: int, which: frozenset[int]) -> bool:
    """Whether one entry is among those that `showing` gives."""
    kind = tree.kinds[ordinal]
    return kind in which and not (kind == Kind.BRANCH_SUMMARY and is_blank(tree, ordinal))


def _first_kept(tree: Tree, path: list[int], compaction: int) -> int | None:
    """The position where the kept range begins; None if the compaction names no entry before it.

    A compaction that names itself keeps nothing: its range begins at its own position.
    """
    entry_id = tree.facts.get(path[compaction], {}).get("firstKeptEntryId")
    ordinal = tree.find(entry_id) if isinstance(entry_id, str) else None
    if ordinal is None:
        return None
    try:
        return path.index(ordinal, 0, compaction + 1)
    except ValueError:
        return None


def _pinned(tree: Tree, bodies: Bodies, path: list[int], covered: bytes, budget: int) -> list[int]:
    """The newest covered branch summaries that fit into the budget together, in path order.

    ``covered`` are the kinds of what the compaction covers, from the root on.
    """
    pinned: list[int] = []
    for position in reversed([*positions(covered, Kind.BRANCH_SUMMARY)]):
        ordinal = path[position]
        if is_blank(tree, ordinal):
            continue
        budget -= tokens_of(tree, bodies, ordinal)
        if budget < 0:
            break
        pinned.append(ordinal)
    pinned.reverse()
    return pinned


def edits_among(tree: Tree, edits: Iterable[int]) -> dict[int, Any]:
    """What context edits, in path order, make of their targets; malformed ones do nothing.

    By ordinal of the target: the content that replaces its own, or None if it is omitted.
    """
    contents: dict[int, Any] = {}
    for edit in edits:
        target = edit_target(tree, edit)
        if target is not None and tree.kinds[target] in EDITABLE:
            match tree.facts[edit]:
                case {"replacement": None}:
                    contents[target] = None
                case {"replacement": {"content": str() | list() as content}}:
                    contents[target] = content
                case _:
                    continue
    return contents


def edit_target(tree: Tree, edit: int) -> int | None:
    """The entry that a context edit is about; None if it is not in the file."""
    target_id = tree.facts.get(edit, {}).get("targetId")
    return tree.find(target_id) if isinstance(target_id, str) else None


def is_blank(tree: Tree, branch_summary: int) -> bool:
    """Whether a branch summary says nothing."""
    return tree.facts.get(branch_summary, {}).get("blank") is True


def positions(kinds: bytes, kind: Kind) -> Iterator[int]:
    """The positions of a kind on a path."""
    position = kinds.find(kind)
    while position != NONE:
        yield position
        position = kinds.find(kind, position + 1)


def tokens_of(tree: Tree, bodies: Bodies, ordinal: int) -> int:
    """The exact estimate of an entry as it is stored; its body is read if need be."""
    if tree.flags[ordinal] & Flag.EXACT:
        return tree.tokens[ordinal]
    return entry_tokens(bodies.entry(ordinal), tree.kind(ordinal))
