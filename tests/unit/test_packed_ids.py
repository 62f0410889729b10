"""Packed ids are, to whoever asks, the list of ids and the table of their ordinals."""

from hypothesis import given
from hypothesis import strategies as st

from branchline.tree.packed_ids import PackedIds

ANY_ID = st.text(min_size=1, max_size=12) | st.from_regex(r"[0-9a-f]{8}", fullmatch=True)


@given(st.lists(ANY_ID, unique=True), st.lists(ANY_ID, unique=True), ANY_ID)
def test_ids_and_ordinals_are_those_of_a_list_and_a_table(
    packed: list[str], added: list[str], other: str
) -> None:
    ids = PackedIds.of(packed, set())
    added = [one for one in added if one not in packed]
    for entry_id in added:
        ids[entry_id] = len(ids)
        ids.append(entry_id)
    whole = [*packed, *added]
    table = {entry_id: ordinal for ordinal, entry_id in enumerate(whole)}
    assert ids == whole
    assert list(ids) == whole
    assert [ids[at] for at in range(len(ids))] == whole
    assert [ids[-1 - at] for at in range(len(ids))] == whole[::-1]
    assert ids[1:-1] == whole[1:-1]
    assert [ids.get(one) for one in (*whole, other)] == [table.get(one) for one in (*whole, other)]
    again = PackedIds(*PackedIds.of(packed, set()).parts)
    assert again == packed
    assert ids != [*whole, other]


def test_of_two_entries_with_one_id_the_one_not_left_out_is_found() -> None:
    ids = PackedIds.of(["a", "b", "a"], {0})
    assert (ids.get("a"), ids.get("b"), list(ids)) == (2, 1, ["a", "b", "a"])
