"""How each side writes: one `Writer` for the versions of Pi, one for the daemon."""

from typing import Any

from branchline.entries import Entry
from tests.interop.branchline_side import Branchline
from tests.interop.pi_process import Pi


class PiWriter:
    """Writes through the methods of a coding agent."""

    def __init__(self, pi: Pi) -> None:
        self.pi = pi

    def append(self, fields: Entry) -> str:
        """Call the method for the type."""
        match fields:
            case {"type": "message"}:
                return self._call("appendMessage", fields, "message")
            case {"type": "custom_message"}:
                return self._call(
                    "appendCustomMessageEntry",
                    fields,
                    "customType",
                    "content",
                    "display",
                    "details",
                )
            case {"type": "custom"}:
                return self._call("appendCustomEntry", fields, "customType", "data")
            case {"type": "compaction"}:
                return self._call(
                    "appendCompaction",
                    fields,
                    *("summary", "firstKeptEntryId", "tokensBefore", "details", "fromHook"),
                )
            case {"type": "model_change"}:
                return self._call("appendModelChange", fields, "provider", "modelId")
            case {"type": "thinking_level_change"}:
                return self._call("appendThinkingLevelChange", fields, "thinkingLevel")
            case {"type": "active_tools_change"}:
                return self._call("appendActiveToolsChange", fields, "activeToolNames")
            case {"type": "usage"}:
                return self._call("appendUsage", fields, "kind", "provider", "model", "usage")
            case _:
                raise AssertionError(f"Pi has no method for {fields['type']}")

    def label(self, target_id: str, text: str | None) -> str:
        """Set or clear a label."""
        return self._id("appendLabelChange", target_id, *([] if text is None else [text]))

    def rename(self, name: str) -> str:
        """Name the session."""
        return self._id("appendSessionInfo", name)

    def edit(self, target_id: str, replacement: Entry | None) -> str:
        """Edit the context."""
        return self._id("appendContextEdit", target_id, replacement)

    def move(self, target_id: str | None) -> None:
        """Move its leaf, of which the file says nothing until something is appended."""
        if target_id is None:
            self.pi.call("resetLeaf")
        else:
            self.pi.call("branch", target_id)

    def move_with_summary(self, target_id: str | None, summary: str) -> str:
        """Move its leaf with a summary."""
        return self._id("branchWithSummary", target_id, summary)

    def _call(self, method: str, fields: Entry, *names: str) -> str:
        """Call a method that takes these fields, in this order."""
        return self._id(method, *(fields[name] for name in names))

    def _id(self, method: str, *arguments: Any) -> str:
        found = self.pi.call(method, *arguments)
        entry_id: str = found["id"] if isinstance(found, dict) else found
        return entry_id


class AgentCoreWriter(PiWriter):
    """Writes through a session of agent-core, which has a ``leaf`` record for moves."""

    def label(self, target_id: str, text: str | None) -> str:
        """Set or clear a label."""
        return self._id("appendLabel", target_id, *([] if text is None else [text]))

    def rename(self, name: str) -> str:
        """Name the session."""
        return self._id("appendSessionName", name)

    def move(self, target_id: str | None) -> None:
        """Write a ``leaf`` record."""
        self.pi.call("moveTo", target_id)

    def move_with_summary(self, target_id: str | None, summary: str) -> str:
        """Write a ``leaf`` record and a summary."""
        return self._id("moveTo", target_id, {"summary": summary})


class BranchlineWriter:
    """Writes through the daemon."""

    def __init__(self, branchline: Branchline) -> None:
        self.branchline = branchline

    def append(self, fields: Entry) -> str:
        """Append at the leaf."""
        (written,) = self.branchline.ask("append", entries=[fields])["entries"]
        entry_id: str = written["id"]
        return entry_id

    def label(self, target_id: str, text: str | None) -> str:
        """Set or clear a label."""
        return self._leaf("label", targetId=target_id, label=text)

    def rename(self, name: str) -> str:
        """Name the session."""
        return self._leaf("rename", name=name)

    def edit(self, target_id: str, replacement: Entry | None) -> str:
        """Edit the context."""
        return self._leaf("edit", targetId=target_id, replacement=replacement)

    def move(self, target_id: str | None) -> None:
        """Move the leaf."""
        self.branchline.ask("switchLeaf", targetId=target_id, position="at")

    def move_with_summary(self, target_id: str | None, summary: str) -> str:
        """Move the leaf with a summary that a person wrote."""
        return self._leaf(
            "switchLeaf",
            targetId=target_id,
            position="at",
            summary={"mode": "text", "text": summary},
        )

    def _leaf(self, method: str, **params: Any) -> str:
        leaf_id: str = self.branchline.ask(method, **params)["leafId"]
        return leaf_id
