"""Seeded walks through a conversation: what is said, where one goes, what is marked and edited.

A `Walk` chooses, a `Writer` writes: the same walk can be made through any version of Pi, through
the daemon, or into a plain list of records. Everything comes from the seed but the ids and times,
which are the writer's.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Final, Protocol

from branchline.entries import Entry, Kind, kind_of, text_of, tool_calls
from tests.interop.content import Content

EDITABLE: Final = frozenset({Kind.USER, Kind.ASSISTANT, Kind.TOOL_RESULT, Kind.CUSTOM_MESSAGE})
"""What Pi lets one edit. It reads edits of a message with role ``custom``, but writes none."""


class Writer(Protocol):
    """Whatever writes a session. Every method gives the id of the entry that it wrote."""

    def append(self, fields: Entry) -> str: ...

    def label(self, target_id: str, text: str | None) -> str: ...

    def rename(self, name: str) -> str: ...

    def edit(self, target_id: str, replacement: Entry | None) -> str: ...

    def move(self, target_id: str | None) -> None:
        """Go elsewhere: the next entry is a child of the target."""

    def move_with_summary(self, target_id: str | None, summary: str) -> str: ...


@dataclass(slots=True)
class Made:
    """What a walk knows of an entry that it had written."""

    entry_id: str
    parent_id: str | None
    fields: Entry

    @property
    def kind(self) -> Kind:
        """Its kind."""
        return kind_of(self.fields)

    @property
    def calls(self) -> list[Entry]:
        """The tool calls it makes."""
        message = self.fields.get("message", {})
        return list(tool_calls(message.get("content")))

    @property
    def has_row(self) -> bool:
        """Whether a person sees it in a tree, and so may go there."""
        match self.kind:
            case Kind.ASSISTANT:
                message = self.fields["message"]
                badly = message["stopReason"] not in ("stop", "toolUse")
                return badly or bool(text_of(message["content"]).strip())
            case Kind.USER | Kind.TOOL_RESULT | Kind.BASH_EXECUTION | Kind.CUSTOM_MESSAGE:
                return True
            case kind:
                return kind in (Kind.COMPACTION, Kind.BRANCH_SUMMARY)


@dataclass
class Walk:
    """One walk: the choices, and what has been made so far."""

    seed: int
    writer: Writer
    leaf_id: str | None = None
    made: dict[str, Made] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.content = Content(self.random)

    def go(self, steps: Iterable[str], rounds: int = 3) -> None:
        """Begin a conversation, take each step ``rounds`` times in any order, end with a turn."""
        order = list(steps) * rounds
        self.random.shuffle(order)
        for name in ["turn", *order, "turn"]:
            self.step(name)

    def step(self, name: str) -> None:
        """Take one step: a method of this class, else an entry of `Content`."""
        action: Callable[[], None] | None = getattr(self, name, None)
        if action is not None:
            action()
        else:
            self.append(getattr(self.content, name)())

    def append(self, fields: Entry) -> str:
        """Have an entry written at the leaf."""
        return self.note(self.writer.append(fields), self.leaf_id, fields)

    def note(self, entry_id: str, parent_id: str | None, fields: Entry) -> str:
        """Remember an entry that was written and became the leaf."""
        assert entry_id not in self.made
        self.made[entry_id] = Made(entry_id, parent_id, fields)
        self.leaf_id = entry_id
        return entry_id

    def path(self) -> list[Made]:
        """What was made from the root to the leaf."""
        path = []
        current = self.leaf_id
        while current is not None:
            path.append(self.made[current])
            current = self.made[current].parent_id
        return path[::-1]

    def any(self, kinds: Iterable[Kind] | None = None) -> Made:
        """Any entry that a person sees, of some kinds if given."""
        wanted = None if kinds is None else frozenset(kinds)
        found = [one for one in self.made.values() if one.has_row]
        return self.random.choice(
            [one for one in found if wanted is None or one.kind in wanted] or found
        )

    # --- steps -------------------------------------------------------------------------------

    def turn(self) -> None:
        """A question, an answer with some calls, their results, an answer without."""
        self.append(self.content.user())
        self.tools()
        self.append(self.content.assistant())

    def tools(self) -> None:
        """A reply with calls, and the results in any order."""
        calls = self.made[self.append(self.content.assistant(self.random.randint(1, 3)))].calls
        self.random.shuffle(calls)
        for call in calls:
            self.append(self.content.tool_result(call))

    def compact(self) -> None:
        """Summarise the path up to any entry that does not answer a call."""
        path = [one for one in self.path() if one.kind is not Kind.TOOL_RESULT]
        if path:
            self.append(self.content.compaction(self.random.choice(path).entry_id))

    def compact_with_system(self) -> None:
        """The same, with the system message that stands at its place."""
        path = [one for one in self.path() if one.kind is not Kind.TOOL_RESULT]
        if path:
            fields = self.content.compaction(self.random.choice(path).entry_id)
            self.append({**fields, "systemMessage": self.content.system()["message"]})

    def label(self) -> None:
        """Put a label on any entry, or take one away."""
        target = self.any().entry_id
        text = self.random.choice((self.content.line(2), self.content.line(2), None))
        fields = {"type": "label", "targetId": target, "label": text}
        self.note(self.writer.label(target, text), self.leaf_id, fields)

    def rename(self) -> None:
        """Name the session."""
        name = self.content.line(4)
        self.note(self.writer.rename(name), self.leaf_id, {"type": "session_info", "name": name})

    def unname(self) -> None:
        """Take the name away."""
        self.note(self.writer.rename(""), self.leaf_id, {"type": "session_info", "name": ""})

    def edit(self) -> None:
        """Omit an entry of the path or replace its content; calls and their results stay whole."""
        self._edit(EDITABLE)

    def edit_custom_role(self) -> None:
        """The same, of a message that Pi would not let one edit."""
        self._edit(frozenset({Kind.CUSTOM_ROLE}))

    def _edit(self, kinds: frozenset[Kind]) -> None:
        targets = [one for one in self.path() if one.kind in kinds and not one.calls]
        kept = [one for one in targets if one.kind is not Kind.TOOL_RESULT]
        omit = self.random.random() < 0.4
        if not (kept if omit else targets):
            return
        target = self.random.choice(kept if omit else targets).entry_id
        replacement = None if omit else {"content": self.content.text_or_blocks()}
        fields = {"type": "context_edit", "targetId": target, "replacement": replacement}
        self.note(self.writer.edit(target, replacement), self.leaf_id, fields)

    def branch(self) -> None:
        """Go to any entry, and go on there."""
        target = self.any().entry_id
        self.writer.move(target)
        self.leaf_id = target
        self.append(self.content.user())

    def new_root(self) -> None:
        """Go before the first entry, and go on there."""
        self.writer.move(None)
        self.leaf_id = None
        self.append(self.content.user())

    def branch_summary(self) -> None:
        """Go to any entry with a summary of what is left."""
        target, text = self.any().entry_id, self.content.text()
        entry_id = self.writer.move_with_summary(target, text)
        fields = {"type": "branch_summary", "summary": text}
        self.note(entry_id, target, fields)
