"""Compactions that nobody asked for one by one: when they are made, and when no longer.

A conversation that stays too large whatever is done must not be compacted for ever: after three
failures in a row a session is left alone until one succeeds or a person asks for one.
"""

from typing import Final
from weakref import WeakKeyDictionary

import anyio
from anyio.abc import TaskGroup

from branchline.errors import BranchlineError, Busy, FileChanged, LeafChanged, NothingToCompact
from branchline.service.background import in_background
from branchline.service.client import Client
from branchline.service.compaction import CompactRequest, compact, compact_within
from branchline.service.jobs import Job, Jobs
from branchline.service.session import Session, Written
from branchline.service.summarising import Drafts

_MOST_FAILURES: Final = 3
_NO_FAILURES: Final = (NothingToCompact, Busy, LeafChanged, FileChanged)
"""What ends a compaction that was not to be: it may go well the next time."""


class AutoCompaction:
    """The automatic compactions of a daemon. It follows the settings of whoever makes one due."""

    def __init__(self, jobs: Jobs, drafts: Drafts, tasks: TaskGroup) -> None:
        self._jobs = jobs
        self._drafts = drafts
        self._tasks = tasks
        self._failures: WeakKeyDictionary[Session, int] = WeakKeyDictionary()
        self._pending: dict[Session, anyio.Event] = {}

    def is_on(self, session: Session, client: Client) -> bool:
        """Whether the client wants it, and the session has not failed too often."""
        failures = self._failures.get(session, 0)
        return client.settings.compaction.auto and failures < _MOST_FAILURES

    def is_due(self, session: Session, client: Client) -> bool:
        """Whether one is to be made now."""
        return self.is_on(session, client) and _is_too_large(session, client)

    def appended(self, session: Session, client: Client) -> None:
        """A client appended: compact in the background if that made it due."""
        if session in self._pending or self._jobs.of(session) is not None:
            return
        if self.is_due(session, client):
            self._pending[session] = anyio.Event()
            self._tasks.start_soon(in_background, self._compact, session, client)

    async def settle(self) -> None:
        """Wait until nothing is under way."""
        for ended in list(self._pending.values()):
            await ended.wait()

    def asked_for(self, session: Session) -> None:
        """A person asked for a compaction: begin to count failures anew."""
        self._failures.pop(session, None)

    async def within(self, job: Job, session: Session, client: Client) -> Written | None:
        """Compact as a part of other work; None if that came to nothing, which is counted.

        What was stored is to be judged when it is known whether the context fits now.
        """
        try:
            return await compact_within(job, session, client, _kept_tokens(session, client))
        except BranchlineError as error:
            self._failed(session, client, error)
            return None

    def judge(self, session: Session, client: Client, *, fits: bool) -> None:
        """Say of a compaction whether the model takes the context now, as far as that is known."""
        if fits and not _is_too_large(session, client):
            self._failures.pop(session, None)
        else:
            self._count(session, client, "the context stays too large")

    async def _compact(self, session: Session, client: Client) -> None:
        try:
            keep = _kept_tokens(session, client)
            request = CompactRequest(automatic=True, keep_recent_tokens=keep)
            await compact(self._jobs, self._drafts, session, client, request)
        except BranchlineError as error:
            self._failed(session, client, error)
        else:
            self.judge(session, client, fits=True)
        finally:
            self._pending.pop(session).set()

    def _failed(self, session: Session, client: Client, error: BranchlineError) -> None:
        if not isinstance(error, _NO_FAILURES):
            self._count(session, client, error.message)

    def _count(self, session: Session, client: Client, why: str) -> None:
        failures = self._failures[session] = self._failures.get(session, 0) + 1
        if failures == _MOST_FAILURES:
            client.port.warn(
                f"Session {session.header.id} is no longer compacted by itself after {failures} "
                f"failures; compact it by hand to go on. The last one: {why}"
            )


def _is_too_large(session: Session, client: Client) -> bool:
    """Whether the context at the leaf leaves no room for an answer."""
    if session.gone:
        return False
    tokens: int = session.usage(client)["tokens"]
    return tokens > client.settings.room_tokens(session.model(session.tree.leaf))


def _kept_tokens(session: Session, client: Client) -> int:
    """How much is kept: less than there is room for, however small the model's window is."""
    settings, model = client.settings, session.model(session.tree.leaf)
    keep, room = settings.keep_recent_tokens(model), settings.room_tokens(model)
    return keep if keep < room else room // 2
