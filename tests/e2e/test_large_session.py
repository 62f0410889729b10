"""A session of 100,000 entries and 300 MB: what opening, drawing and compacting it may cost."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.bench.made_files import write_session
from tests.bench.process import peak_memory
from tests.e2e.conftest import StartDaemon
from tests.e2e.world import SLACK

ENTRIES = 100_000
ROWS = 200


@pytest.fixture
def make_large(agent_dir: Path) -> Iterator[Callable[..., Path]]:
    """Make the session; it is removed afterwards, for pytest keeps the folders of several runs."""
    path = agent_dir / "sessions" / "--w-demo--" / "large.jsonl"

    def make(*, in_one_line: bool = False) -> Path:
        path.parent.mkdir(mode=0o700, parents=True)
        write_session(path, ENTRIES, in_one_line=in_one_line)
        assert path.stat().st_size > 280_000_000
        return path

    yield make
    path.unlink()


def test_a_large_session_opens_in_a_second_and_100_megabytes(
    daemon: StartDaemon, make_large: Callable[..., Path]
) -> None:
    large = make_large()
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


def test_the_first_screen_of_a_large_session_comes_before_it_is_read(
    daemon: StartDaemon, make_large: Callable[..., Path]
) -> None:
    large = make_large()
    client = daemon()
    session = {"session": str(large)}

    started = time.monotonic()
    tail = client.request("session/tail", {**session, "limit": ROWS})
    assert time.monotonic() - started < 0.05 * SLACK
    assert len(tail["rows"]) == ROWS
    assert not tail["whole"]
    peak = peak_memory(client._process.pid)
    if peak is not None:  # only Linux tells
        assert peak < 75  # it was not opened

    tree = client.request("session/tree", {**session, "around": tail["leafId"], "limit": ROWS})
    assert tail["leafId"] == tree["leafId"]
    assert tail["leafRow"] == tree["leafRow"] - tree["offset"]
    assert [row["text"] for row in tail["rows"]] == [row["text"] for row in tree["rows"]]
    # Open now, it has the same rows whole.
    again = client.request("session/tail", {**session, "limit": ROWS})
    assert again["rows"] == tree["rows"]


def first_request(path: Path) -> str:
    """What the user says first."""
    with path.open(encoding="utf-8") as lines:
        messages = (json.loads(line).get("message", {}) for line in lines)
        content = next(one["content"] for one in messages if one.get("role") == "user")
    text: str = content[0]["text"]
    return text


def test_a_large_session_is_compacted_offline_in_ten_seconds(
    daemon: StartDaemon, make_large: Callable[..., Path]
) -> None:
    large = make_large(in_one_line=True)
    client = daemon()
    session = {"session": str(large)}
    opened = client.request("session/open", session)

    started = time.monotonic()
    answer = client.request("session/compact", {**session, "summarizer": "offline"})
    assert time.monotonic() - started < 10.0 * SLACK
    plan = answer["plan"]
    covered = len(plan["summarized"]) + len(plan["turnPrefix"])
    assert ENTRIES * 0.9 < covered < ENTRIES
    assert first_request(large) in answer["summary"]
    text = answer["summary"].partition("\n\n<read-files>")[0]
    assert len(text) <= 2 * 2_000 * 4  # of what is covered whole, and of a turn that is cut
    assert answer["leafId"] != opened["leafId"]

    peak = peak_memory(client._process.pid)
    if peak is not None:  # only Linux tells
        assert peak < 2_000
