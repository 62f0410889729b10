"""A daemon's work done in this process: what a command of the command line is made of."""

import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal

from branchline.handlers import HANDLERS
from branchline.handlers.connection import Connection
from branchline.service.client import Client, Silence
from branchline.service.service import Service

Hear = Callable[[str, Mapping[str, Any]], None]


class LocalService:
    """Answers one request after the other, for a client that is this process itself.

    Attributes:
        hear: told each notification, in a thread of its own; None if nobody listens.
    """

    def __init__(self, portal: BlockingPortal) -> None:
        self.hear: Hear | None = None
        self._portal = portal
        self._connection: Connection | None = None

    def ask(self, method: str, params: object) -> Any:
        """The result of a method; ``params`` is an instance of its params class.

        A compaction that it made due is waited for. An interrupt (Ctrl-C) cancels what may be
        cancelled, and then it is seen what came of it: a write that has begun is finished. Raises
        `BranchlineError`, `KeyboardInterrupt`.
        """
        assert self._connection is not None
        answer = self._portal.start_task_soon(_answer, self._connection, method, params)
        while True:
            try:
                return answer.result()
            except KeyboardInterrupt:
                if not self._portal.call(self._connection.service.jobs.cancel_all):
                    answer.cancel()
                    raise

    @asynccontextmanager
    async def run(
        self, folders: Sequence[Path], on_problem: Callable[[str], None]
    ) -> AsyncIterator["LocalService"]:
        """Be there for requests."""
        async with anyio.create_task_group() as tasks:
            service = Service.begin(os.environ, tasks)
            client = Client(_Listening(self))
            for problem in client.configure(None, folders):
                on_problem(problem)
            self._connection = Connection(client, service)
            try:
                yield self
            finally:
                tasks.cancel_scope.cancel()
                service.registry.close()


async def _answer(connection: Connection, method: str, params: object) -> object:
    result = await HANDLERS[method](connection, params)
    await connection.service.compactor.settle()
    return result


class _Listening(Silence):
    """The port of a client that listens, but cannot be asked."""

    def __init__(self, service: LocalService) -> None:
        self._service = service

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        if self._service.hear is not None:
            self._service.hear(method, params)


@contextmanager
def local_service(
    folders: Sequence[Path], on_problem: Callable[[str], None]
) -> Iterator[LocalService]:
    """A service with these workspace folders and the user's settings.

    ``on_problem`` is told what is wrong with the settings, a line each.
    """
    with start_blocking_portal() as portal:
        running = portal.wrap_async_context_manager(LocalService(portal).run(folders, on_problem))
        service = running.__enter__()
        try:
            yield service
        finally:
            # Not told of an error: to a task group it would look like one of its own.
            running.__exit__(None, None, None)
