"""What a summary covers: the numbers of the real Pi for random sessions, and the odd cases."""

from typing import Any

import pytest

from branchline.summaries.boundary import collect_branch, compaction_boundary
from branchline.tree.context import context_tokens
from branchline.tree.index import NONE, Tree
from branchline.tree.plan import switch_plan
from tests.unit.helpers import TESTS, expected, load

VECTORS = TESTS / "vectors"
WANTED = expected("vectors")


def place(tree: Tree, entry_id: str | None) -> int:
    found = NONE if entry_id is None else tree.find(entry_id)
    assert found is not None
    return found


@pytest.mark.parametrize("name", WANTED)
def test_compactions_cut_where_pi_cuts(name: str) -> None:
    tree, bodies = load(VECTORS / "sessions" / name)
    for context in WANTED[name]["contexts"]:
        leaf = place(tree, context["leafId"])
        for wanted in context["compactions"]:
            found = compaction_boundary(tree, bodies, leaf, wanted["keepRecentTokens"])
            got: dict[str, Any] = {
                "keepRecentTokens": wanted["keepRecentTokens"],
                "applicable": found is not None,
            }
            if found is not None:
                got |= {
                    "firstKeptEntryId": tree.ids[found.first_kept],
                    "isSplitTurn": bool(found.turn_prefix),
                    "tokensBefore": context_tokens(tree, bodies, leaf, 0),
                    "historyRoles": [message["role"] for _, message in found.history],
                    "turnPrefixRoles": [message["role"] for _, message in found.turn_prefix],
                    "hasPreviousSummary": found.previous != NONE,
                    **found.files,
                }
            assert got == wanted, context["leafId"]


@pytest.mark.parametrize("name", WANTED)
def test_branches_are_collected_as_pi_collects_them(name: str) -> None:
    tree, bodies = load(VECTORS / "sessions" / name)
    for switch in WANTED[name]["switches"]:
        _, leaving = switch_plan(tree, place(tree, switch["from"]), place(tree, switch["target"]))
        for wanted in switch["budgets"]:
            found = collect_branch(tree, bodies, leaving, wanted["budget"])
            got = {
                "budget": wanted["budget"],
                "roles": [message["role"] for _, message in found.items],
                "totalTokens": found.tokens,
                **found.files,
            }
            assert got == wanted, (switch["from"], switch["target"])


@pytest.mark.parametrize("keep_recent_tokens", [0, 1, 10**9])
def test_before_the_first_entry_there_is_nothing_to_compact(keep_recent_tokens: int) -> None:
    tree, bodies = load(VECTORS / "sessions" / "case-0001.jsonl")
    assert compaction_boundary(tree, bodies, NONE, keep_recent_tokens) is None
