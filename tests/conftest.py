"""What all tests share: the last word of a test run is what it did not test."""

from collections import Counter

import pytest
from _pytest.terminal import TerminalReporter


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
