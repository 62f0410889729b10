"""Every error that Branchline answers with, one class per protocol ``kind``.

    BranchlineError
    ├── InvalidParams (-32602)     a parameter is missing, mistyped or contradictory; names it
    ├── Cancelled (-32800)         the client took the request back
    ├── NotFound (4001)            no such session or entry
    ├── InvalidSession (4002)      the file is not a session
    ├── InvalidEntry (4003)        an entry that may not be appended, a target not to be edited
    ├── LeafChanged (4004)         the leaf is not where the client thinks
    ├── FileChanged (4005)         the file was replaced, truncated or deleted under us
    ├── ReadOnly (4006)            this session may not be written
    ├── Busy (4007)                another summary of this session is under way
    ├── StorageFailure (4008)      disk full, no permission, I/O error; nothing was added
    ├── NothingToUndo (4013)       the leaf only ever went on, or went on since it was moved
    ├── NothingToCompact (4009)    the branch was compacted already, or is too small
    ├── SummaryFailed (4010)       no usable summary came; nothing was stored
    ├── PromptFailed (4012)        the model did not answer; what came is stored
    └── CancelledByClient (4011)   the client that was asked for a summary said no

The message names the thing, the numbers and what to do; `facts` carries the same as data.
No message or fact ever holds session text, a key or a traceback.
"""

import errno as errno_names
import traceback
from pathlib import Path


class BranchlineError(Exception):
    """An error with a protocol code and kind. ``facts`` become ``error.data`` beside ``kind``."""

    code: int
    kind: str

    def __init__(self, message: str, **facts: object) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts

    @property
    def data(self) -> dict[str, object]:
        """What travels as ``error.data``: ``{kind, …facts}``."""
        return {"kind": self.kind, **self.facts}


class InvalidParams(BranchlineError):
    """A parameter is missing, of the wrong type, or contradicts another."""

    code = -32602
    kind = "invalidParams"

    def __init__(self, parameter: str, problem: str, **facts: object) -> None:
        super().__init__(f"Parameter {parameter!r} {problem}", parameter=parameter, **facts)


class Cancelled(BranchlineError):
    """The client took the request back, or somebody ended the work."""

    code = -32800
    kind = "cancelled"

    def __init__(self) -> None:
        super().__init__("The request was cancelled")


class NotFound(BranchlineError):
    """There is no such session or entry."""

    code = 4001
    kind = "notFound"

    @classmethod
    def session(cls, session: str) -> "NotFound":
        """No file and no new session goes by this path or id."""
        return cls(f"There is no session {_shown(session)}", session=_shown(session))

    @classmethod
    def entry(cls, entry_id: str) -> "NotFound":
        """The session has no entry with this id."""
        return cls(
            f"There is no entry {_shown(entry_id)} in this session", entryId=_shown(entry_id)
        )


class InvalidSession(BranchlineError):
    """The file has no session header near its beginning."""

    code = 4002
    kind = "invalidSession"

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path} is not a session file: {problem}", path=str(path))


class InvalidEntry(BranchlineError):
    """An entry may not be appended, or a target may not be edited. ``field`` is where."""

    code = 4003
    kind = "invalidEntry"

    def __init__(self, field: str, problem: str, **facts: object) -> None:
        super().__init__(f"{field} {problem}", field=field, **facts)


class LeafChanged(BranchlineError):
    """``expectedLeafId`` is not the leaf. ``leafId`` is; ask again from there."""

    code = 4004
    kind = "leafChanged"

    def __init__(self, expected: str | None, leaf_id: str | None) -> None:
        super().__init__(
            f"The leaf is {leaf_id}, not {_shown(expected or 'null')}: nothing was written",
            leafId=leaf_id,
        )


class FileChanged(BranchlineError):
    """The file is not the one that was opened. Open the session again."""

    code = 4005
    kind = "fileChanged"

    def __init__(self, path: Path, what: str) -> None:
        self.what = what
        super().__init__(
            f"{path} was {what} since it was opened: nothing was written; open it again",
            path=str(path),
            reason=what,
        )


class ReadOnly(BranchlineError):
    """This session can be read but not written."""

    code = 4006
    kind = "readOnly"

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} is read-only here: {why}", path=str(path), reason=why)


class StorageFailure(BranchlineError):
    """The operating system refused. ``errno`` is its name, such as ``ENOSPC``."""

    code = 4008
    kind = "storage"

    def __init__(self, path: Path, doing: str, error: OSError) -> None:
        name = errno_names.errorcode.get(error.errno or 0, "EIO")
        super().__init__(
            f"Cannot {doing} {path}: {error.strerror or error} ({name})",
            path=str(path),
            errno=name,
        )


class Busy(BranchlineError):
    """Another summary of this session is under way. ``job`` is what it is."""

    code = 4007
    kind = "busy"

    def __init__(self, job: dict[str, object]) -> None:
        super().__init__(
            f"This session is busy with job {job['id']} ({job['kind']}): wait for it or cancel it",
            job=job,
        )


class NothingToCompact(BranchlineError):
    """There is nothing that a summary could take the place of."""

    code = 4009
    kind = "nothingToCompact"

    def __init__(self, tokens: int, keep_recent_tokens: int) -> None:
        super().__init__(
            f"There is nothing to compact: the context has about {tokens} tokens, of which the "
            f"newest {keep_recent_tokens} are kept as they are",
            tokens=tokens,
            keepRecentTokens=keep_recent_tokens,
        )


class NothingToUndo(BranchlineError):
    """There is no move or compaction to take back, or messages came after it.

    ``cameFromId`` is where the leaf was before the last one, if there was one: the way back is
    still a move there.
    """

    code = 4013
    kind = "nothingToUndo"

    def __init__(self, came_from_id: str | None = None, messages_since: int = 0) -> None:
        if messages_since:
            problem = f"{messages_since} messages were appended since the leaf was last moved"
            if came_from_id is not None:
                problem += f"; to go back all the same, move it to {came_from_id}"
        else:
            problem = "there is no move or compaction in this session"
        super().__init__(
            f"Nothing was undone: {problem}",
            cameFromId=came_from_id,
            messagesSince=messages_since,
        )


class CancelledByClient(BranchlineError):
    """The client answered the request for a summary with ``cancel``."""

    code = 4011
    kind = "cancelledByClient"

    def __init__(self) -> None:
        super().__init__("The client cancelled the summary: nothing was stored")


class SummaryFailed(BranchlineError):
    """A provider refused, failed, or gave a text that cannot be used. Nothing was stored.

    ``provider`` is who was asked, ``status`` its HTTP status if there was one, ``retryable``
    whether asking again may help. ``problem`` is in our words: never what the provider said.
    """

    code = 4010
    kind = "summaryFailed"

    def __init__(
        self, provider: str, problem: str, *, status: int | None = None, retryable: bool = False
    ) -> None:
        super().__init__(
            f"The summary failed: {provider} {problem}; nothing was stored"
            + ("" if provider == "offline" else " (the summarizer offline needs no model)"),
            provider=provider,
            status=status,
            retryable=retryable,
        )


class PromptFailed(BranchlineError):
    """A model did not answer, or not to the end. What came is stored; the question, too.

    ``provider``, ``status``, ``retryable`` and ``problem`` are as in `SummaryFailed`. ``largest``:
    where the context did not fit, the entries that take most of it, ``{id, role, tokens}``.
    """

    code = 4012
    kind = "promptFailed"

    def __init__(
        self,
        provider: str,
        problem: str,
        *,
        status: int | None = None,
        retryable: bool = False,
        largest: list[dict[str, object]] | None = None,
    ) -> None:
        message = f"The prompt failed: {provider} {problem}"
        facts: dict[str, object] = {"provider": provider, "status": status, "retryable": retryable}
        if largest is not None:
            named = ", ".join(f"{_shown(str(one['id']))} ({one['tokens']})" for one in largest)
            message += f". The largest entries, with about so many tokens: {named}"
            facts["largest"] = largest
        super().__init__(message, **facts)


def place_of(error: BaseException) -> str:
    """Where an exception was raised, as ``module:line``: all that a log may say beside its class.

    The text of an exception may quote a session or a key.
    """
    place = "unknown place"
    for frame, line in traceback.walk_tb(error.__traceback__):
        place = f"{frame.f_globals.get('__name__')}:{line}"
    return place


def _shown(text: str) -> str:
    """The text, short enough for a message: an id may be a megabyte long."""
    return text if len(text) <= 200 else f"{text[:200]}… ({len(text)} characters)"
