"""The table of all settings: their types, defaults, limits and meanings.

Defaults, checks and the documentation come from here and from nowhere else. Where the values come
from, and which one counts, is the business of `settings`.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from branchline.codec import Json

Value = str | bool | int | float
Key = tuple[str, ...]
"""Where a value stands in the settings object, such as ``("compaction", "auto")``."""

_LARGEST_COUNT: Final = 2**53 - 1  # what every JSON reader holds exactly
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table. In ``path``, ``*`` stands for any key, such as ``provider/model``.

    A ``count`` is a whole number, ``minimum`` or more; ``seconds`` may have a fraction; a
    ``variable`` is the name of an environment variable. With a default of None nothing is set.
    """

    path: str
    type: Literal["text", "flag", "count", "seconds", "choice", "variable"]
    default: Value | None
    meaning: str
    minimum: int = 0
    choices: tuple[str, ...] = ()

    @property
    def expected(self) -> str:
        """What a right value is, to follow "must be"."""
        match self.type:
            case "text":
                return "a text"
            case "flag":
                return "true or false"
            case "count":
                return f"a whole number from {self.minimum} to {_LARGEST_COUNT}"
            case "seconds":
                return f"a number of seconds, {self.minimum} or more"
            case "choice":
                return "one of " + ", ".join(f'"{choice}"' for choice in self.choices)
            case "variable":
                return "the name of an environment variable (not the key itself)"

    def check(self, value: Json) -> Value | None:
        """The value if it is a right one, else None."""
        match self.type, value:
            case "text", str():
                return value
            case "flag", bool():
                return value
            case (("count" | "seconds"), bool()):
                return None
            case "count", int() | float():
                right = float(value).is_integer() and self.minimum <= value <= _LARGEST_COUNT
                return int(value) if right else None
            case "seconds", int() | float():
                return value if self.minimum <= value <= _LARGEST_COUNT else None
            case "choice", str():
                return value if value in self.choices else None
            case "variable", str():
                return value if _VARIABLE.fullmatch(value) else None
            case _:
                return None


SETTINGS: Final = (
    Setting("sessionsDir", "text", None, "Folder of the session files, instead of Pi's own"),
    Setting(
        "durability",
        "choice",
        "fsync",
        "When an append counts as written: on disk, or handed to the system",
        choices=("fsync", "flush"),
    ),
    Setting("contextWindow", "count", 128_000, "Tokens a model takes, if `models` has no word", 1),
    Setting("models.*.contextWindow", "count", None, "Tokens this model takes", 1),
    Setting("models.*.baseUrl", "text", None, "Server that has this model, for prompts"),
    Setting("models.*.apiKeyEnv", "variable", None, "Variable that holds that server's key"),
    Setting("models.*.maxOutputTokens", "count", None, "Longest answer of this model", 1),
    Setting("compaction.auto", "flag", False, "Compact when an append or a prompt makes it due"),
    Setting("compaction.reserveTokens", "count", 16_384, "Tokens of the window to keep free"),
    Setting("compaction.keepRecentTokens", "count", 20_000, "Newest tokens that stay verbatim"),
    Setting("compaction.modelOverrides.*.reserveTokens", "count", None, "The same, for one model"),
    Setting(
        "compaction.modelOverrides.*.keepRecentTokens", "count", None, "The same, for one model"
    ),
    Setting("branchSummary.reserveTokens", "count", 16_384, "Tokens kept free when one is written"),
    Setting(
        "branchSummary.pinnedTokens", "count", 4_096, "Covered branch summaries that stay in sight"
    ),
    Setting("branchSummary.skipPrompt", "flag", False, "Leave a branch without the question"),
    Setting(
        "summarizer.use",
        "choice",
        "auto",
        "Who writes summaries",
        choices=("auto", "client", "openai", "offline"),
    ),
    Setting("summarizer.baseUrl", "text", None, "OpenAI-compatible server; none is OpenAI's own"),
    Setting("summarizer.apiKeyEnv", "variable", "OPENAI_API_KEY", "Variable that holds its key"),
    Setting("summarizer.model", "text", None, "Model; unless it is set, no server is asked"),
    Setting("summarizer.timeoutSeconds", "seconds", 120, "Longest wait for a reply", 1),
    Setting("summarizer.maxRetries", "count", 3, "Tries after the first, if that may help"),
    Setting("prompt.baseUrl", "text", None, "Server that answers prompts; the summarizer's"),
    Setting("prompt.apiKeyEnv", "variable", None, "Variable that holds its key; the summarizer's"),
    Setting("prompt.model", "text", None, "Model, unless `models` has a server for the session's"),
    Setting("prompt.timeoutSeconds", "seconds", None, "Longest wait; the summarizer's", 1),
    Setting("prompt.maxRetries", "count", None, "Tries after the first; the summarizer's"),
    Setting("prompt.projectInstructions", "flag", True, "Send AGENTS.md and CLAUDE.md along"),
)

ROWS: Final = {tuple(row.path.split(".")): row for row in SETTINGS}
"""The rows by their path."""
GROUPS: Final = {path[:length] for path in ROWS for length in range(len(path))}
"""The objects that hold settings, the whole one first of all."""


def pattern_of(path: Key) -> Key:
    """The path as the table has it, with ``*`` for a free key."""
    pattern: Key = ()
    for key in path:
        free = (*pattern, "*")
        pattern = free if free in GROUPS else (*pattern, key)
    return pattern


def markdown_table() -> str:
    """The table of all settings for the documentation."""
    lines = ["| setting | value | default | meaning |", "|---|---|---|---|"]
    for row in SETTINGS:
        default = "" if row.default is None else f"`{str(row.default).lower()}`"
        if isinstance(row.default, str):
            default = f'`"{row.default}"`'
        lines.append(f"| `{row.path}` | {row.expected} | {default} | {row.meaning} |")
    return "\n".join(lines) + "\n"
