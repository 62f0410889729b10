"""A real Pi, clients of one daemon and programs without locks write to one file at once."""

import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from branchline.demo.client import Client
from tests.e2e.conftest import CASES, SERVE, isolated
from tests.e2e.shared import SharedDaemon, append_each, place_for_daemon
from tests.e2e.world import lines_of, user
from tests.interop.pi_process import PI_1_6, Pi, Version

pytestmark = pytest.mark.interop

CLIENTS = 4
EACH = 60
THEIRS = 150
OF_EACH = 500
SECONDS = 300.0
FLUSH = {"durability": "flush"}
APPEND_FILE = """
const { appendFileSync } = require("node:fs");
const [path, count, sizes] = [process.argv[1], +process.argv[2], JSON.parse(process.argv[3])];
for (let n = 0; n < count; n++) {
  const message = { role: "user", content: "n".repeat(sizes[n % sizes.length]), timestamp: 1 };
  const common = { parentId: "a0000002", timestamp: "2026-02-03T11:00:00.000Z" };
  const entry = { type: "message", id: "n" + String(n).padStart(7, "0"), ...common, message };
  appendFileSync(path, JSON.stringify(entry) + "\\n");
}
"""
SIZES = [200, 900, 4_000, 20_000, 70_000, 200, 1_000, 300, 200_000, 500] * 5 + [3_000_000]
"""Characters of the messages in turn."""


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[SharedDaemon]:
    (tmp_path / "agent").mkdir(mode=0o700)
    with place_for_daemon(isolated(tmp_path)) as daemon:
        yield daemon


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Four messages, a0000001 to a0000004, one below the other."""
    path = tmp_path / "session.jsonl"
    path.write_bytes((CASES / "60-two-writers.jsonl").read_bytes())
    path.chmod(0o600)
    return path


def ask(client: Client, method: str, path: Path, **params: Any) -> Any:
    return client.request(f"session/{method}", {"session": str(path), **params})


def test_a_pi_and_four_clients(
    all_pi: Mapping[Version, Pi], shared: SharedDaemon, path: Path
) -> None:
    clients = [shared.connect(FLUSH, seconds=SECONDS) for _ in range(CLIENTS)]
    for client in clients:
        ask(client, "open", path)
    pi = all_pi[PI_1_6]
    pi.open(path)

    def ours(number: int) -> list[str]:
        return append_each(clients[number], path, "a0000004", number, EACH)

    def theirs() -> list[str]:
        said = [{"role": "user", "content": f"Pi: {n}", "timestamp": n} for n in range(THEIRS)]
        return [pi.call("appendMessage", message) for message in said]

    with ThreadPoolExecutor(CLIENTS + 1) as pool:
        pis = pool.submit(theirs)
        made = list(pool.map(ours, range(CLIENTS)))
        written = pis.result()
    added = {entry["id"]: entry for entry in lines_of(path)[5:]}
    assert added.keys() == {*written, *(one for ids in made for one in ids)}
    # Pi goes on from its own last entry, whatever we wrote meanwhile.
    assert [added[one]["parentId"] for one in written] == ["a0000004", *written[:-1]]
    leaves = [ask(client, "context", path, format="none") for client in clients]
    leaf_id = leaves[0]["leafId"]
    assert [one["leafId"] for one in leaves] == [leaf_id] * CLIENTS
    assert_one_chain(added, leaf_id, {one for ids in made for one in ids}, set(written))
    revisions = {ask(client, "open", path)["revision"] for client in clients}
    assert len(revisions) == 1
    pi.open(path)
    assert set(pi.look()["ids"]) == {f"a000000{n}" for n in range(1, 5)} | added.keys()


def assert_one_chain(
    added: Mapping[str, Any], leaf_id: str, ours: set[str], theirs: set[str]
) -> None:
    """All of ours is on the way from the leaf; where Pi wrote first, ours went on from that."""
    way = []
    while leaf_id in added:
        way.append(leaf_id)
        leaf_id = added[leaf_id]["parentId"]
    assert set(way) - theirs == ours


def test_two_daemons_and_a_program_without_locks(
    all_pi: Mapping[Version, Pi], shared: SharedDaemon, path: Path
) -> None:
    """``--no-daemon`` beside the shared one, and Node's ``appendFileSync``."""
    own = Client(SERVE, environment=shared.environment, seconds=SECONDS)
    with own:
        own.initialize(path.parent, FLUSH)
        clients = [shared.connect(FLUSH, seconds=SECONDS), own]

        def ours(number: int) -> list[str]:
            made = []
            for n in range(OF_EACH):
                text = f"{number}" * SIZES[n % len(SIZES)]
                answer = ask(clients[number], "append", path, entries=[user(text)])
                made.append(answer["leafId"])
            return made

        command = ["node", "-e", APPEND_FILE, str(path), str(OF_EACH), str(SIZES).replace(" ", "")]
        with ThreadPoolExecutor(2) as pool, subprocess.Popen(command) as program:
            made = list(pool.map(ours, range(2)))
            assert program.wait(SECONDS) == 0
        ids = [entry["id"] for entry in lines_of(path)[5:]]
        assert len(ids) == len(set(ids)) == 3 * OF_EACH
        assert set(ids) == {*made[0], *made[1], *(f"n{n:07}" for n in range(OF_EACH))}
        for client in clients:
            opened = ask(client, "open", path)
            assert opened["session"]["entryCount"] == 4 + 3 * OF_EACH
            assert {one["code"] for one in opened["warnings"]} <= {"cwd-missing"}
