"""What a handler gets to see of the connection that a request came on."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from branchline.service.client import Client
from branchline.service.service import Service
from branchline.service.session import Session


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
