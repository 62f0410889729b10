"""What the user says: wishes, rules, choices, and what they say no to.

Only here a sentence becomes a wish or a rule, and only of the user's own messages.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from branchline.summaries.offline.languages import CUES
from branchline.summaries.offline.notes import (
    EARLIER,
    MAX_KEPT,
    Goal,
    Notes,
    keep,
    statement,
    turned_down,
)
from branchline.summaries.offline.wording import (
    Line,
    core,
    features,
    is_measured,
    is_question,
    said,
    whole,
)

_MOST_WISHES: Final = 12  # sentences of one message that count as what it asks for
_SHORTEST_WISH: Final = 10  # characters of a clause that can ask for something
_SHORT: Final = 60  # characters of a sentence that says one thing only
_FEW: Final = 4  # features below which what is left of a sentence asks for nothing
_STALE_TURNS: Final = 6  # requests after which a plan that nobody came back to is forgotten

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


def take_request(notes: Notes, text: str, at: int) -> None:
    """Take in a message of the user."""
    lines = said(text)
    stated = [one for line in lines for one in line.sentences]
    if not stated:
        _take_pasted(notes, text, at)
        return
    notes.names.take_text(text, at)
    notes.last_user = statement(" ".join(line.text for line in lines), at)
    notes.answered = False
    notes.broke_off = None
    rules = _rules_below(lines)
    is_picked = _pick(notes, stated)
    _refuse(notes, stated)
    wishes = [
        one
        for place, one in enumerate(stated)
        if one not in rules
        and _user_sentence(notes, one, at, may_ask=not (is_picked and place == 0))
    ]
    for rule in rules:
        notes.add_rule(rule, at)
    notes.question = None
    notes.options = []
    if not wishes and not notes.goals:
        wishes = [one for one in stated if not CUES.acknowledged.search(one)]
    if wishes:
        _wish(notes, wishes, text, at)
        notes.asked = None
    elif not all(CUES.acknowledged.search(one) or CUES.consent.search(one) for one in stated):
        notes.asked = notes.last_user
    steps = [line.text for line in lines if line.number and line.text not in rules]
    if len(steps) > 1:
        notes.set_plan(steps, at)


def _take_pasted(notes: Notes, text: str, at: int) -> None:
    """Take in a message without a word of the user's own: it asks, but nothing in it counts."""
    words = whole(text)
    if words:
        notes.last_user = notes.asked = statement(words, at)
        notes.answered = False
        notes.broke_off = None
        if not notes.goals:
            notes.goals.append(Goal([notes.last_user], at, words=words))


def _wish(notes: Notes, wishes: Sequence[str], text: str, at: int) -> None:
    made = [statement(one, at) for one in wishes[:_MOST_WISHES]]
    only_asks = all(is_question(one) and not CUES.polite.search(one) for one in wishes)
    words = "" if notes.goals else whole(text)
    notes.goals.append(Goal(made, at, only_asks, words))
    del notes.goals[1 : max(1, len(notes.goals) - MAX_KEPT)]
    notes.requests_since_plan += 1
    if notes.requests_since_plan > _STALE_TURNS and notes.plan_at != EARLIER:
        notes.plan = []


def _user_sentence(notes: Notes, sentence: str, at: int, *, may_ask: bool) -> bool:
    """Take in one sentence of the user; say whether it is a wish."""
    if CUES.consent.search(sentence) or CUES.acknowledged.search(sentence):
        agreed = notes.question is not None and CUES.consent.search(sentence)
        if agreed and notes.question is not None and notes.question.about:
            notes.choose(f"Agreed: {notes.question.text}", at)
        return False
    asks = is_question(sentence)
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
    if notes.skip(sentence) and len(sentence) < _SHORT:
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
            _complain(notes, sentence, at)
        else:  # it answers that
            keep(notes.facts, statement(sentence, at))
        return False
    if is_measured(sentence):
        keep(notes.facts, statement(sentence, at))
    return may_ask and not lifted


def _pick(notes: Notes, stated: Sequence[str]) -> bool:
    """Note the option that a short answer picks, perhaps with a reason; say whether one does."""
    picked = _PICK.fullmatch(stated[0])
    options = notes.options
    if picked is None or not 0 < int(picked[1]) <= len(options):
        return False
    option = options[int(picked[1]) - 1]
    notes.choose(f"Chosen: {option}", notes.last_reply_at + 1)
    return True


def _refuse(notes: Notes, stated: Iterable[str]) -> None:
    """Drop what the last reply chose and planned, if the user says no to it as a whole."""
    refused = any(CUES.refusal.search(one) for one in stated)
    is_known = notes.last_reply_at != EARLIER
    if refused and is_known and not any(map(turned_down, stated)):
        notes.choices = [one for one in notes.choices if one.at != notes.last_reply_at]
        if notes.plan_at == notes.last_reply_at:
            notes.plan = []


def _complain(notes: Notes, sentence: str, at: int) -> None:
    """What the user says does not work: the last answer's results are void."""
    if notes.last_reply_at != EARLIER:
        notes.finished = [one for one in notes.finished if one.at != notes.last_reply_at]
    keep(notes.complaints, statement(sentence, at))
    keep(notes.troubles, statement(sentence, at))


def _rules_below(lines: Sequence[Line]) -> list[str]:
    """The items of lists that are announced as rules."""
    rules: list[str] = []
    lead = ""
    for line in lines:
        if line.number is None:
            lead = line.text if line.heading else (line.sentences or [""])[-1]
        elif CUES.rules.search(lead):
            rules += line.sentences
    return rules


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
