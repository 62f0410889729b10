"""From a leaf to the model's context: what is shown, in which order, how large it is."""

from typing import Any

import pytest

from branchline.entries import Entry, move_record
from branchline.tree.context import Context, build_context, context_tokens
from branchline.tree.context_states import context_states
from branchline.tree.index import NONE, Tree
from branchline.tree.plan import destination, editor_content, switch_plan
from branchline.tree.system import fold_system, system_text
from tests.unit.helpers import TESTS, Bodies, chain, clean_cases, entry, index, load, message

CASES = clean_cases()
CONTEXT_WARNINGS = {"first-kept-missing", "edit-target-missing", "orphan-tool-result"}


def at(entries: list[Entry], leaf_id: str | None = None, pinned_tokens: int = 0) -> Context:
    tree, bodies = index(entries)
    return build_context(tree, bodies, ordinal(tree, leaf_id or tree.ids[-1]), pinned_tokens)


def ordinal(tree: Tree, entry_id: str) -> int:
    found = tree.find(entry_id)
    assert found is not None
    return found


def source_ids(entries: list[Entry], pinned_tokens: int = 0) -> list[str]:
    return [entries[source]["id"] for source in at(entries, None, pinned_tokens).sources]


def states(entries: list[Entry], pinned_tokens: int = 0) -> dict[str, str]:
    tree, bodies = index(entries)
    found = context_states(tree, tree.leaf, pinned_tokens, bodies)
    asked = {at: found.get(at) for at in range(len(tree))}
    assert {at: state for at, state in asked.items() if state is not None} == found
    return {tree.ids[at]: state for at, state in found.items()}


def user(entry_id: str, text: str = "question") -> Entry:
    return message(entry_id, None, "user", text)


def assistant(entry_id: str, text: str = "answer", **fields: Any) -> Entry:
    return message(entry_id, None, "assistant", [{"type": "text", "text": text}], **fields)


def compaction(entry_id: str, first_kept_id: str, **fields: Any) -> Entry:
    return entry(
        entry_id, None, "compaction", summary="summary", firstKeptEntryId=first_kept_id, **fields
    )


def branch_summary(entry_id: str, summary: str) -> Entry:
    return entry(entry_id, None, "branch_summary", summary=summary, fromId="root")


def edit(entry_id: str, target_id: str, replacement: Any) -> Entry:
    return entry(entry_id, None, "context_edit", targetId=target_id, replacement=replacement)


def used(tokens: int) -> Entry:
    return {"totalTokens": tokens}


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    wanted = CASES[name]
    tree, bodies = load(TESTS / "cases" / f"{name}.jsonl")
    assert tree.id_of(tree.leaf) == wanted["leaf"]
    context = build_context(tree, bodies, tree.leaf, 4096)
    assert [tree.ids[source] for source in context.sources] == wanted["ctx"]
    assert {problem.code for problem in context.problems} == (
        CONTEXT_WARNINGS & set(wanted["warnings"])
    )
    assert wanted.get("tokens_min", 0) <= context.tokens <= wanted.get("tokens_max", 10**6)
    if "sections" in wanted:
        assert context.system is not None
        assert list(context.system["sections"]) == wanted["sections"]
        assert [tool["name"] for tool in context.system["toolsAdded"]] == wanted["tools"]
        assert context.messages[0] == context.system


def test_system_prompt_before_and_after_a_checkpoint_is_the_same() -> None:
    tree, bodies = load(TESTS / "cases" / "51-system-sections.jsonl")
    before = build_context(tree, bodies, ordinal(tree, "a0000006"), 0).system
    after = build_context(tree, bodies, ordinal(tree, "a0000008"), 0).system
    assert before is not None
    assert after is not None
    del before["timestamp"], after["timestamp"]
    assert before == after
    assert system_text(after) == "extra rule\n\nbe brief\n\n/w\n\ns1"


def test_before_the_first_entry_there_is_nothing() -> None:
    tree, bodies = index([user("u")])
    context = build_context(tree, bodies, NONE, 4096)
    assert (context.path, context.messages, context.tokens) == ([], [], 0)
    assert (context.model, context.thinking_level, context.active_tools) == (None, "off", None)


def test_settings_are_the_last_ones_on_the_path() -> None:
    context = at(
        chain(
            entry("m", None, "model_change", provider="p", modelId="first"),
            entry("t1", None, "thinking_level_change", thinkingLevel="low"),
            entry("t2", None, "thinking_level_change", thinkingLevel="high"),
            entry("a", None, "active_tools_change", activeToolNames=["read"]),
            assistant("x", provider="p", model="second"),
            assistant("y"),
            entry("bad", None, "thinking_level_change", thinkingLevel=3),
        )
    )
    assert context.model == {"provider": "p", "modelId": "second"}
    assert context.thinking_level == "high"
    assert context.active_tools == ["read"]


def test_entries_are_shown_as_messages() -> None:
    context = at(
        chain(
            branch_summary("b", "learnt"),
            entry("c", None, "custom_message", customType="note", content="hi", display=False),
            message("u", None, "user", None, timestamp=5),
            entry("k", None, "compaction", summary="s", firstKeptEntryId="b", tokensBefore=9),
        )
    )
    time = 1767323045678
    assert context.messages == [
        {"role": "compactionSummary", "summary": "s", "tokensBefore": 9, "timestamp": time},
        {"role": "branchSummary", "summary": "learnt", "fromId": "root", "timestamp": time},
        {
            "role": "custom",
            "customType": "note",
            "content": "hi",
            "display": False,
            "timestamp": time,
        },
        {"role": "user", "content": [], "timestamp": 5},
    ]


class TestCompaction:
    def test_only_what_it_keeps_is_read(self) -> None:
        entries = chain(
            *(user(f"u{number}") for number in range(50)),
            assistant("kept", provider="p", model="m"),
            compaction("c", "kept"),
            user("next"),
        )
        tree, bodies = index(entries)
        build_context(tree, bodies, tree.leaf, 4096)
        assert {tree.ids[read] for read in bodies.read} == {"kept", "c", "next"}

    def test_the_newest_counts_and_older_ones_show_nothing(self) -> None:
        entries = chain(user("a"), compaction("one", "a"), user("b"), compaction("two", "a"))
        assert source_ids(entries) == ["two", "a", "b"]
        assert states(entries) == {"a": "in", "one": "covered", "b": "in", "two": "in"}

    def test_an_entry_after_it_is_no_first_kept_entry(self) -> None:
        entries = chain(user("a"), compaction("c", "b"), user("b"))
        context = at(entries)
        assert [entries[source]["id"] for source in context.sources] == ["c", "b"]
        assert [problem.code for problem in context.problems] == ["first-kept-missing"]

    @pytest.mark.parametrize("first_kept_id", [None, 7, ["a"], ""])
    def test_a_first_kept_id_that_is_none_keeps_nothing(self, first_kept_id: Any) -> None:
        context = at(chain(user("a"), compaction("c", first_kept_id), user("b")))
        assert context.sources == [1, 2]
        assert [problem.code for problem in context.problems] == ["first-kept-missing"]

    def test_on_another_branch_it_plays_no_part(self) -> None:
        entries = [
            user("a"),
            {**compaction("c", "c"), "parentId": "a"},
            {**user("b"), "parentId": "a"},
        ]
        assert source_ids(entries) == ["a", "b"]

    def test_system_messages_it_keeps_are_not_applied_again(self) -> None:
        checkpoint = {"role": "system", "content": "checkpoint"}
        entries = chain(
            message("s1", None, "system", "first"),
            user("a"),
            message("s2", None, "system", "second"),
            compaction("c", "a", systemMessage=checkpoint),
            message("s3", None, "system", "third"),
        )
        system = at(entries).system
        assert system is not None
        assert system["content"] == "checkpoint\n\nthird"
        before = at(entries, "s2").system
        assert before is not None
        assert before["content"] == "first\n\nsecond"


class TestPinnedBranchSummaries:
    ENTRIES = (
        branch_summary("b1", "1" * 40),
        branch_summary("b2", "2" * 20),
        branch_summary("blank", " \n"),
        user("a"),
        branch_summary("b3", "3" * 40),
        compaction("c", "c"),
        user("next"),
    )

    @pytest.mark.parametrize(
        ("pinned_tokens", "pinned"),
        [
            (0, []),
            (9, []),
            (10, ["b3"]),
            (14, ["b3"]),
            (15, ["b2", "b3"]),
            (24, ["b2", "b3"]),
            (25, ["b1", "b2", "b3"]),
        ],
    )
    def test_the_newest_stay_whole_while_they_fit(
        self, pinned_tokens: int, pinned: list[str]
    ) -> None:
        entries = chain(*self.ENTRIES)
        assert source_ids(entries, pinned_tokens) == ["c", *pinned, "next"]
        wanted = dict.fromkeys(["b1", "b2", "a", "b3"], "covered") | {"c": "in", "next": "in"}
        assert states(entries, pinned_tokens) == wanted | dict.fromkeys(pinned, "in")

    def test_the_first_that_does_not_fit_ends_it(self) -> None:
        entries = chain(
            branch_summary("small", "1"),
            branch_summary("large", "2" * 400),
            branch_summary("new", "3"),
            compaction("c", "c"),
        )
        assert source_ids(entries, 50) == ["c", "new"]

    def test_one_in_the_kept_range_stays_in_its_place(self) -> None:
        entries = chain(user("a"), branch_summary("b", "kept"), user("z"), compaction("c", "b"))
        assert source_ids(entries, 4096) == ["c", "b", "z"]

    def test_they_count_among_the_tokens(self) -> None:
        entries = chain(*self.ENTRIES)
        assert at(entries, pinned_tokens=25).tokens == at(entries).tokens + 25


class TestContextEdits:
    def test_the_last_one_for_a_target_wins(self) -> None:
        entries = chain(
            user("a"), edit("e1", "a", None), edit("e2", "a", {"content": "x"}), user("b")
        )
        assert [shown["content"] for shown in at(entries).messages] == ["x", "question"]
        assert states(entries) == {"a": "replaced", "b": "in"}

    def test_an_omitted_entry_is_no_source(self) -> None:
        entries = chain(user("a"), user("b"), edit("e", "a", None))
        assert source_ids(entries) == ["b"]
        assert states(entries) == {"a": "omitted", "b": "in"}

    def test_a_text_becomes_a_block_where_blocks_are_held(self) -> None:
        entries = chain(assistant("a"), edit("e", "a", {"content": "short"}))
        assert at(entries).messages[0]["content"] == [{"type": "text", "text": "short"}]

    def test_a_custom_message_may_be_edited(self) -> None:
        custom = entry("c", None, "custom_message", customType="note", content="long")
        assert source_ids(chain(custom, edit("e", "c", None))) == []

    @pytest.mark.parametrize("replacement", ["text", 5, {}, {"content": None}, {"content": 5}])
    def test_a_malformed_one_does_nothing(self, replacement: Any) -> None:
        entries = chain(user("a"), edit("e", "a", replacement))
        assert at(entries).messages[0]["content"] == "question"

    def test_other_kinds_are_not_edited(self) -> None:
        shell = message("s", None, "bashExecution", None, command="ls", output="x")
        entries = chain(shell, branch_summary("b", "learnt"))
        assert source_ids(
            chain(*entries, edit("e1", "s", None), edit("e2", "b", {"content": "x"}))
        ) == ["s", "b"]

    def test_a_target_on_another_branch_is_named(self) -> None:
        entries = [
            user("a"),
            user("other"),
            {**edit("e", "other", None), "parentId": "a"},
        ]
        context = at(entries)
        assert [problem.code for problem in context.problems] == ["edit-target-missing"]
        assert context.problems[0].ordinal == 2

    def test_what_compaction_covers_stays_covered(self) -> None:
        entries = chain(user("a"), edit("e", "a", None), compaction("c", "c"))
        assert states(entries) == {"a": "covered", "c": "in"}


class TestTokens:
    def test_the_last_usage_and_what_follows(self) -> None:
        entries = chain(
            message("s", None, "system", "x" * 400),
            assistant("a1", usage=used(900)),
            assistant("a2", usage=used(1000)),
            user("u", "12345678"),
        )
        tree, bodies = index(entries)
        assert context_tokens(tree, bodies, tree.leaf, 0) == 1002
        assert bodies.read == {2}

    def test_a_system_message_after_the_last_usage_adds_its_own(self) -> None:
        entries = chain(assistant("a", usage=used(1000)), message("s", None, "system", "x" * 40))
        assert at(entries).tokens == 1010

    def test_a_blank_branch_summary_after_the_last_usage_adds_nothing(self) -> None:
        entries = chain(assistant("a", usage=used(1000)), branch_summary("b", " " * 40))
        assert at(entries).tokens == 1000

    def test_an_edit_or_compaction_makes_earlier_usage_stale(self) -> None:
        for late in (edit("e", "gone", None), compaction("c", "a")):
            entries = chain(assistant("a", "12345678", usage=used(1000)), late)
            assert at(entries).tokens < 10

    def test_usage_reported_after_them_is_trusted(self) -> None:
        entries = chain(user("u"), edit("e", "u", None), assistant("a", usage=used(1000)))
        assert at(entries).tokens == 1000

    def test_without_usage_the_folded_system_message_counts_once(self) -> None:
        patch = {"name": "x" * 400}
        entries = chain(
            message("s1", None, "system", "", sections=patch),
            message("s2", None, "system", "", sections=patch),
            user("u", "1234"),
        )
        assert at(entries).tokens == 101

    def test_replaced_content_is_counted(self) -> None:
        entries = chain(user("u", "x" * 4000), edit("e", "u", {"content": "1234"}))
        assert at(entries).tokens == 1

    def test_known_estimates_are_not_made_again(self) -> None:
        tree, bodies = index(chain(user("u", "x" * 40), compaction("c", "u"), user("v", "1234")))
        assert context_tokens(tree, bodies, tree.leaf, 0) == 10 + 2 + 1
        assert bodies.read == set()

    def test_guesses_are_replaced_by_estimates(self) -> None:
        entries = chain(user("u", "x" * 40), compaction("c", "u"), user("v", "1234"))
        tree, bodies = index(entries, exact=False)
        assert context_tokens(tree, bodies, tree.leaf, 0) == 10 + 2 + 1


def test_what_is_covered_is_told_where_a_parent_stands_behind_its_child() -> None:
    records = [
        user("b") | {"parentId": "a"},
        user("a") | {"parentId": None},
        user("beside") | {"parentId": "a"},
        user("c") | {"parentId": "b"},
        compaction("d", "c") | {"parentId": "c"},
    ]
    assert states(records) == {"a": "covered", "b": "covered", "c": "in", "d": "in"}


def test_a_long_path_is_walked_without_reading() -> None:
    entries = chain(*(user(f"u{number}") for number in range(20_000)))
    tree, bodies = index(entries)
    assert set(context_states(tree, tree.leaf, 0, bodies).values()) == {"in"}
    assert context_tokens(tree, bodies, tree.leaf, 0) == 40_000
    assert bodies.read == set()


class TestFoldedSystemMessage:
    def test_patches_apply_in_order(self) -> None:
        folded = fold_system(
            [
                {
                    "content": "one",
                    "sections": {"a": "1", "b": "1"},
                    "toolsAdded": [{"name": "read", "v": 1}, {"name": "write"}],
                    "timestamp": 7,
                },
                {
                    "content": [{"type": "text", "text": "two"}],
                    "sections": {"a": "2", "b": None, "c": "3"},
                    "toolsRemoved": [{"name": "read"}, {"name": "write"}],
                    "toolsAdded": [{"name": "read", "v": 2}],
                    "timestamp": 8,
                },
            ]
        )
        assert folded == {
            "role": "system",
            "content": "one\n\ntwo",
            "sections": {"a": "2", "c": "3"},
            "toolsAdded": [{"name": "read", "v": 2}],
            "timestamp": 7,
        }
        assert system_text(folded) == "one\n\ntwo\n\n2\n\n3"

    def test_nothing_said_is_no_message(self) -> None:
        assert fold_system([]) is None
        assert fold_system([{"content": " "}, {"sections": {"a": None}}]) is None

    def test_malformed_parts_say_nothing(self) -> None:
        odd = {"content": 5, "sections": {"a": 5}, "toolsAdded": ["x", {"name": 3}]}
        odder = {"sections": [], "toolsRemoved": 5, "toolsAdded": {"name": "x"}}
        assert fold_system([odd, odder, {"content": "said"}]) == {
            "role": "system",
            "content": "said",
            "timestamp": 0,
        }


class TestDestination:
    ENTRIES = (
        user("u1"),
        assistant("a"),
        entry(
            "c", None, "custom_message", customType="n", content=[{"type": "text", "text": "hi"}]
        ),
        message("role", None, "custom", "text", customType="n"),
        user("u2"),
    )

    @pytest.mark.parametrize(
        ("target_id", "destination_id", "text"),
        [("u1", None, "question"), ("c", "a", "hi"), ("a", "a", None), ("role", "role", None)],
    )
    def test_auto(self, target_id: str, destination_id: str | None, text: str | None) -> None:
        tree, bodies = index(chain(*self.ENTRIES))
        leaf, content = destination(tree, bodies, ordinal(tree, target_id), "auto")
        assert tree.id_of(leaf) == destination_id
        assert content == (None if text is None else {"text": text, "images": []})

    def test_picking_the_leaf_itself_goes_nowhere(self) -> None:
        tree, bodies = index(chain(*self.ENTRIES))
        assert destination(tree, bodies, tree.leaf, "auto") == (tree.leaf, None)

    def test_at_is_exactly_there(self) -> None:
        tree, bodies = index(chain(*self.ENTRIES))
        assert destination(tree, bodies, 0, "at") == (0, None)
        assert destination(tree, bodies, NONE, "at") == (NONE, None)

    def test_images_go_to_the_editor_as_they_are_stored(self) -> None:
        image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
        content = [{"type": "text", "text": "look"}, image]
        assert editor_content(message("u", None, "user", content)) == {
            "text": "look",
            "images": [image],
        }


class TestSwitchPlan:
    TREE, _ = index(
        [
            user("root"),
            {**user("old1"), "parentId": "root"},
            {**user("old2"), "parentId": "old1"},
            {**user("new"), "parentId": "root"},
            user("other root"),
        ]
    )

    @pytest.mark.parametrize(
        ("old", "new", "ancestor", "leaving"),
        [
            (2, 3, 0, [1, 2]),
            (2, 1, 1, [2]),
            (1, 2, 1, []),
            (2, 4, NONE, [0, 1, 2]),
            (2, NONE, NONE, [0, 1, 2]),
            (NONE, 2, NONE, []),
        ],
    )
    def test_what_is_left(self, old: int, new: int, ancestor: int, leaving: list[int]) -> None:
        assert switch_plan(self.TREE, old, new) == (ancestor, leaving)


def test_bodies_are_read_once() -> None:
    class Once(Bodies):
        def entry(self, ordinal: int) -> Entry:
            assert ordinal not in self.read
            return super().entry(ordinal)

    tree, bodies = index(chain(user("u"), assistant("a", provider="p", model="m")), exact=False)
    build_context(tree, Once(bodies.entries), tree.leaf, 0)


def test_what_goes_on_from_a_move_record_is_taken_back_to_where_that_leads() -> None:
    move = move_record("m", "a", "2026-01-02T03:04:05.678Z")
    entries = [*chain(user("u1"), assistant("a"), user("u2")), move]
    tree, bodies = index([*entries, {**user("u3"), "parentId": "m"}, user("u4")])
    leaf, _ = destination(tree, bodies, ordinal(tree, "u3"), "auto")
    assert tree.id_of(leaf) == "a"
