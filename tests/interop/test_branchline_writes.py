"""What Branchline writes, every version of the real Pi opens at the same place, unchanged."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from branchline.entries import ENTRY_TYPES, ROLES, Kind
from tests.interop.agreement import assert_agreed, assert_entries_relayed, entries_of
from tests.interop.branchline_side import Branchline
from tests.interop.every_method import EveryMethod
from tests.interop.pi_process import PI_1_6, VERSIONS, Pi, Version

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
NEWER = ("system", "system", "system", "compact_with_system", "usage_entry", "edit", "edit",
         "edit_custom_role", "edit_in_the_other_form")  # fmt: skip


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
