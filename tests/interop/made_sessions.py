"""Seeded walks through a conversation: what is said, where one goes, what is marked and edited.

A `Walk` chooses, a `Writer` writes: the same walk can be made through any version of Pi, through
the daemon, or into a plain list of records. Everything comes from the seed but the ids and times,
which are the writer's.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, Protocol

from branchline.entries import Entry, Kind, kind_of, text_of, tool_calls

WORDS: Final = (
    "fix the parser speed up search again regex index table unicode größer 日本語 naïve 🙂 👩‍💻 "
    "`src/app.py` <b>bold</b> C:\\temp \"quoted\" it's \u2028 \u0085 line\nbreak tab\there end."
).split(" ")
PIXEL: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
TOOLS: Final = ("read", "edit", "write", "bash", "grep", "deploy_service")
STOPS: Final = ("stop", "stop", "stop", "length", "error", "aborted")
LEVELS: Final = ("off", "minimal", "low", "medium", "high", "xhigh")
EDITABLE: Final = frozenset({Kind.USER, Kind.ASSISTANT, Kind.TOOL_RESULT, Kind.CUSTOM_MESSAGE})
"""What Pi lets one edit. It reads edits of a message with role ``custom``, but writes none."""


class Content:
    """What entries hold, without ids and links."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self._calls = 0

    def text(self, most: int = 30) -> str:
        """Some words, never blank and without blanks at the ends."""
        words = self.random.choices(WORDS, k=self.random.randint(1, most))
        return " ".join(words).strip() or "and"

    def line(self, most: int) -> str:
        """Some words in one line, as labels and names are typed."""
        return " ".join(self.text(most).split())

    def blocks(self) -> list[Entry]:
        """Text, often with an image."""
        image = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
        texts = [{"type": "text", "text": self.text()} for _ in range(self.random.randint(1, 2))]
        return [*texts, *self.random.choice(([], [image]))]

    def text_or_blocks(self) -> str | list[Entry]:
        """Either form of a user's content."""
        return self.random.choice((self.text(), self.blocks()))

    def details(self) -> Any:
        """Any JSON value, as an extension stores it."""
        return self.random.choice(
            ({"jsonrpc": "2.0", "class": 1, "a-b": [None, True]}, [1.5, -2, {}], "plain", 0, {})
        )

    def usage(self) -> Entry:
        """What a provider reports."""
        given, taken = self.random.randint(0, 90_000), self.random.randint(1, 4_000)
        cost = {"input": 0.001, "output": 0.25, "cacheRead": 0, "cacheWrite": 0, "total": 0.251}
        return {
            "input": given,
            "output": taken,
            "cacheRead": 0,
            "cacheWrite": 0,
            "totalTokens": given + taken,
            "cost": cost,
        }

    def model(self) -> tuple[str, str]:
        """Provider and model."""
        return self.random.choice(
            (("anthropic", "claude-x"), ("openai", "gpt-y"), ("local", "qwen/z:8b"))
        )

    def message(self, role: str, **fields: Any) -> Entry:
        """A message entry; times are whole milliseconds."""
        timestamp = 1_770_000_000_000 + self.random.randint(0, 10**9)
        return {"type": "message", "message": {"role": role, **fields, "timestamp": timestamp}}

    def user(self) -> Entry:
        """A user message."""
        return self.message("user", content=self.text_or_blocks())

    def assistant(self, calls: int = 0) -> Entry:
        """One model reply: thinking, text, calls; without calls it may have ended badly."""
        provider, model = self.model()
        content: list[Entry] = []
        if self.random.random() < 0.4:
            signature = self.random.choice(({}, {"thinkingSignature": "c2ln"}))
            content.append({"type": "thinking", "thinking": self.text(), **signature})
        if not calls or self.random.random() < 0.5:
            content.append({"type": "text", "text": self.text()})
        for _ in range(calls):
            self._calls += 1
            arguments = {"path": f"src/{self.text(1)}", "limit": self.random.randint(1, 400)}
            name = self.random.choice(TOOLS)
            call_id = f"call_{self._calls}|{self.random.getrandbits(32):x}"
            content.append(
                {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}
            )
        stop = "toolUse" if calls else self.random.choice(STOPS)
        error = {"errorMessage": "overloaded"} if stop == "error" else {}
        return self.message(
            "assistant",
            content=content,
            api="openai-completions",
            provider=provider,
            model=model,
            usage=self.usage(),
            stopReason=stop,
            **error,
        )

    def tool_result(self, call: Entry) -> Entry:
        """The answer to a call."""
        return self.message(
            "toolResult",
            toolCallId=call["id"],
            toolName=call["name"],
            content=self.blocks(),
            details=self.details(),
            isError=self.random.random() < 0.2,
        )

    def bash(self) -> Entry:
        """A command that the person ran, at times kept from the model."""
        excluded = self.random.choice(({}, {"excludeFromContext": True}))
        return self.message(
            "bashExecution",
            command=self.text(4),
            output=self.text(),
            exitCode=self.random.choice((0, 1)),
            cancelled=False,
            truncated=False,
            **excluded,
        )

    def system(self) -> Entry:
        """A patch of the system message: text, sections set and removed, tools added and removed."""
        names = ("skills", "project", "rules")
        sections = {
            name: self.random.choice((None, self.text())) for name in self.random.sample(names, 2)
        }
        parameters = {"type": "object", "properties": {"path": {"type": "string"}}}
        added = [
            {"name": name, "description": self.text(3), "parameters": parameters}
            for name in self.random.sample(TOOLS, 2)
        ]
        removed = [{"name": self.random.choice(TOOLS)}]
        content = self.random.choice(("", self.text()))
        return self.message(
            "system",
            content=content,
            **self.random.choice(({}, {"sections": sections})),
            **self.random.choice(({}, {"toolsAdded": added}, {"toolsRemoved": removed})),
        )

    def custom_role(self) -> Entry:
        """A message of role ``custom``, the older form of a custom message."""
        return self.message(
            "custom", customType="hook", content=self.text_or_blocks(), display=True
        )

    def custom_message(self) -> Entry:
        """What an extension tells the model."""
        return {
            "type": "custom_message",
            "customType": "reminder",
            "content": self.text_or_blocks(),
            "display": self.random.random() < 0.5,
            "details": self.details(),
        }

    def custom(self) -> Entry:
        """What an extension keeps for itself."""
        return {"type": "custom", "customType": "todo", "data": self.details()}

    def model_change(self) -> Entry:
        """Another model."""
        provider, model = self.model()
        return {"type": "model_change", "provider": provider, "modelId": model}

    def thinking_level_change(self) -> Entry:
        """Another thinking level."""
        return {"type": "thinking_level_change", "thinkingLevel": self.random.choice(LEVELS)}

    def active_tools_change(self) -> Entry:
        """Other tools."""
        return {"type": "active_tools_change", "activeToolNames": self.random.sample(TOOLS, 3)}

    def usage_entry(self) -> Entry:
        """What a call outside the conversation cost."""
        provider, model = self.model()
        usage = self.usage()
        return {
            "type": "usage", "kind": "title", "provider": provider, "model": model, "usage": usage,
        }  # fmt: skip

    def unknown(self) -> Entry:
        """A type that nobody knows."""
        return {"type": "weather_report", "payload": self.details()}

    def compaction(self, first_kept_id: str) -> Entry:
        """A summary of what stands before an entry."""
        files = {"readFiles": ["src/a.py"], "modifiedFiles": []}
        return {
            "type": "compaction",
            "summary": self.text(),
            "firstKeptEntryId": first_kept_id,
            "tokensBefore": self.random.randint(1, 200_000),
            "details": files,
            "fromHook": self.random.random() < 0.5,
        }


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


class Records:
    """A writer into a list of version 3 records.

    With ``leaf_records``, a move is written down as agent-core does.
    """

    def __init__(self, *, leaf_records: bool = False) -> None:
        self.records: list[Entry] = []
        self.leaf_id: str | None = None
        self._leaf_records = leaf_records

    def append(self, fields: Entry) -> str:
        """Add a record below the leaf."""
        number = len(self.records)
        entry_id = f"{0xA0000000 + number * 7919:08x}"
        common = {
            "id": entry_id,
            "parentId": self.leaf_id,
            "timestamp": f"2026-02-01T{number // 60:02}:{number % 60:02}:00.000Z",
        }
        self.records.append({"type": fields["type"], **common, **fields})
        self.leaf_id = entry_id
        return entry_id

    def label(self, target_id: str, text: str | None) -> str:
        """Add a label."""
        label = {} if text is None else {"label": text}
        return self.append({"type": "label", "targetId": target_id, **label})

    def rename(self, name: str) -> str:
        """Add a name."""
        return self.append({"type": "session_info", "name": name})

    def edit(self, target_id: str, replacement: Entry | None) -> str:
        """Add a context edit."""
        return self.append(
            {"type": "context_edit", "targetId": target_id, "replacement": replacement}
        )

    def move(self, target_id: str | None) -> None:
        """Go elsewhere."""
        if self._leaf_records:
            self.append({"type": "leaf", "targetId": target_id})
        self.leaf_id = target_id

    def move_with_summary(self, target_id: str | None, summary: str) -> str:
        """Add a branch summary elsewhere."""
        from_id = self.leaf_id or "root"
        self.leaf_id = target_id
        return self.append({"type": "branch_summary", "fromId": from_id, "summary": summary})


def as_version(records: list[Entry], version: int) -> list[Entry]:
    """Records of version 3 as an older version has them; for 1 they must be one line of descent."""
    places = {record["id"]: place for place, record in enumerate(records, start=1)}
    return [_older(json.loads(json.dumps(record)), version, places) for record in records]


def _older(record: Entry, version: int, places: dict[str, int]) -> Entry:
    message = record.get("message")
    if isinstance(message, dict) and message["role"] == "custom":
        message["role"] = "hookMessage"
    if version == 1:
        del record["id"], record["parentId"]
        if record["type"] == "compaction":
            record["firstKeptEntryIndex"] = places[record.pop("firstKeptEntryId")]
    return record
