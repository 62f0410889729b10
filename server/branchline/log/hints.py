"""Hints that files below some folders were changed, as quickly as the system tells.

A hint is no truth: it may be missing, late or about nothing. Whoever follows a file looks at the
file itself, at every hint and at the latest after each pause.
"""

import logging
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Final

import anyio

NO_EVENTS: Final = "BRANCHLINE_NO_EVENTS"
"""Variable that switches the system's events off: files are looked at after each pause only."""
_TOGETHER_MS: Final = 50
"""Changes within so many milliseconds come as one hint."""
_logger = logging.getLogger(__name__)


async def hints(
    folders: Collection[Path], pause_seconds: float, environment: Mapping[str, str]
) -> AsyncGenerator[set[Path]]:
    """Paths that may have changed, at each change and after each pause: then there may be none.

    ``folders`` are real paths of folders, watched with all below them. Where the system gives no
    events, there are only the pauses.
    """
    if folders and not environment.get(NO_EVENTS):
        try:
            async with aclosing(_events(folders, pause_seconds)) as events:
                async for paths in events:
                    yield paths
        except (OSError, RuntimeError) as error:
            # Too many watches, or a folder that went away just now.
            _logger.warning("No events for %d folders: %s", len(folders), type(error).__name__)
    while True:
        await anyio.sleep(pause_seconds)
        yield set()


async def _events(folders: Collection[Path], pause_seconds: float) -> AsyncGenerator[set[Path]]:
    from watchfiles import DefaultFilter, awatch

    class Sessions(DefaultFilter):
        """Whatever may be a session, in folders of any name."""

        def __call__(self, change: object, path: str) -> bool:
            return path.endswith(".jsonl")

    changes = awatch(
        *folders,
        watch_filter=Sessions(),
        debounce=_TOGETHER_MS * 4,
        step=_TOGETHER_MS,
        rust_timeout=round(pause_seconds * 1000),
        yield_on_timeout=True,
        raise_interrupt=False,
        ignore_permission_denied=True,
    )
    async for found in changes:
        yield {Path(path) for _, path in found}
