"""``session/switchLeaf``: a move of the leaf, and what of the branch left behind goes along."""

from dataclasses import dataclass, field
from typing import Any, Literal

from branchline.absent import ABSENT, Absent
from branchline.entries import MESSAGES, NO_ORIGIN, Entry
from branchline.errors import InvalidEntry, InvalidParams, LeafChanged
from branchline.service.client import Client
from branchline.service.jobs import Job, Jobs, Token
from branchline.service.new_entries import Addition, EntryFactory
from branchline.service.session import Session, Written
from branchline.service.summarising import (
    Draft,
    Drafts,
    Texts,
    limits_of,
    summarizer_json,
    with_files,
    write_texts,
)
from branchline.service.writers import choose, foreseen
from branchline.settings import SummarizerUse
from branchline.summaries.boundary import Collected, collect_branch
from branchline.summaries.writer import SummaryRequest
from branchline.tree.chat import BRANCH_INTRODUCTION
from branchline.tree.index import Tree
from branchline.tree.plan import Position, destination, switch_plan

_SUMMARY_SHARE = 0.8
"""Share of the reserve that a branch summary may fill."""


@dataclass(frozen=True, slots=True)
class SummaryWish:
    """What is to go along: nothing, a text that is there, or one that is to be written."""

    mode: Literal["none", "text", "write"] = "none"
    text: str | None = None
    draft_id: str | None = None
    instructions: str | None = None
    replace_instructions: bool = False
    summarizer: SummarizerUse | None = None


@dataclass(frozen=True, slots=True)
class Switch:
    """A move of the leaf as a client asks for it; see the protocol."""

    target_id: str | None
    position: Position = "auto"
    summary: SummaryWish = field(default_factory=SummaryWish)
    label: str | None = None
    dry_run: bool = False
    preview: bool = False
    expected_leaf_id: str | Absent | None = ABSENT
    token: Token | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a move would do. Ordinals, good while one has the turn that they were read in.

    ``old_leaf_id`` is the same as ``old_leaf`` and stays good; ``editor`` is what a person gets to
    edit.
    """

    old_leaf: int
    old_leaf_id: str | None
    new_leaf: int
    editor: dict[str, Any] | None
    branch: Collected
    request: SummaryRequest

    @property
    def is_worth_a_summary(self) -> bool:
        """Whether the branch left behind says anything."""
        return bool(self.branch.items)


@dataclass(frozen=True, slots=True)
class Switched:
    """How far a move came: ``written`` if it was stored, ``draft_id`` if there is only a draft."""

    plan: dict[str, Any]
    editor: dict[str, Any] | None
    previous_leaf_id: str | None
    written: Written | None = None
    summary_id: str | None = None
    text: str | None = None
    draft_id: str | None = None


async def switch_leaf(
    jobs: Jobs, drafts: Drafts, session: Session, client: Client, switch: Switch
) -> Switched:
    """Move the leaf, as far as the request says.

    One write: the summary becomes the leaf, a label goes on it or else on the target. Raises
    `NotFound`, `LeafChanged`, `Busy`, `Cancelled`, `SummaryFailed`, `CancelledByClient`, and what
    writing raises; then the leaf is where it was and nothing was stored.
    """
    _check(switch)
    wish = switch.summary
    if switch.dry_run or (switch.preview and wish.mode != "write"):
        return await session.read(lambda: _shown(session, client, switch))
    session.require_writable(client)
    if wish.mode == "write":
        return await _write(jobs, drafts, session, client, switch)
    if wish.draft_id is not None:
        return await _store_draft(drafts, session, client, switch, wish.draft_id)
    return await _move(session, client, switch, wish.text)


async def _store_draft(
    drafts: Drafts, session: Session, client: Client, switch: Switch, draft_id: str
) -> Switched:
    """Move with a text that a person has seen, and may have changed."""
    with drafts.taken(draft_id, session, "branch", "summary.draftId") as draft:
        text = draft.text
        if switch.summary.text is not None:
            files = {key: draft.plan[key] for key in ("readFiles", "modifiedFiles")}
            text = with_files(switch.summary.text, files)
        done = await _move(session, client, switch, text, draft)
    return done


async def _write(
    jobs: Jobs, drafts: Drafts, session: Session, client: Client, switch: Switch
) -> Switched:
    plan, shown = await session.read(lambda: _plan(session, client, switch))
    if not plan.is_worth_a_summary:
        if switch.preview:
            return Switched(shown, plan.editor, session.leaf_id)
        return await _move(session, client, switch, None)
    writers = choose(client, switch.summary.summarizer, shown)
    async with jobs.work(session, "branch", client, switch.token) as job:
        texts = await write_texts(writers, [plan.request], job)
        text = f"{BRANCH_INTRODUCTION}\n\n{texts.written[0].text}"
        text = with_files(text, plan.branch.files)
        shown["summarizer"] = summarizer_json(texts.writer)
        left = plan.old_leaf_id
        draft = Draft(
            session.path, "branch", text, left, _facts(plan, texts), shown["summarizer"], shown
        )
        if switch.preview:
            return Switched(shown, plan.editor, left, text=text, draft_id=drafts.keep(draft))
        return await _move(session, client, switch, text, draft, job)
    raise AssertionError  # pragma: no cover - the block above gives or raises


async def _move(
    session: Session,
    client: Client,
    switch: Switch,
    text: str | None,
    draft: Draft | None = None,
    job: Job | None = None,
) -> Switched:
    """The one write of a move. A ``draft`` is only good for the move that it was written for."""
    outcome: list[tuple[dict[str, Any], dict[str, Any] | None, str | None, Entry | None]] = []

    def prepare(tree: Tree) -> Addition | None:
        if draft is not None and draft.leaf_id != session.leaf_id:
            raise LeafChanged(draft.leaf_id, session.leaf_id)
        plan, shown = _plan(session, client, switch)
        if draft is not None and draft.plan["leaving"] != shown["leaving"]:
            raise InvalidParams("summary.draftId", "was written for a move to another place")
        facts = {"details": plan.branch.files} if draft is None else draft.facts
        addition, summary = _records(tree, plan, switch, text, facts)
        if job is not None:
            shown["summarizer"] = draft.summarizer if draft is not None else None
            job.store()
        outcome[:] = [(shown, plan.editor, session.leaf_id, summary)]
        return addition

    written = await session.change(client, prepare, expected_leaf_id=switch.expected_leaf_id)
    shown, editor, previous, summary = outcome[0]
    return Switched(
        shown,
        editor,
        previous,
        written,
        summary["id"] if summary else None,
        summary["summary"] if summary else None,
    )


def _records(
    tree: Tree, plan: Plan, switch: Switch, text: str | None, facts: Entry
) -> tuple[Addition | None, Entry | None]:
    """The records of a move, and the summary among them."""
    factory = EntryFactory(tree, plan.new_leaf)
    summary = None
    if text is not None:
        from_id = plan.old_leaf_id or NO_ORIGIN
        fields = {"type": "branch_summary", "fromId": from_id, "summary": text, **facts}
        summary = factory.add(fields, "summary.")
    place = summary["id"] if summary else tree.id_of(plan.new_leaf)
    labelled = summary["id"] if summary else switch.target_id
    if switch.label is not None and switch.label.strip() and labelled is not None:
        fields = {"type": "label", "targetId": labelled, "label": switch.label.strip()}
        factory.add(fields)
        factory.move(place)
    elif summary is None and plan.new_leaf != plan.old_leaf:
        factory.move(place)
    entries = list(factory.made.values())
    return (Addition(entries, place) if entries else None), summary


def _plan(session: Session, client: Client, switch: Switch) -> tuple[Plan, dict[str, Any]]:
    """What the move would do now, and the same as the protocol's plan.

    Raises `NotFound`, `LeafChanged`.
    """
    tree = session.tree
    session.expect_leaf(switch.expected_leaf_id)
    target = session.place(switch.target_id)
    new_leaf, editor = tree.leaf, None
    if target != tree.leaf:
        new_leaf, editor = destination(tree, session, target, switch.position)
    ancestor, leaving = switch_plan(tree, tree.leaf, new_leaf)
    writer = foreseen(client, switch.summary.summarizer)
    reserve = client.settings.branch_summary.reserve_tokens
    limits = limits_of(client.settings, writer)
    budget = 0 if limits.window is None else max(1, limits.window - limits.reserve(reserve))
    branch = collect_branch(tree, session, leaving, budget)
    request = SummaryRequest(
        kind="branch",
        messages=[message for _, message in branch.items],
        previous=None,
        pinned=[],
        instructions=switch.summary.instructions,
        replace_instructions=switch.summary.replace_instructions,
        max_tokens=limits.answer_tokens(reserve, _SUMMARY_SHARE),
        input_tokens=None if limits.window is None else budget,
    )
    old_leaf_id = tree.id_of(tree.leaf)
    plan = Plan(tree.leaf, old_leaf_id, new_leaf, editor, branch, request)
    shown = {
        "commonAncestorId": tree.id_of(ancestor),
        "leaving": [tree.ids[ordinal] for ordinal in leaving],
        "summarized": [tree.ids[ordinal] for ordinal, _ in branch.items],
        "messageCount": sum(1 for one in leaving if tree.kinds[one] in MESSAGES),
        "tokens": sum(tree.tokens[one] for one in leaving),
        **branch.files,
        "targetUsage": session.usage(client, new_leaf),
        "summarizer": None if writer is None else summarizer_json(writer),
        "promptTokens": writer.prompt_tokens(request) if writer and branch.items else None,
    }
    return plan, shown


def _shown(session: Session, client: Client, switch: Switch) -> Switched:
    plan, shown = _plan(session, client, switch)
    return Switched(shown, plan.editor, session.leaf_id)


def _facts(plan: Plan, texts: Texts) -> Entry:
    own = texts.details
    return {
        "details": plan.branch.files if own is None else own,
        **({} if texts.usage is None else {"usage": texts.usage}),
        **({} if own is None else {"fromHook": True}),
    }


def _check(switch: Switch) -> None:
    """Whether the request makes sense in itself."""
    wish = switch.summary
    for value, name in ((wish.text, "text"), (wish.draft_id, "draftId")):
        if value is not None and wish.mode != "text":
            raise InvalidParams(f"summary.{name}", "belongs to mode text")
    if wish.mode == "text" and wish.text is None and wish.draft_id is None:
        raise InvalidParams("summary.text", "or summary.draftId is needed in mode text")
    if wish.text is not None and not wish.text.strip():
        raise InvalidEntry("summary.text", "must not be blank")
