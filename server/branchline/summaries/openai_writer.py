"""The writer that asks a model on an OpenAI-compatible server.

It owns what to do about an answer: a prompt that is too long is sent once more, shorter; an answer
that is cut off or has no sections is asked for once more, saying what was wrong. `completions`
asks and tries again, `prompts` has the words, `sections` the form.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import anyio

from branchline.errors import SummaryFailed
from branchline.models.completions import (
    CompletionFailed,
    Dialects,
    Endpoint,
    ModelServer,
)
from branchline.models.reply import ChatReply, Completion
from branchline.summaries.prompts import CUT_OFF, MALFORMED, build, prompt_tokens
from branchline.summaries.sections import NoSections, complete, parse, strip_file_lists
from branchline.summaries.writer import OnDelta, SummaryRequest, WriterKind, WrittenSummary


class OpenAIWriter:
    """A `Writer`. Any number of summaries at the same time.

    Args:
        endpoint: where the model is asked.
        dialects: what is learnt about servers; the caller keeps it for the writers to come.
        sleep: waits some seconds before a try.
    """

    kind: WriterKind = "openai"
    model: str | None
    host: str | None

    def __init__(
        self,
        endpoint: Endpoint,
        dialects: Dialects,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self.model = endpoint.model
        self.host = endpoint.host
        self._server = ModelServer(endpoint, dialects, sleep)

    def prompt_tokens(self, request: SummaryRequest) -> int | None:
        """The estimate of what would be sent: characters divided by four."""
        return prompt_tokens(build(request))

    async def write(self, request: SummaryRequest, on_delta: OnDelta) -> WrittenSummary:
        """Write it.

        ``on_delta`` hears the first answer that says anything, as the model writes it. If that
        one comes to nothing, it hears no more: the summary that is given back is what counts.
        ``usage`` is the sum of all answers that were paid for.

        Raises:
            SummaryFailed: the server failed or refused, or gave no text that can be used.
        """
        draft = _Draft(on_delta)
        retries = self._server.retries()
        usage: dict[str, Any] | None = None
        complaint: str | None = None
        shortened = False
        while True:
            system, prompt = build(request, complaint)
            messages = [
                {"role": "system", "content": system},
                {"role": "user", "content": prompt},
            ]
            try:
                completion = await self._server.complete(
                    messages, request.max_tokens, retries, partial(draft.begin, request.max_tokens)
                )
            except CompletionFailed as error:
                failure = error
            else:
                usage = _sum(usage, completion.usage)
                text, problem = _judged(completion, request)
                if problem is None:
                    return WrittenSummary(text, model=self.model, usage=usage)
                if complaint is not None:
                    raise self._failed(f"gave a text of no use twice: {problem}", 200, True)
                complaint = problem
                continue
            if not failure.overflow or shortened:
                after = ", even after it was shortened" if failure.overflow else ""
                raise self._failed(failure.problem + after, failure.status, failure.retryable)
            shortened = True
            request = replace(request, input_tokens=prompt_tokens((system, prompt)) // 2)

    def _failed(self, problem: str, status: int | None, retryable: bool) -> SummaryFailed:
        provider = self.host or "the model server"
        return SummaryFailed(provider, problem, status=status, retryable=retryable)


class _Draft:
    """Passes text on until an answer that said something is void."""

    def __init__(self, on_delta: OnDelta) -> None:
        self._on_delta = on_delta
        self._told = False
        self._void = False

    def begin(self, max_tokens: int) -> ChatReply:
        """What the next answer is taken into."""
        self._void = self._told
        return ChatReply(max_tokens, self._tell)

    def _tell(self, text: str) -> None:
        if not self._void:
            self._told = True
            self._on_delta(text)


def _judged(completion: Completion, request: SummaryRequest) -> tuple[str, str | None]:
    """The summary in our form; what is wrong with it, if it is of no use.

    Where the person's own instructions took the place of ours, the form is theirs.
    """
    if completion.cut_off:
        return "", CUT_OFF
    if request.replace_instructions and (request.instructions or "").strip():
        text = strip_file_lists(completion.text)
        return text, None if text else MALFORMED
    try:
        text = complete(completion.text, request.kind)
    except NoSections:
        return "", MALFORMED
    says_something = any(parse(text, request.kind).sections.values())
    return text, None if says_something else MALFORMED


def _sum(usage: dict[str, Any] | None, added: dict[str, Any] | None) -> dict[str, Any] | None:
    if usage is None or added is None:
        return usage or added
    costs = usage["cost"]
    return {key: costs if key == "cost" else usage[key] + added[key] for key in usage}
