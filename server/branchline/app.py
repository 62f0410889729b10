"""Composition: the service, the handlers and a connection put together into a program."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from branchline.handlers import HANDLERS
from branchline.handlers.connection import Connection
from branchline.service.client import Client, ClientFailure, Progress
from branchline.service.service import Service
from branchline.wire.server import BranchlineServer, ClientError, serve_connection
from branchline.wire.transport import Transport


class ClientConnection:
    """One client of the daemon: its server object, and what its life means to the service.

    It is the service's `Port` to that client.
    """

    def __init__(
        self,
        service: Service,
        transport: Transport,
        *,
        watch_parent: bool,
    ) -> None:
        self._registry = service.registry
        self._client = Client(self)
        connection = Connection(self._client, service)
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
        client_name: str | None,
    ) -> None:
        """Take over the client's settings, folders, and what it offers."""
        self._client.name = client_name
        self._client.take_offer(capabilities)
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

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell the client something."""
        self.server.notify(method, params)

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """Ask the client something."""
        try:
            return await self.server.ask(method, params)
        except ClientError as error:
            raise ClientFailure(method) from error

    def warn(self, text: str) -> None:
        """Show a person one line."""
        self.server.show_message("warning", text)

    def begin_progress(
        self, token: str | int, title: str, on_cancel: Callable[[], object], *, measured: bool
    ) -> Progress:
        """Show the client the progress of work."""
        return self.server.begin_progress(token, title, on_cancel, measured=measured)

    def _say(self, problems: Sequence[str]) -> None:
        for problem in problems:
            self.warn(problem)


async def serve_stdio(transport: Transport) -> int:
    """Serve one client on a transport; give the exit code of the process."""
    async with anyio.create_task_group() as tasks:
        service = Service.begin(os.environ, tasks)
        try:
            connection = ClientConnection(service, transport, watch_parent=True)
            code = await serve_connection(connection.server)
        finally:
            tasks.cancel_scope.cancel()
            service.registry.close()
    return code
