"""What a model server answers, piece by piece: the text in it, and whether it is complete.

Pure: chunks in, text out. A chunk is decoded JSON of any shape: what is malformed says nothing.
Reasoning, in fields of its own or in ``<think>`` blocks before the text, is left out.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from branchline import codec
from branchline.entries import ZERO_USAGE, blocks, text_of

_THINK: Final = "<think>"
_THINK_END: Final = "</think>"
_CHARACTERS_PER_TOKEN: Final = 16
"""The most that a model which keeps to its limit can write for one token on average."""
_TOOL_ENDINGS: Final = ("tool_calls", "function_call")
_OVERFLOW_STATUSES: Final = (200, 400, 413, 422)
_OVERFLOW: Final = re.compile(
    r"context.?(?:length|window|size)|maximum context|exceeds? the (?:model|available)"
    r"|(?:prompt|input|request)[\w ]{0,20} too (?:long|large)|too many (?:input )?tokens",
    re.IGNORECASE,
)
_RATE: Final = re.compile(r"rate.?limit|per minute|per day|quota|overloaded", re.IGNORECASE)

_PROBLEMS: Final = {
    401: "refused the key",
    403: "does not allow this with that key",
    404: "does not know the model or the address",
    408: "gave up waiting",
    413: "refused the request because of its size",
    429: "is over its rate limit or quota",
}


class Refusal(Exception):
    """No complete text came of one request.

    Attributes:
        problem: what went wrong in our words, to follow the name of the server.
        status: the HTTP status, if there was one.
        retryable: whether asking again later may help.
        transient: whether to ask again at once.
        retry_after: seconds that the server wants us to wait before that, if it said so.
        overflow: whether the prompt does not fit into the model's context window.
        said: what the server said. Looked at to adapt, never passed on.
    """

    def __init__(
        self,
        problem: str,
        *,
        status: int | None = None,
        retryable: bool = False,
        transient: bool = False,
        retry_after: float | None = None,
        overflow: bool = False,
        said: str = "",
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.status = status
        self.retryable = retryable or transient
        self.transient = transient
        self.retry_after = retry_after
        self.overflow = overflow
        self.said = said


def refusal(status: int, said: str, retry_after: float | None = None) -> Refusal:
    """The refusal that an error status with the body ``said`` means."""
    overflow = bool(
        status in _OVERFLOW_STATUSES and _OVERFLOW.search(said) and not _RATE.search(said)
    )
    if overflow:
        problem = "says that the request does not fit into the model's context window"
    elif 300 <= status < 400:
        problem = "points to another address, which is not followed: correct the base URL"
    else:
        default = "failed" if status >= 500 else "refused the request"
        problem = _PROBLEMS.get(status, default)
    return Refusal(
        f"{problem} (HTTP status {status})",
        status=status,
        transient=status in (408, 429) or status >= 500,
        retry_after=retry_after,
        overflow=overflow,
        said=said,
    )


def error_refusal(error: Any) -> Refusal:
    """The refusal that an error object in place of an answer (HTTP status 200) means.

    Where its ``code`` is an HTTP error status, it counts as that.
    """
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, str) and code.isascii() and code.isdigit():
        code = int(code[:4])
    said = codec.encode(error).decode()
    if isinstance(code, int) and 400 <= code < 600:
        return refusal(code, said)
    found = refusal(200, said)
    if not found.overflow:
        found.problem = "answered with an error instead of a text"
    return found


@dataclass(frozen=True, slots=True)
class Completion:
    """A text that a model ended itself, or that ran into its length limit (``cut_off``).

    ``usage`` has the shape of an entry's, with costs of 0; None if the server told none.
    """

    text: str
    cut_off: bool
    usage: dict[str, Any] | None


class ChatReply:
    """One answer as it comes in.

    Args:
        max_tokens: the limit that the model was given. What is far beyond it is refused.
        on_text: told each piece of the text.
    """

    def __init__(self, max_tokens: int, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._room = max_tokens * _CHARACTERS_PER_TOKEN
        self._parts: list[str] = []
        self._reasoning = Reasoning()
        self._thought = False
        self._called_tool = False
        self._ending: str | None = None
        self._usage: dict[str, Any] | None = None

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
        self._usage = usage_of(chunk.get("usage")) or self._usage
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
        text = "".join(self._parts).strip()
        problem = None
        match self._ending:
            case None:
                raise Refusal("ended its answer before it was complete", status=200, transient=True)
            case "content_filter":
                raise Refusal("withheld the text (content filter)", status=200)
            case ending if self._called_tool or ending in _TOOL_ENDINGS:
                problem = "called a tool instead of writing a text"
            case "stop" | "length" if text:
                return Completion(text, self._ending == "length", self._usage)
            case "stop" | "length":
                thought = self._thought or self._reasoning.found
                problem = "gave only reasoning and no text" if thought else "gave no text"
            case _:
                problem = "ended its answer without saying that it is complete"
        raise Refusal(problem, status=200, retryable=True)

    def _take_thought(self, delta: dict[str, Any]) -> bool:
        """Count reasoning that has a field or a kind of block of its own."""
        thought = [delta.get(key) for key in ("reasoning_content", "reasoning")]
        length = sum(len(text) for text in thought if isinstance(text, str))
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


class Reasoning:
    """Cuts ``<think>`` blocks off the beginning of a text that comes in pieces.

    ``found`` says whether there were any.
    """

    def __init__(self) -> None:
        self.found = False
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
                    self._pending = text[max(position, len(text) - len(_THINK_END) + 1) :]
                    return ""
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
        **ZERO_USAGE,
        "cost": dict(ZERO_USAGE["cost"]),
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
