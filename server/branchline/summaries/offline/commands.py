"""Command lines taken apart, and what their output says of how they ended.

Of what a command printed only its verdict is read: an exit status, the count of a test run, a line
that names an error. It knows no messages but the form of a call, and keeps nothing.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from branchline.entries import Entry
from branchline.summaries.offline.wording import code

_LONGEST_COMMAND: Final = 4_000  # characters of a command that are looked at
_LONGEST_VERDICT: Final = 200  # characters of a line that can be the count of a test run
_VERDICT_LINES: Final = 12  # lines at the end among which that count stands
_COUNT_LINES: Final = 40  # the same where it is only to be quoted
_CLEAR_LINES: Final = 5  # the same for a line that says so without a count
_HIDDEN_LINES: Final = 30  # the same where the status is that of another program

_COMMAND_ARGUMENTS = ("command", "cmd", "script")
_SEGMENT = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.|&&|\|\||[;\n|]|[^'\"\\;\n|&]+|&")
_SEPARATORS = frozenset({"&&", "||", ";", "\n", "|"})
_BEFORE_PROGRAM = frozenset(
    {"sudo", "time", "env", "nohup", "exec", "command", "run", "uv", "poetry", "npx",
     "pipenv", "bunx", "pdm", "hatch", "xvfb-run", "stdbuf", "nice"}
)  # fmt: skip
_WITH_VERB = frozenset(
    {"npm", "yarn", "pnpm", "bun", "cargo", "go", "git", "make", "docker", "mvn", "gradle",
     "gradlew", "dotnet", "rake", "mix", "bundle", "pip", "pip3", "swift", "bazel", "kubectl",
     "terraform"}
)  # fmt: skip
_INTERPRETERS = re.compile(r"python[\d.]*|node|ruby|perl|deno|php|bash|sh|zsh")
_EXPLORING = re.compile(
    r"(?:ls|cat|head|tail|grep|egrep|rg|find|fd|pwd|wc|which|echo|printf|cd|tree|stat|file|diff|sort"
    r"|uniq|cut|awk|less|more|env|export|set|source|true|test|sleep|ps|du|df|date|tee|xargs|jq|column"
    r"|sed|type|whoami|hostname|uname|git (?:status|diff|log|show|branch|blame|ls-files|rev-parse"
    r"|remote|fetch)|(?:npm|pnpm|yarn|pip3?) (?:ls|list|show|view|freeze|outdated)|cargo tree)"
)
_CHECK = re.compile(
    r".*(?:test|check|build|lint|tsc|mypy|pyright|ruff|flake8|tox|nox|jest|vitest|mocha|spec|compile"
    r"|clippy|make|mvn|gradle|bazel|vet|phpunit|doctest|e2e|playwright).*"
)
_MAKES_FILES = re.compile(r"cp|mv|ln|mkdir|touch|rm|git (?:mv|rm)")
_EXIT = re.compile(
    r"^(?:error: )?\"?exit[ _](?:code|status)\"?:? (\d+)$|\"exit_code\": ?(\d+)"
    r"|\b(?:exited|failed|finished) with (?:exit )?(?:code|status) (\d+)",
    re.IGNORECASE | re.MULTILINE,
)
_COUNT = re.compile(
    r"\b\d+ (?:tests? )?(?:passed|failed|passing|failing|errors?|failures?|warnings?|ok|runs"
    r"|examples?)\b"
    r"|^(?:test result:|tests:|ran \d+ tests?|ok\s+\S+\s+[\d.]+s$|build succ|ok \(|failed \()"
)
_FAILING = re.compile(
    r"(?:^\W*|[,;(:]\s*|^found )[1-9]\d* (?:tests? )?(?:failed|failing|failures?|errors?)\b"
    r"|^test result: failed|^failed \("
)
"""These two are for lines in lower case."""
_SAYS_FAILED = re.compile(
    r"^FAIL(?:ED|URE)?\b|\bBUILD FAIL|\bnpm ERR!|^error(?:\[\w+\])?: |^\S+: error\b|\berror TS\d+"
    r"|^Traceback \(most recent|^make: \*\*\*"
)
_ERROR_NAME = re.compile(
    r"\b(?:[A-Z]\w*(?:Error|Exception|Failure|Warning)|E(?!RRORS?\b)[A-Z]{4,}|TS\d{4}|E\d{4}"
    r"|SIG[A-Z]{3,5}|HTTP [45]\d\d)\b"
)
_ERROR_LINE = re.compile(
    r"\b\w*(?:Error|Exception|panicked|fatal|FATAL|error|ERROR|Fehler)\b.{0,3}[:\[(]|エラー|错误|失败"
    r"|\bnot found\b|\bNo such\b|\bdenied\b|\bcannot\b|\bCould not\b|\bFAILED\b|\btimed out\b",
)
_RULE_OFF = re.compile(r"^[=\-_\s]+|[=\-_\s]+$")


@dataclass(frozen=True, slots=True)
class Run:
    """One program of a command line.

    Attributes:
        program: its name, with the verb where it has one.
        arguments: but flags.
        then: what separates it from the next program; empty for the last.
    """

    program: str
    arguments: tuple[str, ...]
    then: str = ""

    @property
    def explores(self) -> bool:
        """Whether it only looks."""
        return _is(_EXPLORING, self.program)

    @property
    def checks(self) -> bool:
        """Whether it tests, builds or lints, so that its success means something."""
        return _is(_CHECK, self.program)

    @property
    def makes_files(self) -> bool:
        """Whether its arguments are the files that it makes, moves or removes."""
        return _is(_MAKES_FILES, self.program)

    def mends(self, failed: "Run | None") -> bool:
        """Whether its success shows that a failed one is mended: it is the same, or all of it."""
        if failed is None or self.program != failed.program:
            return False
        return self.arguments == failed.arguments or (self.checks and not self.arguments)


@lru_cache(maxsize=1_000)
def _is(kind: re.Pattern[str], program: str) -> bool:
    return kind.fullmatch(program) is not None


def command_of(call: Entry) -> str | None:
    """The shell command of a tool call; None if it runs none."""
    arguments = call.get("arguments")
    if not isinstance(arguments, dict):
        return None
    for name in _COMMAND_ARGUMENTS:
        value = arguments.get(name)
        if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
            value = value[-1] if "-c" in value[:-1] or "-lc" in value[:-1] else " ".join(value)
        if isinstance(value, str) and value.strip():
            return value
    return None


def runs_in(command: str) -> Iterator[Run]:
    """The programs that a command line runs, in order."""
    segment: list[str] = []
    tokens = [match[0] for match in _SEGMENT.finditer(command[:_LONGEST_COMMAND].strip(" \n;"))]
    for token in (*tokens, ""):
        if token and token not in _SEPARATORS:
            segment.append(token)
            continue
        if run := _run("".join(segment).split(), token):
            yield run
        segment.clear()


def _run(words: list[str], then: str) -> Run | None:
    """The program of one simple command, without what only prepares its start."""
    while words:
        name = words[0].rpartition("/")[2]
        is_assignment = re.fullmatch(r"\w+=.*", words[0]) is not None
        prepares = name in _BEFORE_PROGRAM or words[:2] == ["bundle", "exec"]
        if not (is_assignment or prepares or words[0].startswith(("-", "(", ">"))):
            if name != "timeout":
                break
            words = words[1:]
        words = words[1:]
    if not words:
        return None
    program, rest = words[0].rpartition("/")[2], words[1:]
    if _INTERPRETERS.fullmatch(program) and rest[:1] == ["-m"] and len(rest) > 1:
        program, rest = rest[1], rest[2:]
    if program in _WITH_VERB and rest:
        flags = 2 if rest[0] == "run" or rest[:2] == ["reset", "--hard"] else 1
        program, rest = " ".join([program, *rest[:flags]]), rest[flags:]
    arguments = [word for word in rest if not word.startswith(("-", ">", "2>", "&"))]
    return Run(program, tuple(arguments), then)


def key_run(runs: Sequence[Run]) -> Run | None:
    """What of a failed command line has to succeed: its check, else the last that does anything."""
    acting = [run for run in runs if not run.explores]
    return next((run for run in acting if run.checks), acting[-1] if acting else None)


def has_failed(runs: Sequence[Run], output: str, said_so: bool) -> bool:
    """Whether a command line failed: by its status, or by the verdict of its check.

    ``said_so``: what the caller was told. A log that speaks of errors is no verdict: where the
    check's own status is known, only a count or the very last lines can overrule it.
    """
    if said_so or any(code not in ("", "0") for found in _EXIT.findall(_ends(output))
                      for code in found):  # fmt: skip
        return True
    if not any(run.checks for run in runs):
        return False
    lines = [line for line in output.splitlines() if line.strip()]
    if counts := [line for line in lines[-_VERDICT_LINES:] if _is_count(line)]:
        return any(map(_is_failing, counts))
    is_hidden = any(run.checks and run.then not in ("", "&&") for run in runs)
    return any(
        _SAYS_FAILED.search(line)
        for line in lines[-(_HIDDEN_LINES if is_hidden else _CLEAR_LINES) :]
    )


def only_found_nothing(runs: Sequence[Run], output: str) -> bool:
    """Whether a search or comparison merely said no."""
    lines = [line for line in output.splitlines() if line.strip() and not _EXIT.search(line)]
    return bool(runs) and all(run.explores for run in runs) and not lines


def error_of(output: str) -> str:
    """The line that says most about a failure, quoted, with the count of a test run."""
    lines = [line.strip() for line in output.splitlines()[-400:]]
    lines = [line.removeprefix("E ").strip() for line in lines if line and not _EXIT.search(line)]
    named = [line for line in lines if _ERROR_NAME.search(line)]
    telling = named or [line for line in lines if _ERROR_LINE.search(line)] or lines
    error = code(telling[-1]) if telling else ""
    count = count_of(output)
    return f"{error} ({count})" if count and count != error else error


def error_names(text: str) -> tuple[str, ...]:
    """The names of errors in a text."""
    return tuple(_ERROR_NAME.findall(text))


def count_of(output: str) -> str:
    """The count of a test run, quoted: that of the failed ones if it stands on its own."""
    counts = [line for line in output.splitlines()[-_COUNT_LINES:] if _is_count(line)]
    failing = list(filter(_is_failing, counts))
    return code(_RULE_OFF.sub("", (failing or counts)[-1]), 100) if counts else ""


def _is_count(line: str) -> bool:
    return len(line) < _LONGEST_VERDICT and _COUNT.search(line.strip().lower()) is not None


def _is_failing(count: str) -> bool:
    return _FAILING.search(count.strip().lower()) is not None


def _ends(output: str) -> str:
    """Where a tool says how a command ended: the first line or the last ones."""
    return f"{output[:100].partition(chr(10))[0]}\n{output[-200:]}"
