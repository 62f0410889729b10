"""What a conversation comes to, as it grows: wishes, rules, choices, plans and results.

What is said later changes what was said before: a rejected choice, a lifted rule, a finished step
are taken out where that is said. Which sentence says what is `reading`'s to find out.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from branchline.summaries.offline.languages import CUES
from branchline.summaries.offline.names import Names
from branchline.summaries.offline.progress import Progress
from branchline.summaries.offline.wording import (
    LONGEST_STATEMENT,
    code_in,
    core,
    features,
    joined,
    paths_in,
    prose,
)

BEFORE_ALL: Final = -4
"""The place of what anything else comes after."""
EARLIER: Final = -3
"""The place of what comes from an earlier summary."""
BRIDGE_REQUEST: Final = -2
BRIDGE: Final = -1
"""The places of what comes from its bridge, the beginning of a turn: its request, and the rest."""
NOW: Final = "Now: "
FIRST: Final = "First: "
EARLIER_GOAL: Final = "Then: "
NOT_ANSWERED: Final = "Not answered yet: "
UNDER_WAY: Final = "Under way: "
"""What goes before a goal, or before what was begun, in the text of a summary."""
FINISHED: Final = "Finished: "
"""What goes before a step, or what was begun, that was finished."""
UNKNOWN: Final = "Begun, outcome unknown: "
"""What goes before a command whose result is not there."""
REPORTED: Final = "The user reports: "
WORKED_ON: Final = " (worked on since)"
"""What goes before a complaint, and behind it where something was changed since."""
_LABEL = re.compile(rf"(?:{NOW}|{FIRST}|{EARLIER_GOAL}|{NOT_ANSWERED}|{UNDER_WAY})+")

MAX_KEPT: Final = 40
"""Statements of one sort that are remembered; the oldest go first."""
_SAME = 0.75  # shared features (Jaccard) from which one statement takes the place of another
_SAME_CORRECTED = 0.3  # the same where the speaker corrects himself
_COVERED = 0.6  # the part of a step's features that a result must name to finish it
_NAMED = 0.66  # the part of a clause that a step must hold to be what the clause says is done
CLAUSE: Final = re.compile(r"[,;:\uff0c\uff1b\uff1a、\u2013\u2014]\s*")
_NEXT_NUMBER = re.compile(
    r"\s*(,|and|und|&|\+|和|、|と|及|to|bis|-|\u2013|\uff5e|〜|到|至)\s*(?:and\s|und\s)?"
    r"(?:steps?\s|schritte?\s|第|步骤\s*|ステップ\s*|手順\s*)?(\d{1,2})(?!\d)",
    re.IGNORECASE,
)
_UP_TO = frozenset({"to", "bis", "-", "\u2013", "\uff5e", "〜", "到", "至"})


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that was said, as one safe line.

    Attributes:
        text: see `wording.prose`.
        at: the index of the message, or `EARLIER`.
    """

    text: str
    at: int

    @property
    def about(self) -> frozenset[str]:
        """See `wording.features`."""
        return features(self.text)


@dataclass(slots=True)
class Goal:
    """A wish.

    Attributes:
        wishes: the sentences of one message that ask for something.
        at: the index of the message, or `EARLIER`.
        is_question: whether it asks for an answer and nothing else.
        words: the whole message, see `wording.whole`; only of the first wish of all.
    """

    wishes: list[Statement]
    at: int
    is_question: bool = False
    words: str = ""

    def line(self, limit: int) -> str:
        """The wish as one line of at most ``limit`` characters."""
        return prose(joined(one.text for one in self.wishes), limit)


@dataclass(slots=True)
class Notes:
    """What was read. Lists are in order, the oldest first."""

    goals: list[Goal] = field(default_factory=list)
    rules: list[Statement] = field(default_factory=list)
    choices: list[Statement] = field(default_factory=list)
    plan: list[Statement] = field(default_factory=list)
    intents: list[Statement] = field(default_factory=list)
    """What the assistant said last that it will do next, beside the plan."""
    plan_at: int = EARLIER
    step_numbers: dict[str, int] = field(default_factory=dict)
    finished: list[Statement] = field(default_factory=list)
    """Results that were said, and steps that were finished."""
    interim: list[Statement] = field(default_factory=list)
    """Results that were said in the turn that is not ended."""
    begun: list[Statement] = field(default_factory=list)
    """What an earlier summary has as not answered."""
    unfinished: list[Statement] = field(default_factory=list)
    """What the last answer says is not finished or not checked."""
    complaints: list[Statement] = field(default_factory=list)
    """What the user says does not work."""
    troubles: list[Statement] = field(default_factory=list)
    """What was said not to work, by whomever."""
    facts: list[Statement] = field(default_factory=list)
    attempts: list[Statement] = field(default_factory=list)
    """What the assistant said it was about to do."""
    context: list[Statement] = field(default_factory=list)
    """What earlier summaries want to be kept in mind."""
    question: Statement | None = None
    """What the assistant asked last, while unanswered."""
    options: list[str] = field(default_factory=list)
    """What the assistant let the user choose from, while not chosen."""
    last_reply_at: int = EARLIER
    """The message in which the assistant said something last."""
    replied: bool = False
    """Whether the assistant said anything yet, or there is an earlier summary."""
    asked: Statement | None = None
    """The newest message of the user that asks for something beside the newest goal."""
    last_user: Statement | None = None
    last_reply: Statement | None = None
    broke_off: str | None = None
    """How the last reply broke off: "aborted" or "error"; None if it did not."""
    answered: bool = True
    """Whether the last request got its final answer."""
    requests_since_plan: int = 0
    progress: Progress = field(default_factory=Progress)
    names: Names = field(default_factory=Names)

    def retract(self) -> None:
        """Drop the newest wish, unless it is the first, and what was chosen and planned for it."""
        if self.goals:
            dropped = self.goals[-1]
            if len(self.goals) > 1:
                self.goals.pop()
            self.choices = [one for one in self.choices if one.at < dropped.at]
            self.intents = []
            self.unfinished = []
            if self.plan_at >= dropped.at:
                self.plan = []

    def add_rule(self, sentence: str, at: int) -> None:
        """Add a rule, in place of an earlier one that says the same with other values."""
        new = statement(sentence, at)
        limit = _SAME_CORRECTED if CUES.corrected.search(sentence) else _SAME
        self.rules = [one for one in self.rules if _likeness(one, new) < limit]
        keep(self.rules, new)

    def lift(self, sentence: str) -> bool:
        """Drop the rules that a sentence lifts; say whether there were any."""
        about = features(sentence)
        kept = [one for one in self.rules if _shared(one.about, about) < 0.4]
        lifted = len(kept) < len(self.rules)
        self.rules = kept
        return lifted

    def choose(self, sentence: str, at: int) -> None:
        """Add a choice; one that says the same, or that this is instead of, goes."""
        new = statement(sentence, at)
        limit = _SAME_CORRECTED if CUES.corrected.search(sentence) else _SAME
        choices = [one for one in self.choices if _likeness(one, new) < limit]
        if choices and CUES.instead.search(sentence) and not turned_down(sentence):
            choices.pop()
        self.choices = choices
        keep(self.choices, new)

    def skip(self, sentence: str) -> bool:
        """Take out the steps that a sentence leaves out by their numbers; say whether it does."""
        numbers = _step_numbers(sentence) if CUES.skipped.search(sentence) else set()
        self.plan = [one for one in self.plan if self.step_numbers.get(one.text) not in numbers]
        return bool(numbers)

    def turn_down(self, sentence: str) -> None:
        """Take out what is about something that the sentence turns down."""
        terms = turned_down(sentence)
        if not terms:
            return

        def stays(one: Statement) -> bool:
            return not any(term <= one.about for term in terms) or _turns_down(one.text, terms)

        self.choices = [one for one in self.choices if stays(one)]
        self.plan = [one for one in self.plan if stays(one)]
        self.intents = [one for one in self.intents if stays(one)]
        self.unfinished = [one for one in self.unfinished if stays(one)]
        for goal in self.goals[1:]:
            goal.wishes = [one for one in goal.wishes if stays(one)]
        self.goals = [goal for goal in self.goals if goal.wishes]

    def set_plan(self, steps: Iterable[str], at: int, numbers: Iterable[int] = ()) -> None:
        """Put a plan in the place of the one before; by itself it is numbered from 1."""
        self.plan = [statement(one, at) for one in steps][:20]
        self.intents = []
        self.plan_at = at
        known = list(numbers) or range(1, len(self.plan) + 1)
        self.step_numbers = {
            one.text: number for one, number in zip(self.plan, known, strict=False)
        }
        self.requests_since_plan = 0

    def settle(self, results: Iterable[Statement]) -> None:
        """Finish the steps that results name."""
        for result in results:
            numbers = _step_numbers(result.text)
            self.finish(
                [
                    step
                    for step in self.plan
                    if self.step_numbers.get(step.text) in numbers
                    or _covers(result.about, step.about)
                ]
            )
            for clause in CLAUSE.split(result.text):
                self._settle_named(clause)
            self.unfinished = [
                one for one in self.unfinished if not _covers(result.about, one.about)
            ]
            self.intents = [one for one in self.intents if not _covers(result.about, one.about)]

    def _settle_named(self, clause: str) -> None:
        """Finish the one step, if it is one, that holds nearly all that a clause says is done."""
        about = core(clause)
        if len(about) < 2 or not CUES.done.search(clause) or CUES.open.search(clause):
            return
        named = [one for one in self.plan if len(about & core(one.text)) >= _NAMED * len(about)]
        if len(named) == 1:
            self.finish(named)

    def intend(self, sentences: Iterable[str], at: int) -> None:
        """What the assistant will do next, in place of what it said so before.

        What a step of the plan says already is left to that step.
        """
        new = [statement(one, at) for one in sentences]
        self.intents = [
            one for one in new if not any(_likeness(one, step) >= _SAME for step in self.plan)
        ]

    def tick(self, step: str, at: int) -> None:
        """Note a step that a list shows as finished."""
        done = statement(step, at)
        self.plan = [one for one in self.plan if one.text != done.text]
        self.finished = [one for one in self.finished if one.text != FINISHED + done.text]
        keep(self.finished, done)

    def finish(self, steps: list[Statement]) -> None:
        """Move steps, or what was begun, to what is finished."""
        known = {one.text for one in self.finished}
        for step in steps:
            if unlabelled(step.text) not in known:
                keep(self.finished, statement(FINISHED + unlabelled(step.text), step.at))
        self.plan = [one for one in self.plan if one not in steps]
        self.begun = [one for one in self.begun if one not in steps]

    def worked_on(self, complaint: Statement) -> bool:
        """Whether something was changed or run since a complaint."""
        return complaint.at == BEFORE_ALL or self.progress.last_success > complaint.at

    def settle_by_calls(self) -> None:
        """Finish the steps whose file was edited or whose command succeeded since the plan."""
        commands = self.progress.commands.values()
        files = [set(code_in(one.text)) | set(paths_in(one.text)) for one in self.plan]
        named = [path for paths in files for path in paths]
        done = []
        for step, quoted in zip(self.plan, files, strict=True):
            since = BRIDGE if step.at < BRIDGE else max(step.at, 0)
            by_edit = any(
                named.count(path) == 1 and self.progress.last_change(path) >= since
                for path in quoted
            )
            by_command = any(
                " " in one and any(one in ran.text for ran in commands if ran.at >= step.at)
                for one in quoted
            )
            if by_edit or by_command:
                done.append(step)
        self.finish(done)


def unlabelled(text: str) -> str:
    """A goal, or what was begun, without what a summary puts before it."""
    return _LABEL.sub("", text, count=1) if _LABEL.match(text) else text


def statement(text: str, at: int, limit: int = LONGEST_STATEMENT) -> Statement:
    """The text as a statement of at most ``limit`` characters."""
    return Statement(prose(text, limit), at)


def keep(kept: list[Statement], new: Statement) -> None:
    """Add a statement, unless it is there; the newest place counts."""
    if not new.text:
        return
    for at, one in enumerate(kept):
        if one.text == new.text:
            del kept[at]
            break
    kept.append(new)
    del kept[: max(0, len(kept) - MAX_KEPT)]


def _likeness(one: Statement, other: Statement) -> float:
    union = one.about | other.about
    return len(one.about & other.about) / len(union) if union else float(one.text == other.text)


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0


def _covers(result: frozenset[str], step: frozenset[str]) -> bool:
    return bool(step) and len(result & step) >= _COVERED * len(step)


def _step_numbers(sentence: str) -> set[int]:
    """The numbers of the steps that a sentence names: "steps 1, 2 and 4", "Schritte 1 bis 3"."""
    numbers: set[int] = set()
    for match in CUES.step.finditer(sentence):
        last = int(next(group for group in match.groups() if group))
        numbers.add(last)
        end = match.end()
        while more := _NEXT_NUMBER.match(sentence, end):
            number, end = int(more[2]), more.end()
            numbers.update(range(last, number) if more[1].lower() in _UP_TO else (), (number,))
            last = number
    return numbers


def turned_down(sentence: str) -> list[frozenset[str]]:
    """What a sentence turns down, as features."""
    found = (features(group) for match in CUES.rejected.finditer(sentence)
             for group in match.groups() if group)  # fmt: skip
    return [one for one in found if one]


def _turns_down(text: str, terms: Sequence[frozenset[str]]) -> bool:
    return any(term in terms for term in turned_down(text))
