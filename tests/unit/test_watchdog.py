"""The line in the log when the event loop was blocked."""

import logging
import re
import time

import anyio
import pytest

from branchline.service.watchdog import watch_loop


def test_a_blocked_loop_is_logged_with_how_long(caplog: pytest.LogCaptureFixture) -> None:
    logged = anyio.Event()

    class Told(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            logged.set()

    async def block() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch_loop)
            await anyio.lowlevel.checkpoint()
            time.sleep(1.2)  # noqa: ASYNC251 - what must never happen
            with anyio.fail_after(10):
                await logged.wait()
            tasks.cancel_scope.cancel()

    logger = logging.getLogger("branchline.service.watchdog")
    handler = Told()
    logger.addHandler(handler)
    try:
        anyio.run(block)
    finally:
        logger.removeHandler(handler)
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert re.fullmatch(r"The event loop was blocked for \d+\.\d seconds", record.getMessage())


def test_a_free_loop_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def rest() -> None:
        with anyio.move_on_after(0.6):
            await watch_loop()

    anyio.run(rest)
    assert caplog.records == []
