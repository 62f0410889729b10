"""What all commands share: asking, naming a session, and failing clearly."""

import os
import signal
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from branchline import codec
from branchline.cli.busy import busy_sign
from branchline.cli.output import print_json, say
from branchline.errors import BranchlineError, NotFound

if TYPE_CHECKING:
    from branchline.local import LocalService

_EXIT_CODES: Final = {
    "invalidParams": 2,
    "invalidEntry": 2,
    "notFound": 3,
    "invalidSession": 3,
    "readOnly": 4,
    "leafChanged": 4,
    "fileChanged": 4,
    "storage": 5,
    "cancelled": 130,
}

session_argument = click.argument("session", required=False)
as_json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


def reports_errors(command: Callable[..., None]) -> Callable[..., None]:
    """End a command that fails with one line on stderr and an exit code that says why."""

    @wraps(command)
    def reporting(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except BranchlineError as error:
            if kwargs.get("as_json"):
                failure = {"code": error.code, "message": error.message, "data": error.data}
                print_json({"error": failure}, err=True)
            else:
                say(f"branchline: {error.message}")
            sys.exit(_EXIT_CODES.get(error.kind, 1))
        except KeyboardInterrupt:
            say("branchline: Cancelled: nothing was stored")
            sys.exit(_EXIT_CODES["cancelled"])
        except BrokenPipeError:
            # The reader (head, a pager) has seen enough; keep Python from complaining at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)

    return reporting


def ask(method: str, on_answer: Callable[[str], None] | None = None, **params: Any) -> Any:
    """The result of one method; ``params`` are the fields of its params class.

    ``on_answer`` is told the pieces of the answer to a prompt, if the session is open.
    """
    from branchline.wire.methods import METHODS

    service = _service()
    with busy_sign(service, on_answer):
        return service.ask(method, METHODS[method].params(**params))


def decoded(result: Any) -> Any:
    """A result whose entries can be looked into: they come as the text that is in the file."""
    return codec.decode(codec.encode(result))


def edited(text: str) -> str:
    """What a person makes of a text in their editor; ends the command if nothing is left of it."""
    editor_decides = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        changed = click.edit(text, extension=".md", require_save=False)
    finally:
        signal.signal(signal.SIGINT, editor_decides)
    if not (changed or "").strip():
        say("branchline: The text is blank: nothing was stored")
        sys.exit(1)
    return changed or ""


def _service() -> "LocalService":
    """The one that answers all that this command asks; it ends with the command."""
    from branchline.local import LocalService, local_service

    context = click.get_current_context()
    if not isinstance(context.obj, LocalService):
        context.obj = context.with_resource(local_service([Path.cwd()], _say_problem))
    return context.obj


def _say_problem(problem: str) -> None:
    say(f"branchline: {problem}")


def named(session: str | None) -> str:
    """What the service is to open: a path made absolute, an id, or this folder's newest session."""
    if session is None:
        newest = ask("session/list", scope="workspace", limit=1)["sessions"]
        if not newest:
            raise NotFound("There is no session of this folder: name one by its path or id")
        path: str = newest[0]["path"]
        return path
    if "/" in session or session.endswith(".jsonl"):
        return str(Path(session).absolute())
    return session


def split_session(arguments: tuple[str, ...], count: int, usage: str) -> tuple[str, list[str]]:
    """The session and the ``count`` arguments behind it; the session may be left out."""
    short = len(arguments) == count and _is_session_path(arguments[0])
    if short or not count <= len(arguments) <= count + 1:
        raise click.UsageError(f"wanted: {usage}")
    session = arguments[0] if len(arguments) > count else None
    return named(session), list(arguments[len(arguments) - count :])


def _is_session_path(argument: str) -> bool:
    return argument.endswith(".jsonl") or ("/" in argument and Path(argument).is_file())
