"""Who writes a summary for a client: the setting ``summarizer.use`` made concrete.

``auto`` takes the client itself if it offers to write, then a server if the user has named a
model, then the offline writer, which is always there. A key that happens to lie in the
environment is no consent: without ``summarizer.model`` no server is asked.
"""

import time
from dataclasses import dataclass, replace
from typing import Any, Final

from branchline.errors import CancelledByClient, InvalidParams, SummaryFailed
from branchline.models.completions import Endpoint
from branchline.service.client import Client, ClientFailure
from branchline.settings import SummarizerUse
from branchline.summaries.offline import OfflineWriter
from branchline.summaries.openai_writer import OpenAIWriter
from branchline.summaries.prompts import build, prompt_tokens
from branchline.summaries.sections import NoSections, complete
from branchline.summaries.writer import (
    OnDelta,
    SummaryRequest,
    Writer,
    WriterKind,
    WrittenSummary,
)

_CLIENT: Final = "the client"
_SMALL_REQUEST: Final = SummaryRequest(
    kind="branch",
    messages=[
        {"role": "user", "content": "Rename `parse` to `read` in parser.py."},
        {"role": "assistant", "content": [{"type": "text", "text": "Renamed; the tests pass."}]},
    ],
    previous=None,
    pinned=[],
    instructions=None,
    replace_instructions=False,
    max_tokens=2000,
    input_tokens=None,
)
"""What a writer is tried with: made up, so that nothing of a session goes anywhere."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One writer that could be used, or why it cannot."""

    kind: WriterKind
    writer: Writer | None
    reason: str | None

    def as_json(self) -> dict[str, Any]:
        """As ``session/summarizer`` lists it."""
        return {
            "kind": self.kind,
            "model": self.writer.model if self.writer else None,
            "host": self.writer.host if self.writer else None,
            "reason": self.reason,
        }


def choices(client: Client, plan: dict[str, Any] | None = None) -> list[Choice]:
    """All writers in the order in which ``auto`` takes them; ``plan`` is what a client is shown."""
    offer = client.offer
    settings = client.settings.summarizer
    return [
        Choice("client", ClientWriter(client, plan or {}), None)
        if offer is not None
        else Choice("client", None, "this client does not offer to write summaries"),
        Choice("openai", server_writer(client), None)
        if settings.model is not None
        else Choice("openai", None, "the setting summarizer.model names no model"),
        Choice("offline", OfflineWriter(), None),
    ]


def choose(
    client: Client, use: SummarizerUse | None, plan: dict[str, Any] | None = None
) -> list[Writer]:
    """The writers to try in turn: the first writes, the next take over if it leaves it to them.

    ``use`` overrides the setting. Raises `InvalidParams` for one that is not to be had.
    """
    wanted = use or client.settings.summarizer.use
    found = choices(client, plan)
    if wanted == "auto":
        return [one.writer for one in found if one.writer is not None]
    chosen = next(one for one in found if one.kind == wanted)
    if chosen.writer is None:
        raise InvalidParams("summarizer", f"is {wanted!r}, which cannot be used: {chosen.reason}")
    rest = [one.writer for one in found[found.index(chosen) + 1 :] if one.writer is not None]
    return [chosen.writer, *rest] if wanted == "client" else [chosen.writer]


def foreseen(client: Client, use: SummarizerUse | None) -> Writer | None:
    """Who would write, for a plan; None where the setting names one that is not to be had.

    A plan is also made for a move or a text that needs no writer.
    """
    try:
        return choose(client, use)[0]
    except InvalidParams:
        return None


async def try_out(client: Client) -> dict[str, Any]:
    """Have a small summary written, as ``session/summarizer`` tells of it: by whom, at what cost.

    Raises what a writer raises, and `InvalidParams` if the one that is set is not to be had.
    """
    for writer in choose(client, None):
        started = time.monotonic()
        try:
            written = await writer.write(_SMALL_REQUEST, lambda _: None)
        except LeftToTheNext:
            continue
        return {
            "kind": writer.kind,
            "model": written.model,
            "seconds": round(time.monotonic() - started, 3),
            "usage": written.usage,
        }
    raise left_to_nobody()


def left_to_nobody() -> InvalidParams:
    """What is wrong if the client leaves a summary to a next writer, and there is none."""
    return InvalidParams("summarizer", "'client' left the summary to others, and there is none")


def server_writer(client: Client) -> OpenAIWriter:
    """The writer that asks the server of the client's settings."""
    settings = client.settings.summarizer
    endpoint = Endpoint(
        base_url=settings.base_url,
        api_key=client.environment.get(settings.api_key_env) if settings.api_key_env else None,
        model=settings.model or "",
        timeout_seconds=settings.timeout_seconds,
        max_retries=settings.max_retries,
    )
    return OpenAIWriter(endpoint, client.dialects)


class LeftToTheNext(Exception):
    """A client was asked for a summary and left it to the next writer."""


class ClientWriter:
    """Asks the client whose request needs the summary (``session/summarize``)."""

    kind: WriterKind = "client"
    host: str | None = None

    def __init__(self, client: Client, plan: dict[str, Any]) -> None:
        self._client = client
        self._plan = plan
        self.model = client.offer.model if client.offer else None

    def prompt_tokens(self, request: SummaryRequest) -> int | None:
        """About how many tokens the client is handed."""
        return prompt_tokens(build(self._limited(request)))

    async def write(self, request: SummaryRequest, on_delta: OnDelta) -> WrittenSummary:
        """Ask. Raises `CancelledByClient`, `LeftToTheNext`, `SummaryFailed`."""
        system, prompt = build(self._limited(request))
        params = {
            "kind": request.kind,
            "system": system,
            "prompt": prompt,
            "maxTokens": request.max_tokens,
            "plan": self._plan,
        }
        try:
            answer = await self._client.port.request("session/summarize", params)
        except ClientFailure:
            raise SummaryFailed(_CLIENT, "answered with an error", retryable=True) from None
        match answer:
            case None:
                raise LeftToTheNext
            case {"cancel": True}:
                raise CancelledByClient
            case {"text": str() as text} if text.strip():
                usage, details = answer.get("usage"), answer.get("details")
                model = answer.get("model")
            case _:
                raise SummaryFailed(_CLIENT, "gave no text")
        try:
            written = complete(text, request.kind)
        except NoSections:
            written = text.strip()  # a client may have a form of its own
        on_delta(written)
        return WrittenSummary(
            written,
            model if isinstance(model, str) else self.model,
            usage if isinstance(usage, dict) else None,
            details if isinstance(details, dict) else None,
        )

    def _limited(self, request: SummaryRequest) -> SummaryRequest:
        limit = self._client.offer.max_input_tokens if self._client.offer else None
        if limit is None or (request.input_tokens or limit) < limit:
            return request
        return replace(request, input_tokens=limit)
