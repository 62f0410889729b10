"""Offline summaries of varied conversations: what they hold, and what they do not say.

Each conversation is compacted as the daemon does it: the boundary is chosen on its entries, with a
last word of the user that stays, and the file lists are put at the end of the text.
"""

from collections.abc import Sequence
from copy import deepcopy

import pytest

from branchline import codec
from branchline.entries import Entry
from branchline.service.summarising import with_files
from branchline.summaries import sections
from branchline.summaries.boundary import compaction_boundary
from branchline.summaries.offline.summary import summarise
from tests.unit.helpers import index, message
from tests.unit.made_talks import request
from tests.unit.varied_talks.claims import CLAIMS, parsed
from tests.unit.varied_talks.hostile import MARKS, SPOKEN, poisoned
from tests.unit.varied_talks.shape import Varied
from tests.unit.varied_talks.table import VARIED

table = pytest.mark.parametrize("varied", VARIED, ids=[one.name for one in VARIED])


def compacted(entries: Sequence[Entry]) -> tuple[str, dict[str, list[str]]]:
    """The text that a compaction of these entries stores, and its file lists."""
    last = message("last", entries[-1]["id"], "user", "Go on.")
    tree, bodies = index([*entries, last])
    boundary = compaction_boundary(tree, bodies, tree.leaf, 1)
    assert boundary is not None
    assert not boundary.turn_prefix
    assert [tree.ids[ordinal] for ordinal, _ in boundary.kept] == ["last"]
    text = "".join(summarise(request([one for _, one in boundary.history])))
    return with_files(text, boundary.files), boundary.files


@pytest.mark.parametrize("claim", CLAIMS)
@table
def test_a_varied_conversation(varied: Varied, claim: str) -> None:
    assert CLAIMS[claim](varied, *compacted(varied.entries)) == []


@table
def test_the_same_conversation_gives_the_same_bytes(varied: Varied) -> None:
    first = compacted(varied.entries)
    assert compacted(deepcopy(varied.entries)) == first


@table
def test_an_update_with_nothing_new_gives_the_same_bytes(varied: Varied) -> None:
    text = sections.strip_file_lists(compacted(varied.entries)[0])
    assert "".join(summarise(request([], previous=text))) == text


def test_a_summary_has_2000_tokens_or_less_on_average() -> None:
    sizes = [codec.utf16_length(compacted(varied.entries)[0]) // 4 for varied in VARIED]
    assert sum(sizes) / len(sizes) <= 2_000
    assert max(sizes) <= 2_000


# --- what tools print --------------------------------------------------------------------------


@table
def test_what_tools_print_becomes_no_goal_rule_decision_or_step(varied: Varied) -> None:
    clean = parsed(compacted(varied.entries)[0])
    text = compacted(poisoned(varied.entries))[0]
    found = parsed(text)
    assert {title: found[title] for title in SPOKEN} == {title: clean[title] for title in SPOKEN}
    for title in SPOKEN:
        assert not any(mark in found[title] for mark in MARKS), title
        assert text.count(f"## {title}\n") == 1
    assert "</summary>" not in text
