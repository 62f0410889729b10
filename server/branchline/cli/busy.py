"""What a person sees while a command works: a bar, a clock, and a summary as it is written."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from branchline.cli.output import printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    from branchline.local import LocalService

_FRAME_LINES: Final = 4
"""Lines of the terminal that are left to the bar and to what stands above."""


@contextmanager
def busy_sign(service: "LocalService") -> Iterator[None]:
    """Show on stderr that something is under way, if a person looks; afterwards it is gone."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.live import Live

    sign = _Sign()
    service.hear = sign.hear
    try:
        with Live(sign, console=Console(stderr=True), transient=True, refresh_per_second=8):
            yield
    finally:
        service.hear = None


class _Sign:
    """A bar, and above it the end of each text that is being written."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns)
        self._task = self._bar.add_task("Reading sessions", total=None)
        self._texts: dict[str, str] = {}

    def hear(self, method: str, params: Mapping[str, Any]) -> None:
        """Take over what the service tells. Called in a thread of its own."""
        if method == "session/summaryText":
            part = params["part"]
            self._texts[part] = self._texts.get(part, "") + params["delta"]
            self._bar.update(self._task, description="Writing; Ctrl-C cancels")

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from rich.text import Text

        texts = list(self._texts.values())
        room = max(1, console.height - _FRAME_LINES) // max(1, len(texts))
        for text in texts:
            lines = Text(printable(text)).wrap(console, options.max_width)
            yield from lines[-room:]
        yield self._bar
