"""``session/prompt``: a message of the person's, and the model's answer on the branch below it.

The message is in the file before the model is asked. Whatever comes of it is stored, too: an
answer that broke off as ``aborted`` or ``error``, which no later request sends. Others may append
meanwhile, or move the leaf: the answer goes below its question all the same.
"""

import time
from dataclasses import dataclass
from typing import Any, Final, Literal

import anyio

from branchline.absent import ABSENT, Absent
from branchline.entries import BOOKKEEPING, Entry, Kind, zero_usage
from branchline.errors import BranchlineError, Cancelled, InvalidParams, PromptFailed
from branchline.log.format import new_id
from branchline.models.completions import CompletionFailed, ModelServer
from branchline.models.reply import ChatReply
from branchline.service.auto_compaction import AutoCompaction
from branchline.service.client import Client
from branchline.service.jobs import Job, Jobs, Token
from branchline.service.new_entries import Addition, make_addition
from branchline.service.project_instructions import instructions_patch, project_instructions
from branchline.service.prompt_model import PromptModel, prompt_model
from branchline.service.session import Session, Written
from branchline.tree.chat import chat_messages, is_image
from branchline.tree.context import Context, build_context, system_message
from branchline.tree.index import NONE, Tree
from branchline.tree.tokens import message_tokens

StopReason = Literal["stop", "length", "error", "aborted"]

_API: Final = "openai-completions"
"""What Pi calls the interface that the answer came through."""
_LARGEST_NAMED: Final = 5
_NOTHING_SAID: Final = BOOKKEEPING | {Kind.COMPACTION}


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """A prompt as a client gives it; see the protocol."""

    content: str | list[Entry]
    model: str | None = None
    expected_leaf_id: str | Absent | None = ABSENT
    token: Token | None = None


@dataclass(frozen=True, slots=True)
class Prompted:
    """An answered prompt. ``written`` is the write of the answer."""

    user_id: str
    assistant_id: str
    written: Written
    stop_reason: StopReason
    usage: dict[str, Any]


async def prompt(
    jobs: Jobs, compactor: AutoCompaction, session: Session, client: Client, request: PromptRequest
) -> Prompted:
    """Append the message, ask the model, append its answer.

    Raises `Busy`, `InvalidParams`, `PromptFailed`, `Cancelled`, and what writing to the session
    raises. Once the message is stored, the error has among its facts what was.
    """
    _check(request.content)
    session.require_writable(client)
    await jobs.wait_for_automatic(session)
    stored: dict[str, Any] = {}
    try:
        async with jobs.work(session, "prompt", client, request.token) as job:
            last = await session.read(lambda: session.model(session.tree.leaf))
            model = prompt_model(client, request.model, last)
            exchange = _Exchange(session, client, job, model, stored)
            await exchange.store_question(request)
            return await exchange.answered(compactor)
    except BranchlineError as error:
        error.facts.update(stored)
        raise
    raise AssertionError  # pragma: no cover - the block above gives or raises


class _Overflow(Exception):
    """The context was too large; the attempt is taken back. ``failure`` is what to say of it."""

    def __init__(self, failure: PromptFailed) -> None:
        super().__init__()
        self.failure = failure


class _Exchange:
    """One question and its answer.

    ``stored`` is filled with what is in the file, as the protocol's errors tell of it.
    ``_asked_id`` is the entry whose context the model is asked with: the question, or what a
    compaction put below it.
    """

    def __init__(
        self,
        session: Session,
        client: Client,
        job: Job,
        model: PromptModel,
        stored: dict[str, Any],
    ) -> None:
        self._session = session
        self._client = client
        self._job = job
        self._model = model
        self._stored = stored
        self._asked_id = ""

    async def store_question(self, request: PromptRequest) -> None:
        """Append the message, and before it what changed: instructions, model."""
        session, model = self._session, self._model

        def prepare(tree: Tree) -> Addition:
            entries = self._instructions(tree)
            if not model.is_named_by(session.model(session.tree.leaf)):
                change = {"provider": model.provider, "modelId": model.model_id}
                entries.append({"type": "model_change", **change})
            message = {"role": "user", "content": request.content}
            entries.append({"type": "message", "message": message})
            return make_addition(tree, tree.leaf, entries)

        written = await session.change(
            self._client, prepare, expected_leaf_id=request.expected_leaf_id
        )
        self._asked_id = written.entries[-1]["id"]
        self._note(written, userEntryId=self._asked_id, assistantEntryId=None)

    def _instructions(self, tree: Tree) -> list[Entry]:
        path = tree.path(tree.leaf)
        is_new = not any(tree.kind(one) in (Kind.USER, Kind.ASSISTANT) for one in path)
        system = system_message(tree, self._session, tree.leaf)
        wanted = {}
        if self._client.settings.prompt.project_instructions:
            wanted = project_instructions(self._session.header.cwd, self._client.folders)
        patch = instructions_patch(wanted, system, is_new=is_new)
        return [] if patch is None else [patch]

    async def answered(self, compactor: AutoCompaction) -> Prompted:
        """Ask, and store what comes; compact before if that is due, or else after an overflow."""
        session, client = self._session, self._client
        is_due = compactor.is_due(session, client)
        may_try_again = not is_due and compactor.is_on(session, client)
        try:
            compacted = is_due and await self._compact(compactor)
            try:
                answered = await self._attempt(may_try_again=may_try_again)
            except _Overflow as overflow:
                compacted = await self._compact(compactor)
                if not compacted:
                    raise overflow.failure from None
                answered = await self._attempt(may_try_again=False)
        except PromptFailed as failure:
            if compacted and "largest" in failure.facts:
                compactor.judge(session, client, fits=False)
            raise
        except (anyio.get_cancelled_exc_class(), Cancelled):
            raise Cancelled from None  # what came is stored, so this is an answer like any other
        if compacted:
            compactor.judge(session, client, fits=True)
        return answered

    async def _compact(self, compactor: AutoCompaction) -> bool:
        """Compact below the question, unless somebody is elsewhere. Whether that was done."""
        if not self._goes_on(self._session.tree, self._session.leaf_id):
            return False
        try:
            written = await compactor.within(self._job, self._session, self._client)
        except anyio.get_cancelled_exc_class():
            await self._store(self._new_reply(), "aborted")
            raise
        if written is None or not self._goes_on(self._session.tree, written.leaf_id):
            return False
        self._asked_id = written.leaf_id or self._asked_id
        return True

    async def _attempt(self, *, may_try_again: bool) -> Prompted:
        """Ask once. Raises `PromptFailed`, `_Overflow` if it may be tried again, cancellation."""
        session, client = self._session, self._client
        reply = self._new_reply()

        def begin() -> ChatReply:
            nonlocal reply
            reply = self._new_reply()
            return reply

        server = ModelServer(self._model.endpoint, client.dialects)
        try:
            context, messages = await session.read(self._request)
            completion = await server.complete(
                messages, self._model.max_tokens, server.retries(), begin
            )
            self._job.store()
        except CompletionFailed as error:
            take_back = error.overflow and may_try_again
            await self._store(reply, "error", error.problem, take_back=take_back)
            failure = self._failure(error, context)
            raise (_Overflow(failure) if take_back else failure) from None
        except (anyio.get_cancelled_exc_class(), Cancelled):
            await self._store(reply, "aborted")
            raise
        return await self._store(reply, "length" if completion.cut_off else "stop")

    def _request(self) -> tuple[Context, list[Entry]]:
        """The context at the question, and what is sent of it."""
        session = self._session
        pinned_tokens = self._client.settings.branch_summary.pinned_tokens
        asked = session.ordinal(self._asked_id)
        context = build_context(session.tree, session, asked, pinned_tokens)
        return context, chat_messages(context)

    def _new_reply(self) -> ChatReply:
        return ChatReply(self._model.max_tokens, self._job.answered, keeps_parts=True)

    def _failure(self, error: CompletionFailed, context: Context) -> PromptFailed:
        return PromptFailed(
            self._model.endpoint.host or "the model server",
            error.problem,
            status=error.status,
            retryable=error.retryable,
            largest=_largest(self._session.tree, context) if error.overflow else None,
        )

    # --- storing -----------------------------------------------------------------------------

    async def _store(
        self,
        reply: ChatReply,
        stop_reason: StopReason,
        problem: str | None = None,
        *,
        take_back: bool = False,
    ) -> Prompted:
        """Append the answer below its question; a leaf that was moved elsewhere stays there."""
        usage = reply.usage or zero_usage()
        message: Entry = {
            "role": "assistant",
            "content": _content(reply),
            "api": _API,
            "provider": self._model.provider,
            "model": self._model.model_id,
            "usage": usage,
            "stopReason": stop_reason,
            "timestamp": round(time.time() * 1000),
        }
        if problem is not None:
            message["errorMessage"] = f"The model server {problem}"

        def prepare(tree: Tree) -> Addition:
            answer_id = new_id(tree.find)
            entries: list[Entry] = [{"type": "message", "id": answer_id, "message": message}]
            if take_back:
                edit = {"targetId": answer_id, "replacement": None}
                entries.append({"type": "context_edit", **edit})
            if self._goes_on(tree, tree.id_of(tree.leaf)):
                return make_addition(tree, tree.leaf, entries)
            asked = self._session.ordinal(self._asked_id)
            return make_addition(tree, asked, entries, return_to=tree.leaf)

        with anyio.CancelScope(shield=True):
            written = await self._session.change(self._client, prepare)
        answer_id = written.entries[0]["id"]
        if take_back:
            self._asked_id = written.entries[1]["id"]
        self._note(written, assistantEntryId=answer_id)
        return Prompted(self._stored["userEntryId"], answer_id, written, stop_reason, usage)

    def _note(self, written: Written, **ids: str | None) -> None:
        self._stored.update(ids, leafId=written.leaf_id, revision=written.revision)

    def _goes_on(self, tree: Tree, leaf_id: str | None) -> bool:
        """Whether nothing was said between the question and the leaf: only notes, a compaction."""
        asked = tree.find(self._asked_id)
        current = NONE if leaf_id is None else tree.find(leaf_id)
        while current is not None and current not in (asked, NONE):
            if tree.kind(current) not in _NOTHING_SAID:
                return False
            current = tree.parents[current]
        return current == asked


def _content(reply: ChatReply) -> list[Entry]:
    blocks: list[Entry] = []
    if reply.thinking:
        blocks.append({"type": "thinking", "thinking": reply.thinking})
    if reply.text:
        blocks.append({"type": "text", "text": reply.text})
    return blocks


def _largest(tree: Tree, context: Context) -> list[dict[str, Any]]:
    """The entries that take most of a context, the largest first: ``{id, role, tokens}``."""
    sizes = [
        (message_tokens(message), tree.ids[ordinal], message.get("role"))
        for ordinal, message in context.items
    ]
    sizes += [
        (tree.tokens[ordinal], tree.ids[ordinal], "system")
        for ordinal in context.path
        if tree.kind(ordinal) is Kind.SYSTEM
    ]
    sizes.sort(key=lambda one: -one[0])
    return [
        {"id": entry_id, "role": role, "tokens": tokens}
        for tokens, entry_id, role in sizes[:_LARGEST_NAMED]
    ]


def _check(content: str | list[Entry]) -> None:
    """Whether the content is what a person can say: text, or blocks of text and images."""
    if isinstance(content, str):
        is_blank = not content.strip()
    else:
        for number, block in enumerate(content):
            match block:
                case {"type": "text", "text": str()}:
                    pass
                case {"type": "image"} if is_image(block):
                    pass
                case _:
                    problem = (
                        "must be a text block {type, text} or an image {type, data, mimeType} "
                        "with base64 and a type such as image/png"
                    )
                    raise InvalidParams(f"content[{number}]", problem)
        is_blank = all(block["type"] == "text" and not block["text"].strip() for block in content)
    if is_blank:
        raise InvalidParams("content", "must not be blank")
