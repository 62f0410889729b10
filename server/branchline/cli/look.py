"""Commands that look: list, search, tree, show, context, branches, stats, check."""

import sys
from typing import Any, Final

import click

from branchline.cli.output import has_unicode, print_json, say, width
from branchline.cli.output import show as show_text
from branchline.cli.shared import (
    as_json_option,
    ask,
    decoded,
    named,
    reports_errors,
    session_argument,
)

_ALL_ROWS: Final = 1_000_000
_FILTERS: Final = ("default", "noTools", "userOnly", "labeledOnly", "all")


@click.command(name="list")
@click.argument("words", nargs=-1)
@click.option("--all", "everywhere", is_flag=True, help="Of all folders, not only of this one.")
@click.option("--named", "only_named", is_flag=True, help="Only sessions that have a name.")
@click.option("--threaded", is_flag=True, help="Forks behind the session they came from.")
@click.option(
    "--limit",
    default=50,
    show_default=True,
    type=click.IntRange(1, 10_000),
    help="At most so many.",
)
@as_json_option
@reports_errors
def list_sessions(
    words: tuple[str, ...],
    everywhere: bool,
    only_named: bool,
    threaded: bool,
    limit: int,
    as_json: bool,
) -> None:
    """List the sessions of this folder, the newest first; with WORDS, those that hold them all.

    \b
    Examples:
      branchline list --all
      branchline list parser --json
    """
    from branchline.terminal.sessions import draw_sessions

    result = ask(
        "session/list",
        scope="all" if everywhere else "workspace",
        query=" ".join(words),
        named=only_named,
        order="threaded" if threaded else "recent",
        limit=limit,
    )
    if as_json:
        print_json(result)
        return
    for line in draw_sessions(result["sessions"], width=width()):
        click.echo(line)
    if not result["sessions"]:
        where = "" if everywhere else " of this folder; --all shows those of all folders"
        say(f"No sessions{where}")
    elif result["nextCursor"]:
        say(f"{result['total'] - limit} more: use --limit")


@click.command(context_settings={"ignore_unknown_options": True})  # -word is one to be without
@click.argument("query", nargs=-1, required=True)
@click.option("--all", "everywhere", is_flag=True, help="In all folders, not only in this one.")
@click.option(
    "--each",
    default=3,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="At most so many hits of one session.",
)
@click.option(
    "--limit",
    default=30,
    show_default=True,
    type=click.IntRange(1, 10_000),
    help="At most so many hits.",
)
@as_json_option
@reports_errors
def search(query: tuple[str, ...], everywhere: bool, each: int, limit: int, as_json: bool) -> None:
    """Find what was said in the sessions of this folder. All words of QUERY must occur.

    "a phrase" and begin* are words, too; -word must not occur. role:user, tool:bash,
    file:src/parser.py, before:2026-05, after:2026-05-31 and in:folder narrow it down.

    \b
    Examples:
      branchline search parser unicode
      branchline search --all file:src/parser.py
      branchline search '"too many open files"' role:tool
    """
    from branchline.terminal.hits import draw_hits

    result = ask(
        "session/search",
        query=" ".join(query),
        scope="all" if everywhere else "workspace",
        per_session=each,
        limit=limit,
        wait=True,
    )
    if as_json:
        print_json(result)
        return
    color = sys.stdout.isatty()
    for line in draw_hits(result["hits"], width=width(), color=color):
        click.echo(line, color=color)
    if not result["hits"]:
        where = "" if everywhere else " in this folder; --all searches all folders"
        say(f"Nothing found{where}")
    elif result["nextCursor"]:
        say("There is more: use --limit, or narrow it down")
    if result["indexing"] is not None:
        say("Some sessions could not be indexed: the disk refused")


@click.command()
@session_argument
@click.option(
    "--filter",
    "filter_name",
    type=click.Choice(_FILTERS),
    default="default",
    show_default=True,
    help="Which entries to show.",
)
@click.option("--query", "-q", default="", help="Only entries that hold all these words.")
@click.option(
    "--layout",
    type=click.Choice(("pinned", "pi")),
    default="pinned",
    show_default=True,
    help="The active branch straight down, or every branch indented as in Pi.",
)
@click.option("--expand", "-e", multiple=True, metavar="ENTRY", help="Open this folded row.")
@click.option("--expand-all", is_flag=True, help="Fold nothing: layout pi, tool calls singly.")
@click.option("--runs/--no-runs", default=True, help="Draw runs of tool calls as one row.")
@click.option("--ids/--no-ids", default=True, help="Show the id of each entry.")
@click.option("--color/--no-color", default=None, help="Default: when this is a terminal.")
@as_json_option
@reports_errors
def tree(
    session: str | None,
    filter_name: str,
    query: str,
    layout: str,
    expand: tuple[str, ...],
    expand_all: bool,
    runs: bool,
    ids: bool,
    color: bool | None,
    as_json: bool,
) -> None:
    """Draw the tree of SESSION.

    \b
    Examples:
      branchline tree
      branchline tree ~/.pi/agent/sessions/…/x.jsonl --filter userOnly
      branchline tree -e 3f2a91c0 -q "unicode parser"
    """
    from branchline.terminal.rows import draw_rows
    from branchline.terminal.sessions import tree_header

    path = named(session)
    result = ask(
        "session/tree",
        session=path,
        filter=filter_name,
        query=query,
        layout="pi" if expand_all else layout,
        runs="tools" if runs and not expand_all else "none",
        expanded=list(expand),
        limit=_ALL_ROWS,
    )
    if as_json:
        print_json(result)
        return
    opened = ask("session/open", session=path)
    lines = draw_rows(
        result["rows"],
        header=tree_header(opened["session"], opened["usage"], filter_name),
        width=width(),
        unicode=has_unicode(),
        color=sys.stdout.isatty() if color is None else color,
        show_ids=ids,
    )
    for line in lines:
        click.echo(line, color=True)
    _say_warnings(opened["warnings"])


@click.command()
@click.argument("arguments", nargs=-1, metavar="[SESSION] [ENTRY]...")
@as_json_option
@reports_errors
def show(arguments: tuple[str, ...], as_json: bool) -> None:
    """Print entries of SESSION in full; without any, the leaf.

    A first argument with a slash or ending in .jsonl is the session; so is one that is no entry.

    \b
    Examples:
      branchline show
      branchline show 3f2a91c0 77b0c1d2
      branchline show x.jsonl 3f2a91c0 --json
    """
    from branchline.terminal.entries import entry_text

    session, entries = _session_of(arguments)
    if not entries:
        leaf = ask("session/context", session=session, format="none")["leafId"]
        entries = [leaf] if leaf is not None else []
    result = ask("session/entries", session=session, ids=entries)
    if as_json:
        print_json(result)
        return
    for entry in decoded(result)["entries"]:
        show_text(entry_text(entry))


@click.command()
@session_argument
@click.option("--leaf", metavar="ENTRY", help="At this entry instead of the leaf.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("messages", "openai")),
    default="messages",
    help="With --json: the file's own messages, or as a chat-completions request has them.",
)
@as_json_option
@reports_errors
def context(session: str | None, leaf: str | None, form: str, as_json: bool) -> None:
    """Print what a model would be sent at the leaf of SESSION.

    \b
    Example:
      branchline context --format openai --json | jq .messages
    """
    from branchline.absent import ABSENT
    from branchline.terminal.entries import message_text

    result = ask("session/context", session=named(session), leaf_id=leaf or ABSENT, format=form)
    if as_json:
        print_json(result)
        return
    for message in result["messages"]:
        show_text(message_text(message) + "\n")
    usage = result["usage"]
    count = len(result["messages"])
    say(
        f"{count} message{'' if count == 1 else 's'}, about {usage['tokens']:,} of "
        f"{usage['contextWindow']:,} tokens"
    )


@click.command()
@session_argument
@as_json_option
@reports_errors
def branches(session: str | None, as_json: bool) -> None:
    """List the branches and labels of SESSION."""
    from branchline.terminal.sessions import draw_branches

    result = ask("session/branches", session=named(session))
    if as_json:
        print_json(result)
        return
    for line in draw_branches(result, width=width()):
        click.echo(line)


@click.command()
@session_argument
@as_json_option
@reports_errors
def stats(session: str | None, as_json: bool) -> None:
    """Count messages, tool calls, tokens and cost of SESSION: of the active branch, and of all."""
    from branchline.terminal.sessions import draw_stats

    result = ask("session/stats", session=named(session))
    if as_json:
        print_json(result)
        return
    for line in draw_stats(result):
        show_text(line)


@click.command()
@session_argument
@as_json_option
@reports_errors
def check(session: str | None, as_json: bool) -> None:
    """Look for damage in SESSION. Changes nothing. Exit code 1 if there is something to repair."""
    result = ask("session/check", session=named(session))
    if as_json:
        print_json(result)
    else:
        for warning in result["warnings"]:
            place = f"line {warning['line']}: " if warning["line"] else ""
            show_text(f"{place}{warning['message']} ({warning['code']})")
        show_text(result["summary"])
    sys.exit(int(result["repairable"]))


def _session_of(arguments: tuple[str, ...]) -> tuple[str, list[str]]:
    """Tell the session from the entries where both may be left out."""
    from branchline.errors import NotFound

    if not arguments:
        return named(None), []
    first = arguments[0]
    if "/" in first or first.endswith(".jsonl"):
        return named(first), list(arguments[1:])
    try:
        newest = named(None)
        ask("session/entries", session=newest, ids=[first])
    except NotFound:
        pass  # then it is a session, or nothing at all
    else:
        return newest, list(arguments)
    try:
        ask("session/open", session=first)
    except NotFound:
        raise NotFound(f"There is neither an entry nor a session {first}") from None
    return first, list(arguments[1:])


def _say_warnings(warnings: list[dict[str, Any]]) -> None:
    for warning in warnings:
        say(f"branchline: {warning['message']} ({warning['code']})")


COMMANDS: Final = (list_sessions, search, tree, show, context, branches, stats, check)
