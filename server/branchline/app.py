"""Composition: the service, the handlers and a connection put together into a program."""

import gc
import os
import resource
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio

from branchline.handlers import HANDLERS
from branchline.handlers.connection import Connection
from branchline.service.client import Client, ClientFailure, Progress
from branchline.service.service import Service
from branchline.service.watchdog import watch_loop
from branchline.wire.daemon_socket import DaemonSocket
from branchline.wire.hello import Hello, travels
from branchline.wire.listener import Listener
from branchline.wire.server import BranchlineServer, ClientError, serve_connection
from branchline.wire.transport import ForwardedTransport, Transport

_TURN_SECONDS: Final = 0.0005
"""How long a thread may keep the interpreter while others wait: a tenth of Python's default, so
that a request does not wait 5 ms for a thread that reads a file in the background."""


class ClientConnection:
    """One client of the daemon: its server object, and what its life means to the service.

    It is the service's `Port` to that client.
    """

    def __init__(
        self,
        service: Service,
        transport: Transport,
        hello: Hello | None = None,
        *,
        watch_parent: bool = False,
    ) -> None:
        """Bind the service to a client. Without ``hello`` its environment and cwd are ours."""
        self._service = service
        self._hello = hello
        self.client = Client(
            self, hello.environment if hello else None, Path(hello.cwd) if hello else None
        )
        connection = Connection(self.client, service)
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
        self.client.name = client_name
        self.client.take_offer(capabilities)
        self._say(self.client.configure(initialization_options, list(map(Path, folders))))

    def folders_changed(self, folders: list[str]) -> None:
        """Take over new folders."""
        self._say(self.client.move_to(list(map(Path, folders))))

    def configuration_changed(self, settings: object) -> None:
        """Take over new settings."""
        self._say(self.client.configure(settings))

    def closed(self) -> None:
        """End the client's subscriptions."""
        self._service.leave(self.client)

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
        for problem in (*problems, *self._key_out_of_reach()):
            self.warn(problem)

    def _key_out_of_reach(self) -> Iterator[str]:
        """Keys that the settings name and that cannot have come with the client."""
        settings = self.client.settings
        named = {settings.summarizer.api_key_env, settings.prompt.api_key_env}
        named |= {model.api_key_env for model in settings.models.values() if model.api_key_env}
        for variable in sorted(named):
            if self._hello is not None and not travels(variable):
                yield (
                    f"The variable {variable} does not reach the shared daemon: "
                    "use one whose name ends with _API_KEY"
                )


async def serve_stdio(transport: Transport) -> int:
    """Serve one client on a transport; give the exit code of the process."""
    async with _service(os.environ) as service:
        connection = ClientConnection(service, transport, watch_parent=True)
        code = await serve_connection(connection.server)
    return code


async def serve_shared(
    own_socket: DaemonSocket, idle_seconds: float, about: Mapping[str, Any]
) -> None:
    """Serve everybody who comes to a socket, until it is time to leave; see `Listener`.

    ``about``: what ``branchline status`` shows besides clients, sessions and resources.
    """
    started = time.monotonic()
    present: dict[ClientConnection, Hello] = {}
    async with _service(os.environ) as service:

        async def serve(transport: ForwardedTransport, hello: Hello) -> None:
            connection = ClientConnection(service, transport, hello)
            present[connection] = hello
            try:
                await serve_connection(connection.server)
            finally:
                del present[connection]

        def describe() -> dict[str, Any]:
            return {
                **about,
                "uptimeSeconds": round(time.monotonic() - started),
                "memoryBytes": _memory_bytes(),
                "clients": [
                    {"pid": hello.pid, "name": connection.client.name, "cwd": hello.cwd}
                    for connection, hello in present.items()
                ],
                "sessions": [
                    {
                        "id": session.header.id,
                        "path": str(session.path),
                        "clients": len(session.subscribers),
                    }
                    for session in service.registry.sessions
                ],
            }

        await Listener(own_socket, serve, describe, idle_seconds).run()


@asynccontextmanager
async def _service(environment: Mapping[str, str]) -> AsyncIterator[Service]:
    """What all clients of a daemon share, as long as it lives."""
    sys.setswitchinterval(_TURN_SECONDS)
    gc.freeze()  # the modules stay: no collection need look at them, which takes 20 ms each time
    async with anyio.create_task_group() as tasks:
        service = Service.begin(environment, tasks)
        try:
            tasks.start_soon(service.watcher.run)
            tasks.start_soon(watch_loop)
            yield service
        finally:
            tasks.cancel_scope.cancel()
            service.registry.close()


def _memory_bytes() -> int:
    """The memory that this process holds now; its peak where the system does not tell."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
