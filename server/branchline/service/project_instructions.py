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
    if cwd is None or not os.path.isabs(cwd) or "\0" in cwd:
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
        if os.path.exists(folder / ".git"):
            return folder
    return start


def _read(path: Path, root: Path, room: int) -> str | None:
    """The text of a file that really lies in the repository; None if there is none to read.

    It has at most ``room`` bytes in UTF-8, and then a word that it was cut.
    """
    real = Path(os.path.realpath(path))
    if room <= 0 or not real.is_relative_to(root):
        return None
    try:
        descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        content = _read_up_to(descriptor, room + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    if b"\0" in content:
        return None  # no text at all
    text = content.decode(errors="replace").strip()
    encoded = text.encode()
    if len(encoded) > room or len(content) > room:
        text = encoded[:room].decode(errors="ignore").rstrip() + _CUT
    return text or None


def _read_up_to(descriptor: int, count: int) -> bytes:
    """The next bytes of a file, fewer only where it ends."""
    content = b""
    while len(content) < count and (piece := os.read(descriptor, count - len(content))):
        content += piece
    return content
