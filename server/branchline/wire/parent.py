"""Waits for another process to end. Never signals one."""

import asyncio
import os

_POLL_SECONDS = 1.0


async def watch_process(pid: int) -> bool:
    """Wait until the process has ended; True then.

    False at once if there is no such process: a client may live in another PID namespace, so its
    number may mean nothing here.
    """
    if pid <= 0 or not _exists(pid):
        return False
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True  # it ended since the look above
    except (AttributeError, OSError):  # not Linux; an old kernel, or a sandbox that forbids it
        while _exists(pid):  # noqa: ASYNC110 - no event tells of the end of a foreign process
            await asyncio.sleep(_POLL_SECONDS)
        return True
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(handle, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)
    return True


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True  # it is somebody else's
    except (ProcessLookupError, OverflowError):
        return False
    return True
