"""Compactions and branch summaries that Branchline wrote: every Pi sees the same context."""

from random import Random

import pytest

from tests.interop.agreement import assert_agreed, assert_entries_relayed, entries_of
from tests.interop.branchline_side import Branchline
from tests.interop.every_method import EveryMethod
from tests.interop.pi_process import PI_1_6, Pi, Version
from tests.interop.test_branchline_writes import COMMON, MOVES, NEWER

pytestmark = pytest.mark.interop

SUMMARIES = ("compacted", "compacted", "split", "left", "left", "previewed")


class Summarised(EveryMethod):
    """A walk that also has summaries written, offline."""

    compactions = 0

    def compacted(self, keep: int = 40) -> None:
        """Compact what is there, after a turn: then there is something new."""
        self.turn()
        self._compact(keepRecentTokens=keep)

    def split(self) -> None:
        """Compact in the middle of a turn with several tool calls."""
        self.append(self.content.user())
        for _ in range(3):
            reply = self.content.assistant(1)
            self.append(reply)
            self.append(self.content.tool_result(reply["message"]["content"][-1]))
        self._compact(keepRecentTokens=1)

    def previewed(self) -> None:
        """Compact with a draft that a person edited."""
        self.turn()
        draft = self.branchline.ask("compact", keepRecentTokens=1, preview=True)["draftId"]
        self._compact(draftId=draft, summary="## Goal\nAs a person sees it. 😀")

    def left(self) -> None:
        """Go elsewhere with a written summary of what is left."""
        self.turn()
        target = self.any().entry_id
        done = self.branchline.ask(
            "switchLeaf", targetId=target, position="at", summary={"mode": "write"}
        )
        self.leaf_id = target
        if done["summaryEntryId"] is not None:
            fields = {"type": "branch_summary", "summary": done["summary"]}
            self.note(done["leafId"], target, fields)
        assert done["leafId"] == self.leaf_id

    def _compact(self, **params: object) -> None:
        done = self.branchline.ask("compact", **params)
        self.compactions += 1
        fields = {"type": "compaction", "summary": done["summary"]}
        self.note(done["entryId"], self.leaf_id, fields)


def test_every_reader_has_the_same_context(
    all_pi: dict[Version, Pi], branchline: Branchline, seed: int
) -> None:
    branchline.create()
    walk = Summarised(seed, branchline)
    walk.go((*COMMON, *MOVES, *SUMMARIES), rounds=1)
    for last in SUMMARIES:
        walk.step(last)
        for pi in all_pi.values():
            ours = assert_agreed(pi, branchline)
        assert ours["leafId"] == walk.leaf_id
    assert walk.compactions == 8
    assert_entries_relayed(branchline)


def test_the_newest_agrees_with_its_own_checkpoints_of_prompt_and_tools(
    all_pi: dict[Version, Pi], branchline: Branchline, seed: int
) -> None:
    branchline.create()
    walk = Summarised(seed, branchline)
    walk.turn()
    walk.step("system")
    steps = [*COMMON, *NEWER, *SUMMARIES]
    Random(seed).shuffle(steps)
    for step in steps:
        walk.step(step)
        ours = assert_agreed(all_pi[PI_1_6], branchline)
        assert ours["leafId"] == walk.leaf_id
    written = [one for one in entries_of(branchline.path).values() if "details" in one]
    assert any(one.get("systemMessage") for one in written if one["type"] == "compaction")
    for version, pi in all_pi.items():
        assert_agreed(pi, branchline, context=version is PI_1_6)
