"""What a session has used: ``session/stats``. Reads every body once."""

from typing import Any, TypedDict

from branchline.entries import Entry, Kind, message_of, tool_calls
from branchline.tree.index import Bodies, Tree
from branchline.tree.preview import one_line
from branchline.tree.rows import body_of

_PARTS = ("input", "output", "cacheRead", "cacheWrite")
_MOST = 2**53  # a count or cost beyond what JavaScript counts exactly is no measurement


class Tokens(TypedDict):
    """Tokens as the providers counted them."""

    input: int | float
    output: int | float
    cacheRead: int | float
    cacheWrite: int | float
    total: int | float


class ModelUse(TypedDict):
    """What one model has used: tokens in total, and cost in the provider's currency."""

    provider: str
    model: str
    tokens: int | float
    cost: float


class Totals(TypedDict):
    """Entries, messages by role, tool calls by name, tokens, cost, and models by tokens used."""

    entries: int
    messages: dict[str, int]
    toolCalls: dict[str, int]
    tokens: Tokens
    cost: float
    models: list[ModelUse]


class Stats(TypedDict):
    """The result of ``session/stats``: of the active path, and of the whole tree."""

    active: Totals
    whole: Totals


def stats(tree: Tree, bodies: Bodies) -> Stats:
    """Sum up the usage of assistant messages, ``usage`` entries and summaries.

    A number that is missing, malformed or negative counts as 0.
    """
    active, whole = _Sum(), _Sum()
    on_path = frozenset(tree.path(tree.leaf))
    for ordinal in tree.entries():
        entry = body_of(tree, bodies, ordinal)
        whole.add(entry, tree.kind(ordinal))
        if ordinal in on_path:
            active.add(entry, tree.kind(ordinal))
    return {"active": active.totals(), "whole": whole.totals()}


class _Sum:
    def __init__(self) -> None:
        self._tokens: Tokens = {
            "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0
        }  # fmt: skip
        self._entries = 0
        self._messages: dict[str, int] = {}
        self._tool_calls: dict[str, int] = {}
        self._cost = 0.0
        self._models: dict[tuple[str, str], ModelUse] = {}

    def add(self, entry: Entry, kind: Kind) -> None:
        """Count one entry."""
        self._entries += 1
        message = message_of(entry)
        role = message.get("role")
        if entry.get("type") == "message" and isinstance(role, str):
            _count(self._messages, role)
        match kind:
            case Kind.ASSISTANT:
                for call in tool_calls(message.get("content")):
                    _count(self._tool_calls, call["name"])
                self._add_usage(message)
            case Kind.USAGE | Kind.COMPACTION | Kind.BRANCH_SUMMARY:
                self._add_usage(entry)
            case _:
                pass

    def totals(self) -> Totals:
        """What was counted."""
        return {
            "entries": self._entries,
            "messages": self._messages,
            "toolCalls": self._tool_calls,
            "tokens": self._tokens,
            "cost": self._cost,
            "models": sorted(self._models.values(), key=lambda use: -use["tokens"]),
        }

    def _add_usage(self, source: Entry) -> None:
        """Add ``source.usage``, and for the model if the source names one."""
        usage = source.get("usage")
        if not isinstance(usage, dict):
            return
        parts = [_number(usage.get(name)) for name in _PARTS]
        total = _number(usage.get("totalTokens")) or sum(parts)
        tokens = self._tokens
        tokens["input"] += parts[0]
        tokens["output"] += parts[1]
        tokens["cacheRead"] += parts[2]
        tokens["cacheWrite"] += parts[3]
        tokens["total"] += total
        cost = _cost(usage.get("cost"))
        self._cost += cost
        provider, model = source.get("provider"), source.get("model")
        if isinstance(provider, str) and isinstance(model, str):
            key = (one_line(provider), one_line(model))
            use = self._models.setdefault(
                key, {"provider": key[0], "model": key[1], "tokens": 0, "cost": 0.0}
            )
            use["tokens"] += total
            use["cost"] += cost


def _cost(cost: object) -> float:
    """The ``total`` of a usage's ``cost``, else the sum of its parts."""
    if not isinstance(cost, dict):
        return 0.0
    return _number(cost.get("total")) or sum(_number(cost.get(name)) for name in _PARTS)


def _number(value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return value if 0 <= value <= _MOST else 0


def _count(counts: dict[str, int], name: str) -> None:
    name = one_line(name)
    counts[name] = counts.get(name, 0) + 1
