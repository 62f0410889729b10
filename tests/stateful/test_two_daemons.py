"""Two daemons and a program like Pi on one file, in any order, compared with a plain model.

The first is the shared one, which outlives its editors; the second is an editor's own.

``BRANCHLINE_SOAK`` asks for more than CI runs: a number of examples, or a time such as ``10m``.
"""

import json
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from branchline.demo.client import Client
from tests.e2e.conftest import CASES, SERVE, isolated
from tests.e2e.shared import CONNECT, place_for_daemon
from tests.e2e.world import add_bytes, foreign, user
from tests.stateful.model import Model
from tests.stateful.soak_time import asked_examples, asked_seconds

pytestmark = pytest.mark.crash

EXAMPLES = 8
"""Of up to `STEPS` steps each: about forty seconds."""
STEPS = 25
SECONDS = 300
BASE = CASES / "60-two-writers.jsonl"

daemons = st.sampled_from([0, 1])
picks = st.integers(0, 2**16)
"""An entry, by its place among those that there are."""
texts = st.text(alphabet="abc é\u2028\U0001f600", min_size=1, max_size=12)


class TwoDaemons(RuleBasedStateMachine):
    """Each rule does one thing and tells the model; what is seen is compared after each."""

    @initialize()
    def begin(self) -> None:
        self.folder = TemporaryDirectory()
        folder = Path(self.folder.name)
        self.agent_dir = folder / "agent"
        self.agent_dir.mkdir()
        self.running = ExitStack()
        self.shared = self.running.enter_context(place_for_daemon(isolated(folder)))
        self.environment = self.shared.environment
        self.path = folder / "session.jsonl"
        self.path.write_bytes(BASE.read_bytes())
        self.path.chmod(0o600)
        self.model = Model()
        for line in BASE.read_bytes().splitlines()[1:]:
            self.model.add(json.loads(line))
        self.read = len(self.path.read_bytes())
        self.number = 0
        self.agreed = False
        self.torn = b""
        self.clients: list[Client | None] = [None, None]
        self.leaves: list[str | None] = [None, None]
        for which in (0, 1):
            self.start(which)

    def teardown(self) -> None:
        if not hasattr(self, "clients"):
            return
        try:
            if self.agreed:
                self.compare_with_fresh_daemon()
        finally:
            for which in (0, 1):
                self.stop(which)
            self.running.close()
            self.folder.cleanup()

    # --- what the machine is made of ---------------------------------------------------------

    def start(self, which: int) -> None:
        command = (CONNECT, SERVE)[which]
        client = Client(command, environment=self.environment, seconds=SECONDS)
        client.initialize(self.agent_dir, {"durability": "flush"})
        self.clients[which] = client
        self.take_in()
        self.leaves[which] = self.model.leaf_when_opened()
        self.ask(which, "open")

    def stop(self, which: int) -> None:
        """Kill the editor, and its daemon."""
        client = self.clients[which]
        if client is not None:
            if which == 0:
                self.shared.kill()
            client.__exit__(None, None, None)
        self.clients[which] = None

    def ask(self, which: int, method: str, **params: Any) -> Any:
        client = self.clients[which]
        assert client is not None
        return client.request(f"session/{method}", {"session": str(self.path), **params})

    def pick(self, at: int, *types: str) -> str:
        ids = [
            one
            for one, record in self.model.records.items()
            if not types or record["type"] in types
        ]
        return ids[at % len(ids)]

    def take_in(self, writer: int | None = None) -> None:
        """Read what the file has grown by, as any program would; the others' leaves may follow."""
        content = self.path.read_bytes()
        grown = content[self.read :]
        whole = grown.rfind(b"\n") + 1
        self.read += whole
        for line in grown[:whole].splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue  # a torn line that was fenced
            if not isinstance(record, dict) or "id" not in record:
                continue
            self.model.add(record)
            for which in (0, 1):
                if which != writer:
                    leaf = self.leaves[which]
                    self.leaves[which] = self.model.leaf_after(leaf, record)

    def changed(self, which: int, answer: dict[str, Any], leaf: str | None) -> None:
        """A change was answered: it is in the file, and the leaf is where the rules put it."""
        before = list(self.model.records)
        self.take_in(which)
        assert list(self.model.records)[: len(before)] == before
        self.leaves[which] = leaf
        assert answer["leafId"] == leaf

    # --- what happens ------------------------------------------------------------------------

    @rule(which=daemons, text=texts, count=st.integers(1, 3))
    def append(self, which: int, text: str, count: int) -> None:
        answer = self.ask(which, "append", entries=[user(text)] * count)
        ids = [entry["id"] for entry in answer["entries"]]
        parents = [entry["parentId"] for entry in answer["entries"]]
        assert parents == [self.leaves[which], *ids[:-1]]
        self.changed(which, answer, ids[-1])

    @rule(which=daemons, text=texts, at=picks, moves=st.booleans())
    def branch(self, which: int, text: str, at: int, moves: bool) -> None:
        parent_id = self.pick(at)
        answer = self.ask(which, "append", entries=[user(text)], parentId=parent_id, moveLeaf=moves)
        (entry,) = answer["entries"]
        assert entry["parentId"] == parent_id
        self.changed(which, answer, entry["id"] if moves else self.leaves[which])

    @rule(which=daemons)
    def begin_a_new_root(self, which: int) -> None:
        answer = self.ask(which, "append", entries=[user("root")], parentId=None)
        assert answer["entries"][0]["parentId"] is None
        self.changed(which, answer, answer["entries"][0]["id"])

    @rule(which=daemons, at=picks)
    def switch(self, which: int, at: int) -> None:
        target = self.pick(at)
        answer = self.ask(which, "switchLeaf", targetId=target, position="at")
        assert answer["previousLeafId"] == self.leaves[which]
        self.changed(which, answer, target)

    @rule(which=daemons)
    def switch_before_the_first(self, which: int) -> None:
        answer = self.ask(which, "switchLeaf", targetId=None, position="at")
        self.changed(which, answer, None)

    @rule(which=daemons, at=picks, text=st.one_of(st.none(), texts))
    def label(self, which: int, at: int, text: str | None) -> None:
        target = self.pick(at)
        answer = self.ask(which, "label", targetId=target, label=text)
        self.changed(which, answer, self.last_id())
        assert self.model.labels().get(target) == ((text or "").strip() or None)

    @rule(which=daemons, text=texts)
    def rename(self, which: int, text: str) -> None:
        answer = self.ask(which, "rename", name=text)
        self.changed(which, answer, self.last_id())
        assert self.model.name() == (" ".join(text.split()) or None)

    @precondition(lambda self: any(self.editable(which) for which in (0, 1)))
    @rule(at=picks, replacement=st.one_of(st.none(), texts))
    def edit(self, at: int, replacement: str | None) -> None:
        which = next(one for one in (0, 1) if self.editable(one))
        ids = self.editable(which)
        content = None if replacement is None else {"content": replacement}
        answer = self.ask(which, "edit", targetId=ids[at % len(ids)], replacement=content)
        self.changed(which, answer, answer["entryId"])

    def editable(self, which: int) -> list[str]:
        """User messages on the path of a daemon."""
        path = self.model.path(self.leaves[which])
        records = self.model.records
        return [
            one
            for one in path
            if records[one]["type"] == "message" and records[one]["message"]["role"] == "user"
        ]

    def last_id(self) -> str:
        """The id of the last record that is in the file."""
        for line in reversed(self.path.read_bytes().splitlines()):
            try:
                return str(json.loads(line)["id"])
            except ValueError:
                continue
        raise AssertionError("there is no record")

    @rule(which=daemons)
    def restart(self, which: int) -> None:
        client = self.clients[which]
        assert client is not None
        assert client.close() == 0
        if which == 0:
            self.shared.end()
        self.stop(which)
        self.start(which)

    @rule(which=daemons)
    def kill(self, which: int) -> None:
        self.stop(which)  # it is killed, and never asked to end
        self.start(which)

    @rule(at=picks, count=st.integers(1, 3))
    def another_program_appends(self, at: int, count: int) -> None:
        """As Pi does: without a lock, each entry below its own last one."""
        self.complete_torn_write()
        parent_id = self.pick(at)
        lines = []
        for _ in range(count):
            self.number += 1
            lines.append(foreign(f"c{self.number:07}", parent_id))
            parent_id = f"c{self.number:07}"
        add_bytes(self.path, b"".join(lines))
        self.take_in()

    @rule(at=picks, cut=st.integers(1, 150))
    def another_program_begins_to_write(self, at: int, cut: int) -> None:
        self.complete_torn_write()
        self.number += 1
        line = foreign(f"c{self.number:07}", self.pick(at))
        add_bytes(self.path, line[:cut])
        self.torn = line[cut:]

    @precondition(lambda self: self.torn)
    @rule()
    def complete_torn_write(self) -> None:
        """The rest of what was begun. Behind a fence it is a bad line of its own."""
        if self.torn:
            add_bytes(self.path, self.torn)
            self.torn = b""
            self.take_in()

    # --- what has to hold --------------------------------------------------------------------

    @invariant()
    def both_see_what_the_model_has(self) -> None:
        self.agreed = False
        for which in (0, 1):
            self.compare(which)
        self.agreed = True

    def compare(self, which: int) -> None:
        """Tree, leaf, labels, name and context of a daemon are those of the model."""
        model, leaf = self.model, self.leaves[which]
        context = self.ask(which, "context")
        assert context["leafId"] == leaf
        assert context["path"] == model.path(leaf)
        assert context["sources"] == model.sources(leaf)
        rows = self.ask(which, "tree", filter="all", layout="pi", limit=20_000)["rows"]
        shown = {row["id"]: row["parentId"] for row in rows}
        assert shown == model.parents()
        labels = self.ask(which, "branches")["labels"]
        on_one_line = {one: " ".join(text.split()) for one, text in model.labels().items()}
        assert {one["id"]: one["label"] for one in labels} == on_one_line
        opened = self.ask(which, "open")
        assert opened["session"]["name"] == model.name()
        assert opened["session"]["entryCount"] == len(model.records)

    def compare_with_fresh_daemon(self) -> None:
        """Opened anew, the file gives the same."""
        self.complete_torn_write()
        self.stop(0)
        self.start(0)
        for which in (0, 1):
            self.compare(which)


def test_two_daemons_and_another_program_agree_with_a_plain_model() -> None:
    examples = asked_examples()
    seconds = asked_seconds()
    until = time.monotonic() + seconds
    while True:
        run_state_machine_as_test(
            TwoDaemons,
            settings=settings(
                max_examples=examples or EXAMPLES,
                stateful_step_count=STEPS,
                deadline=None,
                derandomize=not (examples or seconds),
                database=None,
                phases=[Phase.generate],  # a smaller example would take hours of daemon starts
                suppress_health_check=list(HealthCheck),
            ),
        )
        if time.monotonic() >= until:
            break
