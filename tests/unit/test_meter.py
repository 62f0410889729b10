"""The running count of the context is at any time what a count from scratch gives."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.entries import STRUCTURAL, Entry, facts_of, flags_of, kind_of
from branchline.service.meter import Meter
from branchline.tree.context import build_context, context_tokens
from branchline.tree.index import NONE, Columns, Tree
from branchline.tree.tokens import entry_tokens
from tests.unit.helpers import Bodies, chain, entry, index, message
from tests.unit.session_files import USAGE, assistant, user

TEXT = [{"type": "text", "text": "some words of an answer"}]


class Growing:
    """A session that grows, and its meter."""

    def __init__(self) -> None:
        self.tree, self.bodies = Tree(Columns()), Bodies([])
        self.meter = Meter(self.tree, self.bodies)

    def add(self, record: Entry, *, follow: bool = True) -> None:
        kind = kind_of(record)
        parent = self.tree.find(record["parentId"]) if record["parentId"] else NONE
        assert parent is not None
        self.bodies.entries.append(record)
        facts = facts_of(record, kind) if kind in STRUCTURAL else None
        ordinal = self.tree.append(
            record["id"], parent, kind, flags_of(record, kind), entry_tokens(record, kind), facts
        )
        if follow:
            self.tree.leaf = ordinal

    def exact(self, leaf: int, pinned: int = 0) -> int:
        return context_tokens(self.tree, self.bodies, leaf, pinned)


@st.composite
def records(draw: st.DrawFn) -> list[tuple[Entry, bool]]:
    """Entries of each kind that counts, each below any earlier one; and if the leaf follows."""
    made: list[tuple[Entry, bool]] = []
    for number in range(draw(st.integers(1, 14))):
        name = f"e{number}"
        earlier = [one["id"] for one, _ in made]
        parent_id = draw(st.sampled_from([earlier[-1] if earlier else None, None, *earlier]))
        text = "x" * draw(st.integers(0, 40))
        target = draw(st.sampled_from(earlier)) if earlier else name
        record = draw(
            st.sampled_from(
                [
                    user(name, parent_id, text),
                    assistant(name, parent_id, TEXT),
                    message(name, parent_id, "assistant", TEXT),
                    assistant(name, parent_id, TEXT, "error"),
                    message(name, parent_id, "system", text),
                    message(name, parent_id, "custom", text, customType="t"),
                    message(name, parent_id, "bashExecution", None, command="ls", output=text),
                    entry(name, parent_id, "custom_message", customType="t", content=text),
                    entry(name, parent_id, "compaction", summary=text, firstKeptEntryId=target),
                    entry(name, parent_id, "branch_summary", summary=text, fromId="root"),
                    entry(name, parent_id, "context_edit", targetId=target, replacement=None),
                    entry(
                        name,
                        parent_id,
                        "context_edit",
                        targetId=target,
                        replacement={"content": text},
                    ),
                    entry(name, parent_id, "model_change", provider="p", modelId=text),
                    entry(name, parent_id, "label", targetId=target, label=text),
                    entry(name, parent_id, "unknown", text=text),
                ]
            )
        )
        made.append((record, draw(st.booleans())))
    return made


@given(records(), st.sampled_from([0, 5, 4096]), st.data())
@settings(deadline=None, max_examples=300)
def test_the_running_count_is_the_exact_one(
    made: list[tuple[Entry, bool]], pinned: int, data: st.DataObject
) -> None:
    session = Growing()
    for record, follow in made:
        session.add(record, follow=follow)
        places = [session.tree.leaf, data.draw(st.integers(NONE, len(session.tree) - 1))]
        for place in data.draw(st.permutations(places)):
            assert session.meter.tokens(place, pinned) == session.exact(place, pinned)
            wanted = build_context(session.tree, session.bodies, place, pinned).model
            assert session.meter.model(place) == wanted


def test_an_append_costs_no_walk_of_the_whole_path() -> None:
    session = Growing()
    for record in chain(*(user(f"u{number}") for number in range(500))):
        session.add(record)
    session.meter.tokens(session.tree.leaf, 0)
    session.bodies.read.clear()
    session.add(assistant("answer", "u499", TEXT))
    assert session.meter.tokens(session.tree.leaf, 0) == USAGE["totalTokens"]
    assert session.bodies.read == {500}


def test_far_below_a_counted_leaf_is_counted_anew() -> None:
    session = Growing()
    session.add(user("first", None, "x" * 40))
    assert session.meter.tokens(0, 0) == 10
    for record in chain(*(user(f"u{number}", None, "x" * 4) for number in range(200))):
        session.add(record | {"parentId": record["parentId"] or "first"})
    assert session.meter.tokens(session.tree.leaf, 0) == 210


def test_each_number_of_pinned_tokens_is_counted_on_its_own() -> None:
    covered = entry("s", "a", "branch_summary", summary="x" * 400, fromId="root")
    compaction = entry("k", "b", "compaction", summary="short", firstKeptEntryId="b")
    session = Growing()
    for record in (user("a"), covered, user("b", "s"), compaction):
        session.add(record)
    leaf = session.tree.leaf
    without, pinned = session.meter.tokens(leaf, 0), session.meter.tokens(leaf, 4096)
    assert pinned > without + 90
    assert (without, pinned) == (session.exact(leaf, 0), session.exact(leaf, 4096))


@pytest.mark.parametrize(
    ("records", "model"),
    [
        ([user("a")], None),
        ([user("a"), assistant("b", "a", TEXT)], {"provider": "local", "modelId": "m"}),
        (
            [entry("a", None, "model_change", provider="p", modelId="n"), user("b", "a")],
            {"provider": "p", "modelId": "n"},
        ),
    ],
)
def test_the_model_is_the_last_one_named(records: list[Entry], model: Any) -> None:
    tree, bodies = index(records)
    meter = Meter(tree, bodies)
    assert meter.model(tree.leaf) == model
    assert meter.model(tree.leaf) == model
    assert meter.model(NONE) is None


def test_guessed_tokens_are_never_added_up() -> None:
    tree, bodies = index(chain(*(user(f"u{number}", None, "x" * 40) for number in range(9))),
                         exact=False)  # fmt: skip
    tree.leaf = 3
    meter = Meter(tree, bodies)
    assert meter.tokens(3, 0) == 40
    assert meter.tokens(8, 0) == 90
