"""What the two summaries have in common: asking the writers, and what a person keeps as a draft."""

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio

from branchline.entries import ZERO_USAGE, Entry
from branchline.errors import BranchlineError, InvalidParams
from branchline.service.jobs import Job, JobKind
from branchline.service.session import Session
from branchline.service.writers import LeftToTheNext, left_to_nobody
from branchline.settings import Settings
from branchline.summaries.files import file_section
from branchline.summaries.writer import SummaryRequest, Writer, WrittenSummary

_DRAFTS_KEPT: Final = 32
_PART_NAMES: Final = {"compaction": "history", "turnPrefix": "turnPrefix", "branch": "branch"}


@dataclass(frozen=True, slots=True)
class Texts:
    """What was written, in the order it was asked for, and by whom."""

    written: list[WrittenSummary]
    writer: Writer

    @property
    def usage(self) -> dict[str, Any] | None:
        """What all texts cost together; None if nobody said."""
        return _sum([one.usage for one in self.written if one.usage is not None])

    @property
    def details(self) -> dict[str, Any] | None:
        """What a client wants stored with the summary."""
        return next((one.details for one in self.written if one.details is not None), None)


@dataclass(frozen=True, slots=True)
class Limits:
    """How many tokens a writer's model takes, and how many it writes at most.

    None: no limit. ``window`` is None only where no model reads the text.
    """

    window: int | None
    answer: int | None

    def reserve(self, wanted: int) -> int:
        """What is kept free for an answer: half of a window that is too small for that."""
        return self.window // 2 if self.window is not None and wanted >= self.window else wanted

    def answer_tokens(self, reserve: int, share: float) -> int:
        """The most that may be written, where a summary may fill a share of the reserve."""
        tokens = max(1, int(self.reserve(reserve) * share))
        return tokens if self.answer is None else min(tokens, self.answer)


@dataclass(frozen=True, slots=True)
class Draft:
    """A text that was written and not stored yet, with what is needed to store it.

    ``facts`` are the fields of its entry but for the text; ``leaf_id`` is the leaf it was made at.
    """

    path: Path
    kind: JobKind
    text: str
    leaf_id: str | None
    facts: Entry
    summarizer: dict[str, Any] | None
    plan: Any


@dataclass(slots=True)
class Drafts:
    """The newest drafts, by id. They are gone with the daemon: a draft is not worth a file."""

    _drafts: dict[str, Draft] = field(default_factory=dict)

    def keep(self, draft: Draft) -> str:
        """Keep a draft; give its id."""
        draft_id = uuid.uuid4().hex[:12]
        self._drafts[draft_id] = draft
        while len(self._drafts) > _DRAFTS_KEPT:
            del self._drafts[next(iter(self._drafts))]
        return draft_id

    def look_at(self, draft_id: str, session: Session, kind: JobKind, parameter: str) -> Draft:
        """The draft with this id. Raises `InvalidParams` if it is none of this session and kind."""
        draft = self._drafts.get(draft_id)
        if draft is None or draft.path != session.path or draft.kind != kind:
            raise InvalidParams(parameter, "names no draft of this session that is still kept")
        return draft

    @contextmanager
    def taken(
        self, draft_id: str, session: Session, kind: JobKind, parameter: str
    ) -> Iterator[Draft]:
        """The draft, to be stored by nobody else meanwhile; it is kept if storing it fails.

        Raises what `look_at` raises.
        """
        draft = self.look_at(draft_id, session, kind, parameter)
        del self._drafts[draft_id]
        try:
            yield draft
        except BaseException:
            self._drafts[draft_id] = draft
            raise


async def write_texts(
    writers: Sequence[Writer], requests: Sequence[SummaryRequest], job: Job
) -> Texts:
    """Let the first writer that takes it write all texts, at once.

    Raises what a writer raises; then nothing of what was written counts.
    """
    job.expect_parts(len(requests))
    for writer in writers:
        try:
            return Texts(await _write_all(writer, requests, job), writer)
        except LeftToTheNext:
            continue
    raise left_to_nobody()


async def _write_all(
    writer: Writer, requests: Sequence[SummaryRequest], job: Job
) -> list[WrittenSummary]:
    texts: list[WrittenSummary | None] = [None] * len(requests)

    async def write(at: int, request: SummaryRequest) -> None:
        part = _PART_NAMES[request.kind]
        texts[at] = await writer.write(request, lambda delta: job.wrote(part, delta))

    try:
        async with anyio.create_task_group() as parts:
            for at, request in enumerate(requests):
                parts.start_soon(write, at, request)
    except BaseExceptionGroup as group:
        raise _first(group) from None
    return [text for text in texts if text is not None]


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one error to tell of when several texts failed."""
    ours, _ = group.split((BranchlineError, LeftToTheNext))
    error: BaseException = ours if ours is not None else group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def with_files(text: str, files: dict[str, list[str]]) -> str:
    """The text with the file lists at its end, once, wherever a person put them."""
    section = file_section(files)
    if not section:
        return text.rstrip()
    parts = [part.strip("\n") for part in text.rstrip().split(section)]
    return "\n\n".join([*filter(None, parts), section])


def limits_of(settings: Settings, writer: Writer | None) -> Limits:
    """What the settings say of the writer's model."""
    if writer is None or writer.kind == "offline":
        return Limits(None, None)
    # A model's own name may hold slashes, its provider's does not.
    known = [
        model
        for key, model in settings.models.items()
        if writer.model in (key, key.partition("/")[2])
    ]
    windows = (model.context_window for model in known if model.context_window)
    answers = (model.max_output_tokens for model in known if model.max_output_tokens)
    return Limits(next(windows, settings.default_context_window), next(answers, None))


def summarizer_json(writer: Writer) -> dict[str, Any]:
    """Who writes, as plans and results name it."""
    return {"kind": writer.kind, "model": writer.model, "host": writer.host}


def _sum(usages: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    if not usages:
        return None
    if len(usages) == 1:
        return usages[0]

    def add(key: str, parts: Sequence[Any]) -> Any:
        numbers = [part.get(key) for part in parts if isinstance(part, dict)]
        return sum(one for one in numbers if isinstance(one, int | float))

    total = {key: add(key, usages) for key in ZERO_USAGE if key != "cost"}
    costs = [usage.get("cost") for usage in usages]
    total["cost"] = {key: add(key, costs) for key in ZERO_USAGE["cost"]}
    return total
