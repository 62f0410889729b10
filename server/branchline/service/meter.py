"""The size of the context at the leaf, kept up as the session grows.

A count from scratch walks the whole path; an append adds what it says, so that it costs the same
in a long session as in a short one.
"""

from typing import Any, Final

from branchline.entries import Kind, message_of
from branchline.tree.context import context_tokens
from branchline.tree.index import NONE, Bodies, Tree
from branchline.tree.selection import SHOWN, shows, tokens_of
from branchline.tree.tokens import reported_tokens

_COUNTED_ANEW: Final = frozenset(
    {Kind.SYSTEM, Kind.COMPACTION, Kind.CONTEXT_EDIT, Kind.CUSTOM_ROLE}
)
"""Entries that change more of the context than they add to it."""
_STEPS: Final = 64
"""How far below a counted leaf a new one may be, to be reckoned from it."""


class Meter:
    """Counts contexts of one tree."""

    def __init__(self, tree: Tree, bodies: Bodies) -> None:
        self._tree = tree
        self._bodies = bodies
        self._counted: dict[int, tuple[int, int]] = {}
        """By pinned tokens: a leaf and the tokens there."""
        self._model: tuple[int, dict[str, Any] | None] = (NONE, None)

    def tokens(self, leaf: int, pinned_tokens: int) -> int:
        """The tokens of the context at a leaf."""
        known = self._counted.get(pinned_tokens)
        tokens = self._grown(leaf, *known) if known else None
        if tokens is None:
            tokens = context_tokens(self._tree, self._bodies, leaf, pinned_tokens)
        if leaf == self._tree.leaf:
            self._counted[pinned_tokens] = (leaf, tokens)
        return tokens

    def model(self, leaf: int) -> dict[str, Any] | None:
        """The last model on the path, ``{provider, modelId}``: of a change or an answer."""
        known_at, known = self._model
        current = leaf
        while current not in (NONE, known_at):
            kind = self._tree.kinds[current]
            provider = model_id = None
            if kind == Kind.MODEL_CHANGE:
                facts = self._tree.facts[current]
                provider, model_id = facts.get("provider"), facts.get("modelId")
            elif kind == Kind.ASSISTANT:
                message = message_of(self._bodies.entry(current))
                provider, model_id = message.get("provider"), message.get("model")
            if isinstance(provider, str) and isinstance(model_id, str):
                known = {"provider": provider, "modelId": model_id}
                break
            current = self._tree.parents[current]
        if current == NONE:
            known = None
        self._model = (leaf, known)
        return known

    def _grown(self, leaf: int, counted: int, tokens: int) -> int | None:
        """The tokens at a leaf at or little below a counted one, or None if it must be counted."""
        tree = self._tree
        added: list[int] = []
        current = leaf
        while current != counted:
            if current == NONE or len(added) == _STEPS or tree.kinds[current] in _COUNTED_ANEW:
                return None
            added.append(current)
            current = tree.parents[current]
        for ordinal in reversed(added):
            kind = tree.kinds[ordinal]
            reported = 0
            if kind == Kind.ASSISTANT:
                reported = reported_tokens(message_of(self._bodies.entry(ordinal)))
            if reported:
                tokens = reported
            elif shows(tree, ordinal, SHOWN):
                tokens += tokens_of(tree, self._bodies, ordinal)
        return tokens
