"""Settings: what a client sends, what a person is shown, what it changes."""

import json
from pathlib import Path
from typing import Any

import pytest

from branchline.demo.client import Client, DaemonError
from tests.e2e.conftest import SECONDS, SERVE, StartDaemon
from tests.e2e.talk import SAMPLE, Talk, said, write_session


def shown(client: Client) -> list[tuple[int, str]]:
    """What was shown to the person: how grave (1 error, 2 warning), and the text."""
    client.request("session/list", {"scope": "all"})  # whatever was on its way is here now
    found = [
        (params["type"], params["message"])
        for name, params in client.notifications
        if name == "window/showMessage"
    ]
    client.notifications.clear()
    return found


def settings_of(talk: Talk) -> Any:
    return talk.ask("open")["settings"]


def change(client: Client, settings: Any) -> None:
    client.notify("workspace/didChangeConfiguration", {"settings": settings})


def test_an_unknown_key_is_a_warning(daemon: StartDaemon) -> None:
    ((kind, text),) = shown(daemon({"durabilty": "flush"}))
    assert kind == 2
    assert "durabilty" in text
    assert "durability" in text


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"durability": "never"}, "durability"),
        ({"contextWindow": "large"}, "contextWindow"),
        ({"compaction": {"reserveTokens": -1}}, "compaction.reserveTokens"),
        ({"models": {"local/m": {"contextWindow": True}}}, "models.local/m.contextWindow"),
        ({"compaction": 7}, "compaction"),
    ],
)
def test_a_value_of_the_wrong_type_is_an_error_that_names_its_key(
    environment: dict[str, str], tmp_path: Path, settings: Any, key: str
) -> None:
    with Client(SERVE, environment=environment, seconds=SECONDS) as client:
        with pytest.raises(DaemonError) as error:
            client.initialize(tmp_path, settings)
        assert (error.value.code, error.value.data["parameter"]) == (-32602, key)
        assert key in error.value.message
        client.initialize(tmp_path, {})
        assert client.request("session/list", {"scope": "all"})["total"] == 0


def test_settings_change_while_it_runs(talk: Talk) -> None:
    change(talk.client, {"branchline": {"contextWindow": 20_000, "durability": "flush"}})
    settings = settings_of(talk)
    assert (settings["contextWindow"], settings["durability"]) == (20_000, "flush")
    assert talk.ask("open")["usage"]["contextWindow"] == 20_000
    change(talk.client, {})
    assert settings_of(talk)["contextWindow"] == 128_000


def test_a_wrong_change_is_shown_and_changes_nothing(talk: Talk) -> None:
    change(talk.client, {"contextWindow": 20_000})
    change(talk.client, {"contextWindow": "large", "durability": "flush"})
    ((kind, text),) = shown(talk.client)
    assert (kind, "contextWindow" in text) == (1, True)
    settings = settings_of(talk)
    assert (settings["contextWindow"], settings["durability"]) == (20_000, "fsync")


def test_an_unknown_key_in_a_change_is_a_warning_and_the_rest_counts(talk: Talk) -> None:
    change(talk.client, {"colour": "red", "contextWindow": 20_000})
    ((kind, text),) = shown(talk.client)
    assert (kind, "colour" in text) == (2, True)
    assert settings_of(talk)["contextWindow"] == 20_000


def test_the_window_and_the_reserve_decide_when_it_is_due(talk: Talk) -> None:
    change(talk.client, {"contextWindow": 20, "compaction": {"reserveTokens": 11}})
    usage = talk.ask("open")["usage"]
    assert usage == {"tokens": 10, "contextWindow": 20, "reserveTokens": 11, "due": True}
    change(talk.client, {"contextWindow": 20, "compaction": {"reserveTokens": 10}})
    assert not talk.ask("open")["usage"]["due"]


def test_a_model_has_a_window_of_its_own(talk: Talk) -> None:
    change(talk.client, {"models": {"local/m": {"contextWindow": 5_000}}})
    assert talk.ask("open")["usage"]["contextWindow"] == 5_000
    talk.append({"type": "model_change", "provider": "local", "modelId": "other"})
    assert talk.told()[-1]["usage"]["contextWindow"] == 128_000


def test_the_user_s_own_file_counts_below_the_editor(
    daemon: StartDaemon, agent_dir: Path, environment: dict[str, str]
) -> None:
    folder = Path(environment["XDG_CONFIG_HOME"]) / "branchline"
    folder.mkdir(parents=True)
    values = {"contextWindow": 30_000, "durability": "flush", "nonsense": 1}
    (folder / "settings.json").write_text(json.dumps(values))
    path = write_session(agent_dir / "sessions" / "--w--", *SAMPLE)
    client = daemon({"contextWindow": 40_000})
    settings = settings_of(Talk(client, path))
    assert (settings["contextWindow"], settings["durability"]) == (40_000, "flush")
    ((kind, text),) = shown(client)
    assert (kind, "nonsense" in text) == (2, True)


def test_each_client_has_its_own(daemon: StartDaemon, talk: Talk) -> None:
    other = Talk(daemon({"contextWindow": 9_000}), talk.path)
    assert (settings_of(talk)["contextWindow"], settings_of(other)["contextWindow"]) == (
        128_000,
        9_000,
    )


def test_a_sessions_dir_that_changes_is_where_sessions_are(talk: Talk, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    change(talk.client, {"sessionsDir": str(folder)})
    assert talk.client.request("session/list", {"scope": "all"})["total"] == 0
    made = talk.client.request("session/create", {})["session"]
    assert Path(made["path"]).parent == folder
    talk.append(said())  # what is open stays open


def test_no_key_is_ever_shown(daemon: StartDaemon) -> None:
    client = daemon({"sk-secret-name": "sk-secret-value"})
    assert "sk-secret-value" not in str(shown(client))
