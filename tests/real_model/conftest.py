"""What the tests against a real model share: the daemon's fixtures, and the model's servers.

Each server is one process for the whole run, started when a test first wants it.
"""

from collections.abc import Iterator

import pytest

from tests.e2e.conftest import agent_dir, environment
from tests.real_model.real_model import ENDLESS, FORM, RealModel, missing, real_model

__all__ = ["agent_dir", "endless_model", "environment", "formal_model", "installed", "model"]


@pytest.fixture(scope="session")
def installed() -> None:
    """Leave the tests out where the model is not installed."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def model(installed: None) -> Iterator[RealModel]:
    """The model as it is: it may write anything."""
    with real_model() as served:
        yield served


@pytest.fixture(scope="session")
def formal_model(installed: None) -> Iterator[RealModel]:
    """The model, held to the form of a summary."""
    with real_model(FORM) as served:
        yield served


@pytest.fixture(scope="session")
def endless_model(installed: None) -> Iterator[RealModel]:
    """The model, which never ends by itself."""
    with real_model(ENDLESS) as served:
        yield served
