"""The one long piece of work that a session may have under way: a summary, or a prompt's answer.

A job is seen by everybody who has the session open (``session/busy``), shows its progress to the
client that asked, and ends in one way whatever happens.
"""

import threading
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import anyio

from branchline.errors import Busy, Cancelled, FileChanged
from branchline.service.client import Client, Progress
from branchline.service.session import Session

JobKind = Literal["compaction", "branch", "prompt"]
Token = str | int

_TITLES: Final[dict[JobKind, str]] = {
    "compaction": "Compacting the conversation",
    "branch": "Summarising the branch",
    "prompt": "Waiting for the answer",
}
_TYPICAL_CHARACTERS: Final = 6000
"""How long a summary usually gets; what progress is reckoned by."""
_ALMOST: Final = 95


@dataclass(slots=True, eq=False)
class Job:
    """A summary or an answer being written. ``automatic``: nobody asked for it."""

    session: Session
    kind: JobKind
    started_by: str | None
    automatic: bool = False
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    ended: anyio.Event = field(default_factory=anyio.Event)
    percent: int = 0
    _state: Literal["writing", "storing", "cancelled"] = "writing"
    _deciding: threading.Lock = field(default_factory=threading.Lock)
    _progress: Progress | None = None
    _written: dict[str, int] = field(default_factory=dict)
    _parts: int = 1

    def as_json(self) -> dict[str, Any]:
        """The job as ``session/busy`` and error 4007 tell of it."""
        return {
            "id": self.id,
            "kind": self.kind,
            "startedBy": self.started_by,
            "percent": self.percent,
        }

    def cancel(self) -> bool:
        """End it: what was written so far is dropped. False if that comes too late."""
        with self._deciding:
            if self._state == "writing":
                self._state = "cancelled"
        if self._state == "cancelled":
            self.scope.cancel()
        return self._state == "cancelled"

    def store(self) -> None:
        """From now on it cannot be cancelled. Any thread may call this. Raises `Cancelled`."""
        with self._deciding:
            if self._state == "cancelled":
                raise Cancelled
            self._state = "storing"

    def expect_parts(self, count: int) -> None:
        """How many texts are going to be written."""
        self._parts = count

    def wrote(self, part: str, delta: str) -> None:
        """Pass on a piece of text as it is written."""
        self._written[part] = self._written.get(part, 0) + len(delta)
        news = {"session": self.session.header.id, "jobId": self.id, "part": part, "delta": delta}
        self.session.tell_all("session/summaryText", news)
        if self.kind == "prompt":
            return  # how much of the answer there is nobody knows
        share = sum(min(one, _TYPICAL_CHARACTERS) for one in self._written.values())
        percent = share * _ALMOST // (_TYPICAL_CHARACTERS * self._parts)
        if percent > self.percent:
            self.percent = percent
            if self._progress is not None:
                self._progress.report(percent)

    def answered(self, delta: str) -> None:
        """Pass on a piece of the answer to a prompt."""
        news = {"session": self.session.header.id, "jobId": self.id, "delta": delta}
        self.session.tell_all("session/messageText", news)

    def begin(self, client: Client, token: Token | None) -> None:
        """Tell everybody that the work begins."""
        if token is not None:
            port = client.port
            self._progress = port.begin_progress(
                token, _TITLES[self.kind], self.cancel, measured=self.kind != "prompt"
            )
        for one in list(self.session.subscribers):
            self.tell(one)

    def tell(self, client: Client) -> None:
        """Tell a client that the work is under way."""
        client.notify("session/busy", {"session": self.session.header.id, "job": self.as_json()})

    def end(self) -> None:
        """Tell everybody that it is over."""
        if self._progress is not None:
            self._progress.end()
        self.ended.set()
        self.session.tell_all("session/busy", {"session": self.session.header.id, "job": None})


class Jobs:
    """The jobs under way, one a session at most."""

    def __init__(self) -> None:
        self._running: dict[Session, Job] = {}

    def of(self, session: Session) -> Job | None:
        """The job of a session."""
        return self._running.get(session)

    async def wait_for_automatic(self, session: Session) -> None:
        """Let a job that nobody asked for end first: what a person asks for is not refused then."""
        while (job := self.of(session)) is not None and job.automatic:
            await job.ended.wait()

    def cancel_all(self) -> bool:
        """Cancel every job; give whether any is under way, which may be too late to cancel."""
        for job in self._running.values():
            job.cancel()
        return bool(self._running)

    @asynccontextmanager
    async def work(
        self,
        session: Session,
        kind: JobKind,
        client: Client,
        token: Token | None,
        *,
        automatic: bool = False,
    ) -> AsyncIterator[Job]:
        """Do a job: what is inside ends when somebody cancels it.

        Raises `Busy` if the session has one already, `Cancelled` if it was ended by `Job.cancel`,
        `FileChanged` if that was because the session was let go.
        """
        other = self.of(session)
        if other is not None:
            raise Busy(other.as_json())
        job = Job(session, kind, client.name, automatic)
        self._running[session] = job
        session.end_work = job.cancel
        try:
            job.begin(client, token)
            with job.scope:
                yield job
        finally:
            session.end_work = None
            del self._running[session]
            job.end()
        if job.scope.cancelled_caught:
            raise FileChanged(session.path, "closed") if session.gone else Cancelled
