"""JSON-RPC messages: what a decoded body is, and how an answer is written.

Only the outermost object is looked at. Params and results stay the plain values they are, so an
entry that happens to look like a message, or has keys that no attribute can have, arrives unharmed.
"""

from dataclasses import dataclass
from typing import Any, TypeGuard

from lsprotocol.types import ResponseError, ResponseErrorMessage
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
)

from branchline.codec import Json
from branchline.errors import BranchlineError

JSONRPC = "2.0"

MessageId = str | int
"""Of a request. A number is answered as the number it came as, fractions included."""

_INTERNAL_ERROR = -32603
_LARGEST_CODE = 2**31 - 1


class ParseError(BranchlineError):
    """The bytes are no frame, or its body is not JSON."""

    code = -32700
    kind = "parseError"


class InvalidRequest(BranchlineError):
    """The message is no JSON-RPC request, or comes at the wrong time."""

    code = -32600
    kind = "invalidRequest"


class NotInitialized(BranchlineError):
    """A request came before ``initialize``."""

    code = -32002
    kind = "notInitialized"

    def __init__(self) -> None:
        super().__init__("The first request must be initialize")


class MethodNotFound(BranchlineError):
    """There is no such request."""

    code = -32601
    kind = "methodNotFound"

    def __init__(self, method: str) -> None:
        shown = method[:100]
        super().__init__(f"There is no method {shown!r}", method=shown)


class InternalError(BranchlineError):
    """A fault of ours. Says which exception it was, never what the exception says."""

    code = _INTERNAL_ERROR
    kind = "internalError"

    def __init__(self, method: str, error: BaseException) -> None:
        super().__init__(f"Internal error in {method}: {type(error).__name__}")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A message that cannot be taken, and the id to answer with (None if it had none)."""

    id: MessageId | None
    error: BranchlineError


Message = (
    JsonRPCRequestMessage
    | JsonRPCNotification
    | JsonRPCResponseMessage
    | ResponseErrorMessage
    | Refusal
)


def read_message(data: Json) -> Message:
    """Tell what a decoded body is."""
    if not isinstance(data, dict):
        batch = isinstance(data, list)
        what = "batches are not taken" if batch else "a message must be an object"
        return Refusal(None, InvalidRequest(f"Invalid message: {what}"))
    if "method" not in data and ("result" in data or "error" in data):
        return _read_response(data)
    raw_id = data.get("id")
    message_id = raw_id if _is_id(raw_id) else None
    if message_id is None and "id" in data:
        return Refusal(None, InvalidRequest("Invalid message: id must be a string or a number"))
    if data.get("jsonrpc") != JSONRPC:
        return Refusal(message_id, InvalidRequest('Invalid message: jsonrpc must be "2.0"'))
    method = data.get("method")
    if not isinstance(method, str):
        return Refusal(message_id, InvalidRequest("Invalid message: method must be a string"))
    params = data.get("params")
    if message_id is None:
        return JsonRPCNotification(method, JSONRPC, params)
    return JsonRPCRequestMessage(message_id, method, JSONRPC, params)


def _read_response(data: dict[str, Any]) -> Message:
    """A response. A wrong one is taken as well as can be: answering it would help nobody."""
    error = data.get("error")
    if error is None:
        return JsonRPCResponseMessage(data.get("id", ""), JSONRPC, data.get("result"))
    facts = error if isinstance(error, dict) else {}
    code, text = facts.get("code"), facts.get("message")
    return ResponseErrorMessage(
        id=data.get("id") if _is_id(data.get("id")) else None,
        error=ResponseError(
            code=code if isinstance(code, int) and abs(code) <= _LARGEST_CODE else _INTERNAL_ERROR,
            message=text if isinstance(text, str) else "",
            data=facts.get("data"),
        ),
    )


def _is_id(value: object) -> TypeGuard[MessageId]:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def result_answer(message_id: MessageId, result: object) -> dict[str, object]:
    """The answer to a request that went well."""
    return {"jsonrpc": JSONRPC, "id": message_id, "result": result}


def error_answer(message_id: MessageId | None, error: BranchlineError) -> dict[str, object]:
    """The answer to a request that did not; the id is None if the request had no readable one."""
    body = {"code": error.code, "message": error.message, "data": error.data}
    return {"jsonrpc": JSONRPC, "id": message_id, "error": body}
