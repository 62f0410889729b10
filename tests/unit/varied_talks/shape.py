"""What a varied conversation is: the talk, and what its summary must hold and must not say."""

from dataclasses import dataclass

from branchline.entries import Entry


@dataclass(frozen=True)
class Varied:
    """A conversation with the statement of what counts in it.

    Attributes:
        name: a short name for test ids.
        entries: a session of it; the last is the leaf.
        first_request: the user's first message, word for word.
        newest_request: a piece of what the user asked for last.
        constraints: what the user demands, forbids or prefers and has not taken back, each a
            piece of the user's own words.
        read: every file that was read and not modified.
        modified: every file that was modified.
        last_error: a piece of the error that is open at the end; None if nothing is.
        next_steps: what is open at the end, in order, each a piece of the words it was said in.
        still_open: what else is open at the end, in any of the open sections.
        not_open: what was fixed, finished or rejected, so that it is reported as open nowhere.
        taken_back: what the user or the work turned down, so that it is neither a rule nor a
            decision that holds.
    """

    name: str
    entries: list[Entry]
    first_request: str
    newest_request: str
    read: frozenset[str]
    modified: frozenset[str]
    constraints: tuple[str, ...] = ()
    last_error: str | None = None
    next_steps: tuple[str, ...] = ()
    still_open: tuple[str, ...] = ()
    not_open: tuple[str, ...] = ()
    taken_back: tuple[str, ...] = ()
