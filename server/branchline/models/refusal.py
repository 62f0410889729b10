"""Why no complete text came of one request, read from what a server said and told in our words."""

import re
from typing import Any, Final

from branchline import codec

_OVERFLOW_STATUSES: Final = (200, 400, 413, 422)
_OVERFLOW: Final = re.compile(
    r"context.?(?:length|window|size)|maximum (?:context|prompt)|exceeds? the (?:model|available)"
    r"|(?:prompt|input|request)[\w ]{0,20} too (?:long|large)|too many (?:input )?tokens"
    r"|token count[\w ()]{0,20} exceeds|model token limit|reduce the length of the messages",
    re.IGNORECASE,
)
_RATE: Final = re.compile(
    r"rate.?limit|per.(?:second|minute|hour|day)|quota|overloaded|throttl|too many requests"
    r"|please wait|\b[rt]p[md]\b",
    re.IGNORECASE,
)

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
