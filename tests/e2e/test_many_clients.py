"""Many clients of one shared daemon write to one session at once, and all end with the same."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from branchline.demo.client import Client
from tests.e2e.shared import SharedDaemon, append_each
from tests.e2e.world import lines_of

CLIENTS = 8
EACH = 250
FLUSH = {"durability": "flush"}
SECONDS = 300.0


@pytest.fixture
def path(copy_session: Callable[..., Path]) -> Path:
    """Four messages, a0000001 to a0000004, one below the other."""
    return copy_session("60-two-writers")


def test_eight_clients_make_one_chain(shared: SharedDaemon, path: Path) -> None:
    clients = [shared.connect(FLUSH, seconds=SECONDS) for _ in range(CLIENTS)]
    for client in clients:
        client.request("session/open", {"session": str(path)})

    def work(number: int) -> list[str]:
        return append_each(clients[number], path, "a0000004", number, EACH)

    with ThreadPoolExecutor(CLIENTS) as pool:
        made = list(pool.map(work, range(CLIENTS)))
    added = lines_of(path)[5:]
    assert len(added) == CLIENTS * EACH
    assert {entry["id"] for entry in added} == {one for ids in made for one in ids}
    parents = ["a0000004", *(entry["id"] for entry in added)][:-1]
    assert [entry["parentId"] for entry in added] == parents
    ends = [end_of(client, path) for client in clients]
    assert ends == [ends[0]] * CLIENTS
    assert ends[0]["revision"] == CLIENTS * EACH
    assert ends[0]["leafId"] == added[-1]["id"]


def end_of(client: Client, path: Path) -> dict[str, Any]:
    """What a client has at the end, after it was told of each change once and in order."""
    tree = client.request("session/tree", {"session": str(path), "filter": "all", "limit": 5000})
    changes = [params for name, params in client.notifications if name == "session/changed"]
    assert [one["previousRevision"] for one in changes] == list(range(CLIENTS * EACH))
    assert [one["revision"] for one in changes] == list(range(1, CLIENTS * EACH + 1))
    told = [one["id"] for change in changes for one in change["appended"]]
    assert told == [entry["id"] for entry in lines_of(path)[5:]]
    return {**tree, "rows": [row["id"] for row in tree["rows"]]}
