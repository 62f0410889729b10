"""The daemon's fixtures, and the processes that are made to be killed."""

import sys
from collections.abc import Iterator

import pytest

from tests.crash.victims import Victims
from tests.e2e.conftest import agent_dir, copy_session, daemon, environment

__all__ = ["agent_dir", "copy_session", "daemon", "environment", "victims"]


@pytest.fixture
def victims(environment: dict[str, str]) -> Iterator[Victims]:
    """Processes that work on a session file until they are killed."""
    if not sys.platform.startswith("linux"):
        pytest.skip("processes are forked, and watched in /proc, on Linux only")
    with Victims(environment) as made:
        yield made
