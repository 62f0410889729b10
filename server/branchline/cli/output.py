"""Printing: session text is hostile, so nothing that a terminal would obey gets out."""

import re
import sys
from typing import Final

import click

from branchline import codec

_UNPRINTABLE: Final = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


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
