"""A saved index changes how long an opening takes, and nothing else; and it is never trusted."""

import errno
import logging
import os
import resource
import stat
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.entries import Entry
from branchline.errors import BranchlineError, FileChanged
from branchline.log import saved_index
from branchline.log.saved_index import SavedIndexes
from tests.unit.helpers import TESTS, entry, expected
from tests.unit.indexed import opened_again, picture, picture_of, save, saved_indexes
from tests.unit.session_files import (
    assistant,
    header,
    opened,
    pi_entries,
    text_line,
    text_of_file,
    user,
    write,
)

ORDINARY = text_of_file(
    header(),
    user("a", None, "the question that nobody else may read"),
    assistant("b", "a", [{"type": "text", "text": "the answer"}]),
    entry("l", "b", "label", targetId="a", label="here"),
    entry("e", "l", "context_edit", targetId="b", replacement={"content": "the edited answer"}),
    entry("n", "e", "session_info", name="a name"),
    user("c", "b"),
)


@pytest.fixture(scope="module", autouse=True)
def trusted_times() -> Iterator[None]:
    """The files here were written just now; a real index waits until a time proves something."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(saved_index, "UNSETTLED_NS", -1)
        yield


def index_files(folder: Path) -> list[Path]:
    return sorted((folder / "indexes").glob("*.index"))


def let_time_pass(path: Path, earlier_ns: int) -> None:
    """See to it that the file's time is a later one than before the change that was just made."""
    while path.stat().st_mtime_ns <= earlier_ns:
        os.utime(path)


def is_used(path: Path, indexes: SavedIndexes) -> bool:
    with opened(path, indexes=indexes) as file:
        return file.indexed > 0


# --- the same as read ------------------------------------------------------------------------

CASES = sorted((TESTS / "cases").glob("*.jsonl"))
VECTORS = sorted(TESTS / "vectors" / "sessions" / name for name in expected("vectors"))
OLD = {"19-v1-linear", "20-v2-hookmessage"}
NEWER = {"22-future-version"}


@pytest.mark.parametrize("source", [*CASES, *VECTORS], ids=lambda one: one.stem)
def test_every_case_and_vector_is_the_same_by_its_index(tmp_path: Path, source: Path) -> None:
    path = write(tmp_path, source.read_bytes())
    try:
        read = picture_of(path)
    except BranchlineError as error:
        with pytest.raises(type(error)):
            picture_of(path, saved_indexes(tmp_path))
        return
    with opened_again(path) as file:
        assert picture(file) == read
        assert (file.indexed > 0) == (source.stem not in OLD | NEWER)
        with opened(path) as other:
            ordinals = range(len(file.tree))
            assert [file.entry(at) for at in ordinals] == [other.entry(at) for at in ordinals]


WILD_LINES = st.one_of(
    st.just(b""),
    st.just(b"\x00\x00"),
    st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")),
    st.sampled_from(
        [
            b'{"type":"mystery","id":"m1","parentId":null}',
            b'{"type":"message","id":"lost1","parentId":null,"mess',
            text_line(user("kid", "lost1")),
            text_line(user("m1", "kid")),
            text_line(user("early", "late")),
            text_line(user("late", None)),
            text_line(user("self", "self")),
            text_line(entry("x1", "m1", "label", targetId="late", label="L" * 600)),
            b'{"type":"label","id":"x2","parentId":"\\ud800","targetId":"kid","label":"\\udc00"}',
            b'{"type":"session_info","id":"\\ud800","parentId":"x2","name":"\\udc00 \xff"}',
            text_line(entry("x3", "m1", "context_edit", targetId="m1", replacement=None)),
            text_line(entry("x4", "m1", "model_change", provider=1e300, modelId=2**80)),
            text_line(entry("x5", None, "leaf", targetId="m1")),
            text_line(header()),
        ]
    ),
)


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    """A session of ordinary and of wild lines, the last one perhaps without its end."""
    lines = [text_line(one) for one in draw(pi_entries(most=6))]
    for line in draw(st.lists(WILD_LINES, max_size=6)):
        lines.insert(draw(st.integers(0, len(lines))), line)
    content = b"".join(line + b"\n" for line in lines)
    return text_of_file(header()) + content[: max(0, len(content) - draw(st.integers(0, 12)))]


@given(contents(), contents())
@settings(deadline=None, max_examples=150)
def test_any_session_and_any_growth_is_the_same_by_its_index(content: bytes, more: bytes) -> None:
    more = more.partition(b"\n")[2]
    with TemporaryDirectory() as name:
        path = write(Path(name), content)
        with opened_again(path) as file:
            assert picture(file) == picture_of(path)
            indexes = saved_indexes(path.parent)
            with path.open("ab") as appended:
                appended.write(more)
            assert picture_of(path, indexes) == picture_of(path)


LOST = b'{"type":"message","id":"lost","parentId":null,"mess'
MYSTERY = {"type": "mystery", "parentId": None}


@pytest.mark.parametrize(
    ("lines", "more"),
    [
        pytest.param([LOST], [user("kid", "lost")], id="a lost parent"),
        pytest.param([user("kid", "lost")], [LOST], id="a parent lost later"),
        pytest.param([LOST, user("kid", "lost")], [user("c")], id="after a placeholder"),
        pytest.param([{**MYSTERY, "id": "a"}], [{**MYSTERY, "id": "b"}], id="unknown again"),
        pytest.param([user("kid", "late")], [user("late")], id="a parent that came later"),
        pytest.param([user("a")], [user("a", None, "again")], id="an id used again"),
    ],
)
def test_what_came_since_is_read_with_what_was_before_in_mind(
    tmp_path: Path, lines: list[Entry | bytes], more: list[Entry | bytes]
) -> None:
    path = write(tmp_path, text_of_file(header(), *lines))
    save(path, saved_indexes(tmp_path))
    with path.open("ab") as appended:
        appended.write(text_of_file(*more))
    assert picture_of(path, saved_indexes(tmp_path)) == picture_of(path)


def is_no_parent_of_itself(one: Entry) -> bool:
    return bool(one["id"] != one["parentId"])


@given(
    pi_entries(most=8).filter(lambda made: all(map(is_no_parent_of_itself, made))),
    st.integers(0, 8),
    st.integers(0, 8),
)
@settings(deadline=None, max_examples=60)
def test_a_session_open_by_its_index_grows_as_any(
    entries: list[Entry], first: int, second: int
) -> None:
    first, second = sorted((min(first, len(entries)), min(second, len(entries))))
    with TemporaryDirectory() as name:
        path = write(Path(name), text_of_file(header(), *entries[:first]))
        save(path, saved_indexes(path.parent))
        with path.open("ab") as appended:
            appended.write(b"".join(text_line(one) + b"\n" for one in entries[first:second]))
        with opened(path, indexes=saved_indexes(path.parent)) as file:
            assert file.indexed > 0  # what comes in order is growth, and is not read anew
            with path.open("ab") as appended:
                appended.write(b"".join(text_line(one) + b"\n" for one in entries[second:]))
            batch = file.read_tail()
            if batch is not None:
                assert file.tree.grows_by(batch.columns)
                for at in range(len(batch.columns)):
                    file.tree.append_found(batch.columns, at)
            file.tree.place_leaf()
            assert picture(file) == picture_of(path)


# --- sessions that changed -------------------------------------------------------------------


@given(contents(), st.data())
@settings(deadline=None, max_examples=100)
def test_a_session_that_was_changed_in_any_way_is_read(content: bytes, data: st.DataObject) -> None:
    with TemporaryDirectory() as name:
        path = write(Path(name), content)
        indexes = saved_indexes(path.parent)
        save(path, indexes)
        before = path.stat().st_mtime_ns
        match data.draw(st.sampled_from(["overwritten", "cut", "replaced", "touched"])):
            case "overwritten":
                at = data.draw(st.integers(0, len(content) - 1))
                with path.open("r+b") as file:
                    file.seek(at)
                    file.write(data.draw(st.binary(min_size=1, max_size=3))[: len(content) - at])
            case "cut":
                os.truncate(path, data.draw(st.integers(0, len(content) - 1)))
            case "replaced":
                other = write(path.parent, data.draw(contents()), "other")
                os.replace(other, path)
            case "touched":
                os.utime(path, ns=(0, before))  # with the time that it had
        if path.stat().st_mtime_ns != before:
            let_time_pass(path, before)
        else:
            let_status_pass(path)
        assert outcome(path, indexes) == outcome(path, None)


def let_status_pass(path: Path) -> None:
    """The same where the change left the file's own time as it was."""
    times = path.stat()
    while path.stat().st_ctime_ns <= times.st_ctime_ns:
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def outcome(path: Path, indexes: SavedIndexes | None) -> object:
    try:
        return picture_of(path, indexes)
    except BranchlineError as error:
        return type(error)


def test_an_overwritten_session_that_also_grew_is_found_out_by_its_edges(tmp_path: Path) -> None:
    path, indexes = write(tmp_path, ORDINARY), saved_indexes(tmp_path)
    save(path, indexes)
    path.write_bytes(ORDINARY.replace(b"the question", b"THE QUESTION") + text_line(user("z", "c")))
    assert not is_used(path, indexes)


LONG = [user(f"f{number}", None, "x" * 200) for number in range(60)]
"""A session whose middle is far from its edges."""


def test_a_changed_middle_is_found_out_though_the_file_got_its_old_time_back(
    tmp_path: Path,
) -> None:
    path, indexes = write(tmp_path, text_of_file(header(), *LONG)), saved_indexes(tmp_path)
    save(path, indexes)
    assert is_used(path, indexes)
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b'"id":"f30"', b'"id":"g30"'))
    while path.stat().st_ctime_ns <= before.st_ctime_ns:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not is_used(path, indexes)


def test_another_file_with_the_same_edges_is_found_out(tmp_path: Path) -> None:
    path, indexes = write(tmp_path, text_of_file(header(), *LONG)), saved_indexes(tmp_path)
    save(path, indexes)
    content = path.read_bytes().replace(b'"id":"f30"', b'"id":"g30"')
    os.replace(write(tmp_path, content + text_line(user("z")) + b"\n", "other"), path)
    assert not is_used(path, indexes)


def test_an_index_with_wrong_places_is_found_out_by_whoever_reads_there(tmp_path: Path) -> None:
    # The middle was overwritten, and the file has grown: neither time nor edges tell.
    path, indexes = write(tmp_path, text_of_file(header(), *LONG)), saved_indexes(tmp_path)
    save(path, indexes)
    content = path.read_bytes().replace(b'"id":"f30"', b'"id":"g30"')
    path.write_bytes(content + text_line(user("z")) + b"\n")
    with opened(path, indexes=indexes) as file:
        assert file.indexed > 0
        assert file.entry(29)["id"] == "f29"
        with pytest.raises(FileChanged):
            file.entry(30)
    indexes.discard(path)
    with opened(path, indexes=indexes) as file:
        assert file.entry(30)["id"] == "g30"


def test_times_prove_nothing_where_the_file_was_written_to_just_now(tmp_path: Path) -> None:
    path, indexes = write(tmp_path, ORDINARY), saved_indexes(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(saved_index, "UNSETTLED_NS", 10**18)
        save(path, indexes)
    assert not is_used(path, indexes)
    with path.open("ab") as appended:
        appended.write(text_line(user("d", "c")) + b"\n")
    assert is_used(path, indexes)


def test_a_session_that_grew_by_much_is_read_quickly_instead(tmp_path: Path) -> None:
    path, indexes = write(tmp_path, ORDINARY), saved_indexes(tmp_path)
    save(path, indexes)
    with path.open("ab") as appended:
        appended.write(text_line(user("d", "c", "x" * 1000)) + b"\n")
    for most, used in ((100, False), (2000, True)):
        with opened(path, indexes=indexes, verify_up_to=most) as file:
            assert (file.indexed > 0) == file.verified == used


# --- indexes that are not as they were -------------------------------------------------------


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session with a saved index. It stays as it is; its index need not."""
    folder = tmp_path_factory.mktemp("session")
    path = write(folder, ORDINARY)
    save(path, saved_indexes(folder))
    return path


@given(st.data())
@settings(deadline=None, max_examples=300)
def test_any_flipped_byte_of_an_index_is_found_out(session: Path, data: st.DataObject) -> None:
    (file,) = index_files(session.parent)
    whole = file.read_bytes()
    flipped = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        flipped[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    if flipped == whole:
        return
    file.write_bytes(flipped)
    try:
        assert not is_used(session, saved_indexes(session.parent))
        assert picture_of(session, saved_indexes(session.parent)) == picture_of(session)
    finally:
        file.write_bytes(whole)
    assert is_used(session, saved_indexes(session.parent))


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_an_index_cut_or_extended_anywhere_is_not_used(session: Path, data: st.DataObject) -> None:
    (file,) = index_files(session.parent)
    whole = file.read_bytes()
    cut = data.draw(st.integers(0, len(whole) - 1))
    file.write_bytes(data.draw(st.sampled_from([whole[:cut], whole + whole[cut:]])))
    try:
        assert not is_used(session, saved_indexes(session.parent))
    finally:
        file.write_bytes(whole)


def test_an_index_of_another_version_is_not_used(session: Path) -> None:
    (file,) = index_files(session.parent)
    whole = file.read_bytes()
    mark, rest = whole.split(b"\n", 1)
    file.write_bytes(mark.replace(b"index 1", b"index 0") + b"\n" + rest)
    assert not is_used(session, saved_indexes(session.parent))
    file.write_bytes(whole)


def test_the_index_of_another_session_is_not_used(tmp_path: Path) -> None:
    indexes = saved_indexes(tmp_path)
    paths = [write(tmp_path, ORDINARY, name) for name in ("one", "two")]
    for path in paths:
        save(path, indexes)
    first, second = index_files(tmp_path)
    for copied, over in ((first, second), (second, first)):
        kept = over.read_bytes()
        over.write_bytes(copied.read_bytes())
        assert sorted(is_used(path, indexes) for path in paths) == [False, True]
        over.write_bytes(kept)


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Path, SavedIndexes]:
    """A session with a saved index of its own."""
    path, indexes = write(tmp_path, ORDINARY), saved_indexes(tmp_path)
    save(path, indexes)
    assert is_used(path, indexes)
    return path, indexes


def test_an_index_that_is_not_the_users_alone_is_refused_and_made_anew(
    saved: tuple[Path, SavedIndexes],
) -> None:
    path, indexes = saved
    (file,) = index_files(path.parent)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    file.chmod(0o640)
    assert not is_used(path, indexes)
    save(path, indexes)
    assert is_used(path, indexes)
    if os.geteuid() == 0:
        os.chown(file, 12345, 12345)
        assert not is_used(path, indexes)
        save(path, indexes)
        assert is_used(path, indexes)


def test_a_link_in_place_of_an_index_is_not_followed(saved: tuple[Path, SavedIndexes]) -> None:
    path, indexes = saved
    (file,) = index_files(path.parent)
    elsewhere = file.rename(path.parent / "elsewhere")
    file.symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    assert not is_used(path, indexes)
    save(path, indexes)
    assert is_used(path, indexes)
    assert not file.is_symlink()
    assert elsewhere.read_bytes() == before


def test_what_is_no_file_in_place_of_an_index_is_in_nobodys_way(
    saved: tuple[Path, SavedIndexes],
) -> None:
    path, indexes = saved
    (file,) = index_files(path.parent)
    file.unlink()
    os.mkfifo(file, 0o600)
    assert not is_used(path, indexes)
    file.unlink()
    file.mkdir()
    assert not is_used(path, indexes)
    save(path, indexes)
    assert picture_of(path, indexes) == picture_of(path)


@pytest.mark.parametrize("mode", [0o750, 0o703])
def test_a_folder_that_others_can_enter_is_not_used(
    saved: tuple[Path, SavedIndexes], caplog: pytest.LogCaptureFixture, mode: int
) -> None:
    path, indexes = saved
    (path.parent / "indexes").chmod(mode)
    with caplog.at_level(logging.WARNING):
        assert not is_used(path, indexes)
        (file,) = index_files(path.parent)
        written = file.stat().st_mtime_ns
        save(path, indexes)
        indexes.discard(path)
    assert file.stat().st_mtime_ns == written
    assert [one.getMessage() for one in caplog.records] == [
        "Saved indexes cannot be used: their folder is not the user's alone"
    ]


def test_a_link_in_place_of_the_folder_is_not_followed(saved: tuple[Path, SavedIndexes]) -> None:
    path, indexes = saved
    folder = path.parent / "indexes"
    folder.rename(path.parent / "elsewhere")
    folder.symlink_to(path.parent / "elsewhere")
    assert not is_used(path, indexes)


# --- saving ----------------------------------------------------------------------------------


def test_what_cannot_be_saved_is_said_once_and_harms_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, indexes = write(tmp_path, ORDINARY), saved_indexes(tmp_path)
    (tmp_path / "indexes").write_bytes(b"a file where the folder should be")
    with caplog.at_level(logging.WARNING):
        save(path, indexes)
        save(path, indexes)
    assert len(caplog.records) == 1
    assert picture_of(path, indexes) == picture_of(path)


def test_a_full_disk_leaves_the_old_index_and_nothing_else(
    saved: tuple[Path, SavedIndexes], caplog: pytest.LogCaptureFixture
) -> None:
    path, indexes = saved
    (file,) = index_files(path.parent)
    before = file.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))  # as a full disk: less is written
    try:
        with caplog.at_level(logging.WARNING):
            save(path, indexes)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    name = errno.errorcode[errno.EFBIG]
    assert [one.getMessage() for one in caplog.records] == [
        f"Saved indexes cannot be saved: {name}"
    ]
    assert [one.name for one in file.parent.iterdir()] == [file.name]
    assert file.read_bytes() == before
    assert is_used(path, indexes)


def test_old_versions_and_small_sessions_get_no_index(tmp_path: Path) -> None:
    path = write(tmp_path, ORDINARY)
    save(path, SavedIndexes(tmp_path / "indexes"))
    save(write(tmp_path, text_of_file(header(2), user("a")), "two"), saved_indexes(tmp_path))
    assert index_files(tmp_path) == []
    save(path, SavedIndexes(tmp_path / "indexes", least_bytes=len(ORDINARY)))
    assert len(index_files(tmp_path)) == 1


@pytest.mark.parametrize(
    ("size", "indexed", "wanted"),
    [
        (999, 0, False),
        (1000, 0, True),
        (2000, 1001, False),
        (2001, 1001, True),
        (64_000 + 1999, 64_000, False),
        (64_000 + 2000, 64_000, True),
    ],
)
def test_a_new_index_is_wanted_when_the_old_one_is_outgrown(
    tmp_path: Path, size: int, indexed: int, wanted: bool
) -> None:
    indexes = SavedIndexes(tmp_path, least_bytes=1000)
    with opened(write(tmp_path, ORDINARY)) as file:
        assert indexes.wanted(file.header, size, indexed) == wanted


def test_the_texts_of_a_session_are_not_in_its_index(saved: tuple[Path, SavedIndexes]) -> None:
    path, _ = saved
    (file,) = index_files(path.parent)
    content = file.read_bytes()
    for text in (b"the question", b"the answer", b"the edited answer"):
        assert text in path.read_bytes()
        assert text not in content


def test_a_discarded_index_is_gone(saved: tuple[Path, SavedIndexes]) -> None:
    path, indexes = saved
    indexes.discard(path)
    indexes.discard(path)
    assert index_files(path.parent) == []


def test_the_indexes_used_longest_ago_make_room_for_new_ones(tmp_path: Path) -> None:
    indexes = saved_indexes(tmp_path)
    paths = [write(tmp_path, ORDINARY, f"{number}.jsonl") for number in range(4)]
    for path in paths:
        save(path, indexes)
    size = index_files(tmp_path)[0].stat().st_size
    for file in index_files(tmp_path):
        os.utime(file, (1, 1))
    assert is_used(paths[2], indexes)  # which is now the one used last
    for suffix, age in (("old", 1), ("new", None)):
        (tmp_path / "indexes" / f"{suffix}.part").touch()
        if age is not None:
            os.utime(tmp_path / "indexes" / f"{suffix}.part", (age, age))
    new = write(tmp_path, ORDINARY, "new.jsonl")
    save(new, SavedIndexes(tmp_path / "indexes", least_bytes=0, most_bytes=2 * size + size // 2))
    assert [is_used(path, indexes) for path in (*paths, new)] == [False, False, True, False, True]
    assert [one.name for one in (tmp_path / "indexes").glob("*.part")] == ["new.part"]


def test_an_index_larger_than_all_may_be_is_not_saved(tmp_path: Path) -> None:
    save(write(tmp_path, ORDINARY), SavedIndexes(tmp_path / "i", least_bytes=0, most_bytes=100))
    assert not (tmp_path / "i").exists()
