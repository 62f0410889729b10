"""The cue words of each language, as data: what makes a sentence a rule, a choice, a plan.

Every language is tried on every sentence, so a conversation may mix them. A pattern is written for
one sentence on one line. Where words are not set apart by spaces, no pattern asks for a word's
end. A new language is one more file; without one, requests, commands, files and errors are still
recognised.
"""

from dataclasses import dataclass, fields
from typing import Final

from branchline.summaries.offline.languages.chinese import CHINESE
from branchline.summaries.offline.languages.cue import Cue
from branchline.summaries.offline.languages.english import ENGLISH
from branchline.summaries.offline.languages.german import GERMAN
from branchline.summaries.offline.languages.japanese import JAPANESE
from branchline.summaries.offline.languages.language import Language

LANGUAGES: Final = (ENGLISH, GERMAN, CHINESE, JAPANESE)
UNSPACED: Final = (CHINESE, JAPANESE)
"""Those whose cues are not in ASCII."""

STOP_WORDS: Final = frozenset(
    {
        "aber", "about", "after", "again", "against", "ahead", "all", "alle", "als", "also",
        "and", "any", "are", "auch", "auf", "aus", "been", "begin", "bei", "bitte", "but", "can",
        "complete", "completed", "continue", "could", "das", "dass", "dem", "den", "der", "des",
        "did", "die", "does", "done", "ein", "eine", "einem", "einen", "einer", "erledigt",
        "fertig", "finished", "for", "from", "für", "get", "haben", "had", "has", "hat", "have",
        "her", "his", "how", "ich", "ihr", "into", "ist", "its", "jetzt", "just", "kann", "kein",
        "keine", "like", "make", "many", "may", "mehr", "mit", "more", "muss", "must", "nach",
        "need", "neue", "neuen", "new", "next", "nicht", "noch", "not", "now", "nur", "oder",
        "ok", "okay", "one", "only", "our", "out", "over", "please", "proceed", "ready", "sein",
        "shall", "should", "sich", "sie", "sind", "soll", "sollen", "some", "start", "step",
        "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this",
        "too", "und", "use", "used", "using", "very", "vom", "von", "want", "war", "was", "way",
        "wenn", "were", "what", "when", "where", "which", "while", "wie", "will", "wir", "wird",
        "with", "without", "would", "you", "your", "zum", "zur",
    }
)  # fmt: skip
"""Words that say nothing of what a sentence is about."""


@dataclass(frozen=True, slots=True)
class Cues:
    """Every cue; attributes as in `Language`."""

    rule: Cue
    rules: Cue
    small_talk: Cue
    polite: Cue
    choice: Cue
    rejected: Cue
    instead: Cue
    retracted: Cue
    lifted: Cue
    corrected: Cue
    refusal: Cue
    consent: Cue
    acknowledged: Cue
    works: Cue
    done: Cue
    all_done: Cue
    open: Cue
    failed: Cue
    cause: Cue
    intent: Cue
    plan: Cue
    options: Cue
    no_plan: Cue
    step: Cue
    skipped: Cue


def _cue(name: str) -> Cue:
    spaced = [getattr(one, name) for one in LANGUAGES if one not in UNSPACED]
    return Cue(spaced, [getattr(one, name) for one in UNSPACED])


CUES: Final = Cues(**{one.name: _cue(one.name) for one in fields(Language)})
