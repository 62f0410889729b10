"""A line in the log when the event loop was blocked: then every client has waited."""

import logging
import time
from typing import Final

import anyio

_PERIOD_SECONDS: Final = 0.5
_LATE_SECONDS: Final = 0.25
_logger = logging.getLogger(__name__)


async def watch_loop() -> None:
    """Watch, until cancelled."""
    while True:
        started = time.monotonic()
        await anyio.sleep(_PERIOD_SECONDS)
        late = time.monotonic() - started - _PERIOD_SECONDS
        if late > _LATE_SECONDS:
            _logger.warning("The event loop was blocked for %.1f seconds", late)
