"""What all tests share: compiled modules, and a last word that says what was not tested."""

import compileall
from collections import Counter
from pathlib import Path

import pytest
from _pytest.terminal import TerminalReporter

import branchline


def pytest_sessionstart() -> None:
    """Compile the package, so that no daemon has to.

    Some tests limit how large its files may get, and of a module that it compiled then it would
    leave a half behind, which Python takes for the whole from then on.
    """
    compileall.compile_dir(Path(branchline.__file__).parent, quiet=1)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Name each reason for skipping, and how many tests it kept out."""
    reasons = Counter(
        str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        for report in terminalreporter.stats.get("skipped", [])
    )
    terminalreporter.section("LEFT OUT" if reasons else "LEFT OUT: nothing", bold=True)
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"LEFT OUT: {count} x {reason.removeprefix('Skipped: ')}")
