"""Work that nobody waits for."""

import logging

import anyio
import pytest

from branchline.service.background import in_background


def test_what_goes_wrong_is_logged_and_ends_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail(secret: str) -> None:
        raise ValueError(secret)

    async def succeed() -> None:
        await anyio.lowlevel.checkpoint()

    async def work() -> tuple[bool, bool]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(in_background, fail, "sk-test")
        return await in_background(fail, "sk-test"), await in_background(succeed)

    with caplog.at_level(logging.INFO):
        assert anyio.run(work) == (False, True)
    assert len(caplog.records) == 2
    assert "fail failed: ValueError at " in caplog.text
    assert "sk-test" not in caplog.text


def test_what_is_cancelled_ends() -> None:
    async def work() -> None:
        with anyio.move_on_after(0) as scope:
            await in_background(anyio.sleep_forever)
        assert scope.cancelled_caught

    anyio.run(work)
