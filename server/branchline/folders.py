"""Where the files of the agent, of the user and of Branchline itself are, by the environment.

Imports the standard library only, and little of it: the forwarder starts with every editor.
"""

from collections.abc import Mapping
from pathlib import Path


def agent_dir(environment: Mapping[str, str]) -> Path:
    """Pi's folder: ``$PI_CODING_AGENT_DIR``, else ``~/.pi/agent``."""
    named = environment.get("PI_CODING_AGENT_DIR", "").strip() or "~/.pi/agent"
    return expand(named, environment).absolute()


def locks_dir(environment: Mapping[str, str]) -> Path:
    """The folder of the lock files that stand beside the sessions."""
    return agent_dir(environment) / "branchline" / "locks"


def config_file(environment: Mapping[str, str]) -> Path:
    """The user's own settings file. It need not exist."""
    folder = _base(environment, "XDG_CONFIG_HOME", "~/.config")
    return folder / "branchline" / "settings.json"


def state_dir(environment: Mapping[str, str]) -> Path:
    """The folder of the shared daemon's log. It need not exist."""
    return _base(environment, "XDG_STATE_HOME", "~/.local/state") / "branchline"


def cache_dir(environment: Mapping[str, str]) -> Path:
    """The folder of what can be made again from the session files. It need not exist."""
    return _base(environment, "XDG_CACHE_HOME", "~/.cache") / "branchline"


def indexes_dir(environment: Mapping[str, str]) -> Path:
    """The folder of the saved indexes of large sessions. It may be deleted at any time."""
    return cache_dir(environment) / "index"


def expand(path: str, environment: Mapping[str, str]) -> Path:
    """The path with a leading ``~`` replaced by the home folder, as Pi does."""
    if path == "~" or path.startswith("~/"):
        return Path(environment.get("HOME") or Path.home()) / path[2:]
    return Path(path)


def _base(environment: Mapping[str, str], variable: str, default: str) -> Path:
    """A base folder of the XDG specification, which lets only absolute paths count."""
    named = Path(environment.get(variable, ""))
    return named if named.is_absolute() else expand(default, environment)
