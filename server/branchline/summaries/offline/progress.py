"""What was run and edited, what failed, and what of that was mended later.

Reads tool calls with their results and the shell commands of the user. Of what a tool printed only
an error or the count of a test run is taken, as quoted code. It knows no sections, and nothing of
what is said between the calls but whether the person says that it works.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final

from branchline.entries import Entry, text_of
from branchline.summaries.files import FileOperations
from branchline.summaries.offline.commands import (
    Run,
    command_of,
    count_of,
    error_names,
    error_of,
    has_failed,
    key_run,
    only_found_nothing,
    runs_in,
)
from branchline.summaries.offline.wording import code, excerpt

_MAX_KEPT: Final = 200
"""Commands and edits that are remembered; the oldest go first."""
_MAX_FAILURES: Final = 20
"""Failures of which the newest is told; the others wait for it to be mended."""

EDITING: Final = "Editing "
CALLING: Final = "Calling "
REPLYING: Final = "The model's reply"
"""How the line of a failure begins that is not of a command."""

_UNDO_FILES = re.compile(r"git (?:checkout|restore)|rm|unlink")


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
    """A command that did something. ``output`` is that of a check, or empty.

    ``quoted`` is the count of its tests if that is all that is known.
    """

    text: str
    at: int
    output: str = ""
    quoted: str = ""

    @property
    def result(self) -> str:
        """The count of a test run, quoted; empty if there is none."""
        return self.quoted or count_of(self.output)


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

    def take_call(
        self,
        call: Entry,
        operations: FileOperations,
        result: Entry | None,
        at: int,
        *,
        assumed: bool,
    ) -> None:
        """Take in a tool call, with the files that it names. Without a result it may have failed.

        ``assumed``: an edit without a result counts as made (branches are kept without results).
        """
        command = command_of(call)
        failed = result is not None and result.get("isError") is True
        if operations.modified:
            for path in sorted(operations.modified):
                if failed:
                    error = error_of(_output(result))
                    self._fail(Failure(EDITING + code(path), error, at, path=path))
                elif result is not None or assumed:
                    self._edited(path, call["name"], at)
        elif command is not None and not operations.read:  # an editor's "view" is none
            if result is None:
                self._try(command, at)
            else:
                self._ran(command, _output(result), failed, at)
        elif failed:
            target = next(iter(sorted(operations.read)), "")
            what = CALLING + code(call["name"], 40) + (f" of {code(target)}" if target else "")
            self._fail(Failure(what, error_of(_output(result)), at, explores=True))
        elif result is not None:
            self._mend(lambda one: one.explores)

    def take_shell(self, message: Entry, at: int) -> None:
        """Take in a shell command of the user. One that is kept from the model is ignored."""
        command = message.get("command")
        if message.get("excludeFromContext") or not isinstance(command, str) or not command.strip():
            return
        output = excerpt(text_of(message.get("output")))
        exit_code = message.get("exitCode")
        if message.get("cancelled") is True:
            self._try(command, at)
            return
        failed = isinstance(exit_code, int | float) and exit_code != 0
        self._ran(command, output, failed, at)

    def take_reply_error(self, error: str, at: int) -> None:
        """Take in that the model's own reply failed."""
        self._fail(Failure(REPLYING, code(error), at, explores=True))

    def reply_came(self) -> None:
        """The model answered again, so that an earlier failed reply is past."""
        self._mend(lambda one: one.what.startswith(REPLYING))

    def seed_failure(self, line: str, quoted: list[str], at: int) -> None:
        """Take over a blocked line of an earlier summary, with the code that it quotes."""
        target = quoted[0] if quoted else ""
        failure = Failure(line, "", at, seeded=True)
        if line.startswith(EDITING):
            failure.path = target
        elif line.startswith((CALLING, REPLYING)):
            failure.explores = True
        elif target:
            failure.run = key_run(list(runs_in(target)))
            failure.path = target  # a text that a model wrote may quote the file
            failure.explores = failure.run is None
        failure.names = error_names(" ".join(quoted[1:]))
        self.failures.append(failure)

    def seed_edit(self, path: str, verb: str, times: int, at: int) -> None:
        """Take over that a file was changed."""
        self._mend(lambda one: one.path == path)
        self.edits[path] = Edit(path, verb, at, times)

    def seed_command(self, command: str, result: str, at: int) -> None:
        """Take over that a command succeeded."""
        self.commands[command] = Command(command, at, quoted=result)
        runs = [run for run in runs_in(command) if not run.explores]
        self._mend(lambda one: any(run.mends(one.run) for run in runs))

    def works(self) -> None:
        """The person says that it works: nothing is broken any more."""
        self._mend(lambda _: True)

    def claimed(self) -> None:
        """The assistant says that it is done: believed where something succeeded since."""
        self._mend(
            lambda one: (
                one.explores
                or one.checked_since
                or (one.edited_since and not (one.run is not None and one.run.checks))
            )
        )

    @property
    def last_success(self) -> float:
        """When an edit or a command last succeeded; before all else if none did."""
        edits = (one.at for one in self.edits.values())
        commands = (one.at for one in self.commands.values())
        return max((*edits, *commands), default=-inf)

    def last_change(self, path: str) -> float:
        """When a file was last edited, or made by a command; before all else if it never was."""
        edits = [one.at for one in self.edits.values() if _is_same(one.path, path)]
        made = [
            one.at
            for one in self.commands.values()
            for run in runs_in(one.text)
            if run.makes_files and any(_is_same(name, path) for name in run.arguments)
        ]
        return max((*edits, *made), default=-inf)

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
        checks = any(run.checks for run in runs)
        self.commands.pop(command, None)
        if has_failed(runs, output, failed):
            if only_found_nothing(runs, output):
                return
            key = key_run(runs)
            error = error_of(output)
            self._fail(Failure(code(command), error, at, run=key, explores=key is None))
            return
        self._undo(runs)
        if not all(run.explores for run in runs):
            self.commands[command] = Command(command, at, output if checks else "")
            _bound(self.commands)
        passed = [run for run in runs if not run.explores]
        self._mend(lambda one: one.explores or any(run.mends(one.run) for run in passed))
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
        failure.names = error_names(failure.error)
        self.failures = [one for one in self.failures if one.what != failure.what]
        self.failures = [*self.failures, failure][-_MAX_FAILURES:]

    def _mend(self, is_mended: Callable[[Failure], bool]) -> None:
        left = []
        for failure in self.failures:
            if is_mended(failure):
                self.mended.update(dict.fromkeys(failure.names))
            else:
                left.append(failure)
        self.failures = left


def _is_same(path: str, other: str) -> bool:
    """Whether two paths may be of one file: the same, or one from the root and one from within."""
    path, other = path.rstrip("/"), other.rstrip("/").removeprefix("./")
    return path == other or (path.startswith("/") and path.endswith(f"/{other}"))


def _output(result: Entry | None) -> str:
    return "" if result is None else excerpt(text_of(result.get("content")))


def _verb(tool: str) -> str:
    lower = tool.lower()
    if "delete" in lower:
        return "Deleted"
    return "Wrote" if "write" in lower or "create" in lower else "Edited"


def _bound(kept: dict[str, Any]) -> None:
    while len(kept) > _MAX_KEPT:
        del kept[next(iter(kept))]
