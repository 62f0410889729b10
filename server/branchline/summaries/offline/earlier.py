"""Earlier summaries taken into the notes: the one that is updated, and those of branches.

What an earlier summary says counts as said before the first message, so that later messages
finish, reject and replace it like anything else.
"""

import re
from collections.abc import Sequence
from typing import Final

from branchline.summaries import sections
from branchline.summaries.offline.names import see
from branchline.summaries.offline.notes import (
    EARLIER,
    MAX_KEPT,
    NOW,
    UNDER_WAY,
    Goal,
    Notes,
    Statement,
    keep,
    statement,
    unlabelled,
)
from branchline.summaries.offline.wording import (
    code,
    code_in,
    prose,
    said,
    sentences,
    whole,
)
from branchline.tree.chat import BRANCH_INTRODUCTION

WAITING: Final = "The user has to answer: "
PLANNED: Final = "Planned: "
DECIDED: Final = "Decided: "
RULE: Final = "To keep to: "
NAMED: Final = {"paths": "Paths: ", "identifiers": "Names: ", "urls": "URLs: "}
"""The lines of names, by attribute of `Names`; written by `layout` and read back here."""
MENDED: Final = "Errors met and mended: "

_ITEM = re.compile(r"[-*+]\s|\d{1,2}[.)]\s")
_FAILED = re.compile(r"(`+).+?\1 failed\b")
_LONGEST_ITEM = 1_200  # characters of an item that is taken over
_BRANCH_ITEMS = 4  # items of one section that are taken over from one branch summary
_BRANCH_TITLE = 120  # characters of a branch's goal in the line about it


def take_previous(notes: Notes, text: str) -> None:
    """Take in the summary that is to be updated, or a compaction on a branch."""
    checkpoint, bridges = sections.split_bridges(sections.strip_file_lists(text))
    if checkpoint.strip():
        _take_checkpoint(notes, checkpoint)
    for bridge in bridges:
        _take_bridge(notes, bridge)


def _take_checkpoint(notes: Notes, text: str) -> None:
    parsed = sections.parse(text, "compaction").sections
    if not parsed:
        notes.context += [statement(line.text, EARLIER) for line in said(text)][:20]
        return

    def items(section: sections.Section) -> list[Statement]:
        return _items(parsed.get(section.title, ""))

    _take_goals(notes, _lines(parsed.get(sections.GOAL.title, "")))
    notes.rules += items(sections.CONSTRAINTS)
    notes.finished += items(sections.PROGRESS) + items(sections.DONE)
    for one in items(sections.IN_PROGRESS):
        is_begun = unlabelled(one.text) != one.text
        (notes.begun if is_begun else notes.unfinished).append(one)
    for one in items(sections.BLOCKED):
        notes.progress.seed(one.text, code_in(one.text))
    notes.choices += items(sections.DECISIONS)
    notes.plan += [one for one in items(sections.NEXT_STEPS) if not one.text.startswith(WAITING)]
    for one in items(sections.CONTEXT):
        _take_context(notes, one)


def _take_bridge(notes: Notes, text: str) -> None:
    """Take in the beginning of a turn: what it was asked to do is the newest goal."""
    parsed = sections.parse(text, "turnPrefix").sections
    if not parsed:
        notes.context += [statement(line.text, EARLIER) for line in said(text)][:20]
        return
    asked = _lines(parsed.get(sections.REQUEST.title, ""))
    notes.rules += [statement(one.removeprefix(RULE), EARLIER) for one in asked
                    if one.startswith(RULE)]  # fmt: skip
    for one in asked:
        if not one.startswith(RULE):
            _take_goal(notes, one)
    notes.finished += _items(parsed.get(sections.DONE_SO_FAR.title, ""))
    for one in _items(parsed.get(sections.REST.title, "")):
        if one.text.startswith(UNDER_WAY):
            notes.begun.append(one)
        elif one.text.startswith(PLANNED):
            notes.plan.append(statement(one.text.removeprefix(PLANNED), EARLIER))
        elif one.text.startswith(DECIDED):
            notes.choices.append(statement(one.text.removeprefix(DECIDED), EARLIER))
        elif _FAILED.match(one.text):
            notes.progress.seed(one.text, code_in(one.text))
        else:
            _take_context(notes, one)


def take_branch(notes: Notes, text: str) -> None:
    """Take in the gist of a branch summary: what it was for, why it was left, what to keep."""
    text = sections.strip_file_lists(text).strip().removeprefix(BRANCH_INTRODUCTION).strip()
    parsed = sections.parse(text, "branch").sections
    if not parsed:
        line = prose(text, 400)
        if line:
            keep(notes.context, statement(f"From another branch: {line}", EARLIER))
        return

    def items(section: sections.Section) -> list[Statement]:
        return _items(parsed.get(section.title, ""))

    goal = " ".join(unlabelled(one.text) for one in items(sections.GOAL)[:1])
    why = " ".join(one.text for one in items(sections.WHY_LEFT)[:3])
    name = prose(goal, _BRANCH_TITLE).rstrip(".。") or "another branch"
    parts = [f"A branch was left ({name})" + (f": {why}" if why else "")]
    for section in (sections.FAILED, sections.TRIED, sections.CONSTRAINTS, sections.CONTEXT):
        label = "On it failed: " if section is sections.FAILED else "From it: "
        parts += [
            f"{label}{one.text}"
            for one in items(section)[:_BRANCH_ITEMS]
            if not one.text.startswith((*NAMED.values(), MENDED))
        ]
    for part in parts:
        keep(notes.context, statement(part, EARLIER))
    for one in items(sections.DECISIONS)[:_BRANCH_ITEMS]:
        keep(notes.choices, one)


def _take_goals(notes: Notes, lines: Sequence[str]) -> None:
    """The goals of an earlier summary, the newest last again."""
    newest = [one for one in lines if one.startswith(NOW)]
    for line in [one for one in lines if one not in newest] + newest:
        _take_goal(notes, line)


def _take_goal(notes: Notes, line: str) -> None:
    text = unlabelled(line)
    wishes = [statement(part, EARLIER) for part in sentences(text)]
    if wishes:
        notes.goals.append(Goal(wishes, EARLIER, words="" if notes.goals else whole(text)))


def _take_context(notes: Notes, one: Statement) -> None:
    for attribute, label in NAMED.items():
        if one.text.startswith(label):
            seen = getattr(notes.names, attribute)
            for name in reversed(code_in(one.text)):
                see(seen, name, EARLIER)
            return
    if one.text.startswith(MENDED):
        notes.progress.mended.update(dict.fromkeys(code_in(one.text)))
        return
    notes.context.append(one)


def _items(body: str) -> list[Statement]:
    """The items of a section as statements."""
    made = (statement(one, EARLIER, _LONGEST_ITEM) for one in _lines(body)[:MAX_KEPT])
    return [one for one in made if one.text]


def _lines(body: str) -> list[str]:
    """The items of a section without marks; a paragraph is one too, a code block one in a line."""
    found: list[str] = []
    block: list[str] | None = None
    for raw in body.split("\n"):
        line = raw.strip()
        if line.startswith("```"):
            if block is None:
                block = []
            else:
                found.append(code(" ".join(block)))
                block = None
        elif block is not None:
            block.append(line)
        elif raw.startswith("  ") and found and not _ITEM.match(line):
            found[-1] += f" {line}"
        elif line and line != sections.NONE_TEXT:
            found.append(_ITEM.sub("", line, count=1) if _ITEM.match(line) else line)
    return found
