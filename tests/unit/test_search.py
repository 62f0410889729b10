"""Which entries a query finds in an index of real session files, in which order, page by page."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchline.catalogue import search
from branchline.catalogue.indexing import status_key
from branchline.catalogue.query import Query
from branchline.catalogue.words import RESULT_CHARACTERS, separated, words
from branchline.errors import InvalidParams
from branchline.log.info import SessionInfo
from branchline.settings import SessionsRoot
from tests.unit.catalogues import Catalogue
from tests.unit.helpers import entry, message
from tests.unit.session_files import assistant, user

LATER = "2026-05-01T00:00:00.000Z"


def no_words(_beginning: str) -> tuple[str, ...]:
    """Of an index that is not asked for its words."""
    return ()


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    return Catalogue(tmp_path)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": f"call-{name}", "name": name, "arguments": arguments}


def text(said: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": said}]


@pytest.fixture
def full(catalogue: Catalogue) -> Catalogue:
    """Three sessions, one of them in Chinese."""
    catalogue.write(
        "one.jsonl",
        {**user("a", None, "make the parser fast"), "timestamp": LATER},
        {
            **assistant("b", "a", [*text("reading"), call("read", path="src/parser.py")]),
            "timestamp": "2026-04-02T00:00:00.000Z",
        },
        message("c", "b", "toolResult", text("def parse_header(line): ..."), toolName="read"),
        assistant("d", "c", [*text("done"), call("edit", path="src/café.py", edits=[])]),
        entry("l", "d", "label", targetId="a", label="Milestone"),
        entry("n", "l", "session_info", name="Fast headers"),
        id="one",
        cwd="/w/project",
    )
    hidden = {"role": "bashExecution", "command": "cat k", "output": "hunter"}
    catalogue.write(
        "two.jsonl",
        user("a", None, "解析会话文件的标题"),
        {**user("x", "a"), "message": {**hidden, "excludeFromContext": True}},
        {**user("y", "x"), "message": {**hidden, "output": "gatherer"}},
        message("s", "y", "system", "gatherer of rules"),
        assistant("t", "s", [{"type": "thinking", "thinking": "gatherer"}]),
        id="two",
        cwd="/w/project/sub",
    )
    catalogue.write(
        "three.jsonl",
        {**user("a", None, "the parser of another project"), "timestamp": LATER},
        entry("b", "a", "compaction", summary="we moved cafe\u0301 on", firstKeptEntryId="a"),
        id="three",
    )
    catalogue.take_in()
    return catalogue


@pytest.mark.parametrize(
    ("query", "hits"),
    [
        ("parser", ["one a", "one b", "three a"]),
        ("PARSER fast", ["one a"]),
        ('"the parser"', ["one a", "three a"]),
        ('"parser the"', []),
        ("pars", []),
        ("pars*", ["one a", "one b", "one c", "three a"]),
        ("PARS*", ["one a", "one b", "one c", "three a"]),
        ("caf*", ["one d", "three b"]),
        ("CAFÉ*", ["one d", "three b"]),
        ("zzz*", []),
        ("parser -anoth*", ["one a", "one b"]),
        ('"the pars"*', ["one a", "three a"]),
        ("parser -another", ["one a", "one b"]),
        ("parse_header", ["one c"]),
        ("解析", ["two a"]),
        ("会话文件", ["two a"]),
        ("文会", []),
        ("cafe", ["one d", "three b"]),
        ("CAFÉ", ["one d", "three b"]),
        ("role:user parser", ["one a", "three a"]),
        ("role:assistant parser", ["one b"]),
        ("role:tool parse_header", ["one c"]),
        ("tool:read", ["one b", "one c"]),
        ("tool:edit", ["one d"]),
        ("file:src/parser.py", ["one b"]),
        ('file:"parser.py"', ["one b"]),
        ("file:other.py", []),
        ("file:parser", ["one b"]),
        ("file:pars*", ["one b"]),
        ("file:src/pars*", ["one b"]),
        ("file:src", ["one b", "one d"]),
        ("src -file:parser.py", ["one d"]),
        ("file:CAFE.py", ["one d"]),
        ("file:fast", []),
        ("milestone", ["one a"]),
        ("headers", ["one n"]),
        ("before:2026-04-15 parser", ["one b"]),
        ("before:2026-04 parser", []),
        ("after:2026-04-15 parser", ["one a", "three a"]),
        ("after:2027 parser", []),
        ("in:sub 解析", ["two a"]),
        ('in:"fast headers" parser', ["one a", "one b"]),
        ("hunter", []),
        ("gatherer", ["two y"]),
        ("-gatherer cat", []),
        ("role:summary moved", ["three b"]),
        ("tool:bash", ["two y"]),
        ("nowhere:parser", []),
        ("std::nothing", []),
    ],
)
def test_what_a_query_finds(full: Catalogue, query: str, hits: list[str]) -> None:
    assert full.found(query) == hits


def test_a_beginning_is_looked_for_word_by_word(
    full: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which gives what the index itself gives; and so it does where the words are too many."""
    said = "Größe größer GRÖSSE parse2 parse_3 9lives éclair eclairs ﬁnd x\u0301y par\ue000s Ⅷ"
    calls = [call("read", path=path) for path in ("src/Größe.py", "src/x\u0301/parse 2.py")]
    full.write("four.jsonl", user("a", None, said), assistant("b", "a", calls), id="four")
    full.take_in()
    with full.database.use() as connection:
        assert search.words_from(connection, "pars") == ["parse", "parse2", "parser"]
        (places,) = connection.execute("select count(*) from vocabulary").fetchone()
        listed = connection.execute("select distinct term from vocabulary").fetchall()
        assert search.words_from(connection, "") == sorted(word for (word,) in listed)
    assert places > len(listed) > 60
    words_said = {*said.split(), *(word for (word,) in listed)}
    queries = [
        f"{column}{word[:length]}*"
        for column in ("", "file:", "tool:")
        for word in words_said
        for length in range(1, len(word) + 1)
        if words(word[:length])
    ]
    found = [full.found(query) for query in queries]
    monkeypatch.setattr(search, "_WORDS", 1)
    assert [full.found(query) for query in queries] == found
    assert len([one for one in found if one]) > 200


def test_what_is_asked_for_word_by_word(full: Catalogue) -> None:
    asked: list[str] = []

    def words_from(beginning: str) -> list[str]:
        asked.append(beginning)
        return ["one", "other"]

    query = Query.read('PARS* -file:Src* café* "two words"* plain')
    assert query.expression(words_from) == (
        'text : ("one" OR "other") AND text : ("café*" *) AND text : ("two words" *)'
        ' AND text : ("plain") NOT files : ("one" OR "other")'
    )
    assert (asked[0], asked[1][1:]) == ("pars", "src")


def test_words_of_paths_are_others_than_those_of_texts(full: Catalogue) -> None:
    with full.database.use() as connection:
        columns = "select distinct col from vocabulary where term = ?"
        assert connection.execute(columns, ("src",)).fetchall() == [("text",)]


def test_a_hit_shows_where_the_words_stand(full: Catalogue) -> None:
    hit = full.hits("cafe role:assistant")[0]
    assert (hit.role, hit.entry_id, hit.timestamp) == ("assistant", "d", "2026-01-02T03:04:05.678Z")
    assert [hit.snippet[start:end] for start, end in hit.matches] == ["café"]


@pytest.mark.parametrize(
    ("said", "query", "marked"),
    [
        ("x" * 500 + " the needle here", "needle", ["needle"]),
        ("🚀🚀 go to the moon", "moon go", ["go", "moon"]),
        ("cafe\u0301 and café", "café", ["cafe\u0301", "café"]),
        ("一个解析器，解析文件", "解析", ["解析", "解析"]),
        ("foo_bar foobar", "foo_bar", ["foo_bar"]),
        ("\x1b[31mred\x1b[0m \u202ered", "red", ["red", "red"]),
    ],
)
def test_matches_are_counted_in_utf16(
    catalogue: Catalogue, said: str, query: str, marked: list[str]
) -> None:
    catalogue.write("s.jsonl", user("a", None, said))
    catalogue.take_in()
    (hit,) = catalogue.hits(query)
    units = hit.snippet.encode("utf-16-le")
    assert [units[2 * start : 2 * end].decode("utf-16-le") for start, end in hit.matches] == marked
    assert "\x1b" not in hit.snippet


def test_of_a_tool_s_output_the_beginning_can_be_searched(catalogue: Catalogue) -> None:
    output = "first " + "x " * RESULT_CHARACTERS + " last"
    catalogue.write("s.jsonl", user("a"), message("b", "a", "toolResult", text(output)))
    catalogue.take_in()
    assert (catalogue.found("first"), catalogue.found("last")) == (["s.jsonl b"], [])


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        "->",
        "before:2026",
        "before:yesterday x",
        "after:2026-13 x",
        "role:king x",
        "x" * 1001,
    ],
)
def test_what_is_no_query(query: str) -> None:
    with pytest.raises(InvalidParams):
        Query.read(query)


@given(st.text(max_size=60))
def test_any_text_is_a_query_or_refused(text: str) -> None:
    try:
        query = Query.read(text)
    except InvalidParams:
        return
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create virtual table words using fts5(text, role, tools, files)")
        connection.execute("select * from words where words match ?", (query.expression(no_words),))


@given(st.text(alphabet=st.characters(codec="utf-8", categories=["L", "N", "Zs"]), min_size=1))
def test_a_text_is_found_by_each_of_its_own_words(said: str) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(
            "create virtual table words using"
            " fts5(text, role, tools, files, tokenize='unicode61 remove_diacritics 2')"
        )
        connection.execute("insert into words(text) values (?)", (separated(said),))
        for word in filter(words, said.split()):
            query = Query.read(f'"{word}"')
            match = connection.execute(
                "select 1 from words where words match ?", (query.expression(no_words),)
            )
            assert match.fetchone(), word


def test_pages_hold_every_hit_once(catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("branchline.catalogue.search._RANKED", 7)
    for number in range(5):
        records = [user(f"{number}-{at}", None, f"word {at}") for at in range(6)]
        catalogue.write(f"{number}.jsonl", *records)
    catalogue.take_in()
    seen: list[str] = []
    cursor = None
    while True:
        page = catalogue.searcher.search(Query.read("word"), lambda _: True, cursor, 4, None)
        seen += [hit.entry_id for hit in page.hits]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert sorted(seen) == sorted(f"{number}-{at}" for number in range(5) for at in range(6))


@pytest.mark.parametrize("cursor", ["x", "", "MQ==", "LTEgMA==", "MSAtMQ=="])
def test_a_cursor_that_no_page_gave(full: Catalogue, cursor: str) -> None:
    with pytest.raises(InvalidParams, match="cursor"):
        full.searcher.search(Query.read("parser"), lambda _: True, cursor, 4, None)


def test_of_each_session_a_few(catalogue: Catalogue) -> None:
    for number in range(3):
        records = [user(f"{number}-{at}", None, f"word {at}") for at in range(60)]
        catalogue.write(f"{number}.jsonl", *records)
    catalogue.take_in()
    found = [hit.session["id"] for hit in catalogue.hits("word", per_session=2)]
    assert sorted(found) == sorted(2 * [f"{number}.jsonl" for number in range(3)])


def test_the_best_come_first(catalogue: Catalogue) -> None:
    def at(record: Any, day: int) -> Any:
        return {**record, "timestamp": f"2026-0{day}-01T00:00:00.000Z"}

    catalogue.write(
        "s.jsonl",
        at(message("result", None, "toolResult", text("word")), 5),
        at(user("old", None, "word"), 1),
        at(user("long", None, "word " + "x" * 20_000), 5),
        at(user("short", None, "word"), 5),
        at(assistant("answer", None, text("word")), 5),
    )
    catalogue.take_in()
    assert [hit.entry_id for hit in catalogue.hits("word")] == [
        "short",
        "long",
        "answer",
        "result",
        "old",
    ]


def test_only_wanted_sessions_have_hits(full: Catalogue) -> None:
    page = full.searcher.search(
        Query.read("parser"), lambda info: info["id"] == "three", None, 50, None
    )
    assert [hit.session["id"] for hit in page.hits] == ["three"]


def test_a_file_that_is_another_by_now_gives_no_hit(full: Catalogue) -> None:
    path = full.folder / "three.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"id":"a"', b'"id":"z"'))
    assert full.found("another") == []
    (full.folder / "one.jsonl").unlink()
    assert full.found("parser") == []


def test_the_news_are_the_files_that_are_not_indexed_as_they_are(full: Catalogue) -> None:
    searcher = Catalogue(full.folder).searcher  # one that does not write itself
    roots = [SessionsRoot(full.folder, flat=True)]
    assert searcher.news(roots) == {}
    path = full.folder / "one.jsonl"
    with path.open("ab") as file:
        file.write(b"\n")
    new = full.write("new.jsonl", user("a"))
    (full.folder / "two.jsonl").unlink()
    (full.folder / "folder.jsonl").mkdir()
    (full.folder / "linked.jsonl").symlink_to(new)
    linked = str(full.folder / "linked.jsonl")
    news = searcher.news(roots)
    assert news.keys() == {str(path), str(new), linked}
    assert news[str(new)] == news[linked] == status_key(new.stat())
    full.take_in()
    assert searcher.news(roots) == {}


def test_a_search_that_nobody_waits_for_does_nothing(full: Catalogue) -> None:
    asked: list[str] = []

    def wanted(info: SessionInfo) -> bool:
        asked.append(info["id"])
        return True

    query = Query.read("parser")
    page = full.searcher.search(query, wanted, None, 50, None, is_ended=lambda: True)
    assert (page.hits, page.next_cursor, asked) == ([], None, [])
    assert full.searcher.search(query, wanted, None, 50, None).hits
    assert sorted(asked) == ["one", "three", "two"]
