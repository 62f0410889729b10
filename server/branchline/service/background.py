"""Work that nobody waits for: what goes wrong in it is logged, and harms nobody else."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVarTuple, Unpack

from branchline.errors import place_of

Arguments = TypeVarTuple("Arguments")
_logger = logging.getLogger(__name__)


async def in_background(
    work: Callable[[Unpack[Arguments]], Awaitable[object]], *arguments: *Arguments
) -> bool:
    """Do it to its end, whatever that is; give whether it went well."""
    try:
        await work(*arguments)
    except Exception as error:
        name = getattr(work, "__qualname__", "work")
        _logger.error("%s failed: %s at %s", name, type(error).__name__, place_of(error))
        return False
    return True
