"""Sessions made by prompts, however they ended: every Pi opens them at the same place."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import isolated
from tests.e2e.editor import GOOD, LONG, Editor, editor, gate
from tests.e2e.prompts import TALK, answers, prompt
from tests.e2e.talk import write_session
from tests.e2e.world import lines_of
from tests.interop.agreement import assert_agreed, assert_entries_relayed
from tests.interop.branchline_side import Branchline
from tests.interop.pi_process import PI_1_6, Pi, Version
from tests.model_server import ScriptedServer, Then, model_server, refuses, says, starts
from tests.unit.wire_client import notification

pytestmark = pytest.mark.interop

Json = Any
IMAGE = {"type": "image", "data": "aW1hZ2U=", "mimeType": "image/png"}
OVERFLOW = refuses(400, "too long", code="context_length_exceeded")


@contextmanager
def asking(folder: Path, server: ScriptedServer, **settings: Json) -> Iterator[Editor]:
    """An editor with a session of a project that has instructions."""
    (folder / "agent").mkdir(mode=0o700)
    project = folder / "project"
    project.mkdir()
    (project / "AGENTS.md").write_text("Use tabs. 😀")
    path = write_session(folder / "sessions", *TALK, cwd=str(project))
    with editor(isolated(folder), path, answers(server) | settings) as ed:
        ed.daemon.send(
            notification(
                "workspace/didChangeWorkspaceFolders",
                {"event": {"added": [{"uri": project.as_uri(), "name": "p"}], "removed": []}},
            )
        )
        yield ed


def broken_off(ed: Editor) -> Json:
    """Ask, and cancel in the middle."""
    work = ed.start("prompt", content="Too slow?")
    ed.see(lambda one: one.get("params", {}).get("delta") == "Half an ans")
    ed.cancel(work)
    return ed.wait(work)["error"]


def stop_reasons(path: Path) -> list[str]:
    """How the answers ended."""
    found = [one["message"].get("stopReason") for one in lines_of(path) if "message" in one]
    return [one for one in found if one]


def assert_all_agree(
    all_pi: dict[Version, Pi], branchline: Branchline, path: Path, *, newest: bool
) -> None:
    """All readers see the same; ``newest``: the older cannot say the context."""
    branchline.restart()  # where others moved to is seen by who opens the file
    branchline.open(path)
    for version, pi in all_pi.items():
        assert_agreed(pi, branchline, context=not newest or version is PI_1_6)
    assert_entries_relayed(branchline)


def test_answers_that_ended_well_and_badly(
    all_pi: dict[Version, Pi], branchline: Branchline, tmp_path: Path
) -> None:
    wait = gate()
    with (
        model_server(
            says("Fine.", reasoning=["Let me see. "]),
            starts("Half an ans", then=Then.HANG),
            starts("Half", then=Then.DROP),
            refuses(401),
            says("In two ", "pieces.", pause=wait, finish_reason="length", usage=None),
            says("In the end."),
        ) as server,
        asking(tmp_path, server) as ed,
    ):
        first = prompt(ed, [{"type": "text", "text": "And this?"}, IMAGE])["result"]
        assert broken_off(ed)["code"] == -32800
        assert prompt(ed)["error"]["code"] == 4012
        assert prompt(ed)["error"]["code"] == 4012
        assert_all_agree(all_pi, branchline, ed.path, newest=False)
        # Somebody goes elsewhere meanwhile, so the answer is written beside.
        work = ed.start("prompt", content="Where?")
        ed.see(lambda one: one.get("params", {}).get("delta") == "In two ")
        ed.ask("switchLeaf", targetId=first["assistantEntryId"], position="at")
        wait.set()
        assert ed.wait(work)["result"]["leafId"] == first["assistantEntryId"]
        assert_all_agree(all_pi, branchline, ed.path, newest=False)
        assert prompt(ed, "Here.", model="other")["result"]["leafId"] == ed.leaf()
        assert_all_agree(all_pi, branchline, ed.path, newest=False)
        assert stop_reasons(ed.path) == [
            "stop", "stop", "aborted", "error", "error", "length", "stop",
        ]  # fmt: skip


def test_an_attempt_that_was_taken_back_and_a_compaction(
    all_pi: dict[Version, Pi], branchline: Branchline, tmp_path: Path
) -> None:
    sizes = {"contextWindow": 100_000, "compaction": {"auto": True, "keepRecentTokens": 10}}
    with (
        model_server(OVERFLOW, says("Once more."), says("And on.")) as server,
        asking(tmp_path, server, **sizes) as ed,
    ):
        for text in ("a long story", LONG):
            ed.append(text)
        ed.append("Short.")
        assert prompt(ed, "Does it fit?")["result"]["stopReason"] == "stop"
        types = [one["type"] for one in lines_of(ed.path)]
        assert types[-4:] == ["message", "context_edit", "compaction", "message"]
        assert_all_agree(all_pi, branchline, ed.path, newest=True)
        prompt(ed, "Go on.")
        assert_all_agree(all_pi, branchline, ed.path, newest=True)


def test_instructions_of_the_project_fold_as_in_the_newest(
    all_pi: dict[Version, Pi], branchline: Branchline, tmp_path: Path
) -> None:
    with model_server(*[says("x")] * 4, says(GOOD)) as server, asking(tmp_path, server) as ed:
        project = tmp_path / "project"
        ed.ask("switchLeaf", targetId=None)
        prompt(ed)
        assert_all_agree(all_pi, branchline, ed.path, newest=True)
        (project / "CLAUDE.md").write_text("Be brief.\n\n# Now")
        prompt(ed)
        (project / "AGENTS.md").unlink()
        prompt(ed)
        ed.ask("compact", keepRecentTokens=1, summarizer="offline")
        (project / "CLAUDE.md").write_text("Be very brief.")
        prompt(ed)
        patches = [one for one in lines_of(ed.path)
                   if one.get("message", {}).get("role") == "system"]  # fmt: skip
        assert len(patches) == 4
        assert_all_agree(all_pi, branchline, ed.path, newest=True)
