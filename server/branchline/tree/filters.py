"""Which entries are shown: the filters of Pi's ``/tree``, and the words of a query.

A filter looks at the columns of the index only. A query needs bodies; each is read at most once
for a query, and only where the filter lets the entry through.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal

from branchline.entries import (
    BOOKKEEPING,
    Entry,
    Flag,
    Kind,
    content_of,
    message_of,
    summary_of,
    text_of,
    tool_calls,
)
from branchline.tree.index import Bodies, Label, Tree
from branchline.tree.preview import describe

Filter = Literal["default", "noTools", "userOnly", "labeledOnly", "all"]

_UNKNOWN, _MATCHES, _DIFFERS = range(3)


def _table(shown: Iterable[int]) -> bytes:
    """A translation table from a column's byte to 1 for the values in ``shown``, else 0."""
    wanted = frozenset(shown)
    return bytes(value in wanted for value in range(256))


_CONVERSATION: Final = frozenset(Kind) - BOOKKEEPING - {Kind.ASSISTANT}
_DEFAULT: Final = _table(_CONVERSATION)
_NO_TOOLS: Final = _table(_CONVERSATION - {Kind.TOOL_RESULT})
_USERS: Final = _table({Kind.USER})
_ASSISTANTS: Final = _table({Kind.ASSISTANT})
_WORTH_A_ROW: Final = _table(
    value for value in range(256) if value & (Flag.HAS_TEXT | Flag.ENDED_BADLY)
)


def visible(tree: Tree, filter_name: Filter) -> bytearray:
    """One byte an entry, by ordinal: 1 if the filter shows it.

    ``default`` leaves out bookkeeping, and assistant messages that have no text, unless they ended
    badly or are the leaf.
    """
    match filter_name:
        case "all":
            shown = bytearray(b"\x01") * len(tree)
        case "userOnly":
            shown = bytearray(tree.kinds.translate(_USERS))
        case "labeledOnly":
            shown = bytearray(len(tree))
            for ordinal in tree.labels:
                shown[ordinal] = 1
        case "noTools":
            shown = _conversation(tree, _NO_TOOLS)
        case "default":
            shown = _conversation(tree, _DEFAULT)
    for ordinal in tree.superseded:
        shown[ordinal] = 0
    return shown


def _conversation(tree: Tree, table: bytes) -> bytearray:
    # Whole columns at once: the bytes are 0 or 1, so one long integer holds a column of truths.
    plain, assistants, worth_a_row = (
        int.from_bytes(column, "little")
        for column in (
            tree.kinds.translate(table),
            tree.kinds.translate(_ASSISTANTS),
            tree.flags.translate(_WORTH_A_ROW),
        )
    )
    shown = bytearray((plain | assistants & worth_a_row).to_bytes(len(tree), "little"))
    if tree.leaf >= 0 and tree.kinds[tree.leaf] == Kind.ASSISTANT:
        shown[tree.leaf] = 1
    return shown


def query_words(query: str | None) -> tuple[str, ...]:
    """The words of a query, in lower case; every one must occur."""
    return tuple(dict.fromkeys((query or "").casefold().split()))


class Search:
    """Which entries hold every word of one query. Remembers each answer, for bodies never change.

    Only a label can change what an entry answers, so those entries are asked again.
    """

    def __init__(self, tree: Tree, bodies: Bodies, words: tuple[str, ...]) -> None:
        self._tree = tree
        self._bodies = bodies
        self._words = words
        self._answers = bytearray()
        self._labels: dict[int, Label] = {}

    def restrict(self, shown: bytearray) -> None:
        """Clear the flag of each shown entry that lacks a word."""
        answers = self._answers
        answers.extend(bytes(len(shown) - len(answers)))
        for ordinal, _label in self._labels.items() ^ self._tree.labels.items():
            answers[ordinal] = _UNKNOWN
        self._labels = dict(self._tree.labels)
        ordinal = shown.find(1)
        while ordinal >= 0:
            if answers[ordinal] == _UNKNOWN:
                answers[ordinal] = _MATCHES if self._holds(ordinal) else _DIFFERS
            if answers[ordinal] == _DIFFERS:
                shown[ordinal] = 0
            ordinal = shown.find(1, ordinal + 1)

    def _holds(self, ordinal: int) -> bool:
        kind = self._tree.kinds[ordinal]
        entry = {} if kind == Kind.PLACEHOLDER else self._bodies.entry(ordinal)
        label = self._tree.labels.get(ordinal)
        parts = [label.text] if label else []
        text = "\n".join([*parts, *searchable(entry, kind)]).casefold()
        return all(word in text for word in self._words)


def searchable(entry: Entry, kind: int) -> Iterator[str]:
    """The texts of an entry that a query looks at, its label apart."""
    message = message_of(entry)
    match kind:
        case Kind.ASSISTANT:
            yield text_of(message.get("content"))
            for call in tool_calls(message.get("content")):
                yield call["name"]
                yield from _texts_in(call.get("arguments"))
        case Kind.TOOL_RESULT:
            yield from _texts_in([message.get("toolName"), text_of(message.get("content"))])
        case Kind.BASH_EXECUTION:
            yield from _texts_in([message.get("command"), message.get("output")])
        case Kind.COMPACTION | Kind.BRANCH_SUMMARY:
            yield summary_of(entry)
        case Kind.USER | Kind.SYSTEM | Kind.CUSTOM_ROLE | Kind.UNKNOWN_ROLE | Kind.CUSTOM_MESSAGE:
            yield text_of(content_of(entry))
        case _:
            yield describe(entry, kind)


def _texts_in(value: Any) -> Iterator[str]:
    """Every text, key and number inside a JSON value, in order."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list):
            pending.extend(reversed(item))
        elif isinstance(item, dict):
            for name, inner in reversed(item.items()):
                pending += [inner, name]
        elif isinstance(item, int | float) and not isinstance(item, bool):
            yield str(item)
