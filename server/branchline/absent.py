"""A value for what was not given, where null means something of its own."""

import enum
from typing import Final


class Absent(enum.Enum):
    """The type of `ABSENT`."""

    ABSENT = enum.auto()


ABSENT: Final = Absent.ABSENT
"""The parameter was not given."""
