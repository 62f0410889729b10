"""``session/compact``: a branch's past replaced by a checkpoint of it.

Plan, write, store; each step can be the last. Appending goes on while the text is written: the
checkpoint is stored at the leaf of that moment, if the old leaf is still on its path.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

from branchline.absent import ABSENT, Absent
from branchline.entries import Entry, summary_of
from branchline.errors import InvalidEntry, LeafChanged, NothingToCompact
from branchline.log.format import milliseconds, now
from branchline.service.client import Client
from branchline.service.jobs import Job, Jobs, Token
from branchline.service.new_entries import Addition, make_addition
from branchline.service.session import Session, Written
from branchline.service.summarising import (
    Draft,
    Drafts,
    Limits,
    Texts,
    limits_of,
    summarizer_json,
    with_files,
    write_texts,
)
from branchline.service.writers import choose, foreseen
from branchline.settings import SummarizerUse
from branchline.summaries.boundary import Boundary, compaction_boundary
from branchline.summaries.sections import BRIDGE_HEADING, strip_file_lists
from branchline.summaries.writer import SummaryKind, SummaryRequest
from branchline.tree.context import context_tokens, system_message
from branchline.tree.index import NONE, Tree
from branchline.tree.selection import select
from branchline.tree.tokens import CHARACTERS_PER_TOKEN, message_tokens

_SUMMARY_SHARE: Final = 0.8
_BRIDGE_SHARE: Final = 0.5
"""Shares of the reserve that a checkpoint and a bridge may fill."""
_USUAL_SUMMARY: Final = 1000


@dataclass(frozen=True, slots=True)
class CompactRequest:
    """A compaction as a client asks for it; see the protocol."""

    instructions: str | None = None
    keep_recent_tokens: int | None = None
    summarizer: SummarizerUse | None = None
    summary: str | None = None
    draft_id: str | None = None
    dry_run: bool = False
    preview: bool = False
    expected_leaf_id: str | Absent | None = ABSENT
    token: Token | None = None
    automatic: bool = False


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """What a compaction would do, and all that is needed to write it."""

    boundary: Boundary
    leaf_id: str | None
    first_kept_id: str
    tokens_before: int
    tokens_after: int
    reserve_tokens: int
    previous: str | None
    pinned: list[str]
    facts: dict[str, Any]
    """The ids that the protocol's plan names."""

    def requests(self, request: CompactRequest, limits: Limits) -> list[SummaryRequest]:
        """What the writer is asked for: the history, the bridge, or both."""
        found = []
        if self.boundary.history:
            found.append(self._request("compaction", request, limits, _SUMMARY_SHARE))
        if self.boundary.turn_prefix:
            found.append(self._request("turnPrefix", request, limits, _BRIDGE_SHARE))
        return found

    def _request(
        self, kind: SummaryKind, request: CompactRequest, limits: Limits, share: float
    ) -> SummaryRequest:
        window, max_tokens = limits.window, limits.answer_tokens(self.reserve_tokens, share)
        items = self.boundary.turn_prefix if kind == "turnPrefix" else self.boundary.history
        return SummaryRequest(
            kind=kind,
            messages=[message for _, message in items],
            previous=None if kind == "turnPrefix" else self.previous,
            pinned=[] if kind == "turnPrefix" else self.pinned,
            instructions=request.instructions,
            replace_instructions=False,
            max_tokens=max_tokens,
            input_tokens=None if window is None else max(1, window - max_tokens),
        )

    def joined(self, texts: Texts) -> str:
        """The one text of a checkpoint."""
        written = [one.text for one in texts.written]
        history = written[0] if self.boundary.history else (self.previous or "")
        bridge = f"{BRIDGE_HEADING}\n\n{written[-1]}" if self.boundary.turn_prefix else ""
        return "\n\n".join(part for part in (history, bridge) if part)

    def as_json(self) -> dict[str, Any]:
        """The protocol's plan, for a text that nobody has to write."""
        return {
            "firstKeptEntryId": self.first_kept_id,
            "isSplitTurn": bool(self.boundary.turn_prefix),
            **self.facts,
            "tokensBefore": self.tokens_before,
            "tokensAfter": self.tokens_after,
            **self.boundary.files,
            "summarizer": None,
            "promptTokens": None,
        }


@dataclass(frozen=True, slots=True)
class Compacted:
    """How far a compaction came: ``written`` if it was stored, ``draft_id`` if it is a draft."""

    plan: dict[str, Any]
    text: str | None = None
    draft_id: str | None = None
    written: Written | None = None
    summarizer: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None


async def compact(
    jobs: Jobs, drafts: Drafts, session: Session, client: Client, request: CompactRequest
) -> Compacted:
    """Compact the active branch, as far as the request says.

    Raises `NothingToCompact`, `LeafChanged`, `Busy`, `Cancelled`, `SummaryFailed`,
    `CancelledByClient`, and what writing to the session raises; then nothing was stored.
    """
    if request.summary is not None and not request.summary.strip():
        raise InvalidEntry("summary", "must not be blank")
    if not request.dry_run:
        session.require_writable(client)
    if request.draft_id is not None:
        return await _store_draft(drafts, session, client, request, request.draft_id)
    plan, shown = await session.read(lambda: _plan(session, client, request))
    if request.summary is not None:
        return await _store_own(session, client, request, plan)
    if request.dry_run:
        return Compacted(shown)
    choose(client, request.summarizer, shown)  # one who cannot be had is no work that begins
    work = jobs.work(session, "compaction", client, request.token, automatic=request.automatic)
    async with work as job:
        draft = await _write(job, session, client, request, plan, shown)
        if request.preview:
            return _result(draft, draft_id=drafts.keep(draft))
        written = await _store(session, client, draft, draft.text, request, job)
        return _result(draft, written=written)
    raise AssertionError  # pragma: no cover - the block above gives or raises


async def compact_within(
    job: Job, session: Session, client: Client, keep_recent_tokens: int
) -> Written:
    """Compact where the leaf is, as a part of a job that goes on. Raises what `compact` raises."""
    request = CompactRequest(
        keep_recent_tokens=keep_recent_tokens, expected_leaf_id=session.leaf_id
    )
    plan, shown = await session.read(lambda: _plan(session, client, request))
    draft = await _write(job, session, client, request, plan, shown)
    return await _store(session, client, draft, draft.text, request)


async def _write(
    job: Job,
    session: Session,
    client: Client,
    request: CompactRequest,
    plan: CompactionPlan,
    shown: dict[str, Any],
) -> Draft:
    """Have the text written."""
    writers = choose(client, request.summarizer, shown)
    asked = plan.requests(request, limits_of(client.settings, writers[0]))
    texts = await write_texts(writers, asked, job)
    return Draft(
        path=session.path,
        kind="compaction",
        text=with_files(plan.joined(texts), plan.boundary.files),
        leaf_id=plan.leaf_id,
        facts=_facts(plan, texts),
        summarizer=summarizer_json(texts.writer),
        plan=shown | {"summarizer": summarizer_json(texts.writer)},
    )


async def _store_draft(
    drafts: Drafts, session: Session, client: Client, request: CompactRequest, draft_id: str
) -> Compacted:
    if request.dry_run or request.preview:
        draft = drafts.look_at(draft_id, session, "compaction", "draftId")
        text = draft.text if request.summary is None else request.summary
        return _result(replace(draft, text=text), draft_id=draft_id)
    with drafts.taken(draft_id, session, "compaction", "draftId") as draft:
        text = draft.text if request.summary is None else request.summary
        written = await _store(session, client, draft, text, request)
    return _result(draft, written=written)


async def _store_own(
    session: Session, client: Client, request: CompactRequest, plan: CompactionPlan
) -> Compacted:
    """Store a text that a person wrote from nothing."""
    draft = Draft(
        session.path,
        "compaction",
        request.summary or "",
        plan.leaf_id,
        _facts(plan, None),
        None,
        plan.as_json(),
    )
    if request.dry_run or request.preview:
        return _result(draft)
    return _result(draft, written=await _store(session, client, draft, draft.text, request))


def _result(
    draft: Draft, *, draft_id: str | None = None, written: Written | None = None
) -> Compacted:
    text = draft.text if written is None else written.entries[0]["summary"]
    return Compacted(
        draft.plan, text, draft_id, written, draft.summarizer, draft.facts.get("usage")
    )


def _plan(
    session: Session, client: Client, request: CompactRequest
) -> tuple[CompactionPlan, dict[str, Any]]:
    """The plan, and the protocol's form of it for the writer that comes first.

    Raises `NothingToCompact`, `LeafChanged`.
    """
    plan = plan_compaction(session, client, request)
    writer = foreseen(client, request.summarizer)
    if writer is None:
        return plan, plan.as_json()
    asked = plan.requests(request, limits_of(client.settings, writer))
    tokens = [writer.prompt_tokens(one) for one in asked]
    return plan, plan.as_json() | {
        "summarizer": summarizer_json(writer),
        "promptTokens": None if None in tokens else sum(filter(None, tokens)),
    }


def plan_compaction(session: Session, client: Client, request: CompactRequest) -> CompactionPlan:
    """What would be covered and kept now. Raises `NothingToCompact`, `LeafChanged`."""
    tree, leaf, settings = session.tree, session.tree.leaf, client.settings
    session.expect_leaf(request.expected_leaf_id)
    model = session.model(leaf)
    keep = request.keep_recent_tokens
    keep = settings.keep_recent_tokens(model) if keep is None else keep
    pinned_tokens = settings.branch_summary.pinned_tokens
    before = context_tokens(tree, session, leaf, pinned_tokens)
    boundary = compaction_boundary(tree, session, leaf, keep)
    if boundary is None:
        raise NothingToCompact(before, keep)
    previous = None
    if boundary.previous != NONE:
        previous = strip_file_lists(summary_of(session.entry(boundary.previous)))
    pinned = _pinned(session, leaf, pinned_tokens)
    kept = [message for _, message in boundary.kept]
    after = sum(map(message_tokens, kept)) + sum(map(len, pinned)) // CHARACTERS_PER_TOKEN
    after += _USUAL_SUMMARY + len(previous or "") // CHARACTERS_PER_TOKEN
    return CompactionPlan(
        boundary=boundary,
        leaf_id=session.leaf_id,
        first_kept_id=tree.ids[boundary.first_kept],
        tokens_before=before,
        tokens_after=after,
        reserve_tokens=settings.reserve_tokens(model),
        previous=previous,
        pinned=pinned,
        facts={
            "summarized": [tree.ids[ordinal] for ordinal, _ in boundary.history],
            "turnPrefix": [tree.ids[ordinal] for ordinal, _ in boundary.turn_prefix],
            "kept": [tree.ids[ordinal] for ordinal, _ in boundary.kept],
            "previousCompactionId": tree.id_of(boundary.previous),
        },
    )


def _pinned(session: Session, leaf: int, pinned_tokens: int) -> list[str]:
    """The branch summaries that stay in the context though they are covered."""
    plain = set(select(session.tree, session, leaf, 0).candidates)
    shown = select(session.tree, session, leaf, pinned_tokens).candidates
    return [summary_of(session.entry(one)) for one in shown if one not in plain]


def _facts(plan: CompactionPlan, texts: Texts | None) -> Entry:
    """The fields of the entry but for the text, in the order in which Pi writes them."""
    own = texts.details if texts is not None else None
    usage = texts.usage if texts is not None else None
    return {
        "firstKeptEntryId": plan.first_kept_id,
        "tokensBefore": plan.tokens_before,
        "details": plan.boundary.files if own is None else own,
        **({} if usage is None else {"usage": usage}),
        **({} if own is None else {"fromHook": True}),
    }


async def _store(
    session: Session,
    client: Client,
    draft: Draft,
    text: str,
    request: CompactRequest,
    job: Job | None = None,
) -> Written:
    files = draft.plan
    whole = with_files(text, {key: files[key] for key in ("readFiles", "modifiedFiles")})

    def prepare(tree: Tree) -> Addition:
        old = NONE if draft.leaf_id is None else tree.find(draft.leaf_id)
        if old is None or old not in tree.path(tree.leaf):
            raise LeafChanged(draft.leaf_id, tree.id_of(tree.leaf))
        timestamp = now()
        fields: Entry = {
            "type": "compaction", "timestamp": timestamp, "summary": whole, **draft.facts
        }  # fmt: skip
        system = system_message(tree, session, tree.leaf)
        if system is not None:
            fields["systemMessage"] = system | {"timestamp": milliseconds(timestamp)}
        if job is not None:
            job.store()
        return make_addition(tree, tree.leaf, [fields])

    expected = request.expected_leaf_id if request.draft_id or request.summary else ABSENT
    return await session.change(client, prepare, expected_leaf_id=expected)
