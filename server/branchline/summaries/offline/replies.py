"""What the assistant says: results, plans, choices, questions, and what it says is still open."""

import re
from collections.abc import Sequence
from typing import Final

from branchline.summaries.offline.languages import CUES
from branchline.summaries.offline.notes import CLAUSE, Notes, Statement, keep, statement
from branchline.summaries.offline.wording import Line, is_measured, is_question, said

_SHORTEST_RESULT: Final = 10  # characters of a result that says more than that there is one
_MOST_ITEMS: Final = 8  # items below a "done" that count as results
_LEAD = re.compile(r"[:\uff1a]\W*$")


def take_reply(notes: Notes, text: str, at: int, *, ends_turn: bool) -> None:
    """Take in what the assistant says."""
    lines = said(text)
    notes.names.take_text(text, at)
    notes.last_reply_at = at
    notes.replied = True
    notes.options = []
    steps, listed = _steps(notes, lines, at)
    stated = [part for place, line in enumerate(lines) if place not in listed
              for one in line.sentences for part in _parts(one)]  # fmt: skip
    if not stated and not steps:
        return
    notes.last_reply = statement(" ".join(stated), at) if stated else None
    notes.question = None
    planned: list[str] = []
    results: list[Statement] = []
    unfinished: list[Statement] = []
    reported = False
    for sentence in stated:
        is_plan = CUES.intent.search(sentence) is not None
        is_open = CUES.open.search(sentence) is not None
        is_trouble = CUES.failed.search(sentence) is not None
        if is_question(sentence):
            notes.question = statement(sentence, at)
            continue
        if _LEAD.search(sentence):  # what it says stands below it
            reported |= CUES.done.search(sentence) is not None
            continue
        if CUES.choice.search(sentence) and not is_trouble:
            notes.turn_down(sentence)
            notes.choose(sentence, at)
        elif is_open and not is_plan:
            unfinished.append(statement(sentence, at))
        elif is_plan and (is_open or not CUES.done.search(sentence)):
            planned.append(sentence)
        elif CUES.done.search(sentence) and not is_trouble:
            results.append(statement(sentence, at))
        if is_trouble:
            keep(notes.troubles, statement(sentence, at))
        if is_measured(sentence) or CUES.cause.search(sentence):
            keep(notes.facts, statement(sentence, at))
    notes.settle(results)
    if CUES.all_done.search(" ".join(one.text for one in results)):
        notes.finish(notes.plan)
    if steps:
        notes.set_plan(steps, at)
    if ends_turn:
        notes.intend(planned, at)
        if results or reported:
            results += _items_below(lines, listed, results, at)
        _end_turn(notes, results, unfinished)
        notes.interim = []
    elif stated:
        keep(notes.attempts, statement(stated[0], at))
        notes.interim += results


def _parts(sentence: str) -> list[str]:
    """A sentence, or its clauses if it tells of what is done and of what is not."""
    is_mixed = CUES.done.search(sentence) and (
        CUES.open.search(sentence) or CUES.failed.search(sentence)
    )
    return [one for one in CLAUSE.split(sentence) if one.strip()] if is_mixed else [sentence]


def _items_below(
    lines: Sequence[Line], listed: set[int], results: Sequence[Statement], at: int
) -> list[Statement]:
    """The items below a "done", which need no word of their own that says so."""
    known = {one.text for one in results}
    items = [statement(line.text, at) for number, line in enumerate(lines)
             if line.number is not None and number not in listed
             and not CUES.open.search(line.text) and not CUES.failed.search(line.text)
             and not is_question(line.text)]  # fmt: skip
    return [one for one in items if one.text not in known][:_MOST_ITEMS]


def _end_turn(notes: Notes, results: list[Statement], unfinished: list[Statement]) -> None:
    for one in results:
        if len(one.text) >= _SHORTEST_RESULT:
            keep(notes.finished, one)
    if results:
        notes.progress.claimed()
        notes.finish(notes.begun)
        notes.complaints = [one for one in notes.complaints if not notes.worked_on(one)]
    else:  # answered, if not with a result
        notes.begun = []
    if results or unfinished:
        notes.unfinished = unfinished


def _steps(notes: Notes, lines: Sequence[Line], at: int) -> tuple[list[str], set[int]]:
    """The steps that a reply plans as a list, and which lines are such steps or options."""
    steps: list[str] = []
    taken: set[int] = set()
    lead = ""
    number = 0
    while number < len(lines):
        line = lines[number]
        if line.number is None:
            lead = line.text if line.heading else (line.sentences or [""])[-1]
            number += 1
            continue
        start = number
        while number < len(lines) and lines[number].number is not None:
            number += 1
        items = lines[start:number]
        boxed = [one for one in items if one.ticked is not None]
        is_plan = any(cue.search(lead) for cue in (CUES.plan, CUES.intent, CUES.open))
        is_choice = CUES.options.search(lead) is not None
        excluded = is_choice or CUES.no_plan.search(lead) is not None
        numbered = all(one.number for one in items) and len(items) > 1
        if boxed:
            for one in boxed:
                if one.ticked:
                    notes.tick(one.text, at)
            steps = [one.text for one in boxed if not one.ticked]
            taken.update(range(start, number))
        elif is_plan or (numbered and not excluded):
            steps = [one.text for one in items]
            taken.update(range(start, number))
        elif numbered:
            if is_choice:
                notes.options = [one.text for one in items]
            taken.update(range(start, number))
    return steps, taken
