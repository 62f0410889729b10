"""One request answered in this process, without a daemon: what the command line is made of."""

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio

from branchline.errors import BranchlineError
from branchline.handlers import HANDLERS
from branchline.handlers.connection import Connection
from branchline.service.client import Client, Silence
from branchline.service.jobs import Jobs
from branchline.service.registry import Registry
from branchline.service.summarising import Drafts


def run_method(
    method: str, params: object, folders: Sequence[Path], on_problem: Callable[[str], None]
) -> Any:
    """Answer one request.

    ``params`` is an instance of the method's params class; ``on_problem`` is told what is wrong
    with the settings, a line each. Raises `BranchlineError`.
    """

    async def answer() -> object:
        async with anyio.create_task_group() as tasks:
            registry = Registry(os.environ, tasks)
            client = Client(Silence())
            for problem in client.configure(None, folders):
                on_problem(problem)
            try:
                connection = Connection(client, registry, Jobs(), Drafts())
                result = await HANDLERS[method](connection, params)
            finally:
                tasks.cancel_scope.cancel()
                registry.close()
        return result

    return _run(answer)


def _run(work: Callable[[], Awaitable[Any]]) -> Any:
    """Run async work to its end; an error of ours comes out as itself."""
    try:
        return anyio.run(work)
    except BaseExceptionGroup as group:
        first = group.exceptions[0]
        if len(group.exceptions) == 1 and isinstance(first, BranchlineError):
            raise first from None
        raise
