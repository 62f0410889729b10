"""``branchline ask``: a message to the model, its answer as it is written."""

import sys
from pathlib import Path
from typing import Any

import click

from branchline.absent import ABSENT
from branchline.cli.output import print_json, printable, say
from branchline.cli.shared import as_json_option, ask, decoded, named, reports_errors
from branchline.entries import message_of


@click.command(name="ask")
@click.argument("text", required=False)
@click.option("--session", "-s", metavar="SESSION", help="Instead of this folder's newest one.")
@click.option("--new", is_flag=True, help="Begin a session of this folder.")
@click.option(
    "--from",
    "origin",
    metavar="ENTRY",
    help='Below this entry; a user message of yours is taken back and asked anew. Or "root".',
)
@click.option("--model", "-m", metavar="MODEL", help="As provider/model, or the server's name.")
@as_json_option
@reports_errors
def ask_model(
    text: str | None,
    session: str | None,
    new: bool,
    origin: str | None,
    model: str | None,
    as_json: bool,
) -> None:
    """Ask the model TEXT (else what stdin holds) and print its answer as it comes.

    It goes on at the leaf. Ctrl-C ends the answer; what came so far is kept.

    \b
    Examples:
      branchline ask "why is it slow?"
      git diff | branchline ask --new
      branchline ask --from 3f2a91c0 "try it with a scanner instead"
    """
    if new and (session is not None or origin is not None):
        raise click.UsageError("--new begins a session: not with --session or --from")
    content = _from_stdin() if text is None else text
    if not content.strip():
        raise click.UsageError("there is nothing to ask: give TEXT, or pipe it in")
    path = _session(session, new)
    leaf: Any = ABSENT
    if origin is not None:
        leaf = _go_to(path, None if origin == "root" else origin)
    printed = _Printed(silent=as_json)
    try:
        result = ask(
            "session/prompt",
            on_answer=printed.add,
            session=path,
            content=content,
            model=model,
            expected_leaf_id=leaf,
        )
    finally:
        printed.end()
    if as_json:
        print_json(result)


class _Printed:
    """The answer on stdout, as it comes."""

    def __init__(self, *, silent: bool) -> None:
        self._silent = silent
        self._last = "\n"
        self._broken = False

    def add(self, delta: str) -> None:
        """Print a piece. What reads stdout may have gone; the answer is stored all the same."""
        text = printable(delta)
        if self._silent or self._broken or not text:
            return
        try:
            click.echo(text, nl=False)
        except BrokenPipeError:
            self._broken = True
        self._last = text[-1]

    def end(self) -> None:
        """End the last line."""
        if self._broken:
            raise BrokenPipeError
        if self._last != "\n":
            click.echo()


def _session(named_one: str | None, new: bool) -> str:
    """The path of the session to ask in, which we have open then."""
    session = named_one
    if session is None and not new:
        newest = ask("session/list", scope="workspace", limit=1)["sessions"]
        session = newest[0]["path"] if newest else None
    if session is None:
        session = ask("session/create", cwd=str(Path.cwd()))["session"]["path"]
    path: str = ask("session/open", session=named(session))["session"]["path"]
    return path


def _go_to(path: str, target: str | None) -> str | None:
    """Move the leaf to where a question is asked anew; give where that is."""
    leaf_id: str | None = ask("session/switchLeaf", session=path, target_id=target)["leafId"]
    if leaf_id is not None and leaf_id == target:
        (entry,) = decoded(ask("session/entries", session=path, ids=[target])["entries"])
        if message_of(entry).get("role") == "user":  # it was the leaf, and so it stayed
            parent = entry["parentId"]
            moved = ask("session/switchLeaf", session=path, target_id=parent, position="at")
            leaf_id = moved["leafId"]
    return leaf_id


def _from_stdin() -> str:
    if sys.stdin.isatty():
        say("Type what to ask; Ctrl-D ends it.")
    return sys.stdin.buffer.read().decode(errors="replace").rstrip("\n")
