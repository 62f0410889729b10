"""One file: what opening sees, how it grows by others, and what is refused."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from branchline import codec
from branchline.errors import FileChanged, InvalidSession, StorageFailure
from branchline.log.session_file import SessionFile
from tests.unit.grown_files import Grown, add, grown, replaced
from tests.unit.session_files import (
    JSON,
    codes,
    cuts_of,
    header,
    ids,
    opened,
    opened_content,
    text_line,
    text_of_file,
    user,
    write,
)

A, B, C = user("a"), user("b", "a"), user("c", "b")


# --- opening and reading ---------------------------------------------------------------------


def test_opening_changes_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, b"\xef\xbb\xbf" + text_of_file(header(1), b"oops", A)[:-4])
    before = (path.read_bytes(), path.stat(), sorted(tmp_path.iterdir()))
    with opened(path) as file:
        assert file.needs_upgrade
    status = path.stat()
    assert (path.read_bytes(), sorted(tmp_path.iterdir())) == (before[0], before[2])
    assert (status.st_mtime_ns, status.st_mode, status.st_ino) == (
        before[1].st_mtime_ns,
        before[1].st_mode,
        before[1].st_ino,
    )


@pytest.mark.parametrize("content", [b"", b"\n\n", b"hello\n", text_of_file(A), b"\0" * 4096])
def test_what_has_no_header_is_no_session(tmp_path: Path, content: bytes) -> None:
    path = write(tmp_path, content)
    with pytest.raises(InvalidSession, match=r"no session header"):
        SessionFile(path, tmp_path)
    assert path.read_bytes() == content


def test_folders_and_pipes_are_no_sessions(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidSession, match="no regular file"):
        SessionFile(tmp_path / "pipe", tmp_path)
    with pytest.raises(InvalidSession, match="no regular file"):
        SessionFile(tmp_path, tmp_path)


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(StorageFailure) as failure:
        SessionFile(tmp_path / "gone", tmp_path)
    assert failure.value.facts["errno"] == "ENOENT"


def test_a_failed_opening_leaves_no_descriptor(tmp_path: Path) -> None:
    path = write(tmp_path, b"hello\n")
    before = len(os.listdir("/dev/fd"))
    for _ in range(3):
        with pytest.raises(InvalidSession):
            SessionFile(path, tmp_path)
    assert len(os.listdir("/dev/fd")) == before


def test_a_line_longer_than_the_buffer_is_read(tmp_path: Path) -> None:
    long = user("long", "a", "x" * 3_000_000)
    with opened(write(tmp_path, text_of_file(header(), A, long, B))) as file:
        assert ids(file) == ["a", "long", "b"]
        assert file.raw(1) == text_line(long)


def test_a_file_larger_than_asked_is_not_verified(tmp_path: Path) -> None:
    content = text_of_file(header(), A)
    path = write(tmp_path, content)
    for size, verified in ((len(content), True), (len(content) - 1, False)):
        with opened(path, verify_up_to=size) as file:
            assert file.verified == verified


def test_a_file_that_others_may_read(tmp_path: Path) -> None:
    path = write(tmp_path, text_of_file(header()))
    with opened(path) as file:
        assert not file.readable_by_others
        path.chmod(0o640)
        assert file.readable_by_others


@st.composite
def spelt(draw: st.DrawFn) -> bytes:
    """A random entry in a random spelling: order, spacing, escapes, numbers."""
    entry = draw(
        st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8), JSON, max_size=4)
    )
    entry |= {"id": draw(st.text(st.characters(codec="utf-8"), min_size=1, max_size=30))}
    entry |= {"type": draw(st.sampled_from(["message", "custom", "label", "compaction", "new"]))}
    entry |= {"parentId": draw(st.none() | st.just("p"))}
    names = draw(st.permutations(sorted(entry)))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", "\t : ")]))
    text = json.dumps(
        {name: entry[name] for name in names},
        ensure_ascii=draw(st.booleans()),
        separators=separators,
    )
    number = draw(
        st.sampled_from(["", "1.50", "1E5", "-0", "123456789012345678901234567890", "NaN"])
    )
    if number:
        text = text[:-1] + f'{separators[0]}"number"{separators[1]}{number}}}'
    return text.encode()


@given(st.lists(spelt(), min_size=1, max_size=4), st.booleans())
@settings(deadline=None, max_examples=200)
@example([rb'{"type":"x","id":"\ud83d","t":"\udc00"}'], True)
def test_relayed_entries_keep_their_bytes(lines: list[bytes], verified: bool) -> None:
    content = text_of_file(header(), *lines)
    with opened_content(content, verify_up_to=len(content) if verified else 0) as file:
        assert len(file.tree) == len(lines)
        for at, line in enumerate(lines):
            assert file.raw(at) == line
            relayed = codec.relay(file.raw(at)).text
            assert as_strict(relayed) == as_strict(codec.encode(file.entry(at)))


def as_strict(text: bytes) -> Any:
    """The value as a client reads it."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text.decode(), parse_constant=refuse)


def test_old_versions_are_read_as_new(tmp_path: Path) -> None:
    hook = {**A, "message": {**A["message"], "role": "hookMessage"}}
    path = write(tmp_path, text_of_file(header(2), hook, B))
    with opened(path) as file:
        assert json.loads(file.raw(0))["message"]["role"] == "custom"
        assert file.stored(0) == text_line(hook)
        assert file.entry(1) == B


def test_a_placeholder_says_what_is_known_of_it(tmp_path: Path) -> None:
    path = write(tmp_path, text_of_file(header(), A, text_line(B)[:70], C))
    with opened(path) as file:
        assert file.entry(2) == {"type": "placeholder", "id": "b"}


# --- what others append ----------------------------------------------------------------------


def test_what_others_append_is_seen_once(tmp_path: Path) -> None:
    path = write(tmp_path, text_of_file(header(), A))
    with grown(path) as session:
        assert (session.file.has_changed(), session.look()) == (False, [])
        add(path, text_of_file(B, C))
        assert session.file.has_changed()
        assert session.look() == ["b", "c"]
        assert (session.file.has_changed(), session.look()) == (False, [])
        assert session.raw() == [text_line(A), text_line(B), text_line(C)]


def test_a_torn_tail_is_looked_at_again(tmp_path: Path) -> None:
    path = write(tmp_path, text_of_file(header(), A) + text_line(B)[:30])
    with grown(path) as session:
        assert codes(session.file) == ["torn-tail"]
        add(path, text_line(B)[30:-1])
        assert session.look() == []
        assert codes(session.file) == ["torn-tail"]
        add(path, text_line(B)[-1:])
        assert session.look() == ["b"]
        assert codes(session.file) == ["no-final-newline"]
        add(path, b"\n")
        assert session.look() == []
        assert codes(session.file) == []
        add(path, text_of_file(C))
        assert session.look() == ["c"]


def test_a_batch_says_if_it_ended_torn(tmp_path: Path) -> None:
    path = write(tmp_path, text_of_file(header(), A))
    with opened(path) as file:
        add(path, text_line(B)[:30])
        batch = file.read_tail()
        assert batch is not None
        assert batch.ended_torn
        add(path, text_line(B)[30:] + b"\n")
        batch = file.read_tail()
        assert batch is not None
        assert not batch.ended_torn


def test_the_lines_of_later_damage_are_counted_from_the_top(tmp_path: Path) -> None:
    torn = text_line(A) + text_line(B)[:30]
    path = write(tmp_path, text_of_file(header()) + torn)
    with grown(path) as session:
        assert [(one.code, one.line) for one in session.file.warnings] == [("torn-tail", 2)]
        add(path, text_line(B)[30:] + b"\n" + text_of_file(b"oops"))
        assert session.look() == ["b"]
        assert [(one.code, one.line) for one in session.file.warnings] == [("bad-line", 3)]


def test_the_parent_of_a_foreign_entry_may_be_a_damaged_record(tmp_path: Path) -> None:
    path = write(tmp_path, text_of_file(header(), A, text_line(B)[:70]))
    with grown(path) as session:
        add(path, text_of_file(C))
        assert session.look() == ["c", "b"]
        assert "placeholder" in codes(session.file)


def test_version_1_goes_on_in_version_1(tmp_path: Path) -> None:
    old = [
        {"type": "message", "timestamp": "t", "message": {"role": "user", "content": text}}
        for text in "abc"
    ]
    kept = {"type": "compaction", "timestamp": "t", "summary": "s", "firstKeptEntryIndex": 2}
    path = write(tmp_path, text_of_file(header(1), old[0], kept))
    with grown(path) as session:
        add(path, text_of_file(old[1], {**kept, "firstKeptEntryIndex": 3}, old[2]))
        assert len(session.look()) == 3
        seen = [session.file.entry(at) for at in range(5)]
    with opened(path) as file:
        assert [file.entry(at) for at in range(5)] == seen
    assert seen[3]["firstKeptEntryId"] == seen[2]["id"]
    assert [one["parentId"] for one in seen[1:]] == [one["id"] for one in seen[:-1]]


@st.composite
def more_lines(draw: st.DrawFn) -> bytes:
    """What is written behind the first entry: good lines and bad ones, with ids of their own."""
    parts: list[bytes] = []
    for number in range(draw(st.integers(0, 4))):
        one, two = user(f"one{number}", "a"), user(f"two{number}", f"one{number}")
        parts.append(
            draw(
                st.sampled_from(
                    [
                        text_of_file(one, two),
                        text_line(one) + text_of_file(two),
                        text_line(one)[:60] + b"\n" + text_of_file(two),
                        text_line(one)[:60] + text_of_file(two),
                        text_line(one) + b"\0\n\0" + text_of_file(two),
                        b"\n",
                        b"\r\n",
                        b"\0\n",
                        b"oops\n",
                        b"{}\n",
                        b"\xff\n",
                    ]
                )
            )
        )
    content = b"".join(parts)
    return content[: draw(st.integers(0, len(content)))] if draw(st.booleans()) else content


@given(more_lines(), st.data())
@settings(max_examples=200, deadline=None)
def test_growing_in_pieces_gives_what_opening_at_the_end_gives(
    rest: bytes, data: st.DataObject
) -> None:
    start = text_of_file(header(), A)
    cuts = data.draw(cuts_of(rest))
    with opened_content(start) as file:
        session = Grown(file)
        begin = 0
        for cut in [*cuts, len(rest)]:
            add(file.path, rest[begin:cut])
            begin = cut
            session.look()
        with opened(file.path) as whole:
            order = {offset: at for at, offset in enumerate(file.places.offsets)}
            places = zip(whole.places.offsets, whole.places.lengths, strict=True)
            assert sorted(places) == sorted(
                zip(file.places.offsets, file.places.lengths, strict=True)
            )
            for at, offset in enumerate(whole.places.offsets):
                mine = order[offset]
                assert session.tree.ids[mine] == whole.tree.ids[at]
                assert session.tree.kinds[mine] == whole.tree.kinds[at]
                assert file.raw(mine) == whole.raw(at)
            # Fused records may be met one by one, and then nothing looks fused about them.
            as_one = {"bad-line", "no-final-newline", "nul-bytes"}  # they tell of whole lines
            exact = [one for one in whole.warnings if one.code not in as_one]
            assert all(one in file.warnings for one in exact if one.code != "unknown-type")
            unended = "no-final-newline"
            assert (unended in codes(file)) == (unended in codes(whole))
            assert all(
                rest.count(b"\n", 0, one.offset - len(start)) + 3 == one.line
                for one in file.warnings
                if one.offset is not None
            )


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda path: path.unlink(), "deleted or moved away"),
        (lambda path: path.rename(path.with_name("elsewhere")), "deleted or moved away"),
        (lambda path: replaced(path, path.read_bytes()), "replaced by another file"),
        (lambda path: os.truncate(path, path.stat().st_size - 1), "truncated"),
        (lambda path: path.write_bytes(b"x" * 5000), "overwritten"),
    ],
)
def test_a_file_that_is_another_one_now_is_not_read_on(
    tmp_path: Path, change: Any, what: str
) -> None:
    path = write(tmp_path, text_of_file(header(), A))
    with opened(path) as file:
        change(path)
        assert file.has_changed()
        with pytest.raises(FileChanged) as error:
            file.read_tail()
        assert error.value.what == what
        with pytest.raises(FileChanged):
            file.begin_append()


def test_a_record_that_is_not_there_any_more_is_not_made_up(tmp_path: Path) -> None:
    path = write(tmp_path, text_of_file(header(), A))
    with opened(path) as file:
        size = path.stat().st_size
        path.write_bytes(b"x" * size)
        with pytest.raises(FileChanged, match="overwritten"):
            file.entry(0)
        os.truncate(path, size - 3)
        with pytest.raises(FileChanged, match="truncated"):
            file.stored(0)
