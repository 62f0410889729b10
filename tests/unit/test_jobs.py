"""How a job ends: cancelled before it is stored, or stored and not cancelled any more."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest

from branchline.errors import Busy, Cancelled, FileChanged
from branchline.log.format import Header
from branchline.service.client import Client, Silence
from branchline.service.jobs import Job, Jobs
from branchline.service.session import Session


@pytest.fixture
def session(tmp_path: Path) -> Session:
    header = Header("s-1", 3, "2026-01-02T03:04:05.678Z", "/", None)
    return Session(tmp_path / "s.jsonl", header, None, tmp_path, lambda *_: None)


Work = Callable[[Job], Awaitable[object]]


async def within(jobs: Jobs, session: Session, work: Work) -> object:
    """Do something as a job; give its result."""
    async with jobs.work(session, "branch", Client(Silence(), {}), None) as job:
        done = await work(job)
        await anyio.lowlevel.checkpoint()
        return done


def run(session: Session, work: Work, jobs: Jobs | None = None) -> object:
    """The same from outside of a loop."""
    return anyio.run(within, jobs or Jobs(), session, work)


def test_a_cancelled_job_is_not_stored(session: Session) -> None:
    async def work(job: Job) -> None:
        assert job.cancel()
        with pytest.raises(Cancelled):
            job.store()
        assert job.cancel()  # again: it is

    with pytest.raises(Cancelled):
        run(session, work)


def test_a_job_that_is_being_stored_is_not_cancelled(session: Session) -> None:
    async def work(job: Job) -> str:
        job.store()
        assert not job.cancel()
        job.store()  # a write may be prepared twice
        return "stored"

    assert run(session, work) == "stored"


def test_a_session_has_one_job_and_is_kept_while_it_runs(session: Session) -> None:
    jobs = Jobs()

    async def work(job: Job) -> None:
        assert session.busy
        assert jobs.of(session) is job
        with pytest.raises(Busy) as busy:
            await within(jobs, session, work)
        assert busy.value.facts["job"] == job.as_json()

    run(session, work, jobs)
    assert not session.busy
    assert jobs.of(session) is None


def test_a_job_ends_with_its_session(session: Session) -> None:
    async def work(_: Job) -> None:
        session.close()
        await anyio.sleep_forever()

    with pytest.raises(FileChanged):
        run(session, work)


def test_a_job_that_fails_leaves_the_session_free(session: Session) -> None:
    jobs = Jobs()

    async def fail(_: Job) -> None:
        raise RuntimeError

    for _ in range(2):
        with pytest.raises(RuntimeError):
            run(session, fail, jobs)
    assert jobs.of(session) is None
