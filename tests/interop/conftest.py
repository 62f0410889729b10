"""What the interop tests share: the real Pi in each version, and the seeds."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.interop.agreement")

from tests.e2e.conftest import agent_dir, daemon, environment, isolated
from tests.interop.branchline_side import Branchline
from tests.interop.pi_process import VERSIONS, Pi, Version, missing

__all__ = ["agent_dir", "daemon", "environment"]  # fixtures

PI_SECONDS = 3600.0
"""How long a Pi may serve a whole test run."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that wants a ``seed`` with a few; with ``BRANCHLINE_SOAK=n``, with n."""
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(int(os.environ.get("BRANCHLINE_SOAK") or 4)))


@pytest.fixture(scope="session")
def all_pi(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Version, Pi]]:
    """Every version of the real Pi, each one process for the whole run."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    environment = isolated(tmp_path_factory.mktemp("pi"))
    with ExitStack() as running:
        started = {}
        for version in VERSIONS:
            started[version] = Pi(version, environment, seconds=PI_SECONDS)
            running.callback(started[version].end)
        yield started


@pytest.fixture
def branchline(environment: dict[str, str], tmp_path: Path) -> Iterator[Branchline]:
    """Our side of the comparison."""
    with Branchline(environment, tmp_path) as side:
        yield side
