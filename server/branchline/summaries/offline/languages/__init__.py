"""The cue words of each language, as data: what makes a sentence a rule, a choice, a plan.

Every language is tried on every sentence, so a conversation may mix them. A pattern is written for
one sentence on one line. Where words are not set apart by spaces, no pattern asks for a word's
end. A new language is one more file; without one, requests, commands, files and errors are still
recognised.
"""

import re
from dataclasses import dataclass, fields
from typing import Final

from branchline.summaries.offline.languages.chinese import CHINESE
from branchline.summaries.offline.languages.english import ENGLISH
from branchline.summaries.offline.languages.german import GERMAN
from branchline.summaries.offline.languages.japanese import JAPANESE
from branchline.summaries.offline.languages.language import Language

LANGUAGES: Final = (ENGLISH, GERMAN, CHINESE, JAPANESE)

STOP_WORDS: Final = frozenset(
    {
        "aber", "about", "after", "again", "ahead", "all", "alle", "als", "also", "and", "any",
        "are", "auch", "auf", "aus", "been", "begin", "bei", "bitte", "but", "can", "continue",
        "could", "das", "dass", "dem", "den", "der", "des", "did", "die", "does", "done", "ein",
        "eine", "einem", "einen", "einer", "for", "from", "für", "get", "haben", "had", "has",
        "hat", "have", "her", "his", "how", "ich", "ihr", "into", "ist", "its", "jetzt", "just",
        "kann", "kein", "keine", "like", "make", "many", "may", "mehr", "mit", "more", "muss",
        "must", "nach", "need", "neue", "neuen", "new", "next", "nicht", "noch", "not", "now",
        "nur", "oder", "one", "only", "our", "out", "over", "please", "proceed", "sein",
        "shall", "should", "sich", "sie", "sind", "soll", "sollen", "some", "start", "step",
        "such", "than", "that", "the", "their", "them", "then", "there", "these", "they",
        "this", "und", "use", "used", "using", "very", "vom", "von", "want", "war", "was",
        "way", "wenn", "were", "what", "when", "where", "which", "while", "wie", "will", "wir",
        "wird", "with", "without", "would", "you", "your", "zum", "zur",
    }
)  # fmt: skip
"""Words that say nothing of what a sentence is about."""


@dataclass(frozen=True, slots=True)
class Cues:
    """The cues of all languages together, compiled; attributes as in `Language`."""

    rule: re.Pattern[str]
    small_talk: re.Pattern[str]
    choice: re.Pattern[str]
    rejected: re.Pattern[str]
    instead: re.Pattern[str]
    retracted: re.Pattern[str]
    lifted: re.Pattern[str]
    corrected: re.Pattern[str]
    refusal: re.Pattern[str]
    consent: re.Pattern[str]
    acknowledged: re.Pattern[str]
    works: re.Pattern[str]
    done: re.Pattern[str]
    all_done: re.Pattern[str]
    open: re.Pattern[str]
    failed: re.Pattern[str]
    cause: re.Pattern[str]
    intent: re.Pattern[str]
    plan: re.Pattern[str]
    no_plan: re.Pattern[str]
    step: re.Pattern[str]
    skipped: re.Pattern[str]


def _compiled(cue: str) -> re.Pattern[str]:
    patterns = "|".join(f"(?:{getattr(language, cue)})" for language in LANGUAGES)
    return re.compile(patterns, re.IGNORECASE | re.VERBOSE)


CUES: Final = Cues(**{one.name: _compiled(one.name) for one in fields(Language)})
