"""What a language brings: the cues by which its sentences are told apart."""

from dataclasses import dataclass
from typing import Final

NAME: Final = r"[\w`][\w`./+#@-]*"
"""A word, or a name as it stands in code."""


@dataclass(frozen=True, slots=True)
class Language:
    """The cues of one language, each a regular expression without groups unless said.

    Attributes:
        rule: a demand, a ban, a preference, a plain statement of what stays as it is.
        rules: a list below this is of rules.
        small_talk: phrases with such words that demand nothing; cut out before `rule` is tried.
        polite: a question that asks for something to be done.
        choice: something is chosen.
        rejected: something is turned down; its groups are what.
        instead: a choice that takes the place of the one before, whatever that was.
        retracted: the wish before is taken back.
        lifted: a rule no longer holds.
        corrected: what follows puts right what was said before.
        refusal: the sentence begins with a no.
        consent: the whole sentence is a yes.
        acknowledged: the whole sentence is thanks or praise.
        works: the person says that it works now.
        done: something is finished.
        all_done: everything is finished.
        open: something is not finished or not checked.
        failed: something does not work.
        cause: why something is as it is.
        intent: the speaker says what they will do next.
        plan: a list below this is what will be done.
        options: a list below this is to choose from.
        no_plan: a list below this is no plan: findings, what was done.
        step: a numbered step, its group the number.
        skipped: a step is left out.
    """

    rule: str
    rules: str
    small_talk: str
    polite: str
    choice: str
    rejected: str
    instead: str
    retracted: str
    lifted: str
    corrected: str
    refusal: str
    consent: str
    acknowledged: str
    works: str
    done: str
    all_done: str
    open: str
    failed: str
    cause: str
    intent: str
    plan: str
    options: str
    no_plan: str
    step: str
    skipped: str
