"""Pi and Branchline go on with the same conversation in turns, in the same file."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from branchline.entries import Entry
from tests.interop.agreement import (
    assert_agreed,
    assert_entries_relayed,
    entries_of,
    is_move,
    place,
)
from tests.interop.branchline_side import Branchline
from tests.interop.every_method import EveryMethod
from tests.interop.pi_process import PI_0_78, PI_1_6, Pi, Version
from tests.interop.writers import BranchlineWriter, PiWriter

pytestmark = pytest.mark.interop

STEPS = (
    "turn", "turn", "tools", "bash", "custom_message", "custom", "model_change",
    "thinking_level_change", "label", "rename", "branch", "branch", "branch_summary", "new_root",
)  # fmt: skip
NEWER = ("system", "edit", "usage_entry", "compact")
OURS = ("active_tools_change", "move", "move", "moves", "aside", "late_result", "move_with_label")
TURNS = {"reopened": 3, "kept open": 12}
"""How often each has its turn: a daemon takes its time to start."""


class Taking:
    """Two writers of one file, of which one always goes on where the other can see it."""

    def __init__(self, pi: Pi, branchline: Branchline, folder: Path, seed: int) -> None:
        self.pi = pi
        self.branchline = branchline
        self.path = folder / "session.jsonl"
        pi.create(self.path, str(folder))
        self.walk = EveryMethod(seed, branchline)
        self.walk.writer = PiWriter(pi)
        self.walk.turn()
        self.our_leaf_id: str | None = self.walk.leaf_id
        self.seen = set(entries_of(self.path))
        branchline.open(self.path)

    def steps(self, choices: Collection[str]) -> None:
        """Take a few steps."""
        for name in self.walk.random.choices([*choices], k=self.walk.random.randint(1, 3)):
            self.walk.step(name)

    def pi_goes_on(self, choices: Collection[str]) -> None:
        """A Pi is started on the file, and works."""
        self.pi.open(self.path)
        self.walk.writer = PiWriter(self.pi)
        self.walk.leaf_id = place(entries_of(self.path), self.pi.look()["leafId"])
        self.steps(choices)
        if len(entries_of(self.path)) == len(self.seen):  # there was nothing to edit
            self.walk.turn()

    def follow(self, added: list[Entry], entries: dict[str, Entry]) -> str | None:
        """Where format.md says that our leaf is after what Pi added."""
        leaf_id = self.our_leaf_id
        for entry in added:
            parent_id = entry["parentId"]
            if parent_id is not None and is_move(entries[parent_id]):
                parent_id = entries[parent_id]["parentId"]
            if parent_id == leaf_id:
                leaf_id = entry["id"]
        return leaf_id

    def branchline_goes_on(self, choices: Collection[str], *, restarted: bool) -> None:
        """Branchline takes in what Pi did, as it must, and works."""
        entries = entries_of(self.path)
        added = [entry for entry_id, entry in entries.items() if entry_id not in self.seen]
        if restarted:
            self.branchline.restart()
            opened = self.branchline.open(self.path)
            self.our_leaf_id = place(entries, [*entries][-1])
            assert opened["leafId"] == self.our_leaf_id
        else:
            changes = self.branchline.changes()
            self.our_leaf_id = self.follow(added, entries)
            assert [one["id"] for told in changes for one in told["appended"]] == [
                entry["id"] for entry in added
            ]
            assert {told["origin"] for told in changes} == {"external"}
            assert changes[-1]["leafId"] == self.our_leaf_id
            path = self.branchline.ask("context")["path"]
            branched = [told["externalBranch"] for told in changes if told["externalBranch"]]
            assert branched[-1:] == branch_beside(path, added, entries)
        self.walk.writer = BranchlineWriter(self.branchline)
        self.walk.leaf_id = self.our_leaf_id
        self.steps(choices)
        self.our_leaf_id = self.walk.leaf_id
        self.branchline.changes()
        self.seen = set(entries_of(self.path))


def branch_beside(
    path: list[str], added: list[Entry], entries: dict[str, Entry]
) -> list[dict[str, Any]]:
    """The branch that these entries made beside a path, by its newest entry; none or one."""
    beside = [entry["id"] for entry in added if entry["id"] not in path]
    if not beside:
        return []
    fork_id: str | None = beside[-1]
    while fork_id is not None and fork_id not in path:
        fork_id = entries[fork_id]["parentId"]
    return [{"forkId": fork_id, "tipId": beside[-1]}]


@pytest.mark.parametrize("how", TURNS)
@pytest.mark.parametrize("version", [PI_1_6, PI_0_78], ids=lambda version: version.folder)
def test_both_agree_at_the_end(
    all_pi: dict[Version, Pi],
    branchline: Branchline,
    tmp_path: Path,
    version: Version,
    how: str,
    seed: int,
) -> None:
    choices = (*STEPS, *NEWER) if version is PI_1_6 else STEPS
    taking = Taking(all_pi[version], branchline, tmp_path, seed)
    restarted = how == "reopened"
    for _ in range(TURNS[how]):
        taking.pi_goes_on(choices)
        taking.branchline_goes_on((*choices, *OURS), restarted=restarted)
        if restarted:
            assert_agreed(all_pi[version], branchline)
    ours = assert_agreed(all_pi[version], branchline)
    assert ours["warnings"] == set()
    assert ours["leafId"] == taking.our_leaf_id
    assert branchline.look_at_copy() == ours
    assert_entries_relayed(branchline)


@pytest.mark.parametrize("version", [PI_1_6, PI_0_78], ids=lambda version: version.folder)
def test_a_pi_that_did_not_reopen_makes_a_branch_and_loses_nothing(
    all_pi: dict[Version, Pi], branchline: Branchline, tmp_path: Path, version: Version, seed: int
) -> None:
    pi = all_pi[version]
    taking = Taking(pi, branchline, tmp_path, seed)
    where_pi_is = taking.walk.leaf_id
    ours = BranchlineWriter(branchline).append(taking.walk.content.user())
    branchline.changes()
    theirs = PiWriter(pi).append(taking.walk.content.user())
    (change,) = branchline.changes()
    assert change["leafId"] == ours
    assert change["externalBranch"] == {"forkId": where_pi_is, "tipId": theirs}
    assert branchline.look()["leafId"] == ours
    branchline.restart()
    assert assert_agreed(pi, branchline)["leafId"] == theirs
    assert ours in entries_of(branchline.path)
