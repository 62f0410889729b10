"""What the real Pi writes, Branchline reads as that Pi does."""

from pathlib import Path

import pytest

from tests.interop.agreement import assert_agreed, assert_entries_relayed, entries_of
from tests.interop.branchline_side import Branchline
from tests.interop.made_sessions import Walk
from tests.interop.pi_process import AGENT_CORE, PI_0_78, PI_1_6, Pi, Version
from tests.interop.writers import AgentCoreWriter, PiWriter

pytestmark = pytest.mark.interop

COMMON = (
    "turn", "tools", "bash", "custom_role", "custom_message", "custom", "model_change",
    "thinking_level_change", "compact", "label", "rename", "unname", "branch", "branch",
    "branch_summary",
)  # fmt: skip
STEPS = {
    PI_1_6: (*COMMON, "system", "system", "system", "usage_entry", "edit", "edit", "new_root"),
    PI_0_78: (*COMMON, "new_root"),
    AGENT_CORE: (*COMMON, "active_tools_change", "new_root"),
}
TYPES = {
    "message", "custom_message", "custom", "model_change", "thinking_level_change", "compaction",
    "label", "session_info", "branch_summary",
}  # fmt: skip
OWN_TYPES = {
    PI_1_6: {"usage", "context_edit"},
    PI_0_78: set[str](),
    AGENT_CORE: {"active_tools_change", "leaf"},
}


@pytest.mark.parametrize("version", STEPS, ids=lambda version: version.folder)
def test_branchline_reads_what_pi_wrote(
    all_pi: dict[Version, Pi],
    branchline: Branchline,
    version: Version,
    seed: int,
    tmp_path: Path,
) -> None:
    pi = all_pi[version]
    path = tmp_path / "session.jsonl"
    pi.create(path, str(tmp_path))
    writer = AgentCoreWriter(pi) if version is AGENT_CORE else PiWriter(pi)
    walk = Walk(seed, writer)
    walk.go(STEPS[version])
    written = pi.look()
    assert {entry["type"] for entry in entries_of(path).values()} == TYPES | OWN_TYPES[version]

    opened = branchline.open(path)
    assert opened["leafId"] == written["leafId"] == walk.leaf_id
    assert_entries_relayed(branchline)
    ours = assert_agreed(pi, branchline)
    assert ours["warnings"] == set()
    assert ours["path"] == [one.entry_id for one in walk.path()]


@pytest.mark.parametrize("version", STEPS, ids=lambda version: version.folder)
def test_every_place_in_it_gives_the_same_context(
    all_pi: dict[Version, Pi], branchline: Branchline, version: Version, tmp_path: Path
) -> None:
    pi = all_pi[version]
    path = tmp_path / "session.jsonl"
    pi.create(path, str(tmp_path))
    writer = AgentCoreWriter(pi) if version is AGENT_CORE else PiWriter(pi)
    Walk(99, writer).go(STEPS[version], rounds=1)
    content = path.read_bytes()
    for end in range(content.index(b"\n") + 1, len(content)):
        if content[end - 1 : end] != b"\n":
            continue
        shorter = tmp_path / f"{end}.jsonl"
        shorter.write_bytes(content[:end])
        branchline.open(shorter)
        assert_agreed(pi, branchline)
