from typing import Any

import pytest

from branchline.log.migrate import VersionOneIds, upgrade
from tests.unit.session_files import TIMESTAMP, codes, header, ids, scan, text_of_file, user


def old(text: str, **fields: Any) -> dict[str, Any]:
    """A record of version 1, which has no ids."""
    return {
        "type": "message",
        "timestamp": TIMESTAMP,
        "message": {"role": "user", "content": text},
        **fields,
    }


def compaction(index: Any) -> dict[str, Any]:
    return {
        "type": "compaction",
        "timestamp": TIMESTAMP,
        "summary": "s",
        "firstKeptEntryIndex": index,
    }


def first_kept(*lines: dict[str, Any] | bytes) -> list[Any]:
    """The first kept ids of the compactions of a version 1 file, as positions of entries."""
    found = scan(text_of_file(header(1), *lines))
    return [
        None
        if facts.get("firstKeptEntryId") is None
        else ids(found).index(facts["firstKeptEntryId"])
        for facts in (found.columns.facts[at] for at in found.columns.facts)
    ]


def test_the_parent_of_a_version_1_record_is_the_one_before() -> None:
    found = scan(text_of_file(header(1), old("a"), old("b"), old("c")))
    one, two, three = ids(found)
    assert found.columns.parent_ids == [None, one, two]
    assert len({one, two, three}) == 3
    assert codes(found) == ["migrated-v1"]


def test_the_same_file_gives_the_same_ids() -> None:
    content = text_of_file(header(1), old("same"), old("same"))
    assert ids(scan(content)) == ids(scan(content))
    assert ids(scan(content, verified=False)) == ids(scan(content))
    assert ids(scan(content + text_of_file(old("more"))))[:2] == ids(scan(content))
    assert ids(scan(text_of_file(header(1, id="other"), old("same")))) != ids(scan(content))[:1]


def test_ids_are_8_hex_digits_longer_only_if_taken() -> None:
    given = VersionOneIds("s")
    entry = old("a")
    given.adopt(entry, 1, b"raw", lambda _: False)
    assert len(entry["id"]) == 8
    other = old("a")
    VersionOneIds("s").adopt(other, 1, b"raw", lambda one: one == entry["id"])
    assert other["id"].startswith(entry["id"])
    assert len(other["id"]) == 9


def test_a_version_1_record_that_has_ids_keeps_them() -> None:
    found = scan(text_of_file(header(1), user("a"), old("b"), user("c", "a")))
    assert (ids(found)[0], ids(found)[2]) == ("a", "c")
    assert found.columns.parent_ids == [None, "a", "a"]


def test_the_index_of_a_compaction_counts_every_record_the_header_first() -> None:
    assert first_kept(old("a"), old("b"), compaction(2)) == [1]
    assert first_kept(old("a"), compaction(1), old("c"), compaction(3)) == [0, 2]


def test_the_index_counts_damaged_lines_and_no_blank_ones() -> None:
    assert first_kept(old("a"), b"", b'{"torn', old("b"), compaction(3)) == [1]
    assert first_kept(old("a"), b"  \t", old("b"), compaction(2)) == [1]


def test_the_index_of_a_damaged_line_means_the_record_behind_it() -> None:
    assert first_kept(old("a"), b'{"torn', old("b"), compaction(2)) == [1]


@pytest.mark.parametrize("index", [0, -1, "1", None, 99])
def test_an_index_of_nothing_keeps_nothing(index: Any) -> None:
    assert first_kept(old("a"), compaction(index)) == [None]


def test_the_index_of_a_file_that_begins_with_something_else_counts_from_the_header() -> None:
    content = text_of_file({"type": "title"}, header(1), old("a"), old("b"), compaction(2))
    found = scan(content)
    assert found.columns.facts[2]["firstKeptEntryId"] == ids(found)[1]


def test_a_version_1_compaction_says_an_id_instead_of_an_index() -> None:
    made = upgrade({**compaction(2), "id": "c"}, 1, "b")
    assert made == {**{k: v for k, v in compaction(2).items() if k != "firstKeptEntryIndex"}} | {
        "id": "c",
        "firstKeptEntryId": "b",
    }
    assert "firstKeptEntryId" not in upgrade({**compaction(2), "id": "c"}, 1)


@pytest.mark.parametrize("version", [1, 2])
def test_hook_messages_are_custom_messages_now(version: int) -> None:
    message = {"role": "hookMessage", "content": "x"}
    entry = {"type": "message", "id": "a", "message": message}
    made = upgrade(entry, version)
    assert made["message"] == {"role": "custom", "content": "x"}
    assert message["role"] == "hookMessage"


def test_what_is_new_enough_stays_what_it_is() -> None:
    entry = {"type": "message", "message": {"role": "hookMessage"}, "firstKeptEntryIndex": 1}
    assert upgrade(entry, 3) is entry
    assert upgrade(entry, 4) is entry
    plain = user("a")
    assert upgrade(plain, 2) is plain
