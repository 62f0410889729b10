"""Which record moved the leaf last, and where the leaf was before."""

import tempfile
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.entries import Entry, Kind
from branchline.errors import NothingToCompact
from branchline.log.format import Header
from branchline.service import actions
from branchline.service.client import Client, Silence
from branchline.service.compaction import CompactRequest, compact
from branchline.service.jobs import Jobs
from branchline.service.session import Session
from branchline.service.summarising import Drafts
from branchline.service.switching import SummaryWish, Switch, switch_leaf
from branchline.tree.context import Context, build_context
from branchline.tree.undo import last_move
from tests.unit.helpers import entry, index, message

MOVE = "branchline.leaf"


def moved(entry_id: str, target: str | None) -> Entry:
    return entry(entry_id, target, "custom", customType=MOVE, data={"targetId": target})


def found(*entries: Entry) -> tuple[str, str | None, int] | None:
    """The last move of a session: its record, where it came from, and the messages since."""
    tree, bodies = index(entries)
    last = last_move(tree, bodies)
    if last is None:
        return None
    return tree.ids[last.record], tree.id_of(last.came_from), last.messages_since


A = message("a", None, "user", "1")
B = message("b", "a", "user", "2")
C = message("c", "b", "user", "3")


def test_what_only_went_on_was_never_moved() -> None:
    label = entry("l", "c", "label", targetId="a", label="x")
    assert found() is None
    assert found(A, B, C) is None
    assert found(A, B, C, label) is None
    assert found(A, B, C, label, moved("m", "c")) is None


@pytest.mark.parametrize("target", ["a", None])
def test_a_move_came_from_where_the_leaf_was(target: str | None) -> None:
    assert found(A, B, C, moved("m", target)) == ("m", "c", 0)


def test_undoing_twice_is_doing_it_again() -> None:
    assert found(A, B, C, moved("m", "a"), moved("n", "c")) == ("n", "a", 0)


def test_a_summary_came_from_the_branch_that_it_is_of() -> None:
    summary = entry("s", "a", "branch_summary", fromId="c", summary="x")
    label = entry("l", "s", "label", targetId="s", label="x")
    assert found(A, B, C, summary) == ("s", "c", 0)
    assert found(A, B, C, summary, label, moved("m", "s")) == ("s", "c", 0)


def test_a_label_on_the_target_belongs_to_the_move() -> None:
    label = entry("l", "a", "label", targetId="a", label="x")
    assert found(A, B, C, label, moved("m", "a")) == ("l", "c", 0)


def test_a_compaction_is_undone_at_its_parent() -> None:
    summary = entry("k", "c", "compaction", summary="x", firstKeptEntryId="c", tokensBefore=1)
    assert found(A, B, C, summary) == ("k", "c", 0)
    assert found(A, B, C, summary, moved("m", "c")) == ("m", "k", 0)


def test_an_append_elsewhere_is_no_move() -> None:
    other = message("o", "a", "user", "elsewhere")
    below = message("p", "o", "user", "elsewhere too")
    assert found(A, B, C, other, below, moved("m", "c")) is None
    first = moved("f", "b")
    assert found(A, B, C, first, other, below, moved("m", "b")) == ("f", "c", 0)
    assert found(A, B, C, other, below, moved("m", "b")) == ("m", "p", 0)


def test_what_another_program_appended_elsewhere_can_be_left() -> None:
    other = message("o", "a", "user", "elsewhere") | {"timestamp": "2026-05-05T05:05:05.555Z"}
    assert found(A, B, C, other, moved("m", "c")) == ("m", "o", 0)


def test_messages_since_the_last_move_are_counted() -> None:
    after = message("d", "a", "user", "4")
    assert found(A, B, C, moved("m", "a"), after) == ("m", "c", 1)
    pis = message("d", "m", "user", "4")  # Pi goes on from the record itself
    assert found(A, B, C, moved("m", "a"), pis) == ("m", "c", 1)


def test_a_move_back_after_messages_is_a_move() -> None:
    after = message("d", "a", "user", "4")
    assert found(A, B, C, moved("m", "a"), after, moved("n", "a")) == ("n", "d", 0)


def test_what_goes_on_from_the_record_of_a_move_is_no_move() -> None:
    label = entry("l", "m", "label", targetId="a", label="x")
    assert found(A, B, C, moved("m", "a"), label) == ("m", "c", 0)


def test_a_damaged_record_is_no_place() -> None:
    tree, bodies = index([A, B, message("x", None, "user", "?"), moved("m", "a")])
    tree.kinds[2] = Kind.PLACEHOLDER
    last = last_move(tree, bodies)
    assert last is not None
    assert tree.id_of(last.came_from) == "b"


# --- whatever was done ---------------------------------------------------------------------------

SAID = {"type": "message", "message": {"role": "user", "content": "word " * 20}}
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("say", "elsewhere", "label", "switch", "summary", "compact")),
        st.integers(0, 30),
        st.booleans(),
    ),
    max_size=12,
)


async def do(session: Session, client: Client, what: str, place: str, labelled: bool) -> None:
    """One thing that a client can do to a session."""
    match what:
        case "say":
            await actions.append(session, client, [SAID])
        case "elsewhere":
            await actions.append(session, client, [SAID] * 2, parent_id=place, move_leaf=False)
        case "label":
            await actions.label(session, client, place, "x")
        case "compact":
            request = CompactRequest(keep_recent_tokens=1, summary="short")
            await compact(Jobs(), Drafts(), session, client, request)
        case _:
            wish = SummaryWish("text", "learnt") if what == "summary" else SummaryWish()
            switch = Switch(place, "at", wish, "here" if labelled else None)
            await switch_leaf(Jobs(), Drafts(), session, client, switch)


def context(session: Session) -> Context:
    return build_context(session.tree, session, session.tree.leaf, 4096)


@given(STEPS)
@settings(max_examples=60, deadline=None)
def test_whatever_was_done_is_undone_and_done_again(steps: list[tuple[str, int, bool]]) -> None:
    async def play(folder: Path) -> None:
        header = Header("s-1", 3, "2026-01-02T03:04:05.678Z", "/", None)
        session = Session(folder / "s.jsonl", header, None, folder / "locks", lambda *_: None)
        client = Client(Silence(), {"XDG_CONFIG_HOME": str(folder)})
        client.configure({"durability": "flush"}, [folder])
        await actions.append(session, client, [SAID] * 3)
        for what, number, labelled in steps:
            before, tree = context(session), session.tree
            place = tree.ids[number % len(tree)]
            stood = tree.leaf
            try:
                await do(session, client, what, place, labelled)
            except NothingToCompact:
                continue
            after = context(session)
            moved_on = what in ("say", "label", "elsewhere") or tree.leaf == stood
            if moved_on or after.sources == before.sources:
                continue
            await actions.undo(session, client)
            assert context(session) == before
            await actions.undo(session, client)
            assert context(session) == after
        session.close()

    with tempfile.TemporaryDirectory() as folder:
        anyio.run(play, Path(folder))
