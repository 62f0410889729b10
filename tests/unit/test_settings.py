import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchline import settings as module
from branchline.errors import InvalidParams
from branchline.settings import LoadedSettings, SessionsRoot, Settings, load_settings
from branchline.settings_table import SETTINGS, markdown_table

MODEL = {"provider": "local", "modelId": "org/big"}


class Machine:
    """A home, a project and the settings files in them."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.project = root / "project"
        self.other = root / "other"
        for folder in (self.home, self.project, self.other):
            folder.mkdir()
        self.environment = {"HOME": str(self.home)}
        self.user_file = self.home / ".config" / "branchline" / "settings.json"

    def write_pi(self, document: object, project: Path | None = None) -> None:
        folder = project / ".pi" if project else self.home / ".pi" / "agent"
        write(folder / "settings.json", document)

    def load(self, client: Any = None) -> LoadedSettings:
        return load_settings(client, [self.project, self.other], self.environment)

    def settings(self, client: Any = None) -> Settings:
        loaded = self.load(client)
        assert loaded.problems == []
        return loaded.settings


def write(file: Path, document: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


# --- values ----------------------------------------------------------------------------------


def test_without_any_source_the_defaults_hold(machine: Machine) -> None:
    assert module.as_json(machine.settings()) == {
        "sessionsDir": None,
        "durability": "fsync",
        "contextWindow": 128000,
        "models": {},
        "compaction": {
            "auto": False,
            "reserveTokens": 16384,
            "keepRecentTokens": 20000,
            "modelOverrides": {},
        },
        "branchSummary": {"reserveTokens": 16384, "pinnedTokens": 4096, "skipPrompt": False},
        "summarizer": {
            "use": "auto",
            "baseUrl": None,
            "apiKeyEnv": "OPENAI_API_KEY",
            "model": None,
            "timeoutSeconds": 120,
            "maxRetries": 3,
        },
        "prompt": {
            "baseUrl": None,
            "apiKeyEnv": "OPENAI_API_KEY",
            "model": None,
            "timeoutSeconds": 120,
            "maxRetries": 3,
            "projectInstructions": True,
        },
    }


def test_what_is_shown_can_be_set_again(machine: Machine) -> None:
    client = {
        "sessionsDir": "kept",
        "models": {"local/org/big": {"contextWindow": 32000, "baseUrl": "http://localhost:1/v1"}},
        "compaction": {"modelOverrides": {"local/org/big": {"keepRecentTokens": 0}}},
        "summarizer": {"model": "small", "timeoutSeconds": 2.5},
    }
    settings = machine.settings(client)
    assert machine.settings(module.as_json(settings)) == settings


def test_the_documentation_has_a_row_for_every_setting() -> None:
    table = markdown_table()
    assert [line.split("`")[1] for line in table.splitlines()[2:]] == [row.path for row in SETTINGS]
    assert '| `durability` | one of "fsync", "flush" | `"fsync"` |' in table
    assert "| `compaction.auto` | true or false | `false` |" in table


def test_model_settings_count_for_that_model_only(machine: Machine) -> None:
    settings = machine.settings(
        {
            "contextWindow": 1000,
            "models": {"local/org/big": {"contextWindow": 2000}},
            "compaction": {
                "reserveTokens": 10,
                "modelOverrides": {"local/org/big": {"reserveTokens": 0}},
            },
        }
    )
    assert settings.context_window(MODEL) == 2000
    assert settings.context_window({"provider": "local", "model": "org/big"}) == 2000
    assert settings.context_window({"provider": "local", "modelId": "small"}) == 1000
    assert settings.context_window(None) == 1000
    assert settings.reserve_tokens(MODEL) == 0
    assert settings.reserve_tokens(None) == 10
    assert settings.keep_recent_tokens(MODEL) == 20000


def test_a_prompt_uses_the_summarizers_connection_but_not_its_model(machine: Machine) -> None:
    prompt = machine.settings(
        {
            "summarizer": {"baseUrl": "http://one/v1", "model": "small", "maxRetries": 1},
            "prompt": {"maxRetries": 0},
        }
    ).prompt
    assert (prompt.base_url, prompt.max_retries, prompt.model) == ("http://one/v1", 0, None)


# --- what the client sends -------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent",
    [
        {"durability": "flush"},
        {"branchline": {"durability": "flush"}},
        {"settings": {"durability": "flush"}},
        {"settings": {"branchline": {"durability": "flush"}, "editor": {"tabSize": 4}}},
    ],
)
def test_the_client_may_wrap_its_settings(machine: Machine, sent: object) -> None:
    assert machine.settings(sent).durability == "flush"


@pytest.mark.parametrize("sent", [None, {}, {"settings": None}, {"branchline": {}}])
def test_a_client_need_not_set_anything(machine: Machine, sent: object) -> None:
    assert machine.settings(sent) == machine.settings()


@pytest.mark.parametrize("nothing", [None, ""])
def test_null_and_an_empty_text_leave_an_optional_setting_alone(
    machine: Machine, nothing: object
) -> None:
    write(machine.user_file, {"summarizer": {"model": "small"}})
    assert machine.settings({"summarizer": {"model": nothing}}).summarizer.model == "small"


@pytest.mark.parametrize(
    ("sent", "parameter", "expected"),
    [
        (
            {"compaction": {"reserveTokens": "1"}},
            "compaction.reserveTokens",
            "must be a whole number",
        ),
        ({"compaction": {"reserveTokens": -1}}, "compaction.reserveTokens", "from 0 to"),
        ({"compaction": {"reserveTokens": True}}, "compaction.reserveTokens", "whole number"),
        ({"compaction": {"reserveTokens": 1.5}}, "compaction.reserveTokens", "whole number"),
        ({"compaction": {"reserveTokens": 2**53}}, "compaction.reserveTokens", "whole number"),
        ({"compaction": {"auto": 1}}, "compaction.auto", "must be true or false"),
        ({"compaction": []}, "compaction", "must be an object"),
        ({"contextWindow": 0}, "contextWindow", "from 1 to"),
        ({"contextWindow": None}, "contextWindow", "whole number"),
        ({"durability": "never"}, "durability", 'must be one of "fsync", "flush"'),
        ({"sessionsDir": 7}, "sessionsDir", "must be a text"),
        ({"summarizer": {"timeoutSeconds": 0.5}}, "summarizer.timeoutSeconds", "1 or more"),
        (
            {"models": {"a/b.c": {"contextWindow": "x"}}},
            "models.a/b.c.contextWindow",
            "whole number",
        ),
        ({"models": {"a/b": 3}}, "models.a/b", "must be an object"),
        ([], "settings", "must be an object"),
        ({"settings": 4}, "settings", "must be an object"),
    ],
)
def test_a_wrong_type_from_the_client_is_an_error_naming_the_key(
    machine: Machine, sent: object, parameter: str, expected: str
) -> None:
    with pytest.raises(InvalidParams) as caught:
        machine.load(sent)
    assert caught.value.facts["parameter"] == parameter
    assert expected in caught.value.message


def test_a_key_given_in_place_of_its_variables_name_is_refused_and_not_repeated(
    machine: Machine,
) -> None:
    with pytest.raises(InvalidParams, match="not the key itself") as caught:
        machine.load({"summarizer": {"apiKeyEnv": "sk-secret"}})
    assert "sk-secret" not in str(caught.value.message) + str(caught.value.data)


def test_a_whole_number_may_come_as_a_float(machine: Machine) -> None:
    assert machine.settings({"contextWindow": 64000.0}).context_window(None) == 64000


def test_unknown_keys_are_reported_at_any_depth_with_the_likely_name(machine: Machine) -> None:
    loaded = machine.load(
        {
            "compaction": {"reserveToken": 1, "auto": True},
            "reserveTokens": 2,
            "models": {"a/b": {"window": 3}},
            "qqq": {"deep": 4},
        }
    )
    assert loaded.settings.compaction.auto
    assert loaded.problems == [
        "Unknown setting 'reserveTokens' in the editor's settings: ignored;"
        " did you mean 'compaction.reserveTokens'?",
        "Unknown setting 'qqq' in the editor's settings: ignored",
        "Unknown setting 'compaction.reserveToken' in the editor's settings: ignored;"
        " did you mean 'compaction.reserveTokens'?",
        "Unknown setting 'models.a/b.window' in the editor's settings: ignored;"
        " did you mean 'models.*.contextWindow'?",
    ]


def test_an_endless_key_is_cut_in_the_problem(machine: Machine) -> None:
    (problem,) = machine.load({"k" * 100_000: 1}).problems
    assert len(problem) < 300


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(sorted({key for row in SETTINGS for key in row.path.split(".")}))
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
)


@given(_JSON)
def test_whatever_a_client_sends_is_settings_or_an_error_naming_a_key(sent: Any) -> None:
    try:
        loaded = load_settings(sent, [], {"HOME": "/nonexistent"})
    except InvalidParams as error:
        named = error.facts["parameter"]
    else:
        named = json.dumps(module.as_json(loaded.settings), allow_nan=False)
    assert named


# --- the user's file -------------------------------------------------------------------------


def test_the_client_overrules_the_users_file_key_by_key(machine: Machine) -> None:
    write(machine.user_file, {"compaction": {"reserveTokens": 1, "keepRecentTokens": 2}})
    compaction = machine.settings({"compaction": {"reserveTokens": 3}}).compaction
    assert (compaction.reserve_tokens, compaction.keep_recent_tokens) == (3, 2)


def test_a_wrong_value_in_the_users_file_is_a_problem_and_the_rest_counts(machine: Machine) -> None:
    write(machine.user_file, {"contextWindow": "big", "durability": "flush", "extra": 1})
    loaded = machine.load()
    assert loaded.settings.durability == "flush"
    assert loaded.settings.context_window(None) == 128000
    unknown, wrong = loaded.problems
    assert unknown == f"Unknown setting 'extra' in {machine.user_file}: ignored"
    assert wrong.startswith(
        f"Setting 'contextWindow' in {machine.user_file} must be a whole number"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"durability": }', "line 1 column 16"),
        ("[]", "it must hold a JSON object"),
        ("", "line 1 column 1"),
        ("[" * 5000, "recursion"),
    ],
)
def test_a_broken_users_file_is_a_problem_naming_file_and_place(
    machine: Machine, text: str, reason: str
) -> None:
    machine.user_file.parent.mkdir(parents=True)
    machine.user_file.write_text(text)
    loaded = machine.load()
    (problem,) = loaded.problems
    assert str(machine.user_file) in problem
    assert reason in problem
    assert loaded.settings.durability == "fsync"


# --- Pi's files ------------------------------------------------------------------------------


def test_pis_files_are_defaults_and_a_project_overrules_the_user(machine: Machine) -> None:
    machine.write_pi(
        {
            "compaction": {
                "reserveTokens": 1,
                "keepRecentTokens": 2,
                "modelOverrides": {"local/org/big": {"reserveTokens": 5, "keepRecentTokens": 6}},
            },
            "branchSummary": {"reserveTokens": 3, "skipPrompt": True},
            "theme": "dark",
        }
    )
    machine.write_pi(
        {
            "compaction": {
                "keepRecentTokens": 4,
                "modelOverrides": {"local/org/big": {"keepRecentTokens": 7}},
            }
        },
        machine.project,
    )
    settings = machine.settings()
    assert (settings.reserve_tokens(None), settings.keep_recent_tokens(None)) == (1, 4)
    assert (settings.reserve_tokens(MODEL), settings.keep_recent_tokens(MODEL)) == (5, 7)
    assert settings.branch_summary.reserve_tokens == 3
    assert settings.branch_summary.skip_prompt
    write(machine.user_file, {"compaction": {"reserveTokens": 9}})
    assert machine.settings().reserve_tokens(None) == 9


def test_the_first_of_two_projects_counts(machine: Machine) -> None:
    machine.write_pi({"compaction": {"reserveTokens": 1}}, machine.project)
    machine.write_pi({"compaction": {"reserveTokens": 2, "keepRecentTokens": 3}}, machine.other)
    compaction = machine.settings().compaction
    assert (compaction.reserve_tokens, compaction.keep_recent_tokens) == (1, 3)


def test_compaction_disabled_in_pi_stays_off_and_enabled_changes_nothing(machine: Machine) -> None:
    machine.write_pi({"compaction": {"enabled": False, "auto": True}})
    assert not machine.settings({"compaction": {"auto": True}}).compaction.auto
    machine.write_pi({"compaction": {"enabled": True, "auto": True}})
    assert not machine.settings().compaction.auto
    assert machine.settings({"compaction": {"auto": True}}).compaction.auto
    machine.write_pi({"compaction": {"enabled": False}}, machine.project)
    assert not machine.settings({"compaction": {"auto": True}}).compaction.auto


def test_wrong_things_in_pis_files_are_passed_over(machine: Machine) -> None:
    machine.write_pi(
        {"compaction": {"reserveTokens": -1, "x": 1}, "branchSummary": 3, "sessionDir": 4}
    )
    (machine.project / ".pi").mkdir()
    (machine.project / ".pi" / "settings.json").write_text("{broken")
    assert machine.settings() == machine.settings({})
    assert machine.settings().reserve_tokens(None) == 16384


def test_a_pipe_in_a_project_does_not_stop_the_reader(machine: Machine) -> None:
    (machine.project / ".pi").mkdir()
    os.mkfifo(machine.project / ".pi" / "settings.json")
    assert machine.settings().durability == "fsync"


def test_a_repository_cannot_choose_servers_models_or_durability(machine: Machine) -> None:
    machine.write_pi(
        {
            "summarizer": {"use": "openai", "baseUrl": "http://evil/v1", "model": "m"},
            "prompt": {"baseUrl": "http://evil/v1"},
            "models": {"local/org/big": {"baseUrl": "http://evil/v1"}},
            "durability": "flush",
            "sessionsDir": "/elsewhere",
            "contextWindow": 1,
        },
        machine.project,
    )
    before = load_settings(None, [], machine.environment).settings
    assert machine.settings() == before


# --- where sessions are ----------------------------------------------------------------------


def root_of(machine: Machine, client: object = None) -> SessionsRoot:
    return module.sessions_root(machine.settings(client), machine.environment, machine.project)


def test_sessions_are_in_pis_folder_unless_told_otherwise(machine: Machine) -> None:
    assert root_of(machine) == SessionsRoot(machine.home / ".pi/agent/sessions", flat=False)
    machine.environment["PI_CODING_AGENT_DIR"] = "~/agent"
    assert root_of(machine) == SessionsRoot(machine.home / "agent/sessions", flat=False)


def test_an_overridden_sessions_folder_is_flat_and_starts_at_the_cwd(machine: Machine) -> None:
    assert root_of(machine, {"sessionsDir": "kept"}) == SessionsRoot(
        machine.project / "kept", flat=True
    )
    assert root_of(machine, {"sessionsDir": "~/kept"}) == SessionsRoot(
        machine.home / "kept", flat=True
    )
    assert root_of(machine, {"sessionsDir": "/kept"}) == SessionsRoot(Path("/kept"), flat=True)


def test_each_source_of_the_sessions_folder_overrules_the_one_before(machine: Machine) -> None:
    machine.write_pi({"sessionDir": "/pi"})
    assert root_of(machine).path == Path("/pi")
    machine.write_pi({"sessionDir": "inside"}, machine.project)
    assert root_of(machine).path == machine.project / "inside"
    machine.environment["PI_CODING_AGENT_SESSION_DIR"] = "/env"
    assert root_of(machine).path == Path("/env")
    write(machine.user_file, {"sessionsDir": "/user"})
    assert root_of(machine).path == Path("/user")
    assert root_of(machine, {"sessionsDir": "/client"}).path == Path("/client")


@pytest.mark.parametrize("directory", ["..", "/", "~/x", "link/x", "inside/../../other", "a\0b"])
def test_a_project_cannot_put_sessions_outside_itself(machine: Machine, directory: str) -> None:
    (machine.project / "link").symlink_to(machine.other)
    machine.write_pi({"sessionDir": directory}, machine.project)
    assert root_of(machine) == SessionsRoot(machine.home / ".pi/agent/sessions", flat=False)
