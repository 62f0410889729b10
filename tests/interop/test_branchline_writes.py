"""What Branchline writes, every version of the real Pi opens at the same place, unchanged."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from branchline.entries import ENTRY_TYPES, ROLES, Kind
from tests.interop.agreement import assert_agreed, assert_entries_relayed, entries_of
from tests.interop.branchline_side import Branchline
from tests.interop.made_sessions import Walk
from tests.interop.pi_process import PI_1_6, VERSIONS, Pi, Version
from tests.interop.writers import BranchlineWriter

pytestmark = pytest.mark.interop

COMMON = (
    "turn", "tools", "bash", "custom_role", "custom_message", "custom", "model_change",
    "thinking_level_change", "active_tools_change", "unknown", "compact", "label", "rename",
    "unname", "branch", "new_root", "branch_summary",
)  # fmt: skip
MOVES = (
    "move", "moves", "pick", "aside", "late_result", "batch", "move_with_label",
    "summary_with_label",
)  # fmt: skip
NEWER = ("system", "system", "compact_with_system", "usage_entry", "edit", "edit",
         "edit_custom_role")  # fmt: skip


class EveryMethod(Walk):
    """A walk through all that the daemon's clients can do to a session."""

    def __init__(self, seed: int, branchline: Branchline) -> None:
        super().__init__(seed, BranchlineWriter(branchline))
        self.branchline = branchline

    def move(self) -> None:
        """Go to an entry or before the first one, and say nothing there."""
        target = None if self.random.random() < 0.2 else self.any().entry_id
        self.writer.move(target)
        self.leaf_id = target

    def moves(self) -> None:
        """Look at several places, one after the other."""
        for _ in range(4):
            self.move()

    def pick(self) -> None:
        """Choose a row as a person does: a user message is to be said again."""
        target = self.any()
        again = target.kind in (Kind.USER, Kind.CUSTOM_MESSAGE) and target.entry_id != self.leaf_id
        self.branchline.ask("switchLeaf", targetId=target.entry_id)
        self.leaf_id = target.parent_id if again else target.entry_id

    def aside(self) -> None:
        """Have something said elsewhere while one stays."""
        parent, fields = self.any(), self.content.user()
        (written,) = self.branchline.ask(
            "append", entries=[fields], parentId=parent.entry_id, moveLeaf=False
        )["entries"]
        self._note_elsewhere(written["id"], written["parentId"], fields)

    def late_result(self) -> None:
        """Leave while a tool runs; its result comes when one is elsewhere."""
        place = self.any()
        asked = self.made[self.append(self.content.assistant(1))]
        self.writer.move(place.entry_id)
        self.leaf_id = place.entry_id
        fields = self.content.tool_result(asked.calls[0])
        (written,) = self.branchline.ask("append", entries=[fields])["entries"]
        assert written["parentId"] == asked.entry_id
        self._note_elsewhere(written["id"], written["parentId"], fields)

    def batch(self) -> None:
        """A whole turn in one write, with a label on a part of it."""
        reply = self.content.assistant(1)
        call = reply["message"]["content"][-1]
        first_id = f"batch-{self.random.getrandbits(64):016x}"
        entries = [
            {**self.content.user(), "id": first_id},
            reply,
            self.content.tool_result(call),
            {"type": "label", "targetId": first_id, "label": self.content.line(2)},
        ]
        written = self.branchline.ask("append", entries=entries)["entries"]
        for one, fields in zip(written, entries, strict=True):
            self.note(one["id"], one["parentId"], fields)

    def move_with_label(self) -> None:
        """Go to an entry and label it."""
        target, text = self.any().entry_id, self.content.line(2)
        self.branchline.ask("switchLeaf", targetId=target, position="at", label=text)
        self.leaf_id = target

    def summary_with_label(self) -> None:
        """Leave with a summary, and label that."""
        target, text = self.any().entry_id, self.content.text()
        done = self.branchline.ask(
            "switchLeaf",
            targetId=target,
            position="at",
            summary={"mode": "text", "text": text},
            label=self.content.line(2),
        )
        assert done["leafId"] == done["summaryEntryId"]
        self.note(done["leafId"], target, {"type": "branch_summary", "summary": text})

    def _note_elsewhere(self, entry_id: str, parent_id: str, fields: dict[str, object]) -> None:
        here = self.leaf_id
        self.note(entry_id, parent_id, fields)
        self.leaf_id = here


def walked(seed: int, branchline: Branchline, steps: Iterable[str], last: str) -> EveryMethod:
    """A new session, walked through; ``last`` is the last step."""
    branchline.create()
    walk = EveryMethod(seed, branchline)
    walk.go(steps, rounds=2)
    walk.step(last)
    return walk


class TestAllReaders:
    @pytest.mark.parametrize("last", ["turn", *MOVES])
    def test_open_at_the_same_place_with_the_same_context(
        self, all_pi: dict[Version, Pi], branchline: Branchline, last: str, seed: int
    ) -> None:
        walk = walked(seed, branchline, (*COMMON, *MOVES), last)
        assert branchline.ask("open")["leafId"] == walk.leaf_id
        before = branchline.look()
        for pi in all_pi.values():
            assert_agreed(pi, branchline)
        after = branchline.look_at_copy()
        assert after.pop("warnings") == {"unknown-type"}
        assert after == {key: before[key] for key in after}
        assert_entries_relayed(branchline)

    def test_open_what_only_the_newest_knows_at_the_same_place(
        self, all_pi: dict[Version, Pi], branchline: Branchline, seed: int
    ) -> None:
        walk = walked(seed, branchline, (*COMMON, *MOVES, *NEWER), "turn")
        entries = entries_of(branchline.path).values()
        types = {entry["type"] for entry in entries}
        assert types == ENTRY_TYPES.keys() - {"leaf"} | {"weather_report"}
        roles = {entry["message"]["role"] for entry in entries if entry["type"] == "message"}
        assert roles == set(ROLES)
        for version, pi in all_pi.items():
            assert_agreed(pi, branchline, context=version is PI_1_6)
        assert branchline.look_at_copy()["leafId"] == walk.leaf_id

    def test_agree_after_every_step(
        self, all_pi: dict[Version, Pi], branchline: Branchline, seed: int
    ) -> None:
        branchline.create()
        walk = EveryMethod(seed, branchline)
        walk.turn()
        steps = [*COMMON, *MOVES, *NEWER]
        walk.random.shuffle(steps)
        for step in steps:
            walk.step(step)
            ours = assert_agreed(all_pi[PI_1_6], branchline)
            assert ours["leafId"] == walk.leaf_id


@pytest.mark.parametrize("position", ["at", "before"])
def test_a_fork_is_the_same_branch_for_all(
    all_pi: dict[Version, Pi], branchline: Branchline, position: str, seed: int
) -> None:
    walk = walked(seed, branchline, (*COMMON, *MOVES), "turn")
    original = branchline.path
    for _ in range(4):
        kinds = (Kind.USER,) if position == "before" else None
        target = walk.any(kinds)
        branchline.path = original
        made = branchline.ask("fork", entryId=target.entry_id, position=position)
        branchline.path = Path(made["session"]["path"])
        if target.parent_id is None and position == "before":
            continue  # nothing was said before it: Pi and we have only a header
        for version in VERSIONS:
            ours = assert_agreed(all_pi[version], branchline)
        # A label record on the branch is copied with it, even if what it labels is not.
        assert ours["warnings"] <= {"unknown-type", "label-target-missing"}
        assert made["session"]["parentSession"] == str(original)
