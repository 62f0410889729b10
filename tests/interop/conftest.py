"""What the interop tests share: the real Pi in each version, one daemon, and the seeds."""

import os
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.e2e.conftest import isolated
from tests.interop.branchline_side import Branchline
from tests.interop.pi_process import VERSIONS, Pi, Version, missing

pytest.register_assert_rewrite("tests.interop.agreement")

SECONDS = 3600.0
"""How long a process may serve a whole test run."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that wants a ``seed`` with a few; with ``BRANCHLINE_SOAK=n``, with n.

    A time, as the test of two daemons takes it, changes nothing here.
    """
    if "seed" in metafunc.fixturenames:
        asked = os.environ.get("BRANCHLINE_SOAK", "")
        metafunc.parametrize("seed", range(int(asked) if asked.isdecimal() else 3))


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
            started[version] = Pi(version, environment, seconds=SECONDS)
            running.callback(started[version].end)
        yield started


@pytest.fixture(scope="session")
def daemon_side(
    all_pi: dict[Version, Pi], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Branchline]:
    """Our side of the comparison, one daemon unless a test restarts it."""
    folder = tmp_path_factory.mktemp("branchline")
    (folder / "agent").mkdir(mode=0o700)
    with Branchline(isolated(folder), folder, seconds=SECONDS) as side:
        yield side


@pytest.fixture
def branchline(daemon_side: Branchline) -> Iterator[Branchline]:
    """Our side, with no session open."""
    yield daemon_side
    daemon_side.close()
