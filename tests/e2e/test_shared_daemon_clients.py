"""Several clients of one daemon: each is told what concerns it, and has settings of its own."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from branchline.demo.client import Client, DaemonError
from tests.e2e.editor import CONVERSATION, GOOD, KEEP, Editor, asks, begin, gate, session
from tests.e2e.shared import CONNECT, SharedDaemon, wait_until
from tests.e2e.talk import SAMPLE, Talk, write_session
from tests.e2e.world import RawDaemon, raw_daemon
from tests.model_server import SECRET, model_server, says

Json = Any


@pytest.fixture
def path(agent_dir: Path) -> Path:
    return write_session(agent_dir / "sessions" / "--w--", *SAMPLE)


def news(client: Client, method: str = "session/changed") -> list[Json]:
    """What a client was told so far, after a round trip."""
    client.request("session/summarizer", {})
    return [params for name, params in client.notifications if name == method]


# --- who is told ---------------------------------------------------------------------------------


def test_everybody_is_told_of_every_change_in_order(shared: SharedDaemon, path: Path) -> None:
    talks = [Talk(shared.connect(), path) for _ in range(3)]
    stranger = shared.connect()
    assert [talk.opened["revision"] for talk in talks] == [0, 0, 0]
    for number in range(4):
        for talk in talks:
            talk.append({"type": "custom", "customType": "n", "data": number})
    leaf = talks[0].leaf()
    for talk in talks:
        told = news(talk.client)
        assert [one["revision"] for one in told] == list(range(1, 13))
        # A gap would show: each names the revision that it follows.
        assert [one["previousRevision"] for one in told] == list(range(12))
        assert [one["previousLeafId"] for one in told[1:]] == [one["leafId"] for one in told[:-1]]
        assert told[-1]["leafId"] == leaf
    assert news(stranger) == []
    talks[1].ask("close")
    talks[2].client.close()
    talks[0].append({"type": "custom", "customType": "n"})
    assert len(news(talks[0].client)) == 13
    assert len(news(talks[1].client)) == 12


def test_the_one_that_asked_is_told_before_its_answer(shared: SharedDaemon, path: Path) -> None:
    asking, other = Talk(shared.connect(), path), Talk(shared.connect(), path)
    for number in range(20):
        answer = asking.append({"type": "custom", "customType": "n"})
        assert asking.client.notifications[-1][1]["revision"] == answer["revision"] == number + 1
    assert len(news(other.client)) == 20


def test_everybody_is_told_when_a_session_is_gone(shared: SharedDaemon, path: Path) -> None:
    one, other = Talk(shared.connect(), path), Talk(shared.connect(), path)
    one.ask("delete")
    for talk in (one, other):
        (told,) = news(talk.client, "session/reset")
        assert (told["path"], told["reason"]) == (str(path), "deleted")


def editor_of(daemon: RawDaemon, path: Path, settings: Json = None) -> Editor:
    return Editor(daemon, path, settings or {}, {})


def test_a_summary_is_seen_by_all_and_is_the_only_one(
    shared: SharedDaemon, agent_dir: Path
) -> None:
    path = session(agent_dir, *CONVERSATION)
    wait = gate()
    with (
        model_server(says(GOOD).after(wait)) as server,
        raw_daemon(CONNECT, shared.environment) as first,
        raw_daemon(CONNECT, shared.environment) as second,
        raw_daemon(CONNECT, shared.environment) as third,
    ):
        writer = editor_of(first, path, asks(server))
        other = editor_of(second, path)
        work = begin(writer, "compaction", preview=True)
        server.wait_for_requests(1)
        job = other.see(lambda one: one.get("method") == "session/busy")["params"]["job"]
        assert job["kind"] == "compaction"
        error = other.wait(begin(other, "compaction"))["error"]
        assert (error["code"], error["data"]["job"]["id"]) == (4007, job["id"])
        late = editor_of(third, path)
        assert [one["job"]["id"] for one in late.news("session/busy")] == [job["id"]]
        wait.set()
        draft = writer.wait(work)["result"]["draftId"]
        for one in (writer, other, late):
            assert [told["job"] is None for told in one.news("session/busy")] == [False, True]
            assert GOOD[:20] in "".join(one.texts().values())
        # A draft is the daemon's: whoever has its id can store it.
        stored = other.ask("compact", draftId=draft, keepRecentTokens=KEEP)
        assert writer.entry(stored["entryId"])["type"] == "compaction"


def test_a_summary_ends_with_the_client_that_asked_for_it(
    shared: SharedDaemon, agent_dir: Path
) -> None:
    path = session(agent_dir, *CONVERSATION)
    with (
        model_server(says(GOOD).after(gate()), says(GOOD)) as server,
        raw_daemon(CONNECT, shared.environment) as first,
        raw_daemon(CONNECT, shared.environment) as second,
    ):
        writer = editor_of(first, path, asks(server))
        other = editor_of(second, path, asks(server))
        begin(writer, "compaction")
        server.wait_for_requests(1)
        first.process.kill()
        other.see(lambda one: one.get("method") == "session/busy" and one["params"]["job"] is None)
        assert other.wait(begin(other, "compaction"))["result"]["entryId"]


# --- what is one's own ---------------------------------------------------------------------------


def compacted(client: Client, path: Path) -> Json:
    params = {"session": str(path), "keepRecentTokens": KEEP, "preview": True}
    return client.request("session/compact", params)


def test_a_key_is_used_for_its_own_client_only(shared: SharedDaemon, agent_dir: Path) -> None:
    path = session(agent_dir, *CONVERSATION)
    with model_server(says(GOOD), says(GOOD), says(GOOD)) as server:
        settings = asks(server)
        first = shared.connect(settings, environment={"OPENAI_API_KEY": "first-key"})
        second = shared.connect(settings, environment={"OPENAI_API_KEY": "second-key"})
        keyless = shared.connect(settings)
        for client in (second, keyless, first):
            compacted(client, path)
        sent = [one.headers.get("authorization") for one in server.requests]
    assert sent == ["Bearer second-key", None, "Bearer first-key"]


def test_keys_are_nowhere_but_in_memory(shared: SharedDaemon, agent_dir: Path) -> None:
    path = session(agent_dir, *CONVERSATION)
    variables = {"OPENAI_API_KEY": f"sk-{SECRET}", "OTHER_API_KEY": f"other-{SECRET}"}
    with model_server(says(GOOD)) as server:
        client = shared.connect(asks(server), environment=variables)
        compacted(client, path)
        pid = shared.pid()
        environment = Path("/proc", str(pid), "environ")
        if environment.exists():
            assert b"PI_CODING_AGENT_DIR" in environment.read_bytes()
            assert SECRET.encode() not in environment.read_bytes()
        assert SECRET not in json.dumps(shared.status())
        client.close()
    shared.end()
    assert SECRET not in shared.log()
    folders = (agent_dir, shared.place.folder, Path(shared.environment["HOME"]))
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    assert any(file.suffix == ".log" for file in files)
    for file in files:
        assert SECRET.encode() not in file.read_bytes(), file


def test_a_key_that_cannot_come_along_is_told(shared: SharedDaemon) -> None:
    settings = {"summarizer": {"apiKeyEnv": "MY_SECRET"}}
    client = shared.connect(settings, environment={"MY_SECRET": SECRET})
    (told,) = news(client, "window/showMessage")
    assert "MY_SECRET does not reach the shared daemon" in told["message"]
    assert SECRET not in told["message"]
    assert news(shared.connect(), "window/showMessage") == []


def test_settings_are_those_of_each_client(
    shared: SharedDaemon, path: Path, tmp_path: Path
) -> None:
    def window(client: Client) -> Json:
        opened = client.request("session/open", {"session": str(path)})
        return opened["settings"]["contextWindow"], opened["usage"]["contextWindow"]

    config = tmp_path / "config" / "branchline"
    config.mkdir(parents=True)
    (config / "settings.json").write_text('{"contextWindow": 3000}')
    plain = shared.connect()
    given = shared.connect({"contextWindow": 2000})
    configured = shared.connect(environment={"XDG_CONFIG_HOME": str(config.parent)})
    assert [window(one) for one in (plain, given, configured)] == [
        (128_000, 128_000),
        (2000, 2000),
        (3000, 3000),
    ]
    params = {"settings": {"contextWindow": 4000}}
    given.notify("workspace/didChangeConfiguration", params)
    assert window(given) == (4000, 4000)
    Talk(plain, path).append({"type": "custom", "customType": "n"})
    windows = [news(one)[-1]["usage"]["contextWindow"] for one in (plain, given, configured)]
    assert windows == [128_000, 4000, 3000]


def test_folders_are_those_of_each_client(shared: SharedDaemon, tmp_path: Path) -> None:
    def cwds(client: Client) -> list[str]:
        listed = client.request("session/list", {"scope": "workspace"})
        return [one["cwd"] for one in listed["sessions"]]

    folders = [tmp_path / name for name in ("one", "other")]
    for folder in folders:
        folder.mkdir()
    clients = [shared.connect(folder=folder) for folder in folders]
    for client in clients:
        made = client.request("session/create", {})["session"]
        Talk(client, Path(made["path"])).append({"type": "custom", "customType": "n"})
    assert [cwds(client) for client in clients] == [[str(one)] for one in folders]


def test_a_client_without_folders_works_where_it_was_started(
    shared: SharedDaemon, tmp_path: Path
) -> None:
    (tmp_path / "here").mkdir()
    variables = {**shared.environment, "PI_CODING_AGENT_DIR": "agent"}
    with raw_daemon(CONNECT, variables, cwd=tmp_path / "here") as daemon:
        daemon.initialize()
        made = json.loads(daemon.ask("session/create", {}))["result"]["session"]
    assert made["cwd"] == str(tmp_path / "here")
    # A relative agent dir starts from there, too, and leads to a daemon of its own.
    assert made["path"].startswith(str(tmp_path / "here" / "agent" / "sessions"))
    assert shared.status() is None
    with raw_daemon(CONNECT, variables, cwd=tmp_path / "here") as daemon:
        daemon.initialize(initializationOptions={"sessionsDir": "kept"})
        made = json.loads(daemon.ask("session/create", {}))["result"]["session"]
        listed = json.loads(daemon.ask("session/list", {"scope": "all"}))["result"]["sessions"]
    assert Path(made["path"]).parent == tmp_path / "here" / "kept"
    assert [one["path"] for one in listed] == [made["path"]]
    with ExitStack() as running:
        absolute = {**variables, "PI_CODING_AGENT_DIR": str(tmp_path / "here" / "agent")}
        SharedDaemon(absolute, running).end()


def test_sessions_are_listed_where_each_client_has_its_own(
    shared: SharedDaemon, tmp_path: Path
) -> None:
    def listed(client: Client) -> list[str]:
        found = client.request("session/list", {"scope": "all"})
        return [one["path"] for one in found["sessions"]]

    kept = tmp_path / "kept"
    plain = shared.connect()
    own = shared.connect(environment={"PI_CODING_AGENT_SESSION_DIR": str(kept)})
    made = own.request("session/create", {})["session"]
    assert Path(made["path"]).parent == kept
    assert listed(own) == [made["path"]]
    assert listed(plain) == []


def test_a_session_in_which_nothing_was_said_goes_with_its_client(shared: SharedDaemon) -> None:
    def total(client: Client) -> int:
        count: int = client.request("session/list", {"scope": "all"})["total"]
        return count

    stays, leaves = shared.connect(), shared.connect()
    watched = leaves.request("session/create", {"id": "watched"})["session"]
    leaves.request("session/create", {"id": "forgotten"})
    stays.request("session/open", {"session": watched["path"]})
    assert total(stays) == 2
    leaves.close()
    wait_until(lambda: len((shared.status() or {})["clients"]) == 1)
    assert total(stays) == 1
    with pytest.raises(DaemonError, match="forgotten"):
        stays.request("session/open", {"session": "forgotten"})
    Talk(stays, Path(watched["path"])).append({"type": "custom", "customType": "n"})
    assert Path(watched["path"]).exists()


def test_read_only_is_one_clients_own_wish(shared: SharedDaemon, path: Path) -> None:
    looking = Talk(shared.connect(), path, readOnly=True)
    writing = Talk(shared.connect(), path)
    writing.append({"type": "custom", "customType": "n"})
    with pytest.raises(DaemonError) as error:
        looking.append({"type": "custom", "customType": "n"})
    assert error.value.data["kind"] == "readOnly"
    assert len(news(looking.client)) == 1


# --- looking from outside ------------------------------------------------------------------------


def test_status_shows_who_is_there(
    shared: SharedDaemon, path: Path, copy_session: Callable[..., Path]
) -> None:
    client = shared.connect()
    Talk(client, path)
    other = copy_session("60-two-writers")
    Talk(shared.connect(), other)
    leaving = Talk(shared.connect(), other).client
    found = json.loads(shared.command("status", "--json").stdout)
    pids = [one.pop("pid") for one in found["clients"]]
    assert len(set(pids)) == 3
    home = str(Path.cwd())
    assert found["clients"] == [{"name": None, "cwd": home}] * 3
    opened = {one["path"]: one["clients"] for one in found["sessions"]}
    assert opened == {str(path): 1, str(other.resolve()): 2}
    assert found["running"] is True
    assert found["socket"] == str(shared.place.socket)
    assert 10e6 < found["memoryBytes"] < 500e6
    assert 0 <= found["uptimeSeconds"] < 60
    drawn = shared.command("status").stdout
    assert f"process   {found['pid']}\n" in drawn
    assert f"  {pids[0]}  unnamed  in {home}\n" in drawn
    assert f"  {path}  open in 1 client\n" in drawn
    assert "open in 2 clients\n" in drawn
    assert leaving.close() == 0
    wait_until(lambda: len((shared.status() or {})["clients"]) == 2)
    assert [one["clients"] for one in (shared.status() or {})["sessions"]] == [1, 1]
