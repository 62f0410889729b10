"""What a handler gets to see of the connection that a request came on."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from branchline import codec
from branchline.errors import InvalidParams
from branchline.service.client import Client
from branchline.service.service import Service
from branchline.service.session import Session

_MAX_PATH: Final = 4096  # no system that we run on opens longer ones


@dataclass(frozen=True, slots=True)
class Connection:
    """The client that asks, the sessions it asks of, and the work under way in them."""

    client: Client
    service: Service

    async def session(self, named: str) -> Session:
        """The session a request names. Raises `NotFound` and what opening raises."""
        return await self.service.registry.find(self.client, named)


Handler = Callable[[Connection, Any], Awaitable[object]]
"""A handler; its params are the dataclass that `wire.methods` names for the method."""


def absolute_path(path: str | None, parameter: str) -> Path | None:
    """The path that a parameter names, if it does. Raises `InvalidParams` if it is not absolute."""
    if path is None:
        return None
    is_absolute = path.startswith("/") and "\x00" not in path
    if not is_absolute or len(path) > _MAX_PATH or codec.clean_text(path) != path:
        raise InvalidParams(parameter, "must be an absolute path")
    return Path(path)
