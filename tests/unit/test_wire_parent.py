"""Waiting for the end of another process."""

import asyncio
import os
import subprocess
import sys

import pytest

from branchline.wire import parent
from branchline.wire.parent import watch_process


@pytest.mark.parametrize("has_handles", [True, False])
def test_the_end_of_a_process_is_noticed(
    has_handles: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_handles:  # as on macOS
        monkeypatch.delattr(os, "pidfd_open")
        monkeypatch.setattr(parent, "_POLL_SECONDS", 0.01)

    async def watch() -> bool:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "input()", stdin=subprocess.PIPE
        )
        watching = asyncio.create_task(watch_process(process.pid))
        await asyncio.sleep(0)
        assert not watching.done()
        process.kill()
        await process.wait()
        async with asyncio.timeout(20):
            return await watching

    assert asyncio.run(watch())


@pytest.mark.parametrize("pid", [0, -1, 2**22 + 1, 2**40])
def test_there_is_nothing_to_wait_for(pid: int) -> None:
    assert not asyncio.run(watch_process(pid))
