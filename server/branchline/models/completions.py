"""One chat completion from an OpenAI-compatible server: asked, streamed, tried again, judged.

Promises:
* a completion is given back only if the server said why it ended and it holds text; what came of
  another is in the `ChatReply` that it was taken into;
* every failure is a `CompletionFailed` in our words: nothing that the server said, and no key, is
  in an error or a log;
* the host is the one of the endpoint: redirects are not followed, no variable of the environment
  changes the host or adds a header, and a server on this machine is called without proxies;
* cancelling closes the connection at once.

`reply` reads what comes.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from time import time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import anyio
import anyio.to_thread

from branchline import codec
from branchline.models.refusal import Refusal, error_refusal, refusal
from branchline.models.reply import ChatReply, Completion

if TYPE_CHECKING:
    from openai import APIError, AsyncOpenAI, AsyncStream

Message = dict[str, Any]
"""One message in chat-completions form."""

_OFFICIAL: Final = "https://api.openai.com/v1"
_MOST_RETRIES: Final = 3
_FIRST_DELAY: Final = 0.5
_LONGEST_DELAY: Final = 30.0
"""Seconds: we wait no longer than this before a try, whatever the server asks for."""
_HEADERS: Final = ("accept", "content-type", "user-agent")
_END: Final = object()
_LOGGERS: Final = ("openai", "httpx2", "httpcore2")


class CompletionFailed(Exception):
    """No complete text came.

    Attributes:
        problem: what went wrong, to follow the name of the server.
        status: the HTTP status, if there was one.
        retryable: whether asking again may help.
        overflow: whether the prompt does not fit into the model's context window.
    """

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.problem)
        self.problem = refusal.problem
        self.status = refusal.status
        self.retryable = refusal.retryable
        self.overflow = refusal.overflow


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is asked, and how patiently.

    Attributes:
        base_url: of an OpenAI-compatible server; None: OpenAI's own, which needs a key.
        api_key: None: no key is sent.
        model: its name there.
        timeout_seconds: the longest time without a new piece of the answer.
        max_retries: tries after the first; more than 3 count as 3.
    """

    base_url: str | None
    api_key: str | None = field(repr=False)
    model: str
    timeout_seconds: float
    max_retries: int

    @property
    def url(self) -> str:
        """The base URL in use."""
        return self.base_url or _OFFICIAL

    @property
    def host(self) -> str | None:
        """The host with its port if it has one, for people; None if the URL is not valid."""
        try:
            parts = urlsplit(self.url)
            host, port = parts.hostname, parts.port
        except ValueError:
            return None
        if parts.scheme not in ("http", "https") or not host or not self.url.isprintable():
            return None
        host = f"[{host}]" if ":" in host else host
        return host if port is None else f"{host}:{port}"

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine."""
        name = urlsplit(self.url).hostname or ""
        if name == "localhost" or name.endswith(".localhost"):
            return True
        try:
            address = ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or address.is_unspecified


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a server wants to be asked, as far as servers differ."""

    limit: str = "max_completion_tokens"
    reports_usage: bool = True

    def without(self, refused: str) -> "Dialect | None":
        """The dialect after a refusal that names one of our parameters; None if it names none."""
        if self.reports_usage and ("stream_options" in refused or "include_usage" in refused):
            return replace(self, reports_usage=False)
        if self.limit == "max_completion_tokens" and self.limit in refused:
            return replace(self, limit="max_tokens")
        return None


Dialects = dict[tuple[str, str], Dialect]
"""What was learnt, by base URL and model. Kept by whoever makes the servers."""


@dataclass(slots=True)
class Retries:
    """How often may still be tried again. One for everything that is asked for one purpose."""

    left: int
    used: int = 0

    def delay(self, retry_after: float | None) -> float:
        """Use one up; how many seconds to wait before it."""
        delay = _FIRST_DELAY * 2**self.used if retry_after is None else retry_after
        self.left -= 1
        self.used += 1
        return min(max(delay, 0.0), _LONGEST_DELAY)


class ModelServer:
    """Asks one model on one server. Any number of completions at the same time."""

    def __init__(
        self,
        endpoint: Endpoint,
        dialects: Dialects,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._endpoint = endpoint
        self._dialects = dialects
        self._sleep = sleep

    def retries(self) -> Retries:
        """As many tries as the endpoint allows."""
        return Retries(min(max(self._endpoint.max_retries, 0), _MOST_RETRIES))

    async def complete(
        self,
        messages: Sequence[Message],
        max_tokens: int | None,
        retries: Retries,
        begin: Callable[[], ChatReply],
    ) -> Completion:
        """Ask, until an answer is complete.

        Args:
            messages: the conversation, in chat-completions form.
            max_tokens: the most that may be written, reasoning included; None: as the server likes.
            retries: what is left of it, for 429, 5xx and dropped connections.
            begin: called for each try; gives what its answer is taken into.

        Raises:
            CompletionFailed: no complete text came.
        """
        client = await self._connect()
        try:
            return await self._until_complete(client, messages, max_tokens, retries, begin)
        finally:
            with anyio.CancelScope(shield=True):
                await client.close()

    async def _until_complete(
        self,
        client: "AsyncOpenAI",
        messages: Sequence[Message],
        max_tokens: int | None,
        retries: Retries,
        begin: Callable[[], ChatReply],
    ) -> Completion:
        known = (self._endpoint.url, self._endpoint.model)
        dialect = self._dialects.get(known, Dialect())
        while True:
            reply = begin()
            try:
                await self._ask(client, self._body(messages, max_tokens, dialect), reply)
                completion = reply.completion()
            except Refusal as error:
                refused = error
            else:
                self._dialects[known] = dialect
                return completion
            simpler = dialect.without(refused.said) if refused.status in (400, 422) else None
            if simpler is not None and not refused.overflow:
                dialect = simpler
            elif refused.transient and retries.left > 0 and reply.may_begin_anew:
                await self._sleep(retries.delay(refused.retry_after))
            else:
                raise CompletionFailed(refused)

    def _body(
        self, messages: Sequence[Message], max_tokens: int | None, dialect: Dialect
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._endpoint.model,
            "messages": list(messages),
            "stream": True,
        }
        if max_tokens is not None:
            body[dialect.limit] = max_tokens
        if dialect.reports_usage:
            body["stream_options"] = {"include_usage": True}
        return body

    async def _ask(self, client: "AsyncOpenAI", body: dict[str, Any], reply: ChatReply) -> None:
        """Ask once. Raises `Refusal`, unless the answer had ended before something broke."""
        from httpx2 import HTTPError
        from openai import APIError

        timeout = self._endpoint.timeout_seconds
        failure: Refusal | None = None
        with anyio.CancelScope(deadline=anyio.current_time() + timeout) as waiting:
            try:
                async with await self._open(client, body) as stream:
                    while (chunk := await _next(stream)) is not _END:
                        if reply.take(chunk):
                            waiting.deadline = anyio.current_time() + timeout
            except APIError as error:
                failure = _refusal(error)
            except HTTPError:
                failure = _dropped()
        if waiting.cancelled_caught:
            failure = Refusal(f"sent nothing new for {timeout:g} seconds", retryable=True)
        if failure is not None and not reply.ended:
            raise failure

    async def _open(self, client: "AsyncOpenAI", body: dict[str, Any]) -> "AsyncStream[object]":
        from openai import AsyncStream, omit

        key = self._endpoint.api_key
        # The client has headers from the environment and about this machine: none of them is sent.
        own = {name: omit for name in client.default_headers if name.lower() not in _HEADERS}
        headers = {**own, "Authorization": f"Bearer {key}" if key else omit}
        # What a session holds may be long, and no valid Unicode: encoded by us, in a thread.
        content = await anyio.to_thread.run_sync(codec.encode, body)
        try:
            return await client.post(
                "/chat/completions",
                cast_to=object,
                content=content,
                options={"headers": headers},
                stream=True,
                stream_cls=AsyncStream[object],
            )
        except ValueError:
            problem = "cannot be asked: its key or base URL holds a character that cannot be sent"
            raise Refusal(problem) from None

    async def _connect(self) -> "AsyncOpenAI":
        endpoint = self._endpoint
        if endpoint.host is None:
            raise CompletionFailed(Refusal("cannot be asked: its base URL is not valid"))
        if not endpoint.base_url and not endpoint.api_key:
            raise CompletionFailed(Refusal("needs a key, or a base URL of another server"))
        # Importing takes about a second. Where it is not waited for, the thread ends by itself.
        return await anyio.to_thread.run_sync(_client, endpoint, abandon_on_cancel=True)


def _client(endpoint: Endpoint) -> "AsyncOpenAI":
    """A client that does nothing on its own: no retries, timeouts, redirects, variables, logs."""
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    _silence()
    return AsyncOpenAI(
        base_url=endpoint.url,
        api_key=endpoint.api_key or "none",  # none would be looked for in the environment
        timeout=None,
        max_retries=0,
        http_client=DefaultAsyncHttpxClient(
            trust_env=not endpoint.is_local, follow_redirects=False, timeout=None
        ),
    )


async def _next(stream: "AsyncStream[object]") -> object:
    """The next chunk, or `_END`. A server that does not stream sends one, as plain JSON."""
    try:
        if "json" not in stream.response.headers.get("content-type", ""):
            return await anext(stream, _END)
        if stream.response.is_closed:
            return _END
        return codec.decode(await stream.response.aread())
    except (ValueError, RecursionError):
        pass
    raise Refusal("gave an answer that cannot be read", status=200, retryable=True)


def _refusal(error: "APIError") -> Refusal:
    from openai import APIConnectionError, APIStatusError

    if isinstance(error, APIStatusError):
        response = error.response
        return refusal(error.status_code, response.text, _retry_after(response.headers))
    if isinstance(error, APIConnectionError):
        return _dropped()
    return error_refusal(error.body)


def _dropped() -> Refusal:
    return Refusal("cannot be reached, or dropped the connection", transient=True)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The header of that name, in seconds: it holds a number of them, or a date."""
    value = headers.get("retry-after", "")
    try:
        if value.isascii() and value.isdigit():
            return float(value)
        return parsedate_to_datetime(value).timestamp() - time()
    except (ValueError, OverflowError):
        return None


def _silence() -> None:
    """Keep the libraries from logging, whatever level somebody sets: they name URLs and headers.

    Done once they are imported, because importing sets levels of its own.
    """
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in _LOGGERS:
            logging.getLogger(name).disabled = True
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # for loggers that are made later
