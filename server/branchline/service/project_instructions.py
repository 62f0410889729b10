"""A project's own instructions (``AGENTS.md``, ``CLAUDE.md``) as sections of a system message.

The files come with a repository, so they are hostile input: only regular files that lie inside of
the repository are read, and not more than a limit of them.
"""

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from branchline.entries import Entry

_NAMES: Final = ("AGENTS.md", "CLAUDE.md")
_PREFIX: Final = "project instructions: "
"""What the names of our sections begin with; the file's place in the repository follows."""
_MOST_BYTES: Final = 32_768
"""Of all files together; those nearest to the folder count first."""
_CUT: Final = "\n(cut: the instruction files of a project may have 32 KiB together)"


def project_instructions(cwd: str | None, folders: Sequence[Path]) -> dict[str, str]:
    """The sections for a session of the folder ``cwd``, the repository's root first.

    None at all unless the folder is, or lies in, one of the client's workspace ``folders``.
    """
    if cwd is None:
        return {}
    start = Path(os.path.realpath(cwd))
    workspace = [Path(os.path.realpath(folder)) for folder in folders]
    if not any(start.is_relative_to(folder) for folder in workspace):
        return {}
    root = _repository(start)
    room = _MOST_BYTES
    sections: list[tuple[str, str]] = []
    seen: set[str] = set()
    for folder in (start, *start.parents):
        for name in reversed(_NAMES):
            text = _read(folder / name, root, room)
            if text is None or text in seen:  # often the one is a link to the other
                continue
            seen.add(text)
            room -= len(text.encode())
            place = (folder / name).relative_to(root).as_posix()
            sections.append((_PREFIX + place, f"Instructions from {place}:\n\n{text}"))
        if folder == root or room <= 0:
            break
    return dict(reversed(sections))


def instructions_patch(
    wanted: Mapping[str, str], system: Entry | None, *, is_new: bool
) -> Entry | None:
    """The system message that brings a context up to date; None if it is.

    ``system`` is the folded one of the context. A conversation that began without instructions
    (``is_new`` False) goes on without.
    """
    sections: dict[str, Any] = (system or {}).get("sections") or {}
    present = {name: text for name, text in sections.items() if name.startswith(_PREFIX)}
    if not present and not is_new:
        return None
    patch: dict[str, str | None] = {
        name: text for name, text in wanted.items() if present.get(name) != text
    }
    patch |= {name: None for name in present if name not in wanted}
    if not patch:
        return None
    return {"type": "message", "message": {"role": "system", "content": "", "sections": patch}}


def _repository(start: Path) -> Path:
    """The root of the repository that a folder lies in; without one the folder itself."""
    for folder in (start, *start.parents):
        if (folder / ".git").exists():
            return folder
    return start


def _read(path: Path, root: Path, room: int) -> str | None:
    """The text of a file that really lies in the repository; None if there is none to read."""
    if room <= 0 or not Path(os.path.realpath(path)).is_relative_to(root):
        return None
    try:
        descriptor = os.open(os.path.realpath(path), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except (OSError, ValueError):
        return None
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        try:
            content = file.read(room + 1)
        except OSError:
            return None
    text = content[:room].decode(errors="replace").strip()
    if len(content) > room:
        text += _CUT
    return text or None
