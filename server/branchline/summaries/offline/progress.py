"""What was run and edited, what failed, and what of that was mended later.

Reads tool calls with their results and the shell commands of the user. Of what a tool printed only
an error or the count of a test run is taken, as quoted code. It knows no sections, and nothing of
what is said between the calls but whether the person says that it works.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from branchline.entries import Entry, text_of
from branchline.summaries.files import FileOperations
from branchline.summaries.offline.wording import code, excerpt

_MAX_KEPT: Final = 200
"""Commands, edits and errors that are remembered; the oldest go first."""
_LONGEST_COMMAND = 4_000  # characters of a command that are looked at

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
    r"|clippy|make|mvn|gradle|bazel|vet|phpunit|doctest|e2e).*"
)
_UNDO_FILES = re.compile(r"git (?:checkout|restore)|rm|unlink")
_CHECK_FAILED = re.compile(
    r"\b[1-9]\d* (?:failed|failures?|errors?|failing)\b|\bFAILED\b|^FAIL\b|\bBUILD FAIL|\bnpm ERR!"
    r"|^error(?:\[\w+\])?:|^\S+: error\b|Traceback \(most recent|test result: FAILED|\berror TS\d+",
    re.MULTILINE,
)
_EXIT = re.compile(
    r"(?:command )?(?:exited|failed|finished) with (?:exit )?(?:code|status) (\d+)", re.I
)
_ERROR_NAME = re.compile(
    r"\b(?:[A-Z]\w*(?:Error|Exception|Failure|Warning)|E[A-Z]{4,}|TS\d{4}|E\d{4}|SIG[A-Z]{3,5}"
    r"|HTTP [45]\d\d)\b"
)
_ERROR_LINE = re.compile(
    r"\b\w*(?:Error|Exception|panicked|fatal|FATAL|error|ERROR|Fehler)\b.{0,3}[:\[(]|エラー|错误|失败"
    r"|\bnot found\b|\bNo such\b|\bdenied\b|\bcannot\b|\bCould not\b|\bFAILED\b|\btimed out\b",
)
_COUNT_LINE = re.compile(
    r"\b\d+ (?:tests? )?(?:passed|failed|passing|failing|errors?|warnings?|ok)\b|^test result:"
    r"|^Tests:|^Ran \d+ tests?|^ok\s+\S+\s+[\d.]+s$|^BUILD SUCC|^OK \(",
    re.IGNORECASE,
)
_RULE_OFF = re.compile(r"^[=\-_\s]+|[=\-_\s]+$")


@dataclass(frozen=True, slots=True)
class Run:
    """One program of a command line: its name with the verb, and its arguments but flags."""

    program: str
    arguments: tuple[str, ...]

    @property
    def explores(self) -> bool:
        """Whether it only looks."""
        return _EXPLORING.fullmatch(self.program) is not None

    @property
    def checks(self) -> bool:
        """Whether it tests, builds or lints, so that its success means something."""
        return _CHECK.fullmatch(self.program) is not None


@dataclass(slots=True)
class Edit:
    """A file that was changed. ``verb`` is Wrote, Edited or Deleted; ``at`` the last message."""

    path: str
    verb: str
    at: int
    times: int = 1
    committed: bool = False


@dataclass(slots=True)
class Command:
    """A command that did something. ``result`` is the count of a test run, or empty."""

    text: str
    at: int
    result: str = ""


@dataclass(slots=True)
class Failure:
    """Something that failed and was not mended yet.

    ``what`` and ``error`` are quoted; ``run`` is what has to succeed, ``path`` what has to be
    edited. ``seeded``: ``what`` is the whole line, from an earlier summary.
    """

    what: str
    error: str
    at: int
    run: Run | None = None
    path: str | None = None
    explores: bool = False
    edited_since: bool = False
    checked_since: bool = False
    names: tuple[str, ...] = ()
    seeded: bool = False

    @property
    def line(self) -> str:
        """As it stands in a summary."""
        if self.seeded:
            return self.what
        return f"{self.what} failed" + (f": {self.error}" if self.error else "")


@dataclass(slots=True)
class Progress:
    """All that was done, by the calls. Grows as calls are taken in, in order."""

    edits: dict[str, Edit] = field(default_factory=dict)
    commands: dict[str, Command] = field(default_factory=dict)
    tried: dict[str, int] = field(default_factory=dict)
    """Commands whose outcome is unknown, quoted, and when."""
    failures: list[Failure] = field(default_factory=list)
    mended: dict[str, None] = field(default_factory=dict)
    """Names of errors that were met and mended."""

    def take_call(self, call: Entry, result: Entry | None, at: int, *, assumed: bool) -> None:
        """Take in a tool call. Without a result its outcome is unknown.

        ``assumed``: an edit without a result counts as made (branches are kept without results).
        """
        operations = FileOperations()
        operations.take_message({"role": "assistant", "content": [call]})
        command = command_of(call)
        output = "" if result is None else _output(result.get("content"))
        failed = result is not None and result.get("isError") is True
        if operations.modified:
            for path in sorted(operations.modified):
                if failed:
                    self._fail(Failure(f"Editing {code(path)}",
                                       _error_of(output), at, path=path))  # fmt: skip
                elif result is not None or assumed:
                    self._edited(path, call["name"], at)
        elif command is not None:
            if result is None:
                self._try(command, at)
            else:
                self._ran(command, output, failed, at)
        elif failed:
            target = next(iter(sorted(operations.read)), "")
            what = code(call["name"], 40) + (f" of {code(target)}" if target else "")
            self._fail(Failure(what, _error_of(output), at, explores=True))
        elif result is not None:
            self._mend(lambda one: one.explores)

    def take_shell(self, message: Entry, at: int) -> None:
        """Take in a shell command of the user. One that is kept from the model is ignored."""
        command = message.get("command")
        if message.get("excludeFromContext") or not isinstance(command, str) or not command.strip():
            return
        output = _output(message.get("output"))
        exit_code = message.get("exitCode")
        if message.get("cancelled") is True:
            self._try(command, at)
            return
        failed = isinstance(exit_code, int | float) and exit_code != 0
        self._ran(command, output, failed, at)

    def take_reply_error(self, error: str, at: int) -> None:
        """Take in that the model's own reply failed."""
        self._fail(Failure("The model's reply", code(error), at, explores=True))

    def reply_came(self) -> None:
        """The model answered again, so that an earlier failed reply is past."""
        self._mend(lambda one: one.what == "The model's reply")

    def seed(self, line: str, quoted: list[str]) -> None:
        """Take over a blocked line of an earlier summary, with the code that it quotes."""
        runs = list(runs_in(quoted[0])) if quoted else []
        run = _key_run(runs)
        path = quoted[0] if quoted else None
        self.failures.append(Failure(line, "", -1, run=run, path=path, seeded=True))

    def works(self) -> None:
        """The person says that it works: nothing is broken any more."""
        self._mend(lambda _: True)

    def claimed(self) -> None:
        """The assistant says that it is done: believed where something succeeded since."""
        self._mend(
            lambda one: (
                one.checked_since
                or (one.edited_since and not (one.run is not None and one.run.checks))
            )
        )

    @property
    def last_success(self) -> int:
        """When an edit or a command last succeeded: the message's index, or -1."""
        edits = (one.at for one in self.edits.values())
        commands = (one.at for one in self.commands.values())
        return max((*edits, *commands), default=-1)

    @property
    def last_failure(self) -> Failure | None:
        """The newest that was not mended."""
        return self.failures[-1] if self.failures else None

    def _edited(self, path: str, tool: str, at: int) -> None:
        earlier = self.edits.pop(path, None)
        self.edits[path] = Edit(path, _verb(tool), at)
        if earlier is not None:
            self.edits[path].times = earlier.times + 1
            if earlier.verb == "Wrote" and self.edits[path].verb == "Edited":
                self.edits[path].verb = "Wrote"
        _bound(self.edits)
        self._mend(lambda one: one.path == path or one.explores)
        for failure in self.failures:
            failure.edited_since = True

    def _try(self, command: str, at: int) -> None:
        if not all(run.explores for run in runs_in(command)):
            self.tried[code(command)] = at
            _bound(self.tried)

    def _ran(self, command: str, output: str, failed: bool, at: int) -> None:
        runs = list(runs_in(command))
        exit_code = _EXIT.search(output[-200:])
        failed = failed or (exit_code is not None and exit_code[1] != "0")
        checks = any(run.checks for run in runs)
        if not failed and checks and _CHECK_FAILED.search(output):
            failed = True
        self.commands.pop(command, None)
        if failed:
            if _only_found_nothing(runs, output):
                return
            key = _key_run(runs)
            error = _error_of(output)
            self._fail(Failure(code(command), error, at, run=key, explores=key is None))
            return
        self._undo(runs)
        if not all(run.explores for run in runs):
            self.commands[command] = Command(command, at, _count_of(output) if checks else "")
            _bound(self.commands)
        passed = [run for run in runs if not run.explores]
        self._mend(lambda one: one.explores or any(_mends(run, one.run) for run in passed))
        for failure in self.failures:
            failure.checked_since |= checks and not (failure.run is not None and failure.run.checks)

    def _undo(self, runs: list[Run]) -> None:
        """Take back edits whose files a command removed or reset."""
        for run in runs:
            if run.program == "git commit":
                for edit in self.edits.values():
                    edit.committed = True
            everything = (
                run.program == "git stash" and run.arguments[:1] != ("pop",)
            ) or run.program == "git reset --hard"
            if _UNDO_FILES.fullmatch(run.program):
                everything = "." in run.arguments and run.program != "rm"
                for path in [path for path in self.edits if path in run.arguments]:
                    del self.edits[path]
            if everything:
                self.edits = {path: one for path, one in self.edits.items() if one.committed}

    def _fail(self, failure: Failure) -> None:
        failure.names = tuple(_ERROR_NAME.findall(failure.error))
        self.failures = [one for one in self.failures if one.what != failure.what][-_MAX_KEPT:]
        self.failures.append(failure)

    def _mend(self, is_mended: Callable[[Failure], bool]) -> None:
        left = []
        for failure in self.failures:
            if is_mended(failure):
                self.mended.update(dict.fromkeys(failure.names))
            else:
                left.append(failure)
        self.failures = left


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
    tokens = [match[0] for match in _SEGMENT.finditer(command[:_LONGEST_COMMAND])]
    for token in (*tokens, ";"):
        if token not in _SEPARATORS:
            segment.append(token)
            continue
        if run := _run("".join(segment).split()):
            yield run
        segment.clear()


def _run(words: list[str]) -> Run | None:
    """The program of one simple command, without what only prepares its start."""
    while words:
        name = words[0].rpartition("/")[2]
        is_assignment = re.fullmatch(r"\w+=.*", words[0]) is not None
        if not (is_assignment or name in _BEFORE_PROGRAM or words[0].startswith(("-", "(", ">"))):
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
    return Run(program, tuple(arguments))


def _key_run(runs: list[Run]) -> Run | None:
    """What of a failed command line has to succeed: its check, else the last that does anything."""
    acting = [run for run in runs if not run.explores]
    return next((run for run in acting if run.checks), acting[-1] if acting else None)


def _mends(run: Run, failed: Run | None) -> bool:
    """Whether the success of one run shows that a failed one is mended: the same, or all of it."""
    if failed is None or run.program != failed.program:
        return False
    return run.arguments == failed.arguments or (run.checks and not run.arguments)


def _only_found_nothing(runs: list[Run], output: str) -> bool:
    """Whether a search or comparison merely said no."""
    lines = [line for line in output.splitlines() if line.strip() and not _EXIT.search(line)]
    return bool(runs) and all(run.explores for run in runs) and not lines


def _output(content: Any) -> str:
    return excerpt(text_of(content))


def _error_of(output: str) -> str:
    """The line that says most about a failure, quoted, with the count of a test run."""
    lines = [line.strip() for line in output.splitlines()[-400:]]
    lines = [line.removeprefix("E ").strip() for line in lines if line and not _EXIT.search(line)]
    named = [line for line in lines if _ERROR_NAME.search(line)]
    telling = named or [line for line in lines if _ERROR_LINE.search(line)] or lines
    error = code(telling[-1]) if telling else ""
    count = _count_of(output)
    return f"{error} ({count})" if count and count != error else error


def _count_of(output: str) -> str:
    for line in reversed(output.splitlines()[-60:]):
        if len(line) < 200 and _COUNT_LINE.search(line.strip()):
            return code(_RULE_OFF.sub("", line), 100)
    return ""


def _verb(tool: str) -> str:
    lower = tool.lower()
    if "delete" in lower:
        return "Deleted"
    return "Wrote" if "write" in lower or "create" in lower else "Edited"


def _bound(kept: dict[str, Any]) -> None:
    while len(kept) > _MAX_KEPT:
        del kept[next(iter(kept))]
