"""Records of a session as lines of a session file: as they stand, or with secrets hidden in them.

What comes out opens like any session file. Without a mask every line is the bytes that were read;
with one the texts inside of it are replaced and the record is encoded anew.
"""

from collections.abc import Iterator, Mapping, Sequence

from branchline import codec
from branchline.entries import DAMAGED_RECORD, Kind
from branchline.export.conversation import Records, Source
from branchline.export.mask import Mask
from branchline.log.format import new_id, now, record_line
from branchline.tree.index import NONE, Label, Tree


def session_lines(source: Source, mask: Mask | None) -> Iterator[bytes]:
    """The lines of the exported session, header first; of one branch, its labels last."""
    if mask is None:
        yield source.header_line
    else:
        yield record_line(mask.value(codec.decode(source.header_line)))
    lines: Iterator[bytes]
    if source.whole:
        lines = (source.records.raw(ordinal) + b"\n" for ordinal in source.ordinals)
    else:
        lines = branch_lines(source.tree, source.records, source.ordinals, source.labels)
    places = iter(source.ordinals)
    for line in lines:
        ordinal = next(places, NONE)
        if mask is None:
            yield line
        else:
            yield record_line(mask.value(_decoded(source.tree, ordinal, line)))


def branch_lines(
    tree: Tree, records: Records, path: Sequence[int], labels: Mapping[int, Label]
) -> Iterator[bytes]:
    """The records of a path as they stand, then what its labels are today (see `labels_of`).

    Labels that records elsewhere set or cleared are appended as records of their own.
    """
    for ordinal in path:
        yield records.raw(ordinal) + b"\n"
    on_path = _labels_on(tree, path)
    parent_id = tree.ids[path[-1]] if path else None
    for ordinal in path:
        label = labels.get(ordinal)
        text = label.text if label else None
        if text == on_path.get(ordinal):
            continue
        record = {
            "type": "label",
            "id": new_id(tree.find),
            "parentId": parent_id,
            "timestamp": (label.timestamp if label else None) or now(),
            "targetId": tree.ids[ordinal],
            **({"label": text} if text else {}),
        }
        yield record_line(record)
        parent_id = record["id"]


def _labels_on(tree: Tree, path: Sequence[int]) -> dict[int, str | None]:
    """The labels that the records of a path alone set, by ordinal."""
    labels: dict[int, str | None] = {}
    for ordinal in path:
        if tree.kinds[ordinal] == Kind.LABEL:
            facts = tree.facts[ordinal]
            target_id = facts.get("targetId")
            target = tree.find(target_id) if isinstance(target_id, str) else None
            text = facts.get("label")
            if target is not None:
                labels[target] = text if isinstance(text, str) and text.strip() else None
    return labels


def _decoded(tree: Tree, ordinal: int, line: bytes) -> object:
    """The record of a line; of a damaged one, which nobody can look into, what keeps the chain."""
    try:
        return codec.decode(line)
    except codec.DecodeError:
        return {
            "type": "custom",
            "customType": DAMAGED_RECORD,
            "data": {"note": "This record was damaged, and was left out with what it may hold."},
            "id": tree.ids[ordinal],
            "parentId": tree.id_of(tree.parents[ordinal]),
            "timestamp": now(),
        }
