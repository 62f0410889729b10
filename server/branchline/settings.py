"""Settings: where they come from, and which value counts.

What there is to set stands in `settings_table`. The sources, each overruling the one before:

1. the table's defaults;
2. Pi's own settings files, the user's and then each project's. A project's file comes with a
   repository, so only ``compaction``, ``branchSummary`` and a ``sessionDir`` inside the project are
   taken from it;
3. ``PI_CODING_AGENT_SESSION_DIR``;
4. the user's ``branchline/settings.json``;
5. what the client sent.

This module reads those files and never writes one. It holds no key: ``apiKeyEnv`` is the name of
an environment variable, and no message here repeats a value that somebody set.
"""

import difflib
import os
import re
import stat
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from branchline.codec import DecodeError, Json, decode
from branchline.errors import InvalidParams
from branchline.folders import agent_dir, config_file, expand
from branchline.settings_table import GROUPS, ROWS, Key, Value, pattern_of

Durability = Literal["fsync", "flush"]
"""Whether an append waits for the disk."""

SummarizerUse = Literal["auto", "client", "openai", "offline"]
"""Who writes summaries; *auto*: the first that can."""

_LARGEST_FILE: Final = 1 << 20  # bytes; a settings file is some hundred
_LONGEST_NAME: Final = 200  # characters of a key in a message
_NAMES: Final = [".".join(path) for path in (*ROWS, *GROUPS) if path]


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """What is known of one model. None: not said."""

    context_window: int | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    max_output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class CompactionOverride:
    """Compaction settings of one model. None: as for every other."""

    reserve_tokens: int | None = None
    keep_recent_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class CompactionSettings:
    """``compaction``. The overrides are by exact ``provider/model``."""

    auto: bool
    reserve_tokens: int
    keep_recent_tokens: int
    model_overrides: Mapping[str, CompactionOverride]


@dataclass(frozen=True, slots=True)
class BranchSummarySettings:
    """``branchSummary``."""

    reserve_tokens: int
    pinned_tokens: int
    skip_prompt: bool


@dataclass(frozen=True, slots=True)
class SummarizerSettings:
    """``summarizer``."""

    use: SummarizerUse
    base_url: str | None
    api_key_env: str
    model: str | None
    timeout_seconds: float
    max_retries: int


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """``prompt``, with the summarizer's connection where it has none of its own."""

    base_url: str | None
    api_key_env: str
    model: str | None
    timeout_seconds: float
    max_retries: int
    project_instructions: bool


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in force for one connection."""

    sessions_dir: str | None
    durability: Durability
    default_context_window: int
    models: Mapping[str, ModelSettings]
    compaction: CompactionSettings
    branch_summary: BranchSummarySettings
    summarizer: SummarizerSettings
    prompt: PromptSettings

    def context_window(self, model: Mapping[str, Any] | None) -> int:
        """The context window of a model in tokens. For ``model`` see `model_key`."""
        known = self.models.get(model_key(model))
        return (known and known.context_window) or self.default_context_window

    def reserve_tokens(self, model: Mapping[str, Any] | None) -> int:
        """The tokens that compaction keeps free for this model."""
        override = self.compaction.model_overrides.get(model_key(model))
        value = override.reserve_tokens if override else None
        return self.compaction.reserve_tokens if value is None else value

    def room_tokens(self, model: Mapping[str, Any] | None) -> int:
        """The tokens that a context may have before it is compacted by itself.

        The window less the reserve; half of a window that is too small for its reserve.
        """
        window, reserve = self.context_window(model), self.reserve_tokens(model)
        return window - reserve if reserve < window else window // 2

    def keep_recent_tokens(self, model: Mapping[str, Any] | None) -> int:
        """The newest tokens that compaction leaves as they are for this model."""
        override = self.compaction.model_overrides.get(model_key(model))
        value = override.keep_recent_tokens if override else None
        return self.compaction.keep_recent_tokens if value is None else value


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings in force, and what a person should know of their sources, a line each."""

    settings: Settings
    problems: list[str]


@dataclass(frozen=True, slots=True)
class SessionsRoot:
    """The folder of the session files; ``flat`` if it has no folder for each cwd."""

    path: Path
    flat: bool


def load_settings(
    client: Json, folders: Sequence[Path], environment: Mapping[str, str]
) -> LoadedSettings:
    """Settings from all sources.

    Args:
        client: ``initializationOptions``, or the params of ``workspace/didChangeConfiguration``,
            bare or inside ``settings`` and ``branchline``; None if the client sent nothing.
        folders: the workspace folders. Where their Pi settings differ, the first one counts.
        environment: the environment variables of the connection.

    Raises:
        InvalidParams: a value from the client is of the wrong type; the parameter is its key.
    """
    problems: list[str] = []
    values: dict[Key, Value] = {}
    enabled = True
    for folder in (None, *reversed(folders)):
        file = (folder / ".pi" if folder else agent_dir(environment)) / "settings.json"
        document = _read_file(file, None)
        values |= _from_pi(document, folder, environment)
        match document:
            case {"compaction": {"enabled": bool(word)}}:
                enabled = word
    if directory := environment.get("PI_CODING_AGENT_SESSION_DIR", "").strip():
        values[("sessionsDir",)] = directory
    values |= _from_user(config_file(environment), problems)
    values |= _from_client(client, problems)
    if not enabled:
        values[("compaction", "auto")] = False
    return LoadedSettings(_build(values), problems)


def as_json(settings: Settings) -> dict[str, Any]:
    """The settings in force as JSON, in the shape in which they are set."""
    shown: dict[str, Any] = _plain(settings)
    shown["contextWindow"] = shown.pop("defaultContextWindow")
    return shown


def model_key(model: Mapping[str, Any] | None) -> str:
    """``provider/model`` of a mapping with ``provider`` and ``modelId`` or ``model``, else ""."""
    if model is None:
        return ""
    return f"{model.get('provider')}/{model.get('modelId', model.get('model'))}"


def sessions_root(settings: Settings, environment: Mapping[str, str], cwd: Path) -> SessionsRoot:
    """Where sessions of ``cwd`` are kept (format.md, "Header")."""
    if settings.sessions_dir is None:
        return SessionsRoot(agent_dir(environment) / "sessions", flat=False)
    return SessionsRoot(cwd / expand(settings.sessions_dir, environment), flat=True)


# --- sources ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a settings object holds: right values, unknown keys, and keys with wrong values."""

    values: dict[Key, Value]
    unknown: list[Key]
    wrong: list[tuple[Key, str]]


def _read(document: Json) -> _Reading:
    reading = _Reading({}, [], [])
    pending: deque[tuple[Key, Json]] = deque([((), document)])
    while pending:
        path, value = pending.popleft()
        pattern = pattern_of(path)
        row = ROWS.get(pattern)
        if row is not None:
            # Editors send null or "" for what nobody has set.
            if row.default is None and value in (None, ""):
                continue
            checked = row.check(value)
            if checked is None:
                reading.wrong.append((path, f"must be {row.expected}"))
            else:
                reading.values[path] = checked
        elif pattern not in GROUPS:
            reading.unknown.append(path)
        elif isinstance(value, dict):
            pending.extend(((*path, key), item) for key, item in value.items())
        elif value is not None:
            reading.wrong.append((path, "must be an object"))
    return reading


def _from_pi(
    document: dict[str, Any], folder: Path | None, environment: Mapping[str, str]
) -> dict[Key, Value]:
    """What counts of one of Pi's files; ``folder`` is the project's, None for the user's file.

    What is wrong in it is Pi's business, and not used here.
    """
    ours = {name: document[name] for name in ("compaction", "branchSummary") if name in document}
    values = _read(ours).values
    values.pop(("compaction", "auto"), None)  # Pi's word for it is ``enabled``
    directory = document.get("sessionDir")
    if not isinstance(directory, str) or not directory.strip() or "\0" in directory:
        return values
    if folder is None:
        values[("sessionsDir",)] = directory
    else:
        target = os.path.realpath(folder / expand(directory, environment))
        if Path(target).is_relative_to(os.path.realpath(folder)):
            values[("sessionsDir",)] = target
    return values


def _from_user(file: Path, problems: list[str]) -> dict[Key, Value]:
    reading = _read(_read_file(file, problems))
    problems += [_unknown(path, str(file)) for path in reading.unknown]
    problems += [
        f"Setting '{_name(path)}' in {file} {expected}: ignored" for path, expected in reading.wrong
    ]
    return reading.values


def _from_client(client: Json, problems: list[str]) -> dict[Key, Value]:
    for wrapper in ("settings", "branchline"):
        if isinstance(client, dict) and wrapper in client:
            client = client[wrapper]
    reading = _read(client)
    if reading.wrong:
        path, expected = reading.wrong[0]
        raise InvalidParams(_name(path) or "settings", expected)
    problems += [_unknown(path, "the editor's settings") for path in reading.unknown]
    return reading.values


def _read_file(file: Path, problems: list[str] | None) -> dict[str, Any]:
    """The object in a settings file; empty if there is none, or if it is no use.

    Why it is no use is added to ``problems``, unless that is None.
    """
    try:
        status = file.stat()  # a project could put a pipe or a device here, which never ends
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST_FILE:
            raise DecodeError("it is not a regular file of 1 MiB or less")
        document = decode(file.read_bytes())
        if isinstance(document, dict):
            return document
        raise DecodeError("it must hold a JSON object")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, DecodeError) as error:
        if problems is not None:
            reason = (error.strerror or "I/O error") if isinstance(error, OSError) else error
            problems.append(f"The settings file {file} is ignored: {reason}")
        return {}


def _unknown(path: Key, source: str) -> str:
    pattern = ".".join(pattern_of(path))[:_LONGEST_NAME]
    close = difflib.get_close_matches(pattern, _NAMES, n=1)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    return f"Unknown setting '{_name(path)}' in {source}: ignored{hint}"


def _name(path: Key) -> str:
    name = ".".join(path)
    return name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "…"


# --- building --------------------------------------------------------------------------------


def _build(values: Mapping[Key, Value]) -> Settings:
    summarizer = SummarizerSettings(**_members(values, "summarizer"))
    prompt = _members(values, "prompt")
    for name in ("base_url", "api_key_env", "timeout_seconds", "max_retries"):
        if prompt[name] is None:
            prompt[name] = getattr(summarizer, name)
    models = {
        key: ModelSettings(**_members(values, "models", key)) for key in _keys(values, "models")
    }
    overrides = {
        key: CompactionOverride(**_members(values, "compaction", "modelOverrides", key))
        for key in _keys(values, "compaction", "modelOverrides")
    }
    top = _members(values)
    return Settings(
        sessions_dir=top["sessions_dir"],
        durability=top["durability"],
        default_context_window=top["context_window"],
        models=MappingProxyType(models),
        compaction=CompactionSettings(
            **_members(values, "compaction"), model_overrides=MappingProxyType(overrides)
        ),
        branch_summary=BranchSummarySettings(**_members(values, "branchSummary")),
        summarizer=summarizer,
        prompt=PromptSettings(**prompt),
    )


def _members(values: Mapping[Key, Value], *group: str) -> dict[str, Any]:
    """The values of the settings directly in a group, by the names of our fields."""
    pattern = pattern_of(group)
    return {
        re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), path[-1]): values.get(
            (*group, path[-1]), row.default
        )
        for path, row in ROWS.items()
        if path[:-1] == pattern
    }


def _keys(values: Mapping[Key, Value], *group: str) -> list[str]:
    """The free keys that somebody set in a group, sorted."""
    length = len(group)
    return sorted(
        {path[length] for path in values if path[:length] == group and len(path) == length + 2}
    )


def _plain(value: Any) -> Json:
    """A settings object as JSON: its depth is that of the classes above."""
    if is_dataclass(value):
        return {
            re.sub("_(.)", lambda letter: letter[1].upper(), member.name): _plain(
                getattr(value, member.name)
            )
            for member in fields(value)
        }
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value
