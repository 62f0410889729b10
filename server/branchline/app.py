"""Composition: the service, the handlers and a connection put together into a program."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from branchline.handlers import HANDLERS
from branchline.handlers.connection import Connection
from branchline.service.client import Client
from branchline.service.registry import Registry
from branchline.wire.server import BranchlineServer, serve_connection
from branchline.wire.transport import Transport


class ClientConnection:
    """One client of the daemon: its server object, and what its life means to the service."""

    def __init__(self, registry: Registry, transport: Transport, *, watch_parent: bool) -> None:
        self._registry = registry
        self._client = Client(self._notify)
        connection = Connection(self._client, registry)
        self.server = BranchlineServer(
            {method: partial(handler, connection) for method, handler in HANDLERS.items()},
            self,
            transport,
            watch_parent=watch_parent,
        )

    async def initialize(
        self,
        initialization_options: object,
        folders: list[str],
        capabilities: Mapping[str, Any],
    ) -> None:
        """Take over the client's settings and folders."""
        self._say(self._client.configure(initialization_options, list(map(Path, folders))))

    def folders_changed(self, folders: list[str]) -> None:
        """Take over new folders."""
        self._say(self._client.move_to(list(map(Path, folders))))

    def configuration_changed(self, settings: object) -> None:
        """Take over new settings."""
        self._say(self._client.configure(settings))

    def closed(self) -> None:
        """End the client's subscriptions."""
        self._registry.leave(self._client)

    def _notify(self, method: str, params: Mapping[str, Any]) -> None:
        self.server.notify(method, params)

    def _say(self, problems: Sequence[str]) -> None:
        for problem in problems:
            self.server.show_message("warning", problem)


async def serve_stdio(transport: Transport) -> int:
    """Serve one client on a transport; give the exit code of the process."""
    async with anyio.create_task_group() as tasks:
        registry = Registry(os.environ, tasks)
        try:
            connection = ClientConnection(registry, transport, watch_parent=True)
            code = await serve_connection(connection.server)
        finally:
            tasks.cancel_scope.cancel()
            registry.close()
    return code
