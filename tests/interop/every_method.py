"""A walk that also does what only the daemon's clients can do: moves, asides, batches."""

from branchline.entries import Entry, Kind
from tests.interop.branchline_side import Branchline
from tests.interop.made_sessions import Walk
from tests.interop.writers import BranchlineWriter


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

    def edit_in_the_other_form(self) -> None:
        """Give a reply or a result a plain text, where Pi itself writes blocks."""
        path = [one for one in self.path() if not one.calls]
        targets = [one for one in path if one.kind in (Kind.ASSISTANT, Kind.TOOL_RESULT)]
        if targets:
            target = self.random.choice(targets).entry_id
            replacement = {"content": self.content.text()}
            fields = {"type": "context_edit", "targetId": target, "replacement": replacement}
            self.append(fields)

    def _note_elsewhere(self, entry_id: str, parent_id: str, fields: Entry) -> None:
        here = self.leaf_id
        self.note(entry_id, parent_id, fields)
        self.leaf_id = here
