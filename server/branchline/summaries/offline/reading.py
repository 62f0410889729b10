"""Reads a conversation into notes, once, in order: which sentence says what.

Who may say what: wishes and rules come from the user's own messages only; choices, plans, results
and facts from the user and the assistant; a tool's output and a message that a program put in
contribute to none of these.
"""

import re
from collections.abc import Iterable, Sequence

from branchline.entries import Entry, summary_of, text_of, tool_calls
from branchline.summaries.offline.languages import CUES
from branchline.summaries.offline.notes import (
    EARLIER,
    MAX_KEPT,
    Goal,
    Notes,
    Statement,
    keep,
    statement,
    turned_down,
    unlabelled,
)
from branchline.summaries.offline.wording import Line, core, features, said, sentences, whole
from branchline.tree.messages import failed, pair_results

_LONGEST_SENTENCE = 1_000  # characters of a sentence that are looked at
_MOST_WISHES = 12  # sentences of one message that count as what it asks for
_SHORTEST_WISH = 10  # characters of a clause that can ask for something
_SHORTEST_RESULT = 10  # characters of a result that says more than that there is one
_SHORT = 60  # characters of a sentence that says one thing only
_FEW = 4  # features below which what is left of a sentence asks for nothing
_STALE_TURNS = 6  # requests after which a plan that nobody came back to is forgotten

_QUESTION = re.compile(r"[?\uff1f]\W*$|(?:ですか|ますか|でしょうか|吗|呢)[。\W]*$")
_MEASURED = re.compile(
    r"(?<![\w.])\d[\d.,_]*\s*(?:%|ms|µs|s|sec|secs|seconds?|min|minutes?|h|hours?|[KMGT]i?B|kB|bytes?"
    r"|px|fps|rows?|lines?|requests?|tokens?|users?|files?|tests?|times|x|Hz|million|Sekunden?"
    r"|Minuten?|Stunden?|Zeilen|Dateien|Tests|Mal|Millionen)\b"
    r"|\d[\d.,]*\s*(?:秒|分钟?|毫秒|ミリ秒|小时|時間|行|件|个|個|倍|万|億|亿|次|回)"
)
_COMMA = re.compile(r"[,;\uff0c\uff1b、]\s*|\s+(?=and\b|und\b|but\b|aber\b)")
_CONDITION = re.compile(
    r"(?:if|when|while|unless|since|wenn|falls|sobald|da|如果|若|当|もし)\b|如果|当|もし",
    re.IGNORECASE,
)
_PICK = re.compile(
    r"\W*(?:(?:option|variante?|nummer|number|nr\.?|the|plan|方案|选|第|案)\s*)?#?(\d)\s*"
    r"(?:番|个|つ目|でお願いします|please|bitte|吧|で)?(?:[,;:\uff0c、。]\s*[^\W\d].*|\W*)",
    re.IGNORECASE,
)
_LAUGH = re.compile(r"哈哈|呵呵|[(\uff08]?笑[)\uff09。]|\b(?:lol|haha\w*|hehe\w*)\b|[:;]-?[)D]")
_AND = re.compile(
    r"^(?:(?:but|and|so|aber|und|also|但是?|而且|不过|でも|ただ|あと)(?:[\s,\uff0c、]+|(?=[^\x00-\x7f])))+",
    re.IGNORECASE,
)
_LEAD = re.compile(r"[:\uff1a]\W*$")


def read(notes: Notes, messages: Sequence[Entry], *, assume_edits: bool) -> Notes:
    """Take in the messages, in order; give the notes back.

    ``assume_edits``: the results were left out, so a call to edit counts as an edit made.
    """
    reader = _Reader(notes)
    pairing = pair_results(messages)
    for at, message in enumerate(messages):
        match message.get("role"):
            case "user":
                reader.user(text_of(message.get("content")), at)
            case "assistant":
                answers = pairing.results.get(at, [])
                results = [None if one is None else messages[one] for one in answers]
                reader.assistant(message, results, at, assume_edits)
            case "bashExecution":
                notes.progress.take_shell(message, at)
            case "branchSummary" | "compactionSummary":
                pass  # taken in by `earlier`, before the messages
            case _:
                pass  # a program's own message says nothing for the user
    notes.settle_by_calls()
    return notes


def read_request(notes: Notes, lines: Sequence[str], at: int) -> None:
    """Take in what the user asked for, each line like a message of theirs."""
    reader = _Reader(notes)
    for line in lines:
        reader.user(line, at)


def summaries_in(messages: Iterable[Entry], role: str) -> list[str]:
    """The texts of the summaries of one role among the messages."""
    return [text for one in messages if one.get("role") == role and (text := summary_of(one))]


class _Reader:
    """Reads messages into notes."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self._last_reply_at = EARLIER

    # --- the user ----------------------------------------------------------------------------

    def user(self, text: str, at: int) -> None:
        lines = said(text)
        stated = [one for line in lines for one in _sentences(line)]
        if not stated:
            return
        notes = self.notes
        notes.names.take_text(text, at)
        notes.last_user = statement(" ".join(line.text for line in lines), at)
        notes.answered = False
        notes.broke_off = None
        rules = _rules_below(lines)
        is_picked = self._pick(stated)
        self._refuse(stated)
        wishes = [
            one
            for place, one in enumerate(stated)
            if one not in rules
            and self._user_sentence(one, at, may_ask=not (is_picked and place == 0))
        ]
        for rule in rules:
            notes.add_rule(rule, at)
        notes.question = None
        notes.options = []
        if not wishes and not notes.goals:
            wishes = [one for one in stated if not CUES.acknowledged.search(one)]
        if wishes:
            self._wish(wishes, text, at)
            notes.asked = None
        elif not all(CUES.acknowledged.search(one) or CUES.consent.search(one) for one in stated):
            notes.asked = notes.last_user
        steps = [line.text for line in lines if line.number and line.text not in rules]
        if len(steps) > 1:
            notes.set_plan(steps, at)

    def _wish(self, wishes: Sequence[str], text: str, at: int) -> None:
        notes = self.notes
        made = [statement(one, at) for one in wishes[:_MOST_WISHES]]
        is_question = all(_is_question(one) and not CUES.polite.search(one) for one in wishes)
        words = "" if notes.goals else whole(text)
        notes.goals.append(Goal(made, at, is_question, words))
        del notes.goals[1 : max(1, len(notes.goals) - MAX_KEPT)]
        notes.requests_since_plan += 1
        if notes.requests_since_plan > _STALE_TURNS and notes.plan_at != EARLIER:
            notes.plan = []

    def _user_sentence(self, sentence: str, at: int, *, may_ask: bool) -> bool:
        """Take in one sentence of the user; say whether it is a wish."""
        notes = self.notes
        if CUES.consent.search(sentence) or CUES.acknowledged.search(sentence):
            agreed = notes.question is not None and CUES.consent.search(sentence)
            if agreed and notes.question is not None and notes.question.about:
                notes.choose(f"Agreed: {notes.question.text}", at)
            return False
        asks = _is_question(sentence)
        serious = CUES.small_talk.sub(" ", sentence)
        is_rule = not asks and CUES.rule.search(serious) is not None
        troubled = CUES.failed.search(serious) is not None
        if CUES.works.search(sentence) and not (asks or troubled or is_rule):
            notes.progress.works()
            notes.complaints = []
            if len(sentence) < _SHORT:
                return False
        if CUES.retracted.search(sentence):
            notes.retract()
            if len(features(CUES.retracted.sub(" ", sentence))) < _FEW:
                return False
        rejects = bool(turned_down(sentence))
        notes.turn_down(sentence)
        refuses = CUES.refusal.search(sentence) is not None
        lifted = CUES.lifted.search(serious) is not None and notes.lift(sentence)
        chosen = not asks and (
            CUES.choice.search(sentence) is not None
            or (rejects and (refuses or CUES.instead.search(sentence) is not None))
        )
        if chosen or lifted:
            notes.choose(sentence, at)
        if is_rule and not lifted:
            rule = sentence if serious == sentence else _without(serious)
            notes.add_rule(_AND.sub("", rule), at)
            return may_ask and _asks_first(serious)
        if serious != sentence and (len(features(serious)) < _FEW or _LAUGH.search(serious)):
            return False  # small talk and nothing else
        if refuses and len(core(CUES.refusal.sub(" ", sentence))) < 2:
            return False
        if troubled and not asks and notes.replied:
            if notes.question is None:
                self._complain(sentence, at)
            else:  # it answers that
                keep(notes.facts, statement(sentence, at))
            return False
        if _MEASURED.search(sentence):
            keep(notes.facts, statement(sentence, at))
        return may_ask and not lifted

    def _pick(self, stated: Sequence[str]) -> bool:
        """Note the option that a short answer picks, perhaps with a reason; say whether one does."""
        picked = _PICK.fullmatch(stated[0])
        options = self.notes.options
        if picked is None or not 0 < int(picked[1]) <= len(options):
            return False
        option = options[int(picked[1]) - 1]
        self.notes.choose(f"Chosen: {option}", self._last_reply_at + 1)
        return True

    def _refuse(self, stated: Iterable[str]) -> None:
        """Drop what the last reply chose and planned, if the user says no to it as a whole."""
        notes = self.notes
        refused = any(CUES.refusal.search(one) for one in stated)
        is_known = self._last_reply_at != EARLIER
        if refused and is_known and not any(map(turned_down, stated)):
            notes.choices = [one for one in notes.choices if one.at != self._last_reply_at]
            if notes.plan_at == self._last_reply_at:
                notes.plan = []

    def _complain(self, sentence: str, at: int) -> None:
        """What the user says does not work: the last answer's results are void."""
        notes = self.notes
        if self._last_reply_at != EARLIER:
            notes.finished = [one for one in notes.finished if one.at != self._last_reply_at]
        keep(notes.complaints, statement(sentence, at))
        keep(notes.troubles, statement(sentence, at))

    # --- the assistant -----------------------------------------------------------------------

    def assistant(
        self, message: Entry, results: Sequence[Entry | None], at: int, assume_edits: bool
    ) -> None:
        notes = self.notes
        if failed(message):
            notes.broke_off = str(message.get("stopReason"))
            error = message.get("errorMessage")
            if notes.broke_off == "error":
                notes.progress.take_reply_error(error if isinstance(error, str) else "", at)
            return
        notes.broke_off = None
        notes.progress.reply_came()
        calls = list(tool_calls(message.get("content")))
        ends_turn = not calls and message.get("stopReason") != "length"
        text = text_of(message.get("content"))
        if text.strip():
            notes.names.take_text(text, at)
            self._reply(said(text), at, ends_turn)
        for number, call in enumerate(calls):
            result = results[number] if number < len(results) else None
            notes.names.take_call(call, at)
            notes.progress.take_call(call, result, at, assumed=assume_edits)
        if ends_turn and text.strip():
            notes.answered = True

    def _reply(self, lines: Sequence[Line], at: int, ends_turn: bool) -> None:
        """Take in what the assistant says."""
        notes = self.notes
        self._last_reply_at = at
        notes.replied = True
        notes.options = []
        steps, listed = self._steps(lines, at)
        stated = [one for place, line in enumerate(lines) if place not in listed
                  for one in _sentences(line)]  # fmt: skip
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
            if _is_question(sentence):
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
            if _MEASURED.search(sentence) or CUES.cause.search(sentence):
                keep(notes.facts, statement(sentence, at))
        notes.settle(results)
        if CUES.all_done.search(" ".join(one.text for one in results)):
            notes.finish(notes.plan)
        if steps:
            notes.set_plan(steps, at)
        if ends_turn:
            notes.intend(planned, at)
            if results or reported:
                results += self._result_items(lines, listed, results, at)
            self._end_turn(results, unfinished)
        elif stated:
            keep(notes.attempts, statement(stated[0], at))

    def _result_items(
        self, lines: Sequence[Line], listed: set[int], results: Sequence[Statement], at: int
    ) -> list[Statement]:
        """The items below a "done", which need no word of their own that says so."""
        known = {one.text for one in results}
        items = [statement(line.text, at) for number, line in enumerate(lines)
                 if line.number is not None and number not in listed
                 and not CUES.open.search(line.text) and not CUES.failed.search(line.text)
                 and not _is_question(line.text)]  # fmt: skip
        return [one for one in items if one.text not in known][:8]

    def _end_turn(self, results: list[Statement], unfinished: list[Statement]) -> None:
        notes = self.notes
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

    def _steps(self, lines: Sequence[Line], at: int) -> tuple[list[str], set[int]]:
        """The steps that a reply plans as a list, and which lines are such steps or options."""
        steps: list[str] = []
        taken: set[int] = set()
        lead = ""
        number = 0
        while number < len(lines):
            line = lines[number]
            if line.number is None:
                lead = line.text if line.heading else (_sentences(line) or [""])[-1]
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
                        self.notes.tick(one.text, at)
                steps = [one.text for one in boxed if not one.ticked]
                taken.update(range(start, number))
            elif is_plan or (numbered and not excluded):
                steps = [one.text for one in items]
                taken.update(range(start, number))
            elif numbered:
                if is_choice:
                    self.notes.options = [one.text for one in items]
                taken.update(range(start, number))
        return steps, taken


def _rules_below(lines: Sequence[Line]) -> list[str]:
    """The items of lists that are announced as rules."""
    rules: list[str] = []
    lead = ""
    for line in lines:
        if line.number is None:
            lead = line.text if line.heading else (_sentences(line) or [""])[-1]
        elif CUES.rules.search(lead):
            rules += _sentences(line)
    return rules


def _sentences(line: Line) -> list[str]:
    return [] if line.heading else [one[:_LONGEST_SENTENCE] for one in sentences(line.text)]


def _is_question(sentence: str) -> bool:
    return _QUESTION.search(sentence) is not None


def _asks_first(sentence: str) -> bool:
    """Whether a sentence with a rule asks for something before it."""
    first, comma, _ = _COMMA.sub("\n", sentence, count=1).partition("\n")
    return bool(
        comma
        and len(first) >= _SHORTEST_WISH
        and not _CONDITION.match(first)
        and not CUES.rule.search(first)
    )


def _without(serious: str) -> str:
    """What is left of a sentence without its small talk: the clauses from the first rule on."""
    clauses = re.split(r"(?<=[,;\uff0c\uff1b、])\s*|\s+(?=but\b|aber\b)", serious)
    start = next((at for at, one in enumerate(clauses) if CUES.rule.search(one.strip())), 0)
    return " ".join(clauses[start:]).strip(" ,;\uff0c\uff1b、")
