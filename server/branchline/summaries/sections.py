"""The sections of a summary: their titles and order, and how to read and complete a written one.

The one list that writers, prompts and documents share. Headings are Markdown: ``## Title``, and
``### Title`` for a part of a section. A body that has nothing to say is ``(none)``.

Reading is tolerant of what small models write: other heading levels, bold or numbered titles,
titles in other languages, a fence around the whole, words before the first heading. Writing has
one form. Pure; it never asks whether what a section says is true.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from branchline.summaries.writer import SummaryKind

NONE_TEXT: Final = "(none)"
BRIDGE_HEADING: Final = "## The Turn in Progress"
"""The line between a checkpoint and the bridge over the beginning of a split turn."""


@dataclass(frozen=True, slots=True)
class Section:
    """One section.

    Attributes:
        title: as it is written, and the key of `Parsed.sections`.
        hint: what belongs there, for prompts.
        names: other titles that are understood, in lower case.
        is_part: whether it is a part of the section above it (``###``).
        ordered: whether its items are numbered.
        holds_parts: whether it consists of its parts, so that it needs no body.
    """

    title: str
    hint: str
    names: tuple[str, ...] = ()
    is_part: bool = False
    ordered: bool = False
    holds_parts: bool = False


GOAL: Final = Section(
    "Goal",
    "what the user wants, the newest wish first",
    ("goals", "objective", "objectives", "ziel", "ziele", "目标", "目的", "目標"),
)
CONSTRAINTS: Final = Section(
    "Constraints & Preferences",
    "what the user demanded, forbade or prefers, in their words",
    (
        "constraints",
        "preferences",
        "requirements",
        "vorgaben",
        "einschränkungen",
        "约束",
        "约束与偏好",
        "限制",
        "制約",
        "制約と好み",
    ),
)
PROGRESS: Final = Section(
    "Progress",
    "",
    ("status", "fortschritt", "stand", "进度", "进展", "進捗"),
    holds_parts=True,
)
DONE: Final = Section(
    "Done",
    "what is finished, with exact paths",
    ("completed", "finished", "erledigt", "fertig", "已完成", "完成", "完了"),
    is_part=True,
)
IN_PROGRESS: Final = Section(
    "In Progress",
    "what was begun and is not finished",
    ("current", "ongoing", "work in progress", "in arbeit", "进行中", "進行中", "作業中"),
    is_part=True,
)
BLOCKED: Final = Section(
    "Blocked",
    "what stands in the way, with exact error messages",
    ("blockers", "issues", "blockiert", "probleme", "受阻", "阻塞", "ブロック中", "問題"),
    is_part=True,
)
DECISIONS: Final = Section(
    "Key Decisions",
    "what was decided and why; superseded decisions left out",
    ("decisions", "entscheidungen", "wichtige entscheidungen", "关键决定", "决定", "決定事項"),
)
NEXT_STEPS: Final = Section(
    "Next Steps",
    "what to do next, in order",
    ("next step", "next", "todo", "nächste schritte", "下一步", "后续步骤", "次のステップ"),
    ordered=True,
)
CONTEXT: Final = Section(
    "Critical Context",
    "exact paths, names, numbers, URLs and errors that the work needs",
    (
        "context",
        "critical information",
        "important context",
        "notes",
        "to keep in mind",
        "wichtiger kontext",
        "kontext",
        "关键上下文",
        "重要信息",
        "重要な文脈",
        "重要な情報",
    ),
)
TRIED: Final = Section("What Was Tried", "each attempt, shortly", ("tried", "attempts", "approach"))
FAILED: Final = Section("What Failed", "what did not work, and why", ("failed", "failures"))
CHANGED: Final = Section(
    "What Changed",
    "what was changed on this branch, with exact paths",
    ("what was changed", "changed", "changes"),
)
WHY_LEFT: Final = Section(
    "Why It Was Left",
    "why the user went back",
    ("why one left", "why left", "reason for leaving", "why the branch was left"),
)
REQUEST: Final = Section(
    "Request", "what this turn was asked to do", ("original request", "the turn's request", "task")
)
DONE_SO_FAR: Final = Section(
    "Done So Far", "what was done in its first part", ("early progress", "progress", "done")
)
REST: Final = Section(
    "Context for the Rest",
    "what the kept rest of the turn cannot be understood without",
    ("context for suffix", "context for the kept rest", "context"),
)

SECTIONS: Final[Mapping[SummaryKind, tuple[Section, ...]]] = {
    "compaction": (
        GOAL,
        CONSTRAINTS,
        PROGRESS,
        DONE,
        IN_PROGRESS,
        BLOCKED,
        DECISIONS,
        NEXT_STEPS,
        CONTEXT,
    ),
    "turnPrefix": (REQUEST, DONE_SO_FAR, REST),
    "branch": (
        GOAL,
        TRIED,
        FAILED,
        CHANGED,
        WHY_LEFT,
        CONSTRAINTS,
        DECISIONS,
        NEXT_STEPS,
        CONTEXT,
    ),
}
"""The sections of each kind, in the order in which they are written."""


class NoSections(ValueError):
    """A text that has none of the sections. The message says so, without the text."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A summary taken apart.

    Attributes:
        sections: the body of each section that was found, by title; empty if it said "none".
        missing: the titles that were not found, in order.
    """

    sections: dict[str, str]
    missing: list[str]


def parse(text: str, kind: SummaryKind) -> Parsed:
    """Take a summary apart. Words before the first title are dropped.

    A heading that is none of ours stays in the section it stands in, as a bold line; a section
    that comes twice is joined.
    """
    titles = _titles(kind)
    bodies: dict[str, list[str]] = {}
    body: list[str] | None = None
    for line, is_code in _lines(strip_file_lists(text), titles):
        title, rest = (None, "") if is_code else _title_of(line, titles)
        if title is not None:
            body = bodies.setdefault(title, [])
            if body:
                body.append("")
            if rest:
                body.append(rest)
        elif body is not None:
            heading = None if is_code else _HEADING.match(line)
            body.append(f"**{_plain(heading[1])}**" if heading else line)
    sections = {title: _body_text(lines) for title, lines in bodies.items()}
    wanted = [one.title for one in SECTIONS[kind] if not one.holds_parts]
    return Parsed(sections, [title for title in wanted if title not in sections])


def complete(text: str, kind: SummaryKind) -> str:
    """The summary under our headings, in our order, ``(none)`` in what it left out.

    File lists at its end are cut off. Raises `NoSections` if it has none of the sections.
    """
    parsed = parse(text, kind)
    if not parsed.sections:
        names = ", ".join(section.title for section in SECTIONS[kind])
        raise NoSections(f"has none of the sections {names}")
    return render(parsed.sections, kind)


def render(sections: Mapping[str, str], kind: SummaryKind) -> str:
    """The text of a summary from the body of each section by title."""
    return "\n\n".join(pieces(sections, kind))


def pieces(sections: Mapping[str, str], kind: SummaryKind) -> Iterator[str]:
    """The headings with their bodies, one after the other; a blank line belongs between them."""
    for section in SECTIONS[kind]:
        body = sections.get(section.title, "").strip()
        if not body and not section.holds_parts:
            body = NONE_TEXT
        yield _heading(section) + (f"\n{body}" if body else "")


def outline(kind: SummaryKind) -> str:
    """The headings with what belongs below each, as a prompt shows them."""
    blocks = []
    for section in SECTIONS[kind]:
        mark = "1. " if section.ordered else "- "
        blocks.append(_heading(section) + (f"\n{mark}[{section.hint}]" if section.hint else ""))
    return "\n\n".join(blocks)


def split_bridges(text: str) -> tuple[str, list[str]]:
    """The checkpoint of a stored summary, and the bridges behind it; Pi's heading is known too."""
    head, *bridges = _BRIDGE.split(text)
    return head, bridges


def strip_file_lists(text: str) -> str:
    """The text without the ``<read-files>`` and ``<modified-files>`` blocks at its end."""
    text = text.rstrip()
    while True:
        for tag in ("read-files", "modified-files"):
            start = text.rfind(f"<{tag}>\n") if text.endswith(f"</{tag}>") else -1
            if start != -1:
                text = text[:start].rstrip()
                break
        else:
            return text


def _heading(section: Section) -> str:
    return f"{'###' if section.is_part else '##'} {section.title}"


# --- reading ---------------------------------------------------------------------------------

_BRIDGE = re.compile(
    rf"^(?:{BRIDGE_HEADING}|(?:---\n+)?\*\*Turn Context \(split turn\):\*\*)[ \t]*$", re.MULTILINE
)
_LONGEST_TITLE = 80  # characters of a line that can be a title; what is longer is prose
_HEADING = re.compile(r"\s{0,3}#{1,6}(?!#)\s*(\S.*)")
_BOLD = re.compile(
    r"\s*(?:[-*+]\s+|\d{1,2}[.)]\s*)?(?:\*\*|__)([^*_]+)(?:\*\*|__)\s*[:\uff1a]?\s*(.*)"
)
_ALONE = re.compile(r"\s*([^:\uff1a]+?)\s*[:\uff1a]\s*")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})\s*([^`]*)")
_UNDERLINE = re.compile(r"\s*(?:={2,}|-{2,})\s*")
_NUMBER = re.compile(r"^\s*(?:\d{1,2}|[ivx]{1,4})[.)]\s*", re.IGNORECASE)
_NO_LETTER = re.compile(r"[\W_]+")
_SAYS_NONE = re.compile(
    r"(?:[-*]\s*)?\(?(?:none|nothing|n/?a|keine?|无|没有|なし)(?: yet| so far)?\)?\.?",
    re.IGNORECASE,
)


def _titles(kind: SummaryKind) -> dict[str, str]:
    """Our title for every name that is understood, by its key."""
    sections = SECTIONS[kind]
    other = {_key(name): section.title for section in sections for name in section.names}
    return other | {_key(section.title): section.title for section in sections}


def _key(title: str) -> str:
    """A title without number, marks, case and the difference of "and" and "&"."""
    words = _NO_LETTER.split(_NUMBER.sub("", _plain(title)).casefold())
    return " ".join(word for word in words if word not in ("", "and", "und"))


def _plain(title: str) -> str:
    return title.strip().strip("#*_:\uff1a` \t")


def _title_of(line: str, titles: Mapping[str, str]) -> tuple[str | None, str]:
    """The title that the line is, and what follows it on the line; (None, "") if it is none."""
    if heading := _HEADING.fullmatch(line):
        name, _, rest = heading[1].partition(":")
        for title, tail in ((heading[1], ""), (name, rest.strip(" *#"))):
            if len(title) <= _LONGEST_TITLE and (found := titles.get(_key(title))):
                return found, tail
    elif (bold := _BOLD.fullmatch(line)) and len(bold[1]) <= _LONGEST_TITLE:
        return titles.get(_key(bold[1])), bold[2].strip()
    elif len(line) <= _LONGEST_TITLE and (alone := _ALONE.fullmatch(line)):
        return titles.get(_key(alone[1])), ""
    return None, ""


def _lines(text: str, titles: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    """Each line and whether it stands in a code block; fences that close nothing are left out."""
    lines = _unwrapped(text.split("\n"), titles)
    opened = _unclosed(lines)
    lines[opened:] = [line for line in lines[opened:] if not _FENCE.fullmatch(line)]
    fence = ""  # the one that is open
    underlined = False
    for line, following in zip_longest(lines, lines[1:], fillvalue=""):
        mark = _FENCE.fullmatch(line)
        if fence:
            yield line, True
            fence = "" if mark and _closes(mark, fence) else fence
        elif mark:
            yield line, True
            fence = mark[1]
        elif underlined:
            underlined = False  # this is the line below the title
        else:
            is_bare = "#" not in line and _key(line) in titles
            underlined = is_bare and _UNDERLINE.fullmatch(following) is not None
            yield (f"## {line.strip()}" if underlined else line), False


def _unwrapped(lines: list[str], titles: Mapping[str, str]) -> list[str]:
    """The lines without a fence around the whole, and without what stands outside of it."""
    for at, line in enumerate(lines):
        if _title_of(line, titles)[0] is not None:
            return lines
        mark = _FENCE.fullmatch(line)
        if mark and mark[2].strip().lower() in ("", "md", "markdown"):
            inside = lines[at + 1 :]
            first = next((one for one in inside if one.strip()), "")
            if _title_of(first, titles)[0] is None:
                return lines
            return inside[: _unclosed(inside)]  # what is left open there is the end of the whole
    return lines


def _unclosed(lines: list[str]) -> int:
    """Where a fence opens that is never closed; the number of lines if none does."""
    opened, fence = len(lines), ""
    for at, line in enumerate(lines):
        mark = _FENCE.fullmatch(line)
        if mark and not fence:
            opened, fence = at, mark[1]
        elif mark and _closes(mark, fence):
            fence = ""
    return opened if fence else len(lines)


def _closes(mark: re.Match[str], fence: str) -> bool:
    return mark[1].startswith(fence) and not mark[2].strip()


def _body_text(lines: list[str]) -> str:
    text = "\n".join(line.rstrip() for line in lines).strip("\n")
    return "" if _SAYS_NONE.fullmatch(text.strip()) else text
