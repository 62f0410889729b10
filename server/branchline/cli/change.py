"""Commands that change a session: append, label, rename, edit, fork, repair, delete."""

import sys
from typing import Any, Final

import click

from branchline import codec
from branchline.cli.output import print_json, show
from branchline.cli.shared import (
    as_json_option,
    ask,
    named,
    reports_errors,
    session_argument,
    split_session,
)


@click.command()
@session_argument
@click.option("--message", "-m", metavar="TEXT", help="Append this as a user message.")
@click.option("--parent", metavar="ENTRY", help="Below this entry instead of the leaf.")
@click.option("--root", is_flag=True, help="As a new root.")
@click.option("--stay", is_flag=True, help="Leave the leaf where it is.")
@click.option("--expect-leaf", metavar="ENTRY", help="Only if this is the leaf.")
@as_json_option
@reports_errors
def append(
    session: str | None,
    message: str | None,
    parent: str | None,
    root: bool,
    stay: bool,
    expect_leaf: str | None,
    as_json: bool,
) -> None:
    """Append entries to SESSION: a user message, or JSON from stdin (a list, or one a line).

    \b
    Examples:
      branchline append -m "now handle unicode"
      echo '{"type":"custom","customType":"ci","data":{"ok":true}}' | branchline append x.jsonl
    """
    from branchline.absent import ABSENT

    if root and parent is not None:
        raise click.UsageError("--root and --parent exclude each other")
    entries = [_user_message(message)] if message is not None else _entries_from_stdin()
    result = ask(
        "session/append",
        session=named(session),
        entries=entries,
        parent_id=None if root else (parent or ABSENT),
        move_leaf=not stay,
        expected_leaf_id=expect_leaf or ABSENT,
    )
    if as_json:
        print_json(result)
        return
    for entry in result["entries"]:
        show(entry["id"])


@click.command()
@click.argument("arguments", nargs=-1, metavar="[SESSION] ENTRY TEXT")
@click.option("--clear", is_flag=True, help="Take the label off: [SESSION] ENTRY.")
@as_json_option
@reports_errors
def label(arguments: tuple[str, ...], clear: bool, as_json: bool) -> None:
    """Label ENTRY with TEXT.

    \b
    Examples:
      branchline label 3f2a91c0 "before the rewrite"
      branchline label 3f2a91c0 --clear
    """
    if clear:
        session, (entry,) = split_session(arguments, 1, "[SESSION] ENTRY --clear")
        text = None
    else:
        session, (entry, text) = split_session(arguments, 2, "[SESSION] ENTRY TEXT")
    _report(ask("session/label", session=session, target_id=entry, label=text), as_json)


@click.command()
@click.argument("arguments", nargs=-1, metavar="[SESSION] NAME")
@as_json_option
@reports_errors
def rename(arguments: tuple[str, ...], as_json: bool) -> None:
    """Name SESSION; an empty NAME takes the name off."""
    session, (name,) = split_session(arguments, 1, "[SESSION] NAME")
    _report(ask("session/rename", session=session, name=name), as_json)


@click.command()
@click.argument("arguments", nargs=-1, metavar="[SESSION] ENTRY")
@click.option("--omit", is_flag=True, help="Send nothing of it to the model.")
@click.option("--replace", metavar="TEXT", help='Send this instead; "-" reads stdin.')
@as_json_option
@reports_errors
def edit(arguments: tuple[str, ...], omit: bool, replace: str | None, as_json: bool) -> None:
    """Change what the model is sent of ENTRY. The entry itself stays as it is.

    \b
    Examples:
      branchline edit 77b0c1d2 --omit
      head -20 log.txt | branchline edit 77b0c1d2 --replace -
    """
    if omit == (replace is not None):
        raise click.UsageError("say either --omit or --replace TEXT")
    session, (entry,) = split_session(arguments, 1, "[SESSION] ENTRY")
    text = sys.stdin.read() if replace == "-" else replace
    replacement = None if omit else {"content": text}
    result = ask("session/edit", session=session, target_id=entry, replacement=replacement)
    _report(result, as_json)


@click.command()
@session_argument
@click.option("--at", metavar="ENTRY", help="Up to and with this entry.")
@click.option("--before", metavar="ENTRY", help="Up to before this user message.")
@click.option(
    "--cwd",
    metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False, resolve_path=True),
    help="For this folder instead of the session's own.",
)
@as_json_option
@reports_errors
def fork(
    session: str | None, at: str | None, before: str | None, cwd: str | None, as_json: bool
) -> None:
    """Copy the active branch of SESSION to a new session, and print its path.

    \b
    Example:
      branchline fork --at 3f2a91c0
    """
    if at is not None and before is not None:
        raise click.UsageError("--at and --before exclude each other")
    result = ask(
        "session/fork",
        session=named(session),
        entry_id=at or before,
        position="before" if before is not None else "at",
        cwd=cwd,
    )
    if as_json:
        print_json(result)
        return
    show(result["session"]["path"])
    if result["editorContent"] is not None:
        show("\n" + result["editorContent"]["text"])


@click.command()
@session_argument
@as_json_option
@reports_errors
def repair(session: str | None, as_json: bool) -> None:
    """Mend the damage that check finds in SESSION. The old file is kept beside it as .bak."""
    result = ask("session/repair", session=named(session))
    if as_json:
        print_json(result)
    elif result["backup"] is None:
        show("There is nothing to repair; the file was not touched")
    else:
        show(f"Repaired; the old file is {result['backup']}")


@click.command()
@click.argument("session")
@click.option("--yes", is_flag=True, help="Do not ask.")
@as_json_option
@reports_errors
def delete(session: str, yes: bool, as_json: bool) -> None:
    """Move SESSION to the system's trash."""
    path: str = ask("session/open", session=named(session))["session"]["path"]
    if not yes and not click.confirm(f"Move {path} to the trash?", err=True):
        sys.exit(1)
    result = ask("session/delete", session=path)
    if as_json:
        print_json(result)
    else:
        show(f"In the trash: {result['trashed']}")


def _user_message(text: str) -> dict[str, Any]:
    return {"type": "message", "message": {"role": "user", "content": text}}


def _entries_from_stdin() -> list[Any]:
    if sys.stdin.isatty():
        raise click.UsageError("give --message TEXT, or entries as JSON on stdin")
    text = sys.stdin.buffer.read()
    try:
        if text.lstrip().startswith(b"["):
            entries = codec.decode(text)
        else:
            entries = [codec.decode(line) for line in text.splitlines() if line.strip()]
    except codec.DecodeError as error:
        raise click.UsageError(f"stdin is not JSON: {error}") from error
    if not entries or not all(isinstance(entry, dict) for entry in entries):
        raise click.UsageError("stdin must hold JSON objects: a list, or one on each line")
    return list(entries)


def _report(result: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(result)
    else:
        show(f"done; the leaf is {result['leafId']}")


COMMANDS: Final = (append, label, rename, edit, fork, repair, delete)
