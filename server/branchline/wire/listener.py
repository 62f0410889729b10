"""The shared daemon's end of its socket: who comes, who is there, and when it is time to leave.

It knows connections and no messages; what a client is served with is passed in.
"""

import asyncio
import json
import logging
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from anyio.abc import TaskGroup

from branchline import __version__
from branchline.errors import place_of
from branchline.wire.daemon_socket import DaemonSocket
from branchline.wire.hello import MAX_HELLO_BYTES, Hello, UnknownCaller, read_hello
from branchline.wire.transport import ForwardedTransport

ServeClient = Callable[[ForwardedTransport, Hello], Awaitable[object]]
"""Serves one client until its connection is over."""

_HELLO_SECONDS = 10.0
_FIRST_SECONDS = 5.0
"""How long the first client may take, however short the daemon stays without one afterwards."""
_PAUSE_SECONDS = 0.1

_logger = logging.getLogger(__name__)


class Listener:
    """Accepts callers until it leaves: when it is told to, or when no client was there for long."""

    def __init__(
        self,
        own_socket: DaemonSocket,
        serve_client: ServeClient,
        describe: Callable[[], Mapping[str, Any]],
        idle_seconds: float,
    ) -> None:
        """Use a socket, and close it at the end.

        ``describe`` tells what ``branchline status`` shows; ``idle_seconds`` is how long the daemon
        stays without clients.
        """
        self._clients: set[ForwardedTransport] = set()
        self._socket = own_socket
        self._serve_client = serve_client
        self._describe = describe
        self._idle_seconds = idle_seconds
        self._accepting = anyio.CancelScope()
        self._alone: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Serve callers until it is time to leave; then end every connection in good order."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.leave, f"signal {number}")
        self._socket.listening.setblocking(False)
        _logger.info("Process %d serves, version %s", os.getpid(), __version__)
        self._wait_for_a_client(max(self._idle_seconds, _FIRST_SECONDS))
        async with anyio.create_task_group() as callers:
            with self._accepting:
                await self._accept(callers)
            # From now on newcomers start a daemon of their own, which waits for the owner lock.
            self._socket.close()
            for transport in self._clients:
                transport.reason = "The daemon was stopped"
            callers.cancel_scope.cancel()

    def leave(self, reason: str) -> None:
        """Accept nobody any more, and end what is open."""
        if not self._accepting.cancel_called:
            _logger.info("Leaving: %s", reason)
            self._accepting.cancel()

    async def _accept(self, callers: TaskGroup) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(self._socket.listening)
            except OSError as error:  # such as too many open files
                _logger.error("Accepting a caller failed: %s", error.strerror)
                await anyio.sleep(_PAUSE_SECONDS)
            else:
                callers.start_soon(self._meet, connection)

    async def _meet(self, connection: socket.socket) -> None:
        """Serve one caller from its greeting to its end. Its faults are nobody else's."""
        reader, writer = await asyncio.open_unix_connection(sock=connection, limit=MAX_HELLO_BYTES)
        transport = ForwardedTransport(reader, writer)
        try:
            await self._answer(await _greeting(reader), transport)
        except UnknownCaller as error:
            _logger.info("Refused a caller: %s", error)
            transport.write(_line({"refused": str(error)}))
            await transport.close(1)
        except Exception as error:
            _logger.error("Serving failed: %s at %s", type(error).__name__, place_of(error))
        finally:
            transport.abort()

    async def _answer(self, hello: Hello, transport: ForwardedTransport) -> None:
        about: dict[str, Any] = {"pid": os.getpid(), "version": __version__}
        match hello.role:
            case "client":
                transport.write(_line(about))
                await self._serve(hello, transport)
            case "status":
                transport.write(_line({**about, **self._describe()}))
                await transport.close(0)
            case "stop":
                transport.write(_line(about))
                await transport.close(0)
                self.leave(f"process {hello.pid} asked for it")

    async def _serve(self, hello: Hello, transport: ForwardedTransport) -> None:
        _logger.info("Process %d has come", hello.pid)
        self._clients.add(transport)
        self._stop_waiting()
        try:
            await self._serve_client(transport, hello)
        finally:
            self._clients.remove(transport)
            if not self._clients:
                self._wait_for_a_client(self._idle_seconds)
            _logger.info("Process %d has gone", hello.pid)

    def _wait_for_a_client(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._alone = loop.call_later(seconds, self.leave, f"no client for {seconds:g} s")

    def _stop_waiting(self) -> None:
        if self._alone is not None:
            self._alone.cancel()
            self._alone = None


async def _greeting(reader: asyncio.StreamReader) -> Hello:
    """The caller behind a connection. Raises `UnknownCaller`."""
    try:
        with anyio.fail_after(_HELLO_SECONDS):
            line = await reader.readuntil()
    except (EOFError, asyncio.LimitOverrunError, TimeoutError, OSError) as error:
        raise UnknownCaller(f"there is no greeting ({type(error).__name__})") from None
    return read_hello(line)


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"
