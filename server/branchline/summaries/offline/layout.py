"""From notes to the sections of a summary, and which lines go where it gets too long.

Lines are dropped whole, never cut: in each section the least important first, of equals the
oldest, and first in the section that is the most over its share. The headings always stay.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from branchline import codec
from branchline.summaries import sections
from branchline.summaries.offline.earlier import (
    ABORTED,
    CHOOSING,
    DECIDED,
    MENDED,
    NAMED,
    PLANNED,
    RULE,
    WAITING,
)
from branchline.summaries.offline.names import Seen, most_used
from branchline.summaries.offline.notes import (
    EARLIER_GOAL,
    FIRST,
    NOT_ANSWERED,
    NOW,
    REPORTED,
    UNDER_WAY,
    UNKNOWN,
    WORKED_ON,
    Notes,
    Statement,
)
from branchline.summaries.offline.wording import code, excerpt, prose
from branchline.summaries.sections import SECTIONS
from branchline.summaries.writer import SummaryKind
from branchline.tree.tokens import CHARACTERS_PER_TOKEN

MOST_TOKENS: Final = 2_000
"""The longest offline summary, however much is allowed."""

_NEWEST, _VITAL, _HIGH, _MIDDLE, _LOW, _LEAST = 5, 4, 3, 2, 1, 0
_SHARES: Final = {
    sections.GOAL.title: 4,
    sections.CONSTRAINTS.title: 4,
    sections.DONE.title: 5,
    sections.BLOCKED.title: 3,
    sections.DECISIONS.title: 3,
    sections.NEXT_STEPS.title: 4,
    sections.CONTEXT.title: 5,
    sections.REQUEST.title: 4,
    sections.DONE_SO_FAR.title: 5,
    sections.REST.title: 5,
}
_SHARE: Final = 2  # of a section that is not named above
_MOST_LINES: Final = 14
_MOST_RULES: Final = 30
_LONGEST_GOAL: Final = 800  # characters of the newest wish
_LONGEST_PAST_GOAL: Final = 300  # the same of one that came between


@dataclass(slots=True)
class Body:
    """The lines of one section, each with what it is worth."""

    ordered: bool = False
    lines: list[tuple[str, int]] = field(default_factory=list)

    def add(self, text: str, worth: int = _MIDDLE) -> None:
        """Add a line, unless it is blank or there."""
        if text and all(text != line for line, _ in self.lines):
            self.lines.append((text, worth))

    def add_all(self, said: Iterable[Statement], worth: int = _MIDDLE) -> None:
        """Add a line for each statement."""
        for one in said:
            self.add(one.text, worth)

    @property
    def least(self) -> int:
        """What the line worth least is worth; more than any if there is none."""
        return min((worth for _, worth in self.lines), default=_NEWEST)

    def drop_least(self) -> None:
        """Drop the line worth least; of equals the first, of steps the last."""
        least = self.least
        places = [at for at, (_, worth) in enumerate(self.lines) if worth == least]
        del self.lines[places[-1] if self.ordered else places[0]]

    @property
    def text(self) -> str:
        """The body as Markdown."""
        marks = (f"{at}." if self.ordered else "-" for at in range(1, len(self.lines) + 1))
        return "\n".join(
            f"{mark} {line}" for mark, (line, _) in zip(marks, self.lines, strict=True)
        )


def lay_out(notes: Notes, kind: SummaryKind, instructions: str | None) -> dict[str, Body]:
    """The body of each section by its title, not yet fitted to a length."""
    bodies = {one.title: Body(one.ordered) for one in SECTIONS[kind] if not one.holds_parts}
    match kind:
        case "compaction":
            _goals(notes, bodies[sections.GOAL.title])
            _done(notes, bodies[sections.DONE.title])
            _in_progress(notes, bodies[sections.IN_PROGRESS.title])
            _blocked(notes, bodies[sections.BLOCKED.title])
        case "branch":
            _goals(notes, bodies[sections.GOAL.title])
            _tried(notes, bodies[sections.TRIED.title])
            bodies[sections.FAILED.title].add_all(notes.troubles)
            _failures(notes, bodies[sections.FAILED.title])
            _edits(notes, bodies[sections.CHANGED.title])
            _why_left(notes, bodies[sections.WHY_LEFT.title])
        case "turnPrefix":
            _turn(notes, bodies)
    if kind != "turnPrefix":
        bodies[sections.CONSTRAINTS.title].add_all(notes.rules, _HIGH)
        bodies[sections.DECISIONS.title].add_all(notes.choices)
        _next_steps(notes, bodies[sections.NEXT_STEPS.title])
        _context(notes, bodies[sections.CONTEXT.title], instructions)
    return bodies


def fitted(bodies: dict[str, Body], kind: SummaryKind, max_tokens: int) -> dict[str, str]:
    """The bodies as text, so that the summary has at most ``max_tokens`` (characters / 4).

    Below what the headings alone take, these are what is written. What is vital goes last.
    """
    room = min(max_tokens, MOST_TOKENS) * CHARACTERS_PER_TOKEN
    for title, body in bodies.items():
        while len(body.lines) > (
            _MOST_RULES if title == sections.CONSTRAINTS.title else _MOST_LINES
        ):
            body.drop_least()
    texts = {title: body.text for title, body in bodies.items()}
    total = codec.utf16_length(sections.render(texts, kind))
    while total > room and any(texts.values()):
        droppable = [title for title, body in bodies.items() if body.least < _VITAL]
        title = max(
            droppable or texts, key=lambda one: codec.utf16_length(texts[one]) / _share(one)
        )
        before = codec.utf16_length(texts[title])
        bodies[title].drop_least()
        texts[title] = bodies[title].text
        after = codec.utf16_length(texts[title]) or len(sections.NONE_TEXT)
        total += after - before
    return texts


def _share(title: str) -> int:
    return _SHARES.get(title, _SHARE)


# --- sections --------------------------------------------------------------------------------


def _goals(notes: Notes, body: Body) -> None:
    """The newest wish first, then the first one in its own words, then what came between."""
    goals = notes.goals
    kept = [
        goal for at, goal in enumerate(goals) if at in (0, len(goals) - 1) or not goal.is_question
    ]
    if len(kept) < 2:
        for goal in kept:
            body.add(goal.words or goal.line(_LONGEST_GOAL), _VITAL)
        return
    body.add(NOW + kept[-1].line(_LONGEST_GOAL), _NEWEST)
    body.add(FIRST + (kept[0].words or kept[0].line(_LONGEST_GOAL)), _VITAL)
    for goal in kept[1:-1]:
        body.add(EARLIER_GOAL + goal.line(_LONGEST_PAST_GOAL), _LOW)


def _done(notes: Notes, body: Body) -> None:
    """What earlier summaries and the assistant say is finished, then files and commands."""
    body.add_all(notes.finished)
    _edits(notes, body)
    for command in notes.progress.commands.values():
        line = f"Ran {code(command.text)}"
        body.add(f"{line}: {command.result}" if command.result else line,
                 _MIDDLE if command.result else _LEAST)  # fmt: skip


def _edits(notes: Notes, body: Body) -> None:
    for edit in notes.progress.edits.values():
        times = f" ({edit.times} times)" if edit.times > 1 else ""
        body.add(f"{edit.verb} {code(edit.path)}{times}", _LOW)


def _in_progress(notes: Notes, body: Body) -> None:
    body.add_all(notes.begun)
    if not notes.answered and notes.goals:
        newest = notes.goals[-1]
        text, at = newest.line(_LONGEST_PAST_GOAL), newest.at
        if notes.asked is not None:
            text, at = notes.asked.text, notes.asked.at
        body.add(NOT_ANSWERED + text, _HIGH)
        for attempt in notes.attempts[-1:]:
            body.add(UNDER_WAY + attempt.text if attempt.at >= at else "", _HIGH)
        for command in list(notes.progress.tried)[-2:]:
            body.add(UNKNOWN + command)
    body.add_all(notes.unfinished, _HIGH)


def _blocked(notes: Notes, body: Body) -> None:
    _failures(notes, body)
    for one in notes.complaints:
        body.add(REPORTED + one.text + (WORKED_ON if notes.worked_on(one) else ""), _HIGH)
    if notes.broke_off == "aborted":
        body.add(ABORTED)


def _failures(notes: Notes, body: Body) -> None:
    failure = notes.progress.last_failure
    if failure is not None:
        body.add(failure.line, _HIGH)


def _tried(notes: Notes, body: Body) -> None:
    body.add_all(notes.attempts)
    for command in notes.progress.tried:
        body.add(f"Ran {command}", _LOW)
    for done in notes.progress.commands.values():
        body.add(f"Ran {code(done.text)}" + (f": {done.result}" if done.result else ""), _LOW)
    body.add_all(notes.finished)


def _why_left(notes: Notes, body: Body) -> None:
    """How the branch ends: by a failed or aborted reply, by the user's word, or by an answer."""
    if notes.broke_off is not None:
        ending = "was aborted" if notes.broke_off == "aborted" else "failed"
        body.add(f"The last reply {ending}", _HIGH)
    if notes.last_user is not None and (not notes.answered or len(notes.goals) > 1):
        body.add(f"The user said last: {notes.last_user.text}", _VITAL)
    if notes.last_reply is not None and notes.answered:
        body.add(f"The assistant said last: {notes.last_reply.text}", _HIGH)


def _next_steps(notes: Notes, body: Body) -> None:
    body.add_all(notes.intents, _HIGH)
    for step in notes.plan:
        body.add(_step(notes, step, len(body.lines) + 1), _HIGH)
    if notes.options:
        options = "; ".join(f"{at}) {prose(one)}" for at, one in enumerate(notes.options, 1))
        body.add(CHOOSING + options, _VITAL)
    if notes.question is not None:
        body.add(WAITING + notes.question.text, _VITAL)


def _step(notes: Notes, step: Statement, printed: int = 0) -> str:
    """A step, with the number it had where it was planned if another is printed before it."""
    number = notes.step_numbers.get(step.text, 0)
    return step.text if number in (0, printed) else f"(step {number}) {step.text}"


def _context(notes: Notes, body: Body, instructions: str | None) -> None:
    focus = prose(excerpt(instructions or ""))
    if focus:
        body.add(f"The user asked for a focus on: {focus}", _HIGH)
    body.add_all(notes.context, _HIGH)
    known = {one.text for one in (*notes.rules, *notes.choices, *notes.finished, *notes.plan)}
    known.update(one.text for one in notes.unfinished)
    known.update(one.text for goal in notes.goals for one in goal.wishes)
    body.add_all([one for one in notes.facts if one.text not in known][-6:])
    _names(notes, body)


def _names(notes: Notes, body: Body) -> None:
    for attribute, label in NAMED.items():
        seen: dict[str, Seen] = getattr(notes.names, attribute)
        _named(body, label, most_used(seen, 12))
    _named(body, MENDED, list(notes.progress.mended)[-6:])


def _named(body: Body, label: str, names: Sequence[str]) -> None:
    if names:
        body.add(label + ", ".join(map(code, names)), _MIDDLE)


def _turn(notes: Notes, bodies: dict[str, Body]) -> None:
    request = bodies[sections.REQUEST.title]
    for goal in notes.goals:
        request.add(goal.words or goal.line(_LONGEST_GOAL), _VITAL)
    for rule in notes.rules:
        request.add(RULE + rule.text, _HIGH)
    done = bodies[sections.DONE_SO_FAR.title]
    done.add_all(notes.interim)
    _done(notes, done)
    rest = bodies[sections.REST.title]
    _blocked(notes, rest)
    for one in notes.attempts[-1:]:
        rest.add(UNDER_WAY + one.text, _HIGH)
    for step in notes.intents:
        rest.add(PLANNED + step.text, _HIGH)
    for step in notes.plan:
        rest.add(PLANNED + _step(notes, step), _HIGH)
    for choice in notes.choices:
        rest.add(DECIDED + choice.text)
    _context(notes, rest, None)
