"""What a model server answers, piece by piece: the text in it, and whether it is complete.

Pure: chunks in, text out. A chunk is decoded JSON of any shape: what is malformed says nothing.
Reasoning, in fields of its own or in ``<think>`` blocks before the text, is kept apart from it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from branchline.entries import blocks, text_of, zero_usage
from branchline.models.reasoning import Reasoning
from branchline.models.refusal import Refusal, error_refusal

_CHARACTERS_PER_TOKEN: Final = 16
"""The most that a model which keeps to its limit can write for one token on average."""
_MOST_CHARACTERS: Final = 8_000_000
"""The most that is taken in of an answer whose length was not limited."""
_TOOL_ENDINGS: Final = ("tool_calls", "function_call")


@dataclass(frozen=True, slots=True)
class Completion:
    """A text that a model ended itself, or that ran into its length limit (``cut_off``).

    ``thinking`` is the reasoning before it, as far as the server tells; empty if it does not.
    ``usage`` has the shape of an entry's, with costs of 0; None if the server told none.
    """

    text: str
    thinking: str
    cut_off: bool
    usage: dict[str, Any] | None


class ChatReply:
    """One answer as it comes in.

    Args:
        max_tokens: the limit that the model was given, if any. What is far beyond it is refused.
        on_text: told each piece of the text.
        keeps_parts: whether a part of an answer is of use: then nothing is asked for anew once
            something came.

    Attributes:
        usage: what the server told of the cost so far, in the shape of an entry's usage.
    """

    def __init__(
        self, max_tokens: int | None, on_text: Callable[[str], None], *, keeps_parts: bool = False
    ) -> None:
        self.usage: dict[str, Any] | None = None
        self._on_text = on_text
        self._keeps_parts = keeps_parts
        limit = None if max_tokens is None else max_tokens * _CHARACTERS_PER_TOKEN
        self._room = _MOST_CHARACTERS if limit is None else limit
        self._parts: list[str] = []
        self._thoughts: list[str] = []
        self._reasoning = Reasoning(self._thoughts.append)
        self._thought = False
        self._called_tool = False
        self._ending: str | None = None

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._parts).strip()

    @property
    def thinking(self) -> str:
        """The reasoning so far."""
        return "".join(self._thoughts).strip()

    @property
    def may_begin_anew(self) -> bool:
        """Whether nothing is lost if the answer is asked for once more."""
        return not (self._keeps_parts and (self._parts or self._thoughts))

    @property
    def ended(self) -> bool:
        """Whether the server has said why the answer ended."""
        return self._ending is not None

    def take(self, chunk: Any) -> bool:
        """Take in one chunk, or the whole answer of a server that does not stream.

        Gives whether it brought the answer forward. Raises `Refusal` for an error object, and for
        an answer far longer than its limit.
        """
        if not isinstance(chunk, dict):
            return False
        if chunk.get("error"):
            raise error_refusal(chunk["error"])
        self.usage = usage_of(chunk.get("usage")) or self.usage
        choice = _first(chunk.get("choices"))
        delta = next(
            (value for key in ("delta", "message") if isinstance(value := choice.get(key), dict)),
            {},
        )
        self._called_tool |= any(delta.get(key) for key in ("tool_calls", "function_call"))
        moved = [self._take_thought(delta), self._take_text(text_of(delta.get("content"), ""))]
        ending = choice.get("finish_reason")
        if isinstance(ending, str) and ending:
            self._ending = ending
            self._tell(self._reasoning.rest())
            return True
        return any(moved)

    def completion(self) -> Completion:
        """The text, once all chunks are taken in. Raises `Refusal` if it is not complete."""
        text = self.text
        problem = None
        match self._ending:
            case None:
                raise Refusal("ended its answer before it was complete", status=200, transient=True)
            case "content_filter":
                raise Refusal("withheld the text (content filter)", status=200)
            case ending if self._called_tool or ending in _TOOL_ENDINGS:
                problem = "called a tool instead of writing a text"
            case "stop" | "length" if text:
                return Completion(text, self.thinking, self._ending == "length", self.usage)
            case "stop" | "length":
                thought = self._thought or self._reasoning.found
                problem = "gave only reasoning and no text" if thought else "gave no text"
            case _:
                problem = "ended its answer without saying that it is complete"
        raise Refusal(problem, status=200, retryable=True)

    def _take_thought(self, delta: dict[str, Any]) -> bool:
        """Take in reasoning that has a field or a kind of block of its own."""
        fields = [delta.get(key) for key in ("reasoning_content", "reasoning")]
        # A server that fills both fields says the same in them.
        thought = next((text for text in fields if isinstance(text, str) and text), "")
        if thought:
            self._thoughts.append(thought)
        length = len(thought)
        length += sum(1 for block in blocks(delta.get("content")) if block.get("type") != "text")
        self._thought |= length > 0
        self._spend(length)
        return length > 0

    def _take_text(self, text: str) -> bool:
        self._spend(len(text))
        self._tell(self._reasoning.cut(text))
        return bool(text)

    def _tell(self, text: str) -> None:
        if text:
            self._parts.append(text)
            self._on_text(text)

    def _spend(self, characters: int) -> None:
        self._room -= characters
        if self._room < 0:
            raise Refusal("wrote far more than it was asked to", status=200, retryable=True)


def usage_of(reported: Any) -> dict[str, Any] | None:
    """A reported usage in the shape of an entry's; None if it tells nothing."""
    if not isinstance(reported, dict):
        return None
    prompt, output = (_count(reported.get(f"{part}_tokens")) for part in ("prompt", "completion"))
    details = reported.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else 0
    cached = min(cached, prompt)
    if prompt + output == 0:
        return None
    return {
        **zero_usage(),
        "input": prompt - cached,
        "output": output,
        "cacheRead": cached,
        "totalTokens": prompt + output,
    }


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _first(choices: Any) -> dict[str, Any]:
    """The choice with index 0, which is the only one that we ask for."""
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict) and choice.get("index") in (0, None):
            return choice
    return {}
