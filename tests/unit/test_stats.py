"""What a session has used."""

from typing import Any

import pytest

from branchline.tree.stats import Totals, stats
from tests.unit.made_sessions import MadeSession


def usage(tokens: int, cost: float = 0.0) -> dict[str, Any]:
    return {
        "input": tokens,
        "output": 1,
        "cacheRead": 2,
        "cacheWrite": 3,
        "totalTokens": tokens + 6,
        "cost": {"total": cost},
    }


def session_of_two_branches() -> MadeSession:
    session = MadeSession()
    session.user("u", None)
    session.assistant("a", provider="p", model="small", usage=usage(10, 0.25))
    session.assistant("left", "u", provider="p", model="large", usage=usage(100, 0.5))
    session.tool("t", "a", name="edit")
    session.add("compaction", "c", summary="s", firstKeptEntryId="a", usage=usage(1))
    session.add("branch_summary", "b", summary="s", fromId="left", usage=usage(2))
    session.add("usage", "extra", kind="title", provider="p", model="small", usage=usage(3, 1.0))
    return session


def test_the_whole_and_the_active_path_are_summed_up() -> None:
    session = session_of_two_branches()
    result = stats(session.tree(), session)
    assert result["active"] == {
        "entries": 7,
        "messages": {"user": 1, "assistant": 2, "toolResult": 1},
        "toolCalls": {"edit": 1},
        "tokens": {"input": 16, "output": 4, "cacheRead": 8, "cacheWrite": 12, "total": 40},
        "cost": 1.25,
        "models": [{"provider": "p", "model": "small", "tokens": 25, "cost": 1.25}],
    }
    assert result["whole"] == {
        "entries": 8,
        "messages": {"user": 1, "assistant": 3, "toolResult": 1},
        "toolCalls": {"edit": 1},
        "tokens": {"input": 116, "output": 5, "cacheRead": 10, "cacheWrite": 15, "total": 146},
        "cost": 1.75,
        "models": [
            {"provider": "p", "model": "large", "tokens": 106, "cost": 0.5},
            {"provider": "p", "model": "small", "tokens": 25, "cost": 1.25},
        ],
    }


def totals_of(usage: Any) -> Totals:
    session = MadeSession()
    session.assistant("a", None, usage=usage)
    return stats(session.tree(), session)["whole"]


def test_missing_totals_are_the_sums_of_their_parts() -> None:
    totals = totals_of({"input": 1, "output": 2, "cost": {"input": 0.5, "cacheRead": 0.25}})
    assert totals["tokens"]["total"] == 3
    assert totals["cost"] == 0.75
    assert totals["models"] == []


@pytest.mark.parametrize(
    "malformed",
    [
        None,
        "usage",
        {"input": "12", "output": None, "cacheRead": True, "cacheWrite": -5},
        {"input": 10**30, "totalTokens": float("nan"), "cost": {"total": float("inf")}},
        {"cost": 12},
    ],
)
def test_malformed_numbers_count_as_nothing(malformed: Any) -> None:
    totals = totals_of(malformed)
    assert set(totals["tokens"].values()) == {0}
    assert totals["cost"] == 0


def test_unknown_roles_and_entries_are_counted() -> None:
    session = MadeSession()
    session.message("oracle", "o", None)
    session.message("", "blank")
    session.add("message", "none", message=None)
    session.add("from_the_future", "f")
    whole = stats(session.tree(), session)["whole"]
    assert whole["entries"] == 4
    assert whole["messages"] == {"oracle": 1, "": 1}


def test_a_leaf_before_the_first_entry_has_used_nothing() -> None:
    session = session_of_two_branches()
    assert stats(session.tree(None), session)["active"]["entries"] == 0
