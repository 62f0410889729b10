"""Reads a conversation into notes, once, in order.

Who may say what: wishes and rules come from the user's own messages only; choices, plans, results
and facts from the user and the assistant; a tool's output and a message that a program put in
contribute to none of these.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from branchline.entries import Entry, summary_of, text_of, tool_calls
from branchline.summaries.files import FileOperations
from branchline.summaries.offline.notes import Notes
from branchline.summaries.offline.replies import take_reply
from branchline.summaries.offline.requests import take_request
from branchline.tree.messages import failed, pair_results

_MOST_REPLIES: Final = 2_000
"""Replies whose words are looked at, the newest; of older ones only the calls are."""


def read(notes: Notes, messages: Sequence[Entry], *, assume_edits: bool) -> Notes:
    """Take in the messages, in order; give the notes back.

    ``assume_edits``: the results were left out, so a call to edit counts as an edit made.
    """
    replies = [at for at, one in enumerate(messages) if one.get("role") == "assistant"]
    first_read = replies[-_MOST_REPLIES:][0] if replies else 0
    pairing = pair_results(messages)
    for at, message in enumerate(messages):
        match message.get("role"):
            case "user":
                take_request(notes, text_of(message.get("content")), at)
            case "assistant":
                answers = pairing.results.get(at, [])
                results = [None if one is None else messages[one] for one in answers]
                text = text_of(message.get("content")) if at >= first_read else ""
                _take_message(notes, message, text, results, at, assume_edits)
            case "bashExecution":
                notes.progress.take_shell(message, at)
            case "branchSummary" | "compactionSummary":
                pass  # taken in by `earlier`, before the messages
            case _:
                pass  # a program's own message says nothing for the user
    notes.settle_by_calls()
    return notes


def summaries_in(messages: Iterable[Entry], role: str) -> list[str]:
    """The texts of the summaries of one role among the messages."""
    return [text for one in messages if one.get("role") == role and (text := summary_of(one))]


def _take_message(
    notes: Notes,
    message: Entry,
    text: str,
    results: Sequence[Entry | None],
    at: int,
    assume_edits: bool,
) -> None:
    """Take in a message of the assistant: what it says, and what its calls did."""
    if failed(message):
        notes.broke_off = str(message.get("stopReason"))
        error = message.get("errorMessage")
        if notes.broke_off == "error":
            notes.progress.take_reply_error(error if isinstance(error, str) else "", at)
        return
    notes.broke_off = None
    notes.progress.reply_came()
    calls = list(tool_calls(message.get("content")))
    ends_turn = not calls and message.get("stopReason") != "length"
    if text.strip():
        take_reply(notes, text, at, ends_turn=ends_turn)
        notes.answered |= ends_turn
    for number, call in enumerate(calls):
        result = results[number] if number < len(results) else None
        operations = FileOperations()
        operations.take_call(call)
        notes.names.take_files(operations, at)
        notes.progress.take_call(call, operations, result, at, assumed=assume_edits)
