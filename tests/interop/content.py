"""What entries hold: every type and role, from a seed, without ids and links."""

from random import Random
from typing import Any, Final

from branchline.entries import Entry

WORDS: Final = (
    "fix", "the", "parser", "speed", "search", "again", "regex", "index", "table", "größer",
    "日本語", "naïve", "🙂", "👩\u200d💻", "`src/app.py`", "<b>bold</b>", "C:\\temp", '"quoted"',
    "it's", "\u2028", "\u0085", "line\nbreak", "tab\there", "\x1b[31mred", "end.",
)  # fmt: skip
TOOLS: Final = ("read", "edit", "write", "bash", "grep", "deploy_service")
STOPS: Final = ("stop", "stop", "stop", "length", "error", "aborted")
LEVELS: Final = ("off", "minimal", "low", "medium", "high", "xhigh")


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
        """Some words in one line of plain text, as labels and names are typed."""
        words = self.text(most).split()
        return " ".join(word for word in words if word.isprintable()) or "and"

    def blocks(self) -> list[Entry]:
        """Text, often with an image."""
        image = {"type": "image", "data": "aW1hZ2U=", "mimeType": "image/png"}
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
        """One reply: thinking, text, calls; without calls it may break off before any text."""
        provider, model = self.model()
        stop = "toolUse" if calls else self.random.choice(STOPS)
        content: list[Entry] = []
        if self.random.random() < 0.4:
            signature = self.random.choice(({}, {"thinkingSignature": "c2ln"}))
            content.append({"type": "thinking", "thinking": self.text(), **signature})
        needs_text = not calls and stop not in ("error", "aborted")
        if needs_text or self.random.random() < 0.5:
            content.append({"type": "text", "text": self.text()})
        for _ in range(calls):
            self._calls += 1
            arguments = {"path": f"src/{self.text(1)}", "limit": self.random.randint(1, 400)}
            name = self.random.choice(TOOLS)
            call_id = f"call_{self._calls}|{self.random.getrandbits(32):x}"
            content.append(
                {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}
            )
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
        """A patch of the system message: text, sections and tools set and removed."""
        names = ("skills", "project")
        parameters = {"type": "object", "properties": {"path": {"type": "string"}}}
        parts = {
            "sections": {name: self.random.choice((None, self.text())) for name in names},
            "toolsAdded": [
                {"name": name, "description": self.text(3), "parameters": parameters}
                for name in self.random.sample(TOOLS, 2)
            ],
            "toolsRemoved": [{"name": name} for name in self.random.sample(TOOLS, 3)],
        }
        given = {name: part for name, part in parts.items() if self.random.random() < 0.6}
        return self.message("system", content=self.random.choice(("", self.text())), **given)

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
