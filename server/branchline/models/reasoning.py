"""Reasoning that a model writes into its text, in ``<think>`` blocks before it."""

from collections.abc import Callable
from typing import Final

_THINK: Final = "<think>"
_THINK_END: Final = "</think>"


class Reasoning:
    """Cuts ``<think>`` blocks off the beginning of a text that comes in pieces.

    ``found`` says whether there were any; ``on_thought`` is told what they hold.
    """

    def __init__(self, on_thought: Callable[[str], None]) -> None:
        self.found = False
        self._on_thought = on_thought
        self._pending: str | None = ""  # what may be a tag; None once the text has begun
        self._inside = False

    def cut(self, piece: str) -> str:
        """What of the next piece is text, as far as that is known."""
        if self._pending is None:
            return piece
        text = self._pending + piece
        position = 0
        while True:
            if self._inside:
                end = text.find(_THINK_END, position)
                if end < 0:
                    kept = max(position, len(text) - len(_THINK_END) + 1)
                    self._on_thought(text[position:kept])
                    self._pending = text[kept:]
                    return ""
                self._on_thought(text[position:end])
                position = end + len(_THINK_END)
                self._inside = False
            while position < len(text) and text[position].isspace():
                position += 1
            if text.startswith(_THINK, position):
                position += len(_THINK)
                self.found = self._inside = True
            elif len(text) - position < len(_THINK) and _THINK.startswith(text[position:]):
                self._pending = text[position:]
                return ""
            else:
                self._pending = None
                return text[position:]

    def rest(self) -> str:
        """What was held back and is text after all, once the answer has ended."""
        rest = "" if self._inside else self._pending or ""
        self._pending = None
        return rest
