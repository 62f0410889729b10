"""One client: the server object that a connection gets, and the loop that serves it.

Who made the handlers and what they do is not known here; `app` binds them to this client.
"""

import asyncio
import functools
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

import anyio
from cattrs import Converter
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter

from branchline import __version__
from branchline.wire.framing import Framer
from branchline.wire.lifecycle import Lifecycle, State
from branchline.wire.methods import METHODS
from branchline.wire.protocol import BranchlineProtocol
from branchline.wire.transport import Transport

Handler = Callable[[Any], Awaitable[object]]
"""Answers one method: takes an instance of its params class, gives the result as a JSON value."""

MessageKind = Literal["error", "warning", "info"]

_MESSAGE_TYPES: Mapping[MessageKind, types.MessageType] = {
    "error": types.MessageType.Error,
    "warning": types.MessageType.Warning,
    "info": types.MessageType.Info,
}

_logger = logging.getLogger(__name__)


class ClientError(Exception):
    """The client answered a request of ours with an error."""


class WorkDone:
    """The progress of one piece of work (``$/progress``): begin, reports, and one end."""

    def __init__(
        self,
        server: "BranchlineServer",
        token: str | int,
        title: str,
        on_cancel: Callable[[], object],
        *,
        measured: bool,
    ) -> None:
        self._progress = server.work_done_progress
        self._token = token
        begin = types.WorkDoneProgressBegin(
            title=title, cancellable=True, percentage=0 if measured else None
        )
        self._progress.begin(token, begin)
        self._progress.tokens[token].add_done_callback(
            lambda future: future.cancelled() and on_cancel()
        )

    def report(self, percent: int) -> None:
        """So much is done."""
        self._progress.report(self._token, types.WorkDoneProgressReport(percentage=percent))

    def end(self) -> None:
        """It is over."""
        self._progress.tokens.pop(self._token, None)
        self._progress.end(self._token, types.WorkDoneProgressEnd())


class BranchlineServer(LanguageServer):
    """One connection's server object: never shared between clients, so answers cannot stray."""

    protocol: BranchlineProtocol

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        lifecycle: Lifecycle,
        transport: Transport,
        *,
        watch_parent: bool = False,
    ) -> None:
        """Bind ``handlers``, by method, to this connection.

        ``watch_parent``: end the connection when the process that ``initialize`` names ends.
        Raises `ValueError` for a handler of a method that is not in the table.
        """
        if unknown := handlers.keys() - METHODS.keys():
            raise ValueError(f"not in the table of methods: {sorted(unknown)}")
        self.lifecycle = lifecycle
        self.transport = transport
        self.watch_parent = watch_parent
        super().__init__(
            name="branchline",
            version=__version__,
            text_document_sync_kind=types.TextDocumentSyncKind.None_,
            protocol_cls=BranchlineProtocol,
            converter_factory=_converter,
        )
        self.protocol.fm.features.update(handlers)

    def notify(self, method: str, params: object) -> None:
        """Send one of our notifications; it arrives before any answer sent after it."""
        self.protocol.notify(method, params)

    async def ask(self, method: str, params: object) -> Any:
        """Ask the client; give its result as decoded JSON.

        Raises `ClientError` if it answers with an error. Cancelling takes the question back.
        """
        message_id = str(uuid.uuid4())
        future = self.protocol.send_request(method, params, msg_id=message_id)
        try:
            return await asyncio.wrap_future(future)
        except JsonRpcException as error:
            raise ClientError(f"{method}: {error.code}") from None
        except asyncio.CancelledError:
            self.notify(types.CANCEL_REQUEST, {"id": message_id})
            raise

    def begin_progress(
        self,
        token: str | int,
        title: str,
        on_cancel: Callable[[], object],
        *,
        measured: bool = True,
    ) -> "WorkDone":
        """Show the client that work begins, under a token that it gave.

        ``on_cancel`` is called if the person at the client ends it. ``measured``: it will be
        reported how much is done.
        """
        return WorkDone(self, token, title, on_cancel, measured=measured)

    def show_message(self, kind: MessageKind, text: str) -> None:
        """Show a line to the person at the editor (``window/showMessage``)."""
        self.window_show_message(types.ShowMessageParams(_MESSAGE_TYPES[kind], text))


async def serve_connection(server: BranchlineServer) -> int:
    """Serve until the client leaves, by ``exit``, end of input, a broken pipe or its own death.

    Gives the exit code for a process that had only this client: 0 if ``shutdown`` came first,
    else 1. Returns at most five seconds after the end. A handler that ignores cancellation, or a
    thread of its own, may still run then: a process that must be gone has to leave by `os._exit`.
    Cancelling ends the connection in the same way.
    """
    protocol, transport, framer = server.protocol, server.transport, Framer()
    try:
        while not protocol.exited and (data := await transport.read()):
            for event in framer.feed(data):
                protocol.receive(event)
    finally:
        # Shielded, so that a daemon that is stopped lets what is being written come to its end.
        with anyio.CancelScope(shield=True):
            try:
                await protocol.finish()
                code = 0 if protocol.state is State.SHUT_DOWN else 1
                await transport.close(code)
            finally:
                server.lifecycle.closed()
    _logger.info("The connection ended: %s", protocol.state.value)
    return code


@functools.cache
def _converter() -> Converter:
    """The converter of all connections: it takes 20 ms to make and keeps nothing of a client."""
    converter: Converter = default_converter()  # type: ignore[no-untyped-call] # pygls's own
    return converter
