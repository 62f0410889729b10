"""JSON-RPC and the LSP lifecycle over pygls, for one connection.

pygls gives the message classes, the feature table, ``initialize``, the workspace folders and
progress. This subclass replaces everything between the bytes and a handler: what a message is, who
answers it, how it is encoded, and when the connection ends. No message body is ever logged.
"""

import asyncio
import logging
import uuid
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from cattrs import Converter
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
    LanguageServerProtocol,
)
from pygls.uris import from_fs_path

from branchline import codec
from branchline.errors import BranchlineError, place_of
from branchline.wire.calls import CANCEL_SECONDS, Calls, Work
from branchline.wire.framing import Event, Malformed, frame
from branchline.wire.lifecycle import Folder, FoldersParams, InitializeParams, State, path_of
from branchline.wire.messages import (
    JSONRPC,
    InvalidRequest,
    Message,
    MessageId,
    MethodNotFound,
    NotInitialized,
    ParseError,
    Refusal,
    error_answer,
    read_message,
)
from branchline.wire.methods import METHODS, NOTIFICATIONS, PROTOCOL_VERSION
from branchline.wire.params import parse_params
from branchline.wire.parent import watch_process

if TYPE_CHECKING:
    from branchline.wire.server import BranchlineServer

_GRACE_SECONDS = 1.0
"""How long running requests may go on when the connection is ending, before they are cancelled."""

_REQUESTS = frozenset({types.INITIALIZE, types.SHUTDOWN})
"""The built-in features that are requests; the others are notifications."""

_ALWAYS_HEARD = frozenset({types.EXIT, types.CANCEL_REQUEST})
"""Notifications that are not held back while ``initialize`` runs."""

_logger = logging.getLogger(__name__)

# pygls logs whole messages, at several levels; no setting of ours may ever let them through.
logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)


class BranchlineProtocol(LanguageServerProtocol):
    """One client's messages. Made by `BranchlineServer`; needs a running loop once used."""

    _server: "BranchlineServer"

    def __init__(self, server: "BranchlineServer", converter: Converter) -> None:
        self.state = State.NEW
        self.exited = False
        """Whether the client said ``exit``."""
        self._calls = Calls(self._send_data)
        self._deferred: list[JsonRPCRequestMessage | JsonRPCNotification] = []
        self._parent_watch: asyncio.Task[None] | None = None
        self._has_left = False
        super().__init__(server, converter)

    def _register_builtin_features(self) -> None:
        # Not pygls's own list: it takes in text documents, which nobody here wants to be sent.
        features: dict[str, Callable[[Any], object]] = {
            types.INITIALIZE: self._initialize,
            types.INITIALIZED: _ignore,
            types.SHUTDOWN: self._shut_down,
            types.EXIT: self._exit,
            types.CANCEL_REQUEST: self._cancel,
            types.SET_TRACE: _ignore,
            types.WORKSPACE_DID_CHANGE_CONFIGURATION: self._change_configuration,
            types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: self._change_folders,
            types.WINDOW_WORK_DONE_PROGRESS_CANCEL: self._cancel_progress,
        }
        for name, feature in features.items():
            self.fm.add_builtin_feature(name, feature)

    # --- coming in ---------------------------------------------------------------------------

    def receive(self, event: Event) -> None:
        """Take what the framer found; nothing more after ``exit``. Never raises, never waits."""
        if self.exited:
            return
        if isinstance(event, Malformed):
            self._refuse(None, ParseError(f"Not a message: {event.reason}"))
            return
        try:
            data = codec.decode(event.body)
        except codec.DecodeError:
            size = len(event.body)
            self._refuse(None, ParseError(f"A message of {size} bytes is not valid JSON"))
            return
        self.handle_message(self.structure_message(data))

    def structure_message(self, data: Any) -> Message:
        """Tell what a decoded body is. Unlike pygls's hook it sees the outermost object only."""
        return read_message(data)

    def handle_message(self, message: Any) -> None:
        """Give one message to whom it concerns."""
        match message:
            case JsonRPCRequestMessage() if self.state is State.INITIALIZING:
                self._deferred.append(message)
            case JsonRPCRequestMessage():
                self._handle_request(message.id, message.method, message.params)
            case JsonRPCNotification() if (
                self.state is State.INITIALIZING and message.method not in _ALWAYS_HEARD
            ):
                self._deferred.append(message)
            case JsonRPCNotification():
                self._handle_notification(message.method, message.params)
            case JsonRPCResponseMessage():
                self._handle_response(message.id, message.result)
            case types.ResponseErrorMessage():
                self._handle_response(message.id, None, message.error)
            case Refusal():
                self._refuse(message.id, message.error)

    def _handle_request(self, msg_id: MessageId, method_name: str, params: Any) -> None:
        try:
            work = self._work(method_name, params)
        except BranchlineError as error:
            self._refuse(msg_id, error)
            return
        task = self._calls.start(msg_id, method_name, work)
        if method_name == types.INITIALIZE:
            self.state = State.INITIALIZING
            task.add_done_callback(self._end_initialize)
        elif method_name == types.SHUTDOWN:
            self.state = State.SHUT_DOWN

    def _work(self, method: str, params: object) -> Work:
        """What a request asks for. Raises if it may not be asked, or not now."""
        if self.state is State.SHUT_DOWN:
            raise InvalidRequest("The server was shut down: only exit is left")
        if method == types.INITIALIZE:
            if self.state is not State.NEW:
                raise InvalidRequest("The server is already initialized")
        elif self.state is State.NEW:
            raise NotInitialized
        if method in _REQUESTS:
            feature = self.fm.builtin_features[method]
            return lambda: feature(params)
        handler = self.fm.features.get(method)
        if handler is None:
            raise MethodNotFound(method)
        return lambda: handler(parse_params(METHODS[method].params, params))

    def _handle_notification(self, method_name: str, params: Any) -> None:
        feature = self.fm.builtin_features.get(method_name)
        if feature is None or method_name in _REQUESTS:
            _logger.debug("Ignored the notification %s", method_name[:100])
            return
        if self.state is not State.READY and method_name not in _ALWAYS_HEARD:
            return  # before initialize and after shutdown there is nothing to notify
        try:
            feature(params)
        except BranchlineError as error:
            _logger.warning("Ignored %s: %s", method_name, error.message)
        except Exception as error:
            name = type(error).__name__
            _logger.error("%s failed: %s at %s", method_name, name, place_of(error))

    def _handle_response(
        self,
        msg_id: Any,
        result: Any | None = None,
        error: types.ResponseError | None = None,
    ) -> None:
        """Hand the client's answer to whoever waits. One that nobody waits for is dropped."""
        if not isinstance(msg_id, str | int):
            return
        future = self._request_futures.pop(msg_id, None)
        result_type = self._result_types.pop(msg_id, None)
        if future is None or not future.set_running_or_notify_cancel():
            _logger.debug("Ignored an answer that nobody waits for")
        elif error is not None:
            future.set_exception(JsonRpcException.from_error(error))
        else:
            self._resolve(future, result, result_type)

    def _resolve(self, future: "Future[Any]", result: object, result_type: Any) -> None:
        if result_type is None:
            future.set_result(result)
            return
        try:
            answer = {"id": 0, "jsonrpc": JSONRPC, "result": result}
            value = self._converter.structure(answer, result_type).result
        except Exception as error:  # whatever a hook of the converter stumbles over
            name = type(error).__name__
            future.set_exception(JsonRpcInternalError(f"The client's answer is wrong: {name}"))
        else:
            future.set_result(value)

    # --- going out ---------------------------------------------------------------------------

    def notify(self, method: str, params: Any | None = None) -> None:
        """Send a notification. It leaves before any answer that is sent later."""
        self._send_data({"jsonrpc": JSONRPC, "method": method, "params": self._plain(params)})

    def send_request(
        self,
        method: str,
        params: Any | None = None,
        callback: Callable[[Any], None] | None = None,
        msg_id: MessageId | None = None,
    ) -> "Future[Any]":
        """Ask the client. ``callback`` gets the result, if there is one."""

        def call_back(done: "Future[Any]") -> None:
            if callback is not None and not done.cancelled() and done.exception() is None:
                callback(done.result())

        message_id = str(uuid.uuid4()) if msg_id is None else msg_id
        future: Future[Any] = Future()
        future.add_done_callback(call_back)
        self._request_futures[message_id] = future
        self._result_types[message_id] = self.get_result_type(method)
        body = {"id": message_id, "method": method, "params": self._plain(params)}
        if self._has_left:
            _leave_unanswered(future)
        else:
            self._send_data({"jsonrpc": JSONRPC, **body})
        return future

    def get_message_type(  # type: ignore[override] # pygls's is wrapped in its cache
        self, method: str
    ) -> type[Any] | None:
        """The class of a message. Not cached: pygls's cache would keep this object for ever."""
        return types.METHOD_TO_TYPES.get(method, (None,))[0]

    def get_result_type(  # type: ignore[override] # as above
        self, method: str
    ) -> type[Any] | None:
        """The class of the answer to a request; see `get_message_type`."""
        return types.METHOD_TO_TYPES.get(method, (None, None))[1]

    def _send_data(self, data: Any) -> int:
        """Encode and queue one message; give the size of its body in bytes."""
        body = codec.encode(data)
        self._server.transport.write(frame(body))
        return len(body)

    def _refuse(self, message_id: MessageId | None, error: BranchlineError) -> None:
        _logger.debug("Refused a message: %s", error.kind)
        self._send_data(error_answer(message_id, error))

    def _plain(self, params: Any) -> Any:
        """Params as a JSON value: ours already are one, lsprotocol's are objects."""
        return self._converter.unstructure(params) if hasattr(params, "__attrs_attrs__") else params

    # --- lifecycle ---------------------------------------------------------------------------

    async def _initialize(self, raw: object) -> object:
        params = parse_params(InitializeParams, raw)
        folders = params.workspace_folders
        if folders is None:
            root = params.root_uri or (params.root_path and from_fs_path(params.root_path))
            folders = [Folder(uri=root)] if root else []
        result = _finish(
            super().lsp_initialize(
                types.InitializeParams(
                    # Ours is no text service: none of the client's many capabilities matter.
                    capabilities=types.ClientCapabilities(),
                    process_id=params.process_id,
                    workspace_folders=[
                        types.WorkspaceFolder(uri=folder.uri, name=folder.name)
                        for folder in folders
                    ],
                )
            )
        )
        options = raw.get("initializationOptions") if isinstance(raw, dict) else None
        name = (params.client_info or {}).get("name")
        await self._server.lifecycle.initialize(
            options,
            self.folders(),
            params.capabilities,
            name if isinstance(name, str) else None,
        )
        if self._server.watch_parent and params.process_id is not None:
            self._parent_watch = asyncio.create_task(self._leave_with(params.process_id))
        return self._converter.unstructure(self._with_our_capabilities(result))

    def _with_our_capabilities(self, result: types.InitializeResult) -> types.InitializeResult:
        capabilities = result.capabilities
        capabilities.text_document_sync = None
        capabilities.execute_command_provider = None
        capabilities.experimental = {
            "branchline": {
                "protocolVersion": PROTOCOL_VERSION,
                "methods": sorted(self.fm.features),
                "notifications": sorted(NOTIFICATIONS),
            }
        }
        return result

    def _end_initialize(self, task: "asyncio.Task[bool]") -> None:
        """After the answer to ``initialize``: take what came meanwhile, in its order."""
        went_well = not task.cancelled() and task.result()
        self.state = State.READY if went_well else State.NEW
        deferred, self._deferred = self._deferred, []
        for message in deferred:
            self.handle_message(message)

    async def _shut_down(self, _params: object) -> None:
        await self._calls.settle(_GRACE_SECONDS)

    def _exit(self, _params: object) -> None:
        self.exited = True

    async def _leave_with(self, process_id: int) -> None:
        if await watch_process(process_id):
            _logger.info("The client's process %d has ended", process_id)
            self._server.transport.abort()

    async def finish(self) -> None:
        """The connection is over: end what is still running. Takes at most four seconds."""
        if self._parent_watch is not None:
            self._parent_watch.cancel()
        if self.state is State.INITIALIZING:
            await self._calls.settle(_GRACE_SECONDS)  # then what waited behind it begins
        if self._server.transport.is_over:
            grace = 0.0  # nobody will see an answer
        elif self.state is State.SHUT_DOWN:
            grace = _GRACE_SECONDS + CANCEL_SECONDS  # shutdown may itself be waiting for others
        else:
            grace = _GRACE_SECONDS
        await self._calls.settle(grace)
        self._has_left = True
        # What asks may be work that goes on without the client.
        for future in list(self._request_futures.values()):
            _leave_unanswered(future)

    # --- other notifications -----------------------------------------------------------------

    def _cancel(self, params: object) -> None:
        if isinstance(params, dict):
            self._calls.cancel(params.get("id"))

    def _cancel_progress(self, params: object) -> None:
        token = params.get("token") if isinstance(params, dict) else None
        future = self.progress.tokens.get(token) if isinstance(token, str | int) else None
        if future is not None:
            future.cancel()

    def _change_configuration(self, params: object) -> None:
        settings = params.get("settings") if isinstance(params, dict) else None
        try:
            self._server.lifecycle.configuration_changed(settings)
        except BranchlineError as error:
            self._server.show_message("error", error.message)

    def _change_folders(self, raw: object) -> None:
        event = parse_params(FoldersParams, raw).event
        for folder in event.removed:
            self.workspace.remove_folder(folder.uri)
        for folder in event.added:
            self.workspace.add_folder(types.WorkspaceFolder(uri=folder.uri, name=folder.name))
        self._server.lifecycle.folders_changed(self.folders())

    def folders(self) -> list[str]:
        """The absolute paths of the workspace folders, in the order they were added."""
        paths = (path_of(folder.uri) for folder in self.workspace.folders.values())
        return [path for path in paths if path is not None]


def _finish(steps: Generator[Any, Any, types.InitializeResult]) -> types.InitializeResult:
    """Run one of pygls's built-in features, which only pause for handlers that are not there."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            result: types.InitializeResult = stop.value
            return result


def _ignore(_params: object) -> None:
    """A notification that needs nothing done."""


def _leave_unanswered(future: "Future[Any]") -> None:
    if future.set_running_or_notify_cancel():
        future.set_exception(JsonRpcInternalError("The client has left"))
