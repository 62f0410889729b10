"""Forty random sessions give the numbers that the real Pi gives (vectors/README.md)."""

from typing import Any

import pytest

from branchline.entries import MESSAGES
from branchline.tree.chat import chat_messages
from branchline.tree.context import build_context, context_tokens
from branchline.tree.index import NONE, Tree
from branchline.tree.plan import switch_plan
from tests.unit.chat_rules import assert_sendable
from tests.unit.helpers import TESTS, Bodies, expected, load

VECTORS = expected("vectors")

pytestmark = pytest.mark.parametrize("name", VECTORS)


def read(name: str) -> tuple[Tree, Bodies, dict[str, Any]]:
    tree, bodies = load(TESTS / "vectors" / "sessions" / name)
    return tree, bodies, VECTORS[name]


def ids(tree: Tree, ordinals: list[int]) -> list[str]:
    return [tree.ids[ordinal] for ordinal in ordinals]


def ordinal(tree: Tree, entry_id: str) -> int:
    found = tree.find(entry_id)
    assert found is not None
    return found


def test_leaf_name_and_labels(name: str) -> None:
    tree, _, vector = read(name)
    assert tree.id_of(tree.leaf) == vector["leafId"]
    assert tree.name == vector["name"]
    assert {tree.ids[at]: label.text for at, label in tree.labels.items()} == vector["labels"]


def test_every_message_has_the_estimate_of_pi(name: str) -> None:
    tree, _, vector = read(name)
    tokens = {tree.ids[at]: tree.tokens[at] for at in tree.entries() if tree.kind(at) in MESSAGES}
    assert tokens == vector["tokens"]


def test_every_context_is_that_of_pi(name: str) -> None:
    tree, bodies, vector = read(name)
    for wanted in vector["contexts"]:
        context = build_context(tree, bodies, ordinal(tree, wanted["leafId"]), 0)
        assert ids(tree, context.path) == wanted["path"]
        assert ids(tree, context.sources) == wanted["sources"]
        assert [message["role"] for message in context.messages] == wanted["roles"]
        assert context.model == wanted["model"]
        assert context.thinking_level == wanted["thinkingLevel"]
        assert context.tokens == wanted["tokens"]


def test_tokens_alone_are_the_same_number(name: str) -> None:
    tree, bodies, vector = read(name)
    for wanted in vector["contexts"]:
        leaf = ordinal(tree, wanted["leafId"])
        assert context_tokens(tree, bodies, leaf, 0) == wanted["tokens"]


def test_every_switch_leaves_what_it_leaves_in_pi(name: str) -> None:
    tree, _, vector = read(name)
    for wanted in vector["switches"]:
        old, new = ordinal(tree, wanted["from"]), ordinal(tree, wanted["target"])
        ancestor, leaving = switch_plan(tree, old, new)
        assert tree.id_of(ancestor) == wanted["commonAncestorId"]
        assert ids(tree, leaving) == wanted["leaving"]


def test_a_model_can_be_asked_from_every_leaf(name: str) -> None:
    tree, bodies, _ = read(name)
    for leaf in range(NONE, len(tree)):
        for pinned_tokens in (0, 4096):
            context = build_context(tree, bodies, leaf, pinned_tokens)
            messages = chat_messages(context)
            assert_sendable(messages)
            assert len(messages) >= sum(
                message["role"] == "user" for message in context.messages
            ), "no question is lost"
