"""A session of 100,000 entries and 300 MB: what opening it and drawing its end may cost."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.made_files import write_session
from tests.bench.process import peak_memory
from tests.e2e.conftest import StartDaemon
from tests.e2e.world import SLACK

ENTRIES = 100_000
ROWS = 200


@pytest.fixture
def large(agent_dir: Path) -> Iterator[Path]:
    """The session; removed afterwards, for pytest keeps the folders of several runs."""
    path = agent_dir / "sessions" / "--w-demo--" / "large.jsonl"
    path.parent.mkdir(mode=0o700, parents=True)
    write_session(path, ENTRIES)
    yield path
    path.unlink()


def test_a_large_session_opens_in_a_second_and_100_megabytes(
    daemon: StartDaemon, large: Path
) -> None:
    assert large.stat().st_size > 280_000_000
    client = daemon()
    session = {"session": str(large)}

    started = time.monotonic()
    opened = client.request("session/open", session)
    assert time.monotonic() - started < 1.0 * SLACK
    assert opened["session"]["entryCount"] == ENTRIES

    started = time.monotonic()
    view = {**session, "around": opened["leafId"], "limit": ROWS}
    window = client.request("session/tree", view)
    assert time.monotonic() - started < 0.1 * SLACK
    assert len(window["rows"]) == ROWS
    assert window["offset"] <= window["leafRow"] < window["offset"] + ROWS

    peak = peak_memory(client._process.pid)
    if peak is not None:  # only Linux tells
        assert peak < 100
