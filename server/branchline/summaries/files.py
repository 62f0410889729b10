"""Which files a conversation read and modified, taken from its tool calls, never asked of a model.

Pi's tools are ``read``, ``write`` and ``edit`` with ``path``; the names and arguments that other
agents use are known too. A file that was modified is not listed as read.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from branchline.entries import Entry, tool_calls

_READING: Final = frozenset(
    {"read", "Read", "view", "view_file", "read_file", "NotebookRead", "cat"}
)
_MODIFYING: Final = frozenset(
    {
        "write",
        "Write",
        "write_file",
        "create_file",
        "edit",
        "Edit",
        "edit_file",
        "MultiEdit",
        "NotebookEdit",
        "search_replace",
        "insert_edit_into_file",
        "replace_string_in_file",
        "delete_file",
    }
)
_PATH_ARGUMENTS: Final = (
    "path",
    "file_path",
    "filePath",
    "target_file",
    "notebook_path",
    "filename",
)
_BY_COMMAND: Final = frozenset({"str_replace_editor", "str_replace_based_edit_tool"})
_PATCHES: Final = frozenset({"apply_patch", "ApplyPatch", "patch"})
_PATCH_ARGUMENTS: Final = ("input", "patch", "patchText", "diff")
_PATCH_FILE: Final = re.compile(
    r"^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |\+\+\+ (?:b/)?)(\S[^\t\r\n]*)",
    re.MULTILINE,
)
_MAX_PATHS: Final = 2000


@dataclass(slots=True)
class FileOperations:
    """Files by what was done to them. Grows as messages are taken in."""

    read: set[str] = field(default_factory=set)
    modified: set[str] = field(default_factory=set)

    def take_message(self, message: Entry) -> None:
        """Take in the tool calls of a message."""
        if message.get("role") == "assistant":
            for call in tool_calls(message.get("content")):
                self._take_call(call["name"], call.get("arguments"))

    def take_details(self, summary: Entry) -> None:
        """Take in what an earlier summary entry lists, unless a client made its details."""
        details = summary.get("details")
        if summary.get("fromHook") or not isinstance(details, dict):
            return
        self.read.update(_texts(details.get("readFiles")))
        self.modified.update(_texts(details.get("modifiedFiles")))

    def lists(self) -> dict[str, list[str]]:
        """``{readFiles, modifiedFiles}``, sorted, each file in one of them."""
        return {
            "readFiles": sorted(self.read - self.modified)[:_MAX_PATHS],
            "modifiedFiles": sorted(self.modified)[:_MAX_PATHS],
        }

    def _take_call(self, name: str, arguments: Any) -> None:
        if not isinstance(arguments, dict):
            return
        if name in _PATCHES:
            for text in _arguments(arguments, _PATCH_ARGUMENTS):
                self.modified.update(path.strip() for path in _PATCH_FILE.findall(text))
            return
        reads = name in _READING or (
            name in _BY_COMMAND and arguments.get("command") in ("view", None)
        )
        if reads or name in _MODIFYING or name in _BY_COMMAND:
            for path in _arguments(arguments, _PATH_ARGUMENTS):
                (self.read if reads else self.modified).add(path)
                break


def file_section(lists: dict[str, list[str]]) -> str:
    """The file lists as they stand at the end of a summary's text; empty if there are none."""
    parts = [
        f"<{tag}>\n" + "\n".join(lists[key]) + f"\n</{tag}>"
        for key, tag in (("readFiles", "read-files"), ("modifiedFiles", "modified-files"))
        if lists[key]
    ]
    return "\n\n".join(parts)


def _arguments(arguments: dict[str, Any], names: Iterable[str]) -> Iterable[str]:
    return (
        value for name in names if isinstance(value := arguments.get(name), str) and value.strip()
    )


def _texts(value: Any) -> Iterable[str]:
    return (one for one in value if isinstance(one, str)) if isinstance(value, list) else ()
