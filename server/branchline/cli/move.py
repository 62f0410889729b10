"""Commands that move the leaf or write summaries: switch, compact, undo, summarizer."""

from typing import Any, Final

import click

from branchline.cli.output import print_json, show, width
from branchline.cli.shared import (
    as_json_option,
    ask,
    decoded,
    edited,
    named,
    reports_errors,
    session_argument,
    split_session,
)

writer_option = click.option(
    "--writer",
    type=click.Choice(("openai", "offline")),
    help="Who writes the summary, instead of the setting summarizer.use.",
)
edit_option = click.option(
    "--edit", "to_edit", is_flag=True, help="Change the summary in your editor before it is stored."
)


@click.command()
@click.argument("arguments", nargs=-1, metavar="[SESSION] ENTRY")
@click.option("--at", "exactly", is_flag=True, help="Exactly there, also for a user message.")
@click.option("--summary", metavar="TEXT", help="Take this along as what the branch left taught.")
@click.option("--summarize", is_flag=True, help="Have the branch left summarised.")
@click.option("--instructions", metavar="TEXT", help="What the summary should look at besides.")
@click.option("--label", metavar="TEXT", help="Label the place, or the summary.")
@click.option("--dry-run", is_flag=True, help="Only say what would be left behind.")
@edit_option
@writer_option
@as_json_option
@reports_errors
def switch(
    arguments: tuple[str, ...],
    exactly: bool,
    summary: str | None,
    summarize: bool,
    instructions: str | None,
    label: str | None,
    dry_run: bool,
    to_edit: bool,
    writer: Any,
    as_json: bool,
) -> None:
    """Move the leaf to ENTRY ("root": before the first entry).

    For a user message the leaf goes before it, and its text is printed to be sent again.

    \b
    Examples:
      branchline switch 3f2a91c0 --dry-run
      branchline switch x.jsonl 3f2a91c0 --summary "regex cannot nest; scan instead"
      branchline switch 3f2a91c0 --summarize
    """
    from branchline.wire.method_params import SummaryChoice

    if summarize and summary is not None:
        raise click.UsageError("--summarize and --summary exclude each other")
    if to_edit and (dry_run or not summarize):
        raise click.UsageError("--edit belongs to --summarize, and not to --dry-run")
    session, (target,) = split_session(arguments, 1, "[SESSION] ENTRY")
    mode: Any = "write" if summarize else "none" if summary is None else "text"
    choice = SummaryChoice(mode=mode, text=summary, instructions=instructions, summarizer=writer)
    params: dict[str, Any] = {
        "session": _opened(session),
        "target_id": None if target == "root" else target,
        "position": "at" if exactly or target == "root" else "auto",
        "label": label,
        "dry_run": dry_run,
    }
    if to_edit:
        draft = ask("session/switchLeaf", **params, summary=choice, preview=True)
        if draft["draftId"] is not None:
            text = edited(draft["summary"])
            choice = SummaryChoice(mode="text", draft_id=draft["draftId"], text=text)
    result = ask("session/switchLeaf", **params, summary=choice)
    if as_json:
        print_json(result)
        return
    plan = result["plan"]
    verb = "would leave" if dry_run else "left"
    show(
        f"{verb} {plan['messageCount']} messages, about {plan['tokens']:,} tokens; "
        f"the leaf is {result['leafId'] or 'before the first entry'}"
    )
    if summarize and result["summary"] is not None:
        show("\n" + result["summary"])
    if result["editorContent"] is not None:
        show("\n" + result["editorContent"]["text"])


@click.command()
@session_argument
@click.option("--instructions", metavar="TEXT", help="What the summary should look at besides.")
@click.option("--keep", metavar="TOKENS", type=click.IntRange(0), help="Newest tokens to keep.")
@click.option("--preview", is_flag=True, help="Print the summary, store nothing.")
@click.option("--dry-run", is_flag=True, help="Only say what would be covered.")
@edit_option
@writer_option
@as_json_option
@reports_errors
def compact(
    session: str | None,
    instructions: str | None,
    keep: int | None,
    preview: bool,
    dry_run: bool,
    to_edit: bool,
    writer: str | None,
    as_json: bool,
) -> None:
    """Put a summary in the place of the past of SESSION's active branch. Nothing is lost.

    \b
    Examples:
      branchline compact --dry-run
      branchline compact --instructions "the parser's edge cases" --preview
      branchline compact --edit
    """
    from branchline.terminal.plans import draw_compaction, ends_of

    if to_edit and (dry_run or preview):
        raise click.UsageError("--edit stores what you make of it: not with --preview or --dry-run")
    path = _opened(named(session))
    result = ask(
        "session/compact",
        session=path,
        instructions=instructions,
        keep_recent_tokens=keep,
        summarizer=writer,
        dry_run=dry_run,
        preview=preview or to_edit,
    )
    if to_edit:
        text = edited(result["summary"])
        result = ask("session/compact", session=path, draft_id=result["draftId"], summary=text)
    if as_json:
        print_json(result)
        return
    plan = result["plan"]
    entries = decoded(ask("session/entries", session=path, ids=ends_of(plan)))["entries"]
    by_id = {entry["id"]: entry for entry in entries}
    for line in draw_compaction(plan, by_id, tokens_after=result["tokensAfter"], width=width()):
        show(line)
    if result["entryId"] is not None:
        show(f"stored as {result['entryId']}; `branchline undo` takes it back")
    if result["summary"] is not None:
        show("\n" + result["summary"])


@click.command()
@session_argument
@as_json_option
@reports_errors
def undo(session: str | None, as_json: bool) -> None:
    """Take back the last switch or compaction of SESSION: the leaf goes back to where it was.

    A second undo takes the first one back.
    """
    result = ask("session/undo", session=named(session))
    if as_json:
        print_json(result)
    else:
        leaf = result["leafId"] or "before the first entry"
        show(f"undone {result['undoneId']}; the leaf is {leaf}")


@click.command()
@click.option("--test", is_flag=True, help="Have a small summary written; costs what that costs.")
@as_json_option
@reports_errors
def summarizer(test: bool, as_json: bool) -> None:
    """Say who writes summaries and why."""
    from branchline.terminal.plans import draw_summarizer

    result = ask("session/summarizer", test=test)
    if as_json:
        print_json(result)
        return
    for line in draw_summarizer(result):
        show(line)


def _opened(session: str) -> str:
    """The session's path; from now on we hear of what is written for it."""
    path: str = ask("session/open", session=session)["session"]["path"]
    return path


COMMANDS: Final = (switch, compact, undo, summarizer)
