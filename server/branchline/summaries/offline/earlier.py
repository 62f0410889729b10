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
    BEFORE_ALL,
    BRIDGE,
    BRIDGE_REQUEST,
    EARLIER,
    MAX_KEPT,
    NOT_ANSWERED,
    NOW,
    REPORTED,
    UNDER_WAY,
    WORKED_ON,
    Goal,
    Notes,
    Statement,
    keep,
    statement,
    unlabelled,
)
from branchline.summaries.offline.progress import CALLING, EDITING, REPLYING
from branchline.summaries.offline.requests import take_request
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
CHOOSING: Final = "The user has to choose: "
PLANNED: Final = "Planned: "
DECIDED: Final = "Decided: "
RULE: Final = "To keep to: "
NAMED: Final = {"paths": "Paths: ", "identifiers": "Names: ", "urls": "URLs: "}
"""The lines of names, by attribute of `Names`; written by `layout` and read back here."""
MENDED: Final = "Errors met and mended: "
ABORTED: Final = "The last reply was aborted"

_ITEM = re.compile(r"[-*+]\s+|\d{1,2}[.)]\s+")
_STEP = re.compile(r"\(step (\d{1,2})\) ")
_OPTION = re.compile(r"(?:^|; )\d\) ")
_CHANGED = re.compile(r"(Wrote|Edited|Deleted) (`+ ?.+? ?`+)(?: \((\d+) times\))?")
_RAN = re.compile(r"Ran ((`+) ?.+? ?\2)(?!`)(?:: (`+.+`+))?")
_FAILED = re.compile(
    rf"(?:{EDITING}|{CALLING})?(`+).+?\1(?: of (`+).+?\2)? failed\b|{REPLYING} failed\b"
)
_LONGEST_ITEM = 1_200  # characters of an item that is taken over
_BRANCH_ITEMS = 4  # items of one section that are taken over from one branch summary
_BRANCH_TITLE = 120  # characters of a branch's goal in the line about it


def take_previous(notes: Notes, text: str) -> None:
    """Take in the summary that is to be updated, or a compaction on a branch."""
    checkpoint, bridges = sections.split_bridges(sections.strip_file_lists(text))
    notes.replied = True
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
        return _items(parsed.get(section.title, ""), EARLIER)

    _take_goals(notes, _lines(parsed.get(sections.GOAL.title, "")))
    notes.rules += items(sections.CONSTRAINTS)
    for one in items(sections.PROGRESS) + items(sections.DONE):
        _take_done(notes, one)
    for one in items(sections.IN_PROGRESS):
        if one.text.startswith(NOT_ANSWERED):
            notes.begun.append(one)
            notes.asked = statement(one.text.removeprefix(NOT_ANSWERED), EARLIER)
            notes.answered = False
        elif one.text.startswith(UNDER_WAY):
            notes.attempts.append(statement(one.text.removeprefix(UNDER_WAY), EARLIER))
        else:
            notes.unfinished.append(one)
    for one in items(sections.BLOCKED):
        _take_blocked(notes, one)
    notes.choices += items(sections.DECISIONS)
    _take_steps(notes, [one.text for one in items(sections.NEXT_STEPS)])
    for one in items(sections.CONTEXT):
        _take_context(notes, one)


def _take_bridge(notes: Notes, text: str) -> None:
    """Take in the beginning of a turn, which came after all that the checkpoint tells of.

    Its request is read like any message of the user, and its deeds settle what was open.
    """
    parsed = sections.parse(text, "turnPrefix").sections
    if not parsed:
        notes.context += [statement(line.text, BRIDGE) for line in said(text)][:20]
        return
    requests = _lines(parsed.get(sections.REQUEST.title, ""))
    for request in requests:
        if request.startswith(RULE):
            notes.add_rule(request.removeprefix(RULE), BRIDGE_REQUEST)
        else:
            take_request(notes, request, BRIDGE_REQUEST)
    done = _items(parsed.get(sections.DONE_SO_FAR.title, ""), BRIDGE)
    notes.settle([one for one in done if not _take_done(notes, one)])
    planned: list[str] = []
    for one in _items(parsed.get(sections.REST.title, ""), BRIDGE):
        if one.text.startswith(UNDER_WAY):
            notes.attempts.append(statement(one.text.removeprefix(UNDER_WAY), BRIDGE))
        elif one.text.startswith(PLANNED):
            planned.append(one.text.removeprefix(PLANNED))
        elif one.text.startswith(DECIDED):
            notes.choices.append(statement(one.text.removeprefix(DECIDED), BRIDGE))
        elif not _take_blocked(notes, one, only_known=True):
            _take_context(notes, one)
    steps = [one for one in planned if _STEP.match(one)]
    if steps:
        _take_steps(notes, steps, BRIDGE)
    notes.intend([one for one in planned if one not in steps], BRIDGE)


def _take_done(notes: Notes, one: Statement) -> bool:
    """Take in what is finished; say whether it is an edit or a command of ours."""
    if changed := _CHANGED.fullmatch(one.text):
        path = code_in(changed[2])[0]
        notes.progress.seed_edit(path, changed[1], int(changed[3] or 1), one.at)
    elif ran := _RAN.fullmatch(one.text):
        notes.progress.seed_command(code_in(ran[1])[0], ran[3] or "", one.at)
    else:
        keep(notes.finished, one)
        return False
    return True


def _take_blocked(notes: Notes, one: Statement, *, only_known: bool = False) -> bool:
    """Take in what stood in the way; say whether it was taken.

    ``only_known``: only the lines that we write.
    """
    if one.text.startswith(REPORTED):
        told = one.text.removeprefix(REPORTED)
        is_worked_on = told.endswith(WORKED_ON)
        at = BEFORE_ALL if is_worked_on else one.at
        keep(notes.complaints, statement(told.removesuffix(WORKED_ON), at))
    elif one.text != ABORTED and (not only_known or _FAILED.match(one.text)):
        notes.progress.seed_failure(one.text, code_in(one.text), one.at)
    return one.text.startswith((REPORTED, ABORTED)) or _FAILED.match(one.text) is not None


def _take_steps(notes: Notes, lines: Sequence[str], at: int = EARLIER) -> None:
    """Take in next steps, under the numbers they had where they were planned."""
    steps: list[str] = []
    numbers: list[int] = []
    is_marked = any(map(_STEP.match, lines))
    for printed, line in enumerate(lines, 1):
        if line.startswith(WAITING):
            notes.question = statement(line.removeprefix(WAITING), at)
        elif line.startswith(CHOOSING):
            notes.options = _OPTION.split(line.removeprefix(CHOOSING))[1:]
        else:
            mark = _STEP.match(line)
            steps.append(line[mark.end() :] if mark else line)
            numbers.append(int(mark[1]) if mark else 0 if is_marked else printed)
    notes.set_plan(steps, at, numbers)


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
        return _items(parsed.get(section.title, ""), EARLIER)

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


def _items(body: str, at: int) -> list[Statement]:
    """The items of a section as statements."""
    made = (statement(one, at, _LONGEST_ITEM) for one in _lines(body)[:MAX_KEPT])
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
