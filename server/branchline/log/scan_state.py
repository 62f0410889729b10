"""What a scan that ended knows, beside the columns, to go on where it ended. Plain values."""

from dataclasses import dataclass
from typing import Any, Self

from branchline.log.format import SessionWarning


@dataclass(frozen=True, slots=True)
class LostRecord:
    """A damaged record whose id and parentId could still be read."""

    parent_id: str | None
    line: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class ScanState:
    """The state of a `LineScanner` between two lines of a file of the current version.

    Attributes:
        header_record: the bytes of the header.
        lines: how many were read.
        warnings: the damage met.
        lost: damaged records by id.
        odd_kinds: what is unknown here and was warned of.
    """

    header_record: bytes
    lines: int
    warnings: list[SessionWarning]
    lost: dict[str, LostRecord]
    odd_kinds: set[str]

    def as_json(self) -> dict[str, Any]:
        """The state as a JSON object."""
        return {
            "header": self.header_record.decode("latin-1"),  # any bytes, and all of them back
            "lines": self.lines,
            "warnings": [
                [one.code, one.message, one.line, one.offset, one.length, one.entry_id]
                for one in self.warnings
            ],
            "lost": {
                entry_id: [one.parent_id, one.line, one.offset, one.length]
                for entry_id, one in self.lost.items()
            },
            "oddKinds": sorted(self.odd_kinds),
        }

    @classmethod
    def of_json(cls, value: dict[str, Any]) -> Self:
        """The state that `as_json` described."""
        return cls(
            value["header"].encode("latin-1"),
            value["lines"],
            [
                SessionWarning(code, message, line, offset, length, entry_id)
                for code, message, line, offset, length, entry_id in value["warnings"]
            ],
            {entry_id: LostRecord(*one) for entry_id, one in value["lost"].items()},
            set(value["oddKinds"]),
        )
