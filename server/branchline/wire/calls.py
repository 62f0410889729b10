"""The requests being answered: one task and one cancel scope each.

A native ``task.cancel()`` would break through the shields that protect a write under way, so a
request is only ever cancelled by its scope. Every request gets exactly one answer, even when two
carry the same id.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio

from branchline.errors import BranchlineError, Cancelled, place_of
from branchline.wire.messages import (
    InternalError,
    MessageId,
    error_answer,
    result_answer,
)

CANCEL_SECONDS = 1.0
"""How long a cancelled request may take to end before nobody waits for it any more."""

Work = Callable[[], Awaitable[object]]
"""What has to be done for one request; gives the result."""

_logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Call:
    id: MessageId
    method: str
    is_cancelled: bool = False
    scope: anyio.CancelScope | None = None  # from when it runs; made in the task, as anyio asks

    def cancel(self) -> None:
        self.is_cancelled = True
        if self.scope is not None:
            self.scope.cancel()


class Calls:
    """Runs requests; ``send`` takes each answer and gives its size in bytes."""

    def __init__(self, send: Callable[[dict[str, object]], int]) -> None:
        self._send = send
        self._running: dict[asyncio.Task[bool], _Call] = {}

    def start(self, message_id: MessageId, method: str, work: Work) -> asyncio.Task[bool]:
        """Begin a request; the task tells whether it went well.

        Requests begin in the order of these calls.
        """
        call = _Call(message_id, method)
        task = asyncio.create_task(self._run(call, work), name=method)
        self._running[task] = call
        task.add_done_callback(self._running.pop)
        return task

    def cancel(self, message_id: object) -> None:
        """Take back the request with this id, if it is still running."""
        for call in self._running.values():
            if call.id == message_id and type(call.id) is type(message_id):
                call.cancel()

    async def settle(self, grace: float) -> None:
        """Wait for the requests that are running, except the one that asks.

        After ``grace`` seconds they are cancelled, after `CANCEL_SECONDS` more they are left.
        """
        others = self._running.keys() - {asyncio.current_task()}
        if not others:
            return
        _, late = await asyncio.wait(others, timeout=grace)
        for task in late:
            self._running[task].cancel()
        if late:
            _, stuck = await asyncio.wait(late, timeout=CANCEL_SECONDS)
            for task in stuck:
                _logger.warning("%s did not end when it was cancelled", task.get_name())

    async def _run(self, call: _Call, work: Work) -> bool:
        started = time.perf_counter()
        answer = await self._answer(call, work)
        try:
            size = self._send(answer)
        except Exception as error:  # the result is no JSON value, or is nested too deeply
            answer = error_answer(call.id, _internal_error(call.method, error))
            size = self._send(answer)
        if _logger.isEnabledFor(logging.DEBUG):
            elapsed = (time.perf_counter() - started) * 1000
            _logger.debug("%s %s: %d bytes, %.1f ms", call.method, str(call.id)[:40], size, elapsed)
        return "result" in answer

    async def _answer(self, call: _Call, work: Work) -> dict[str, object]:
        if call.is_cancelled:
            return error_answer(call.id, Cancelled())
        try:
            with anyio.CancelScope() as call.scope:
                return result_answer(call.id, await work())
        except BranchlineError as error:
            return error_answer(call.id, error)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # the loop itself is ending
            # Something that the handler waited for was cancelled: the same to the client.
        except Exception as error:
            return error_answer(call.id, _internal_error(call.method, error))
        return error_answer(call.id, Cancelled())


def _internal_error(method: str, error: Exception) -> InternalError:
    _logger.error("%s failed: %s at %s", method, type(error).__name__, place_of(error))
    return InternalError(method, error)
