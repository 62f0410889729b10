"""Conversations made by hand for the tests of the offline summaries."""

import re
from typing import Any

from branchline.entries import Entry
from branchline.summaries import sections
from branchline.summaries.offline.summary import summarise
from branchline.summaries.writer import SummaryKind, SummaryRequest
from tests.unit.helpers import chain, entry


class Talk:
    """Messages in order, as a context shows them."""

    def __init__(self) -> None:
        self.messages: list[Entry] = []

    def user(self, text: str) -> "Talk":
        """The user says something."""
        self.messages.append({"role": "user", "content": text})
        return self

    def reply(self, text: str, **fields: Any) -> "Talk":
        """The assistant ends its turn."""
        content = [{"type": "text", "text": text}]
        self.messages.append(
            {"role": "assistant", "content": content, "stopReason": "stop"} | fields
        )
        return self

    def call(self, name: str, arguments: Any, output: str, *, error: bool = False,
             text: str = "") -> "Talk":  # fmt: skip
        """The assistant calls a tool, after a word if there is one, and gets its result."""
        self.calls(text, (name, arguments, output))
        self.messages[-1]["isError"] = error
        return self

    def calls(self, text: str, *calls: tuple[str, Any, str]) -> "Talk":
        """The assistant calls several tools at once, each with its arguments and result."""
        content: list[Entry] = [{"type": "text", "text": text}] if text else []
        results: list[Entry] = []
        for name, arguments, output in calls:
            call_id = f"call{len(self.messages)}-{len(results)}"
            call = {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}
            content.append(call)
            shown = [{"type": "text", "text": output}]
            results.append(
                {"role": "toolResult", "toolCallId": call_id, "toolName": name, "content": shown,
                 "isError": False}
            )  # fmt: skip
        self.messages.append({"role": "assistant", "content": content, "stopReason": "toolUse"})
        self.messages += results
        return self

    def run(self, command: str, output: str = "", *, error: bool = False,
            text: str = "") -> "Talk":  # fmt: skip
        """The assistant runs a command."""
        return self.call("bash", {"command": command}, output, error=error, text=text)

    def edit(self, path: str, *, error: str = "", text: str = "") -> "Talk":
        """The assistant edits a file; with ``error`` it fails."""
        return self.call("edit", {"path": path}, error or "Replaced.", error=bool(error), text=text)

    def shell(self, command: str, output: str, **fields: Any) -> "Talk":
        """The user runs a command."""
        message = {"role": "bashExecution", "command": command, "output": output, "exitCode": 0}
        self.messages.append(message | fields)
        return self

    def without_results(self) -> "Talk":
        """The same as a branch is collected."""
        talk = Talk()
        talk.messages = [one for one in self.messages if one["role"] != "toolResult"]
        return talk

    def entries(self) -> list[Entry]:
        """The same as entries of a session, each the child of the one before."""
        return chain(*(entry(f"e{number}", None, "message", message=one)
                       for number, one in enumerate(self.messages)))  # fmt: skip

    def text(self, kind: SummaryKind = "compaction", **fields: Any) -> str:
        """Its summary."""
        return "".join(summarise(request(self.messages, kind, **fields)))

    def sections(self, kind: SummaryKind = "compaction", **fields: Any) -> dict[str, str]:
        """Its summary by section."""
        text = self.text(kind, **fields)
        parsed = sections.parse(text, kind)
        assert not parsed.missing
        return parsed.sections


def request(
    messages: list[Entry],
    kind: SummaryKind = "compaction",
    *,
    previous: str | None = None,
    pinned: tuple[str, ...] = (),
    instructions: str | None = None,
    max_tokens: int = 13_000,
) -> SummaryRequest:
    """A request for a summary of the messages."""
    return SummaryRequest(
        kind, messages, previous, list(pinned), instructions, False, max_tokens, None
    )


def in_short(body: str) -> list[str]:
    """The lines of a section without their marks, and without the numbers steps had in the plan."""
    lines = (line.lstrip("-0123456789. ") for line in body.splitlines())
    return [re.sub(r"^\(step \d+\) ", "", line) for line in lines]


def english() -> Talk:
    """A retry for an uploader: a choice is replaced, an error mended, two steps of four done."""
    return (
        Talk()
        .user(
            "Uploads drop when the network blinks. Add a retry to src/upload/client.ts. The public "
            "API stays as it is. Never log the token, and please don't add a dependency."
        )
        .call("read", {"path": "src/upload/client.ts"}, "export class Client {}")
        .reply(
            "Let's use a fixed delay between attempts, since it is the simplest.\n\n"
            "Plan:\n1. Write `src/upload/retry.ts`\n2. Call it from `src/upload/client.ts`\n"
            "3. Document the limits in `docs/upload.md`\n4. Release version 2.4.0\n"
        )
        .user("I must say, nice work. No, use exponential backoff instead of a fixed delay.")
        .edit("src/upload/retry.ts", text="I'll go with exponential backoff, at most 5 attempts.")
        .run("npm test", "TypeError: sleep is not a function\n1 failed, 12 passed", error=True)
        .edit("src/upload/client.ts")
        .run("npm test -- --silent", "13 passed")
        .run("npx eslint src", "src/upload/retry.ts: error  'max' is unused", error=True)
        .reply("Retries work now and all 13 tests pass. Not checked: slow networks over 30 s.")
        .user("You always find it, never mind the lint. Now make the limit configurable.")
    )


def german() -> Talk:
    """The same in German, with a rule that is lifted."""
    return (
        Talk()
        .user(
            "Bitte den Export beschleunigen, er braucht 14 Minuten. Die öffentliche "
            "Schnittstelle bleibt, wie sie ist. Die Tabelle `kunde` darf nicht geändert werden. "
            "Auf keinen Fall Daten löschen."
        )
        .run("pytest -q", "1 failed, 3 passed\nE   ValueError: Spalte fehlt", error=True)
        .reply(
            "Wir nehmen Threads für den Export.\n\nNächste Schritte:\n"
            "1. `export/lesen.py` umstellen\n2. Messung wiederholen\n3. Handbuch ergänzen"
        )
        .user("Ich muss sagen, gute Arbeit. Aber statt Threads lieber Prozesse.")
        .edit("export/lesen.py", text="Ich verwende Prozesse mit einer Warteschlange.")
        .run("pytest -q", "4 passed")
        .reply("Fertig: Der Export läuft in 2 Minuten, alle Tests sind grün.")
        .user("Die Tabelle `kunde` darf jetzt doch geändert werden. Füge einen Index hinzu.")
    )


def chinese() -> Talk:
    """The same in Chinese."""
    return (
        Talk()
        .user(
            "请优化 src/cache.py 的缓存，现在查询要 8 秒。公共接口保持不变。绝不要删除用户数据。"
            "必须兼容 Python 3.9。"
        )
        .run("pytest -q", "E   KeyError: 'ttl'\n1 failed, 5 passed", error=True)
        .reply(
            "我们用 Redis 做缓存。\n\n接下来：\n1. 修改 `src/cache.py`\n2. 编写压力测试\n"
            "3. 更新部署文档"
        )
        .user("我必须说，干得漂亮。不要用 Redis，改用 SQLite。")
        .edit("src/cache.py", text="好的，我们采用 SQLite。")
        .run("pytest -q", "6 passed")
        .reply("已完成：缓存已改成 SQLite，查询降到 0.3 秒，测试全部通过。")
        .user("很好。请再加上过期时间的配置。")
    )


def japanese() -> Talk:
    """The same in Japanese."""
    return (
        Talk()
        .user(
            "src/report.py の集計を速くしてください。今は 90 秒かかります。"
            "公開APIはそのままにしてください。本番データは絶対に消さないでください。"
        )
        .run("pytest -q", "E   IndexError: list index out of range\n1 failed", error=True)
        .reply(
            "Pandasを使います。\n\n次の手順:\n1. `src/report.py` を書き換える\n"
            "2. 負荷試験を実施する\n3. 運用マニュアルを更新する"
        )
        .user("いつもありがとうございます。PandasではなくDuckDBにしましょう。")
        .edit("src/report.py", text="DuckDBを採用します。")
        .run("pytest -q", "8 passed")
        .reply("修正しました。集計は 4 秒になり、テストはすべて通りました。")
        .user("では、結果をCSVでも出力できるようにしてください。")
    )
