"""Where the files are that belong to no session."""

from pathlib import Path

import pytest

from branchline.folders import agent_dir, config_file, expand, locks_dir, state_dir

HOME = {"HOME": "/home/me"}


def test_pis_folder_is_in_the_home_unless_named() -> None:
    assert agent_dir(HOME) == Path("/home/me/.pi/agent")
    assert agent_dir({**HOME, "PI_CODING_AGENT_DIR": "~/agent"}) == Path("/home/me/agent")
    assert agent_dir({**HOME, "PI_CODING_AGENT_DIR": " "}) == Path("/home/me/.pi/agent")
    assert agent_dir({**HOME, "PI_CODING_AGENT_DIR": "here"}) == Path.cwd() / "here"
    assert locks_dir(HOME) == Path("/home/me/.pi/agent/branchline/locks")


@pytest.mark.parametrize("relative", ["", "relative", "~/x"])
def test_a_base_folder_counts_if_it_is_absolute(relative: str) -> None:
    variables = {**HOME, "XDG_CONFIG_HOME": relative, "XDG_STATE_HOME": relative}
    assert config_file(variables) == Path("/home/me/.config/branchline/settings.json")
    assert state_dir(variables) == Path("/home/me/.local/state/branchline")
    variables = {**HOME, "XDG_CONFIG_HOME": "/config", "XDG_STATE_HOME": "/state"}
    assert config_file(variables) == Path("/config/branchline/settings.json")
    assert state_dir(variables) == Path("/state/branchline")


def test_only_ones_own_home_is_expanded() -> None:
    assert expand("~", HOME) == Path("/home/me")
    assert expand("~/a", HOME) == Path("/home/me/a")
    assert expand("~other/a", HOME) == Path("~other/a")
    assert expand("~/a", {}) == Path.home() / "a"
