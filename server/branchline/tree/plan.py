"""What moving the leaf means: where it ends up, what is left behind, what is edited again.

The rules are those of protocol.md, ``session/switchLeaf``. Nothing here moves anything, and what a
branch summary takes from the entries left behind is not decided here.
"""

from typing import Any, Literal

from branchline.entries import MOVES, Entry, Kind, blocks, content_of, text_of
from branchline.tree.index import NONE, Bodies, Tree

Position = Literal["auto", "at"]


def switch_plan(tree: Tree, old_leaf: int, new_leaf: int) -> tuple[int, list[int]]:
    """The deepest common ancestor of two leaves, and the entries below it up to the old leaf.

    Ordinals; `NONE` where there is no common ancestor. The entries are in path order: they are
    what a move from the old leaf to the new one takes out of the context.
    """
    ancestor = tree.common_ancestor(old_leaf, new_leaf)
    leaving: list[int] = []
    current = old_leaf
    while current != ancestor:
        leaving.append(current)
        current = tree.parents[current]
    leaving.reverse()
    return ancestor, leaving


def destination(
    tree: Tree, bodies: Bodies, target: int, position: Position
) -> tuple[int, dict[str, Any] | None]:
    """Where the leaf goes when a person picks an entry, and what they get to edit.

    With ``auto``, a user message or custom message is taken back to be sent again: the leaf goes
    to its parent and its content to the editor (see `editor_content`). Anything else, the leaf
    itself, and every target of ``at``, is where the leaf goes, with nothing to edit.
    """
    if position == "at" or target in (NONE, tree.leaf):
        return target, None
    if tree.kind(target) in (Kind.USER, Kind.CUSTOM_MESSAGE):
        return _place_before(tree, target), editor_content(bodies.entry(target))
    return target, None


def _place_before(tree: Tree, entry: int) -> int:
    """The parent; where that is a move record (Pi goes on from it), the place it leads to."""
    parent = tree.parents[entry]
    seen: set[int] = set()
    while parent != NONE and tree.kinds[parent] in MOVES and parent not in seen:
        seen.add(parent)
        target = tree.move_target(parent)
        parent = tree.parents[parent] if target is None else target
    return parent


def editor_content(entry: Entry) -> dict[str, Any]:
    """What a message holds for a person to edit: ``{text, images}``, images as stored blocks."""
    content = content_of(entry)
    return {"text": text_of(content, ""), "images": list(blocks(content, "image"))}
