"""What a person sees while a command works: a bar, a clock, and a summary as it is written."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from branchline.cli.output import printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    from branchline.local import LocalService

_FRAME_LINES: Final = 4
"""Lines of the terminal that are left to the bar and to what stands above."""


@contextmanager
def busy_sign(
    service: "LocalService", on_answer: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Show on stderr that something is under way, if a person looks; afterwards it is gone.

    ``on_answer`` is told the pieces of an answer, in a thread of its own; from the first on
    there is no sign any more.
    """
    sign = _Sign() if sys.stderr.isatty() else None

    def hear(method: str, params: Mapping[str, Any]) -> None:
        if method == "session/messageText" and on_answer is not None:
            if sign is not None:
                sign.stop()
            on_answer(params["delta"])
        elif method == "session/summaryText" and sign is not None:
            sign.write(params["part"], params["delta"])
        elif method == "session/indexing" and sign is not None:
            sign.measure("Indexing sessions", params["bytes"], params["ofBytes"])

    service.hear = hear
    try:
        yield
    finally:
        service.hear = None
        if sign is not None:
            sign.stop()


class _Sign:
    """A bar, and above it the end of each text that is being written."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns)
        self._task = self._bar.add_task("Reading sessions", total=None)
        self._texts: dict[str, str] = {}
        console = Console(stderr=True)
        self._live = Live(self, console=console, transient=True, refresh_per_second=8)
        self._live.start()

    def stop(self) -> None:
        """Take it away. May be called again."""
        self._live.stop()

    def write(self, part: str, delta: str) -> None:
        """Show a piece of a summary. May be called in any thread."""
        self._texts[part] = self._texts.get(part, "") + delta
        self._bar.update(self._task, description="Writing; Ctrl-C cancels")

    def measure(self, doing: str, done: int, total: int) -> None:
        """Show how far something is. May be called in any thread."""
        self._bar.update(self._task, description=doing, completed=done, total=total)

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from rich.text import Text

        texts = list(self._texts.values())
        room = max(1, console.height - _FRAME_LINES) // max(1, len(texts))
        for text in texts:
            lines = Text(printable(text)).wrap(console, options.max_width)
            yield from lines[-room:]
        yield self._bar
