"""What was measured, as numbers and as Markdown: medians, spreads, ratios pair by pair, growth.

Pure: it runs nothing and writes no file.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Final

LINEAR: Final = 12.0
"""A file ten times as long may take this many times as long."""
CONSTANT: Final = 1.5
"""What must not depend on the file may differ by this: the machine's own unrest is as large."""

_UNITS: Final = (("s", 1000.0), ("ms", 1.0), ("µs", 0.001))


@dataclass(frozen=True, slots=True)
class Comparison:
    """One thing measured on both sides in turn; the n-th of each side make a pair.

    Attributes:
        work: what was done.
        ours, theirs: milliseconds or MB, one a round; ``theirs`` is empty without the other side.
        unit: ``ms`` or ``MB``.
        goal: how many times as much the other side should take, at the least.
    """

    work: str
    ours: Sequence[float]
    theirs: Sequence[float] = ()
    unit: str = "ms"
    goal: float | None = None

    @property
    def ratios(self) -> list[float]:
        """How many times as much the other side took, pair by pair."""
        return [other / our for our, other in zip(self.ours, self.theirs, strict=False)]

    def cells(self) -> list[str]:
        """The row of the table: work, ours, theirs, ratio, goal."""
        ratios = self.ratios
        goal = "" if self.goal is None else f"≥ {times(self.goal)}"
        if goal and ratios and self.goal is not None:
            goal += " reached" if median(ratios) >= self.goal else " **missed**"
        ratio = f"{_spread([digits(one) for one in _three(ratios)])} ×" if ratios else "–"
        return [
            self.work,
            amount(self.ours, self.unit),
            amount(self.theirs, self.unit),
            ratio,
            goal,
        ]


@dataclass(frozen=True, slots=True)
class Growth:
    """One thing measured on files that are ten times as long each.

    Attributes:
        work: what was done.
        samples: for each file, milliseconds or MB, one a round.
        unit: ``ms`` or ``MB``.
        most: the factor from one file to the next that is allowed.
    """

    work: str
    samples: Sequence[Sequence[float]]
    unit: str = "ms"
    most: float = LINEAR

    @property
    def factors(self) -> list[float]:
        """From each file to the next, by the medians."""
        medians = [median(one) for one in self.samples]
        return [later / earlier for earlier, later in pairwise(medians)]

    def cells(self) -> list[str]:
        """The row of the table: work, each file, each factor, what is allowed."""
        kept = "kept" if all(one <= self.most for one in self.factors) else "**exceeded**"
        return [
            self.work,
            *(amount(one, self.unit) for one in self.samples),
            *map(times, self.factors),
            f"≤ {times(self.most)} {kept}",
        ]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def amount(samples: Sequence[float], unit: str) -> str:
    """The median of milliseconds or MB with the least and the most, in a unit that reads well."""
    if not samples:
        return "–"
    if unit != "ms":
        return f"{_spread([digits(one) for one in _three(samples)])} {unit}"
    name, factor = next((one for one in _UNITS if median(samples) >= one[1]), _UNITS[-1])
    return f"{_spread([digits(one / factor) for one in _three(samples)])} {name}"


def percentile(samples: Sequence[float], share: float) -> float:
    """The value below which that share of the samples lies."""
    ranked = sorted(samples)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))]


def times(factor: float) -> str:
    """A factor with its sign."""
    return f"{digits(factor)} ×"


def digits(value: float) -> str:
    """Two digits that count, all before the point."""
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def _three(samples: Sequence[float]) -> tuple[float, float, float]:
    return median(samples), min(samples), max(samples)


def _spread(three: Sequence[str]) -> str:
    middle, least, most = three
    return middle if least == most else f"{middle} ({least}–{most})"
