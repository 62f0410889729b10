"""How long a soak goes on: ``BRANCHLINE_SOAK`` is a time (``10m``) or a number of examples."""

import os


def asked_seconds() -> float:
    """The time that was asked for; 0 if none was."""
    asked = os.environ.get("BRANCHLINE_SOAK", "")
    return float(asked[:-1]) * 60 if asked.endswith("m") else 0


def asked_examples() -> int | None:
    """The number that was asked for, if one was."""
    asked = os.environ.get("BRANCHLINE_SOAK", "")
    return int(asked) if asked.isdecimal() else None
