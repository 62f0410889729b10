"""What a summary of a varied conversation must hold and must not say, checked on its text.

Marks of code and line breaks do not count in any comparison.
"""

from collections.abc import Callable, Mapping
from typing import Final

from branchline.summaries import sections
from tests.unit.varied_talks.shape import Varied

Files = Mapping[str, list[str]]

OPEN: Final = ("In Progress", "Blocked", "Next Steps")
"""The sections that say what is open."""


def parsed(text: str) -> dict[str, str]:
    """The sections of a summary that has them all."""
    found = sections.parse(text, "compaction")
    assert not found.missing
    return found.sections


def plain(text: str) -> str:
    """A text without the marks of code and the breaks of lines."""
    return " ".join(text.replace("`", "").split())


def missing(wanted: tuple[str, ...], text: str) -> list[str]:
    """What of the wanted pieces a text does not hold."""
    return [one for one in wanted if plain(one) not in plain(text)]


def there(unwanted: tuple[str, ...], text: str) -> list[str]:
    """What of the unwanted pieces a text holds."""
    return [one for one in unwanted if plain(one) in plain(text)]


def reported_open(found: Mapping[str, str]) -> str:
    """All that a summary says is open."""
    return "\n".join(found[title] for title in OPEN)


def _first_request(varied: Varied, text: str, files: Files) -> list[str]:
    return missing((varied.first_request,), parsed(text)["Goal"])


def _newest_request(varied: Varied, text: str, files: Files) -> list[str]:
    return missing((varied.newest_request,), parsed(text)["Goal"].partition("\n")[0])


def _constraints(varied: Varied, text: str, files: Files) -> list[str]:
    return missing(varied.constraints, parsed(text)["Constraints & Preferences"])


def _files(varied: Varied, text: str, files: Files) -> list[str]:
    lists = set(text[text.index("<read-files>") :].splitlines())
    return sorted(
        (varied.read ^ set(files["readFiles"]))
        | (varied.modified ^ set(files["modifiedFiles"]))
        | ((varied.read | varied.modified) - lists)
    )


def _open_error(varied: Varied, text: str, files: Files) -> list[str]:
    blocked = parsed(text)["Blocked"]
    if varied.last_error is None:
        return [blocked] if blocked else []
    others = blocked.splitlines()[1:]
    return missing((varied.last_error,), blocked) + others


def _open_steps(varied: Varied, text: str, files: Files) -> list[str]:
    found = parsed(text)
    steps = plain(found["Next Steps"])
    wrong = missing(varied.next_steps, steps)
    wrong += missing(varied.still_open, reported_open(found))
    places = [steps.find(plain(step)) for step in varied.next_steps]
    if places != sorted(places):
        wrong.append("the order")
    if not (varied.next_steps or varied.still_open or varied.last_error):
        wrong += [reported_open(found).strip()] if reported_open(found).strip() else []
    return wrong


def _not_open(varied: Varied, text: str, files: Files) -> list[str]:
    return there(varied.not_open, reported_open(parsed(text)))


def _taken_back(varied: Varied, text: str, files: Files) -> list[str]:
    found = parsed(text)
    return there(varied.taken_back, found["Constraints & Preferences"] + found["Key Decisions"])


CLAIMS: Final[dict[str, Callable[[Varied, str, Files], list[str]]]] = {
    "the first request is there word for word": _first_request,
    "the newest request comes first": _newest_request,
    "every constraint is there in the user's words": _constraints,
    "every file that was read or modified is there": _files,
    "the last open error is there and no other": _open_error,
    "what is open is there, the steps in order": _open_steps,
    "what was fixed, finished or rejected is not open": _not_open,
    "what was taken back is no rule and no decision": _taken_back,
}
"""By what is claimed: what is wrong with a summary, from the conversation, its text and files."""


def unmet(varied: Varied, text: str, files: Files) -> dict[str, list[str]]:
    """The claims that a summary does not meet, each with what is wrong."""
    found = {claim: check(varied, text, files) for claim, check in CLAIMS.items()}
    return {claim: wrong for claim, wrong in found.items() if wrong}
