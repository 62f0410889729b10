"""What all commands share: asking, naming a session, printing safely, and failing clearly."""

import os
import re
import sys
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any, Final

import click

from branchline import codec
from branchline.errors import BranchlineError, NotFound

_UNPRINTABLE: Final = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_EXIT_CODES: Final = {
    "invalidParams": 2,
    "invalidEntry": 2,
    "notFound": 3,
    "invalidSession": 3,
    "readOnly": 4,
    "leafChanged": 4,
    "fileChanged": 4,
    "storage": 5,
}

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
        except BrokenPipeError:
            # The reader (head, a pager) has seen enough; keep Python from complaining at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)

    return reporting


def ask(method: str, **params: Any) -> Any:
    """The result of one method; ``params`` are the fields of its params class."""
    from branchline.local import run_method
    from branchline.wire.methods import METHODS

    with _busy_sign():
        return run_method(method, METHODS[method].params(**params), [Path.cwd()], _say_once)


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


@cache
def _say_once(problem: str) -> None:
    """A command may ask several times; the settings are wrong once."""
    say(f"branchline: {problem}")


def printable(text: str) -> str:
    """The text without anything that a terminal would obey, line ends and tabs excepted."""
    kept = "".join(one for one in text if one in "\n\t" or one >= " ")
    return codec.clean_text(_UNPRINTABLE.sub("", kept))


def say(text: str) -> None:
    """Print a line beside the result, on stderr."""
    click.echo(printable(text), err=True)


def show(text: str) -> None:
    """Print what may hold session text."""
    click.echo(printable(text))


def print_json(result: object, *, err: bool = False) -> None:
    """Print a result as one line of JSON."""
    text = codec.encode(result).decode()
    click.echo(_UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text), err=err)


def width() -> int:
    """The terminal's width in cells."""
    from shutil import get_terminal_size

    return get_terminal_size((100, 24)).columns


def has_unicode() -> bool:
    """Whether the terminal takes more than ASCII."""
    return "utf" in (sys.stdout.encoding or "").lower()


def _busy_sign() -> Any:
    """A bar and a clock on stderr while something takes long; nothing where nobody looks."""
    from contextlib import nullcontext

    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    progress.add_task("Reading sessions", total=None)
    return progress
