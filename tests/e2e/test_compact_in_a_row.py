"""Compactions in a row: nothing that counts is lost, and each costs what is new."""

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from branchline.demo.client import Client
from tests.e2e.editor import GOOD, asked, asks, editor, said, session, told
from tests.e2e.talk import Talk, write_session
from tests.e2e.world import user
from tests.model_server import Request, model_server, says
from tests.unit.varied_talks.claims import missing, parsed, plain, unmet
from tests.unit.varied_talks.hostile import MARKS, SPOKEN, poisoned
from tests.unit.varied_talks.shape import Varied
from tests.unit.varied_talks.table import IN_ONE_LINE

Json = Any
TIMES = 5

# --- offline -------------------------------------------------------------------------------------


def stages(messages: Sequence[Json], seed: int) -> list[list[Json]]:
    """The messages in five parts, cut between any two, as a person may compact at any time."""
    rng = random.Random(seed)
    cuts = [number * len(messages) // TIMES + rng.randint(-1, 1) for number in range(1, TIMES)]
    places = [0, *cuts, len(messages)]
    return [list(messages[start:end]) for start, end in pairwise(places)]


def wanted_so_far(varied: Varied, covered: Sequence[Json]) -> tuple[str, ...]:
    """The constraints that the user named in the covered messages."""
    texts = [one["content"] for one in covered if one["role"] == "user"]
    said_so_far = plain("\n".join(texts))
    return tuple(one for one in varied.constraints if plain(one) in said_so_far)


def five_compactions(talk: Talk, messages: Sequence[Json], seed: int) -> Iterator[Json]:
    """Append the messages in five parts, compacting after each; give each compaction's result.

    After the last part the user says a last word, which is kept, so that all else is covered.
    """
    keep = random.Random(seed).choice([1, 20, 60])
    previous = None
    for number, part in enumerate(stages(messages, seed), 1):
        is_last = number == TIMES
        entries = [{"type": "message", "message": one} for one in part]
        talk.append(*entries, *([user("Go on.")] if is_last else []))
        tokens = 1 if is_last else keep
        answer = talk.ask("compact", keepRecentTokens=tokens, summarizer="offline")
        assert answer["plan"]["previousCompactionId"] == previous
        previous = answer["entryId"]
        yield answer


rows = pytest.mark.parametrize("varied", IN_ONE_LINE, ids=[one.name for one in IN_ONE_LINE])


@pytest.mark.parametrize("seed", range(4))
@rows
def test_after_each_of_five_compactions_all_that_counts_is_there(
    shared_daemon: Client, tmp_path: Path, varied: Varied, seed: int
) -> None:
    messages = [one["message"] for one in varied.entries]
    talk = Talk(shared_daemon, write_session(tmp_path / "--w--"))
    covered: list[Json] = []
    read: set[str] = set()
    modified: set[str] = set()
    for answer in five_compactions(talk, messages, seed):
        text, plan = answer["summary"], answer["plan"]
        covered += [talk.entry(one)["message"] for one in plan["summarized"] + plan["turnPrefix"]]
        assert missing((varied.first_request,), text) == []
        assert missing(wanted_so_far(varied, covered), text) == []
        assert read <= {*plan["readFiles"], *plan["modifiedFiles"]}
        assert modified <= set(plan["modifiedFiles"])
        read, modified = set(plan["readFiles"]), set(plan["modifiedFiles"])
    assert len(covered) == len(messages)
    assert unmet(varied, text, plan) == {}
    assert talk.ask("context")["messages"][0]["summary"] == text


@rows
def test_what_tools_print_becomes_nobodys_word_in_five_compactions(
    shared_daemon: Client, tmp_path: Path, varied: Varied
) -> None:
    messages = [one["message"] for one in poisoned(varied.entries)]
    talk = Talk(shared_daemon, write_session(tmp_path / "--w--"))
    *_, last = five_compactions(talk, messages, seed=0)
    found = parsed(last["summary"])
    for title in SPOKEN:
        assert not any(mark in found[title] for mark in MARKS), title


# --- with a model --------------------------------------------------------------------------------

ROUNDS = 6
PAIRS = 8
WORDS = "word " * 100


def marker(number: int) -> str:
    return f"marker-{number:04}-"


def pair(number: int) -> list[Json]:
    """A question and an answer, each with a marker of its own."""
    first, second = f"{marker(2 * number)} {WORDS}", f"{marker(2 * number + 1)} {WORDS}"
    answer = {"role": "assistant", "content": said(second), "stopReason": "stop"}
    return [user(first), {"type": "message", "message": answer}]


def sent(requests: Sequence[Request]) -> str:
    return "\n".join(text for request in requests for text in request.texts)


def markers_in(text: str) -> list[int]:
    return [number for number in range(2 * ROUNDS * PAIRS + 2) if marker(number) in text]


@pytest.mark.parametrize("keep", [1, 150, 600])
def test_a_compaction_sends_nothing_that_the_one_before_covered(
    environment: dict[str, str], agent_dir: Path, keep: int
) -> None:
    path = session(agent_dir, asked("u0", None, "Go."), told("a0", "u0", *said("Yes.")))
    sizes: list[int] = []
    summarized: list[int] = []
    with (
        model_server(*[says(GOOD)] * (2 * ROUNDS)) as server,
        editor(environment, path, asks(server)) as ed,
    ):
        for number in range(ROUNDS):
            for one in range(number * PAIRS, (number + 1) * PAIRS):
                ed.ask("append", entries=pair(one))
            came = len(server.requests)
            answer = ed.ask("compact", keepRecentTokens=keep)
            text = sent(server.requests[came:])
            plan = answer["plan"]
            ids = [*plan["summarized"], *plan["turnPrefix"]]
            new = markers_in(str(ed.ask("entries", ids=ids)["entries"]))
            assert markers_in(text) == new
            assert not set(new) & set(summarized)
            summarized += new
            sizes.append(len(text))
            # A prompt is about as long as what is new and the summary before, wherever it is cut.
            beside = len(text) - len(new) * len(WORDS) - len(GOOD)
            assert 0 < beside < 4_500 * len(server.requests[came:]), beside
    assert summarized == sorted(summarized)
    assert len(summarized) > 2 * PAIRS * (ROUNDS - 1)
    assert max(sizes[1:]) < 1.2 * min(sizes[1:])  # the sixth costs what the second did
