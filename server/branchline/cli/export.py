"""``branchline export``: a session as a file to hand on."""

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import click

from branchline.cli.output import print_json, printable, say
from branchline.cli.shared import as_json_option, ask, named, reports_errors, session_argument

_FORMATS: Final = ("html", "markdown", "jsonl")
_ENDINGS: Final = {".md": "markdown", ".markdown": "markdown", ".jsonl": "jsonl"}


@click.command()
@session_argument
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    help="As what. Default: what the ending of FILE says, else html.",
)
@click.option("--all", "whole", is_flag=True, help="All branches, not only the active one.")
@click.option(
    "--mask",
    is_flag=True,
    help="Hide what looks like keys, home folders and e-mail addresses. Read before you share.",
)
@click.option(
    "--output",
    "-o",
    "file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A new file, never one that is there. Default: stdout.",
)
@as_json_option
@reports_errors
def export(
    session: str | None, form: str | None, whole: bool, mask: bool, file: Path | None, as_json: bool
) -> None:
    """Write SESSION as one HTML page, as Markdown, or as records that open as a session.

    \b
    Examples:
      branchline export --mask -o parser.html
      branchline export 3f2a91c0 --format markdown | less
      branchline export x.jsonl --all -o copy.jsonl
    """
    if form is None:
        form = _ENDINGS.get(file.suffix.lower(), "html") if file else "html"
    wanted: dict[str, Any] = {
        "session": named(session),
        "format": form,
        "branches": "all" if whole else "active",
        "mask": mask,
    }
    if file is not None or as_json:
        result = ask("session/export", path=str(file.absolute()) if file else None, **wanted)
        if as_json:
            print_json(result)
            return
        say(f"Written: {result['path']}")
    else:
        # By way of a file, since an answer holds no export of any size.
        with TemporaryDirectory() as folder:
            result = ask("session/export", path=str(Path(folder) / "export"), **wanted)
            _print(Path(result["path"]))
    if mask:
        _say_masked(result)


def _print(path: Path) -> None:
    if sys.stdout.isatty():
        click.echo(printable(path.read_text(encoding="utf-8", errors="replace")), nl=False)
        return
    with path.open("rb") as source:
        shutil.copyfileobj(source, sys.stdout.buffer)
    sys.stdout.buffer.flush()


def _say_masked(result: dict[str, Any]) -> None:
    from branchline.export.mask import hidden_text

    text = hidden_text(result["masked"])
    say(text[:1].upper() + text[1:])
