"""The command line. Each command is one method of the daemon, answered in this process.

``--json`` prints the method's result as it is; otherwise it is drawn for a person. Session text is
hostile: no control character in it reaches the terminal.
"""

import logging
import os
import re
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final

import click

from branchline import __version__, codec
from branchline.errors import BranchlineError, NotFound

_UNPRINTABLE: Final = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_FILTERS: Final = ("default", "noTools", "userOnly", "labeledOnly", "all")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="branchline")
def main() -> None:
    """Look after the conversations of coding agents: list them, draw their trees, serve them."""


def _reports_errors(command: Callable[..., None]) -> Callable[..., None]:
    @wraps(command)
    def reporting(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except BranchlineError as error:
            click.echo(f"branchline: {printable(error.message)}", err=True)
            sys.exit(1)
        except BrokenPipeError:
            # The reader (head, a pager) has seen enough; keep Python from complaining at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)

    return reporting


_session = click.argument("session", required=False)
_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


@main.command(name="list")
@click.argument("words", nargs=-1)
@click.option("--all", "everywhere", is_flag=True, help="Of all folders, not only of this one.")
@click.option("--named", is_flag=True, help="Only sessions that have a name.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 10_000))
@_json
@_reports_errors
def list_command(
    words: tuple[str, ...], everywhere: bool, named: bool, limit: int, as_json: bool
) -> None:
    """List the sessions of this folder, the newest first; with WORDS, those that hold them all."""
    from branchline.render import draw_sessions
    from branchline.wire.methods import ListParams

    params = ListParams(
        scope="all" if everywhere else "workspace",
        query=" ".join(words),
        named=named,
        limit=limit,
    )
    result = _ask("session/list", params)
    if as_json:
        _print_json(result)
        return
    for line in draw_sessions(result["sessions"], width=_width()):
        click.echo(line)
    if not result["sessions"]:
        where = "" if everywhere else " of this folder; --all shows those of all folders"
        click.echo(f"No sessions{where}", err=True)
    elif result["nextCursor"]:
        click.echo(f"{result['total'] - limit} more: use --limit", err=True)


@main.command()
@_session
@click.option("--filter", "filter_name", type=click.Choice(_FILTERS), default="default")
@click.option("--query", "-q", default="", help="Only entries that hold all these words.")
@click.option("--layout", type=click.Choice(("pinned", "pi")), default="pinned")
@click.option("--expand", "-e", multiple=True, metavar="ENTRY", help="Open this folded row.")
@click.option("--runs/--no-runs", default=True, help="Draw runs of tool calls as one row.")
@click.option("--ids", is_flag=True, help="Show the id of each entry.")
@click.option("--color/--no-color", default=None, help="Default: when this is a terminal.")
@_json
@_reports_errors
def tree(
    session: str | None,
    filter_name: Any,
    query: str,
    layout: Any,
    expand: tuple[str, ...],
    runs: bool,
    ids: bool,
    color: bool | None,
    as_json: bool,
) -> None:
    """Draw the tree of SESSION (a path or an id; the newest of this folder if left out)."""
    from branchline.render import draw_rows, tree_header
    from branchline.wire.methods import OpenParams, TreeParams

    named = _named(session)
    params = TreeParams(
        session=named,
        filter=filter_name,
        query=query,
        layout=layout,
        runs="tools" if runs else "none",
        expanded=list(expand),
        limit=_ALL_ROWS,
    )
    result = _ask("session/tree", params)
    if as_json:
        _print_json(result)
        return
    opened = _ask("session/open", OpenParams(session=named))
    lines = draw_rows(
        result["rows"],
        header=tree_header(opened["session"], opened["usage"], filter_name),
        width=_width(),
        unicode=_has_unicode(),
        color=sys.stdout.isatty() if color is None else color,
        show_ids=ids,
    )
    for line in lines:
        click.echo(line, color=True)
    for warning in opened["warnings"]:
        click.echo(f"branchline: {printable(warning['message'])} ({warning['code']})", err=True)


@main.command()
@_session
@click.argument("entries", nargs=-1)
@_json
@_reports_errors
def show(session: str | None, entries: tuple[str, ...], as_json: bool) -> None:
    """Print ENTRIES of SESSION in full; without any, the leaf."""
    from branchline.render import entry_text
    from branchline.wire.methods import ContextParams, EntriesParams

    named = _named(session)
    if not entries:
        leaf = _ask("session/context", ContextParams(session=named, format="none"))["leafId"]
        entries = (leaf,) if leaf is not None else ()
    result = _ask("session/entries", EntriesParams(session=named, ids=list(entries)))
    if as_json:
        _print_json(result)
        return
    for entry in codec.decode(codec.encode(result))["entries"]:
        click.echo(printable(entry_text(entry)))


@main.command()
@_session
@click.option("--leaf", metavar="ENTRY", help="At this entry instead of the leaf.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("messages", "openai")),
    default="messages",
    help="With --json: the file's own messages, or as a chat-completions request has them.",
)
@_json
@_reports_errors
def context(session: str | None, leaf: str | None, form: Any, as_json: bool) -> None:
    """Print what a model would be sent at the leaf of SESSION."""
    from branchline.absent import ABSENT
    from branchline.render import message_text
    from branchline.wire.methods import ContextParams

    params = ContextParams(session=_named(session), leaf_id=leaf or ABSENT, format=form)
    result = _ask("session/context", params)
    if as_json:
        _print_json(result)
        return
    for message in result["messages"]:
        click.echo(printable(message_text(message)))
        click.echo()
    usage = result["usage"]
    click.echo(
        f"{len(result['messages'])} messages, about {usage['tokens']:,} of "
        f"{usage['contextWindow']:,} tokens",
        err=True,
    )


@main.command()
@click.option("--stdio", is_flag=True, required=True, help="Serve one client on stdin and stdout.")
@click.option(
    "--log-level",
    type=click.Choice(("debug", "info", "warning", "error")),
    default="warning",
    show_default=True,
    help="What is logged to stderr: methods, ids, sizes and states, never what they say.",
)
def serve(stdio: bool, log_level: str) -> None:  # noqa: ARG001 - the flag is required
    """Serve the session protocol (JSON-RPC in LSP frames) to an editor or agent."""
    import anyio

    code = anyio.run(_serve_stdio, log_level)
    sys.stderr.flush()
    os._exit(code)  # not sys.exit: a thread that hangs in a read must not keep us


async def _serve_stdio(log_level: str) -> int:
    from branchline.wire.transport import open_stdio

    transport = open_stdio()  # before anything else: now nothing but frames can reach stdout
    logging.basicConfig(
        level=log_level.upper(), stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s"
    )
    from branchline.app import serve_stdio

    return await serve_stdio(transport)


_ALL_ROWS: Final = 1_000_000


def printable(text: str) -> str:
    """The text without anything that a terminal would obey, line ends and tabs excepted."""
    kept = "".join(one for one in text if one in "\n\t" or one >= " ")
    return codec.clean_text(_UNPRINTABLE.sub("", kept))


def _ask(method: str, params: object) -> Any:
    from branchline.app import run_method

    return run_method(method, params, [Path.cwd()])


def _named(session: str | None) -> str:
    """What the service is to open: a path made absolute, an id, or this folder's newest session."""
    from branchline.wire.methods import ListParams

    if session is None:
        newest = _ask("session/list", ListParams(scope="workspace", limit=1))["sessions"]
        if not newest:
            raise NotFound("There is no session of this folder: name one by its path or id")
        path: str = newest[0]["path"]
        return path
    if "/" in session or session.endswith(".jsonl"):
        return str(Path(session).absolute())
    return session


def _print_json(result: object) -> None:
    text = codec.encode(result).decode()
    click.echo(_UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def _width() -> int:
    from shutil import get_terminal_size

    return get_terminal_size((100, 24)).columns


def _has_unicode() -> bool:
    return "utf" in (sys.stdout.encoding or "").lower()
