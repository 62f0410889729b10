"""Which files a conversation read and modified, taken from its tool calls, never asked of a model.

Pi's tools are ``read``, ``write`` and ``edit`` with ``path``; the names and arguments that other
agents use are known too. Names are compared without case, ``_``, ``-`` and what a server puts
before them (``mcp__files__``). A file that was modified is not listed as read.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from branchline.entries import Entry, tool_calls

_READING: Final = frozenset(
    {
        *("read", "readfile", "readtextfile", "readfilerange", "readmanyfiles"),
        *("readmultiplefiles", "readnotebook", "notebookread", "view", "viewfile", "viewimage"),
        *("openfile", "cat"),
    }
)
_MODIFYING: Final = frozenset(
    {
        *("write", "writefile", "writetofile", "createfile", "createnewfile", "overwritefile"),
        *("edit", "editfile", "editexistingfile", "multiedit", "editnotebook", "notebookedit"),
        *("replace", "replaceinfile", "replacefilecontent", "searchreplace", "searchandreplace"),
        *("replacestringinfile", "multireplacestringinfile", "inserteditintofile"),
        *("insertcontent", "appendtofile", "applydiff", "deletefile"),
    }
)
_BY_COMMAND: Final = frozenset({"strreplaceeditor", "strreplacebasededittool", "texteditor"})
_PATCHES: Final = frozenset({"applypatch", "patch"})
_PATH_ARGUMENTS: Final = (
    *("path", "filepath", "targetfile", "absolutepath", "notebookpath", "targetnotebook"),
    *("filename", "file", "relativeworkspacepath"),
)
_LIST_ARGUMENTS: Final = ("paths", "files", "filepaths", "edits", "replacements")
"""Lists of paths, or of objects that have one."""
_PATCH_ARGUMENTS: Final = ("input", "patch", "patchtext", "diff", "command", "cmd")
_PATCH_BEGINS: Final = "*** Begin Patch"
"""By this a patch is known that a shell command applies."""
_PATCH_FILE: Final = re.compile(
    r"^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |\+\+\+ (?:b/)?)(\S[^\t\r\n]*)",
    re.MULTILINE,
)
_BEFORE_NAME: Final = re.compile(r".*(?:__|[./:])", re.DOTALL)
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
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
                self.take_call(call)

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

    def take_call(self, call: Entry) -> None:
        """Take in a tool call."""
        tool, given = call["name"], call.get("arguments")
        if not isinstance(given, dict):
            return
        arguments = {_plain(name): value for name, value in given.items()}
        name = _plain(_BEFORE_NAME.sub("", tool, count=1))
        patched = [
            path.strip()
            for text in _given(arguments, _PATCH_ARGUMENTS)
            if name in _PATCHES or _PATCH_BEGINS in text
            for path in _PATCH_FILE.findall(text)
        ]
        self.modified.update(path for path in patched if path != "/dev/null")
        reads = name in _READING or (
            name in _BY_COMMAND and arguments.get("command") in ("view", None)
        )
        if not patched and (reads or name in _MODIFYING or name in _BY_COMMAND):
            (self.read if reads else self.modified).update(_paths(arguments))


def file_section(lists: dict[str, list[str]]) -> str:
    """The file lists as they stand at the end of a summary's text; empty if there are none."""
    parts = [
        f"<{tag}>\n" + "\n".join(map(_in_a_line, lists[key])) + f"\n</{tag}>"
        for key, tag in (("readFiles", "read-files"), ("modifiedFiles", "modified-files"))
        if lists[key]
    ]
    return "\n\n".join(parts)


def _in_a_line(path: str) -> str:
    return _CONTROL.sub(" ", path)


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _paths(arguments: dict[str, Any]) -> Iterator[str]:
    """The paths that arguments name: one, and those in lists; patterns are none."""
    one = next(iter(_given(arguments, _PATH_ARGUMENTS)), None)
    if one is not None:
        yield one
    for name in _LIST_ARGUMENTS:
        several = arguments.get(name)
        for item in several if isinstance(several, list) else ():
            if isinstance(item, dict):
                named = {_plain(key): value for key, value in item.items() if isinstance(key, str)}
                yield from list(_given(named, _PATH_ARGUMENTS))[:1]
            elif isinstance(item, str) and item.strip() and "*" not in item and name != "edits":
                yield item


def _given(arguments: dict[str, Any], names: Iterable[str]) -> Iterator[str]:
    """The texts among the arguments of these names; of a list of texts, each."""
    for name in names:
        value = arguments.get(name)
        for one in value if isinstance(value, list) else (value,):
            if isinstance(one, str) and one.strip():
                yield one


def _texts(value: Any) -> Iterable[str]:
    return (one for one in value if isinstance(one, str)) if isinstance(value, list) else ()
