"""Exported records are a session to every Pi: the same branch, or the same tree."""

from pathlib import Path

import pytest

from tests.interop.agreement import assert_agreed
from tests.interop.branchline_side import Branchline
from tests.interop.pi_process import VERSIONS, Pi, Version
from tests.interop.test_branchline_writes import COMMON, MOVES, walked

pytestmark = pytest.mark.interop

SECRET = "password=hunter22 in /home/alice/work"


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("branches", ["active", "all"])
def test_every_pi_opens_what_was_exported(
    all_pi: dict[Version, Pi],
    branchline: Branchline,
    tmp_path: Path,
    branches: str,
    mask: bool,
    seed: int,
) -> None:
    walked(seed, branchline, (*COMMON, *MOVES), "turn")
    message = {"role": "user", "content": SECRET}
    branchline.ask("append", entries=[{"type": "message", "message": message}])
    before = branchline.look()
    path = tmp_path / "copy.jsonl"
    exported = branchline.ask(
        "export", format="jsonl", branches=branches, mask=mask, path=str(path)
    )
    assert bool(exported["masked"]) == mask
    branchline.path = path
    for version in VERSIONS:
        after = assert_agreed(all_pi[version], branchline)
    assert after["leafId"] == before["leafId"] or branches == "active"  # a label may be last
    assert after["path"][: len(before["path"])] == before["path"]
    if mask:
        assert after["messages"][-1]["content"] == "password=[key 1] in ~/work"
    else:
        assert after["messages"] == before["messages"]
        on_path = set(before["path"])
        labels = {one: text for one, text in before["labels"].items() if one in on_path}
        assert after["labels"] == (before["labels"] if branches == "all" else labels)
