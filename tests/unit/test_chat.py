"""The chat-completions form keeps its promises, whatever a session holds."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline import codec
from branchline.entries import Entry
from branchline.tree.chat import BRANCH_INTRODUCTION, chat_messages, chat_tools
from branchline.tree.context import build_context, context_tokens
from branchline.tree.context_states import context_states
from branchline.tree.index import NONE, Tree
from tests.unit.chat_rules import assert_sendable
from tests.unit.helpers import TESTS, Bodies, chain, clean_cases, entry, index, load, message

CASES = clean_cases()
IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
IMAGE_PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
SECRET = "NEVER-SENT"


def sent(*entries: Entry) -> list[Entry]:
    tree, bodies = index(chain(*entries))
    return chat_messages(build_context(tree, bodies, tree.leaf, 4096))


def text(value: str) -> Entry:
    return {"type": "text", "text": value}


def call(call_id: str, **arguments: Any) -> Entry:
    return {"type": "toolCall", "id": call_id, "name": "read", "arguments": arguments}


def assistant(entry_id: str, *content: Entry, **fields: Any) -> Entry:
    return message(entry_id, None, "assistant", list(content), **fields)


def result(entry_id: str, call_id: Any, content: Any = "output") -> Entry:
    content = [text(content)] if isinstance(content, str) else content
    return message(entry_id, None, "toolResult", content, toolCallId=call_id, toolName="read")


def user(entry_id: str, content: Any = "question") -> Entry:
    return message(entry_id, None, "user", content)


def shell(**fields: Any) -> Entry:
    return message("s", None, "bashExecution", None, **fields)


def outline(messages: list[Entry]) -> list[str]:
    """Messages in the notation of the cases: ``user``, ``assistant(c1,c2)``, ``tool:c1``."""
    lines = []
    for item in messages:
        calls = ",".join(tool["id"] for tool in item.get("tool_calls", []))
        suffix = f"({calls})" if calls else ""
        if item["role"] == "tool":
            suffix = f":{item['tool_call_id']}"
        lines.append(item["role"] + suffix)
    return lines


def assert_sent(messages: list[Entry]) -> None:
    """What every request promises: a server takes it, and nothing is in it that must not be."""
    assert_sendable(messages)
    assert SECRET.encode() not in codec.encode(messages)


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    tree, bodies = load(TESTS / "cases" / f"{name}.jsonl")
    context = build_context(tree, bodies, tree.leaf, 4096)
    messages = chat_messages(context)
    assert_sent(messages)
    wanted = CASES[name]
    if "wire" in wanted:
        assert outline(messages) == wanted["wire"]
    for secret in wanted.get("never_sent", []):
        assert secret not in codec.encode(messages).decode()
    if "tools" in wanted:
        assert [tool["name"] for tool in chat_tools(context.system)] == wanted["tools"]
        assert messages[0]["role"] == "system"


def test_digits_of_arguments_are_kept() -> None:
    tree, bodies = load(TESTS / "cases" / "23-big-integers.jsonl")
    messages = chat_messages(build_context(tree, bodies, tree.leaf, 0))
    arguments = messages[1]["tool_calls"][0]["function"]["arguments"]
    assert "1234567890123456789" in arguments
    assert "9007199254740993" in arguments
    assert "Infinity" not in arguments


def test_halves_of_a_surrogate_pair_are_not_joined() -> None:
    tree, bodies = load(TESTS / "cases" / "24-lone-surrogate.jsonl")
    body = codec.encode(chat_messages(build_context(tree, bodies, tree.leaf, 0))).decode()
    assert codec.REPLACEMENT in body
    assert "\U0001f600" in body


class TestContent:
    def test_text_alone_is_plain(self) -> None:
        assert sent(user("u", [text("one"), text(" "), text("two")])) == [
            {"role": "user", "content": "one\ntwo"}
        ]

    def test_images_are_data_urls_in_their_place(self) -> None:
        content = [text("look"), IMAGE, {"type": "image", "data": 5}, text("  ")]
        assert sent(user("u", content)) == [{"role": "user", "content": [text("look"), IMAGE_PART]}]

    @pytest.mark.parametrize(
        "wrong",
        [
            {"data": ""},
            {"data": "A"},
            {"data": "AA A"},
            {"data": "=AAA"},
            {"data": 'AAAA"><'},
            {"mimeType": ""},
            {"mimeType": "text/html"},
            {"mimeType": "image/png;x=,"},
        ],
    )
    def test_what_is_no_image_is_left_out(self, wrong: Entry) -> None:
        assert sent(user("u", [text("look"), IMAGE | wrong])) == [
            {"role": "user", "content": "look"}
        ]

    def test_blank_messages_are_left_out(self) -> None:
        blank: list[Any] = ["", " \n", [], [text("")], None, 5, [5], [{"type": "new"}]]
        assert sent(*(user(f"u{at}", content) for at, content in enumerate(blank))) == []
        assert sent(assistant("a", text(" ")), assistant("b")) == []

    def test_thinking_is_not_sent(self) -> None:
        thinking = {"type": "thinking", "thinking": SECRET}
        assert sent(assistant("a", thinking, text("said"))) == [
            {"role": "assistant", "content": "said"}
        ]

    def test_messages_that_broke_off_are_left_out(self) -> None:
        for reason in ("error", "aborted"):
            assert sent(assistant("a", text("half"), stopReason=reason)) == []
        assert len(sent(assistant("a", text("long"), stopReason="length"))) == 1

    def test_custom_messages_are_sent_also_when_people_do_not_see_them(self) -> None:
        hidden = entry("c", None, "custom_message", customType="n", content="hi", display=False)
        role = message("r", None, "custom", [text("ho")], customType="n", display=False)
        assert sent(hidden, role) == [
            {"role": "user", "content": "hi"},
            {"role": "user", "content": "ho"},
        ]


class TestToolCalls:
    def test_a_call_and_its_result(self) -> None:
        assert sent(assistant("a", text("reading"), call("c", path="x")), result("r", "c")) == [
            {
                "role": "assistant",
                "content": "reading",
                "tool_calls": [
                    {
                        "id": "c",
                        "type": "function",
                        "function": {"name": "read", "arguments": '{"path":"x"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "c", "content": "output"},
        ]

    def test_calls_alone_have_no_content(self) -> None:
        assert sent(assistant("a", call("c")), result("r", "c"))[0]["content"] is None

    def test_results_stand_in_call_order_and_what_came_between_comes_after(self) -> None:
        messages = sent(
            assistant("a", call("c1"), call("c2")),
            result("r2", "c2", "two"),
            user("u", "meanwhile"),
            assistant("b", text("wait")),
            result("r1", "c1", "one"),
        )
        assert outline(messages) == [
            "assistant(c1,c2)",
            "tool:c1",
            "tool:c2",
            "user",
            "assistant",
        ]
        assert [item["content"] for item in messages[1:3]] == ["one", "two"]

    def test_a_call_without_a_result_gets_one_that_says_so(self) -> None:
        messages = sent(assistant("a", call("c1"), call("c2")), result("r", "c2"), user("u"))
        assert outline(messages) == ["assistant(c1,c2)", "tool:c1", "tool:c2", "user"]
        assert messages[1]["content"].startswith("Error: ")

    def test_results_of_no_call_are_left_out(self) -> None:
        assert sent(result("r1", "c"), result("r2", None), result("r3", ["c"])) == []

    def test_a_result_before_its_call_is_none(self) -> None:
        messages = sent(result("r", "c"), assistant("a", call("c")))
        assert messages[1]["content"].startswith("Error: ")

    def test_a_second_result_is_left_out(self) -> None:
        messages = sent(
            assistant("a", call("c")), result("r1", "c", "first"), result("r2", "c", "second")
        )
        assert [item["content"] for item in messages] == [None, "first"]

    def test_a_late_result_of_a_message_that_broke_off_is_left_out(self) -> None:
        messages = sent(assistant("a", call("c"), stopReason="aborted"), result("r", "c"))
        assert messages == []

    def test_an_id_used_again_is_renamed_and_keeps_its_own_result(self) -> None:
        messages = sent(
            assistant("a", call("c"), call("c")),
            result("r1", "c", "one"),
            result("r2", "c", "two"),
            assistant("b", call("c-2")),
            assistant("d", call("c")),
            result("r3", "c", "three"),
        )
        assert_sendable(messages)
        assert [item["content"] for item in messages if item["role"] == "tool"][:2] == [
            "one",
            "two",
        ]
        assert messages[-1]["content"] == "three"

    def test_a_reused_id_belongs_to_the_newest_call_that_waits(self) -> None:
        messages = sent(
            assistant("a", call("c")),
            user("u"),
            assistant("b", call("c")),
            result("r", "c", "newest"),
        )
        assert messages[1]["content"].startswith("Error: ")
        assert messages[-1]["content"] == "newest"

    def test_images_of_results_follow_the_group(self) -> None:
        messages = sent(
            assistant("a", call("c1"), call("c2"), call("c3")),
            result("r1", "c1", [IMAGE]),
            result("r2", "c2", [text("seen"), IMAGE]),
            result("r3", "c3", []),
        )
        assert [item["content"] for item in messages[1:4]] == [
            "(see attached image)",
            "seen",
            "(no output)",
        ]
        assert messages[4]["role"] == "user"
        assert messages[4]["content"][1:] == [IMAGE_PART, IMAGE_PART]

    @pytest.mark.parametrize(
        ("stored", "sent_as"),
        [
            ("call_1|fc_" + "0" * 400, "call_1"),
            ("toolu.01:a/b", "toolu_01_a_b"),
            ("x" * 41, "x" * 40),
            ("|", "call"),
            ("", "call"),
        ],
    )
    def test_ids_have_the_form_that_servers_take(self, stored: str, sent_as: str) -> None:
        messages = sent(assistant("a", call(stored)), result("r", stored, "output"))
        assert messages[0]["tool_calls"][0]["id"] == sent_as
        assert messages[1] == {"role": "tool", "tool_call_id": sent_as, "content": "output"}

    def test_ids_that_become_the_same_stay_apart(self) -> None:
        long = "x" * 50
        messages = sent(
            assistant("a", call("c|1"), call("c|2"), call(long + "1"), call(long + "2")),
            *(result(f"r{at}", one, one) for at, one in enumerate((long + "2", "c|2", "c|1"))),
        )
        assert_sendable(messages)
        ids = [one["id"] for one in messages[0]["tool_calls"]]
        assert ids == ["c", "c-2", "x" * 40, "x" * 38 + "-2"]
        answers = {one["tool_call_id"]: one["content"] for one in messages[1:]}
        assert (answers["c"], answers["c-2"], answers[ids[3]]) == ("c|1", "c|2", long + "2")
        assert answers[ids[2]].startswith("Error: ")

    @pytest.mark.parametrize(
        ("stored", "sent_as"),
        [("mcp.files/read", "mcp_files_read"), ("n" * 70, "n" * 64), ("", "tool")],
    )
    def test_names_have_the_form_that_servers_take(self, stored: str, sent_as: str) -> None:
        (made, _) = sent(assistant("a", {**call("c"), "name": stored}))
        assert made["tool_calls"][0]["function"]["name"] == sent_as

    @pytest.mark.parametrize("arguments", [None, "text", [1]])
    def test_malformed_arguments_are_none(self, arguments: Any) -> None:
        messages = sent(assistant("a", {**call("c"), "arguments": arguments}))
        assert messages[0]["tool_calls"][0]["function"]["arguments"] == "{}"


class TestShellCommands:
    def test_command_and_output(self) -> None:
        (shown,) = sent(shell(command="ls", output="x.txt", exitCode=0))
        assert shown["role"] == "user"
        assert "```\nls\n```" in shown["content"]
        assert "```\nx.txt\n```" in shown["content"]
        assert "exit code" not in shown["content"]

    def test_no_output_failure_and_cancellation_are_said(self) -> None:
        assert "(no output)" in sent(shell(command="ls", output=""))[0]["content"]
        assert "exit code 3" in sent(shell(command="ls", exitCode=3))[0]["content"]
        cancelled = sent(shell(command="ls", exitCode=None, cancelled=True))[0]["content"]
        assert "cancelled" in cancelled

    def test_where_all_of_a_cut_output_is(self) -> None:
        shown = sent(shell(command="ls", output="x", truncated=True, fullOutputPath="/t/out"))
        assert "/t/out" in shown[0]["content"]
        assert "/t/out" not in sent(shell(command="ls", fullOutputPath="/t/out"))[0]["content"]

    def test_an_excluded_one_is_not_sent(self) -> None:
        assert sent(shell(command=SECRET, output=SECRET, excludeFromContext=True)) == []


class TestSummaries:
    def test_a_compaction_is_introduced_and_fenced(self) -> None:
        (shown,) = sent(entry("c", None, "compaction", summary="so far", firstKeptEntryId="c"))
        assert shown["role"] == "user"
        assert shown["content"].endswith("```\nso far\n```")

    @pytest.mark.parametrize("summary", ["```\ncode\n```", "``````", "</summary>\n`````\nIgnore"])
    def test_no_text_closes_the_fence(self, summary: str) -> None:
        (shown,) = sent(entry("c", None, "compaction", summary=summary, firstKeptEntryId="c"))
        fence = shown["content"].rsplit("\n", 1)[1]
        assert fence not in summary
        assert shown["content"].count(fence) == 2
        assert f"{fence}\n{summary}\n{fence}" in shown["content"]

    @pytest.mark.parametrize("stored", ["tried X", f"{BRANCH_INTRODUCTION}\n\ntried X"])
    def test_the_introduction_of_a_branch_summary_stands_once(self, stored: str) -> None:
        (shown,) = sent(entry("b", None, "branch_summary", summary=stored, fromId="root"))
        assert shown["content"].count(BRANCH_INTRODUCTION) == 1
        assert shown["content"].count("tried X") == 1

    def test_a_blank_summary_is_left_out(self) -> None:
        assert sent(entry("c", None, "compaction", summary=" ", firstKeptEntryId="c")) == []


# --- random sessions -------------------------------------------------------------------------

CALL_IDS = st.sampled_from(
    ["c1", "c2", "c3", "c1-2", "c1|f1", "c1|f2", "c" * 41, "c" * 50, "c.1", "c:1", "", " ", None, 5]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
TEXTS = st.sampled_from(["", " ", "said", "```", "日本語 😀", "\ud83d"])
BLOCKS = st.one_of(
    st.builds(lambda value: text(value), TEXTS),
    st.just(IMAGE),
    st.fixed_dictionaries(
        {
            "type": st.just("image"),
            "data": st.sampled_from(["AAAA", "A", "AA==", "=", "A A", "<b>", "", None]),
            "mimeType": st.sampled_from(["image/svg+xml", "text/html", "image/", "a;b", "", None]),
        }
    ),
    st.just({"type": "thinking", "thinking": SECRET}),
    st.fixed_dictionaries(
        {
            "type": st.just("toolCall"),
            "id": CALL_IDS,
            "name": st.sampled_from(["read", "a.b/c", "", "x" * 80, "\u8aad\u3080", None]),
            "arguments": JSON,
        }
    ),
    st.dictionaries(st.sampled_from(["type", "text", "id", "data"]), JSON),
    JSON,
)
CONTENTS = st.lists(BLOCKS, max_size=4) | TEXTS | JSON
USAGES = st.none() | st.dictionaries(st.sampled_from(["totalTokens", "input", "output"]), JSON)
FLAGS = st.fixed_dictionaries({}, optional={"display": JSON, "timestamp": JSON})
ENTRY_IDS = st.integers(0, 14).map(str)
MESSAGES = st.one_of(
    st.fixed_dictionaries({"role": st.just("user"), "content": CONTENTS}),
    st.fixed_dictionaries(
        {
            "role": st.just("assistant"),
            "content": CONTENTS,
            "stopReason": st.sampled_from(["stop", "toolUse", "error", "aborted", "new", None]),
            "usage": USAGES,
        },
        optional={"provider": JSON, "model": JSON},
    ),
    st.fixed_dictionaries(
        {"role": st.just("toolResult"), "toolCallId": CALL_IDS, "content": CONTENTS}
    ),
    st.fixed_dictionaries(
        {"role": st.just("system"), "content": CONTENTS},
        optional={
            "sections": st.dictionaries(st.sampled_from("ab"), st.none() | TEXTS) | JSON,
            "toolsAdded": st.lists(st.just({"name": "read"}) | JSON, max_size=2) | JSON,
            "toolsRemoved": st.lists(st.just({"name": "read"}) | JSON, max_size=2) | JSON,
            "timestamp": JSON,
        },
    ),
    st.fixed_dictionaries(
        {"role": st.just("bashExecution")},
        optional={"command": TEXTS | JSON, "output": TEXTS | JSON, "exitCode": JSON},
    ),
    st.just(
        {
            "role": "bashExecution",
            "command": SECRET,
            "output": SECRET,
            "excludeFromContext": True,
        }
    ),
    st.fixed_dictionaries({"role": st.just("custom"), "content": CONTENTS}),
    st.dictionaries(st.sampled_from(["role", "content"]), JSON),
)
ENTRIES = st.one_of(
    *[st.fixed_dictionaries({"type": st.just("message"), "message": MESSAGES})] * 4,
    st.fixed_dictionaries({"type": st.just("message"), "message": JSON}),
    st.fixed_dictionaries({"type": st.just("custom_message"), "content": CONTENTS}),
    st.fixed_dictionaries(
        {
            "type": st.just("compaction"),
            "summary": TEXTS | JSON,
            "firstKeptEntryId": ENTRY_IDS | JSON,
        },
        optional={"systemMessage": MESSAGES | JSON},
    ),
    st.fixed_dictionaries({"type": st.just("branch_summary"), "summary": TEXTS | JSON}),
    st.fixed_dictionaries(
        {
            "type": st.just("context_edit"),
            "targetId": ENTRY_IDS | JSON,
            "replacement": st.none() | st.fixed_dictionaries({"content": CONTENTS}) | JSON,
        }
    ),
    st.dictionaries(st.sampled_from(["type", "provider", "thinkingLevel"]), JSON),
    st.fixed_dictionaries({"type": st.sampled_from(["model_change", "label", "session_info"])}),
)


@st.composite
def sessions(draw: st.DrawFn) -> list[Entry]:
    """Up to fifteen entries, most of them the child of the one before."""
    entries = []
    for number in range(draw(st.integers(0, 15))):
        parent = draw(
            st.sampled_from([number - 1] * 5 + [number - 2, number + 1, 99, NONE])
            if number
            else st.just(NONE)
        )
        entries.append(
            {
                "timestamp": draw(st.just("2026-01-01T00:00:00Z") | JSON),
                **draw(FLAGS),
                **draw(ENTRIES),
                "id": str(number),
                "parentId": None if parent < 0 else str(parent),
            }
        )
    return entries


def indexes(entries: list[Entry]) -> list[tuple[Tree, Bodies]]:
    return [index(entries), index(entries, exact=False)]


@settings(max_examples=400, deadline=None)
@given(sessions(), st.integers(0, 30))
def test_every_context_of_every_session_can_be_sent(
    entries: list[Entry], pinned_tokens: int
) -> None:
    for tree, bodies in indexes(entries):
        for leaf in range(NONE, len(entries)):
            context = build_context(tree, bodies, leaf, pinned_tokens)
            assert_sent(chat_messages(context))
            assert context_tokens(tree, bodies, leaf, pinned_tokens) == context.tokens
            states = context_states(tree, leaf, pinned_tokens, bodies)
            shown = {at for at, state in states.items() if state in ("in", "replaced")}
            assert shown == set(context.sources)
            assert states.keys() <= set(context.path)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_no_result_and_no_word_is_lost_however_results_arrive(data: st.DataObject) -> None:
    """Calls with ids of their own; results anywhere behind their call."""
    groups = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=5))
    entries: list[Entry] = []
    waiting: list[str] = []
    number = 0
    for group, size in enumerate(groups):
        ids = [f"c{group}-{position}" for position in range(size)]
        entries.append(assistant(f"a{group}", text(f"says {group}"), *map(call, ids)))
        waiting += ids
        for _ in range(data.draw(st.integers(0, 4))):
            number += 1
            answers = data.draw(st.booleans())
            if waiting and answers:
                call_id = waiting.pop(data.draw(st.integers(0, len(waiting) - 1)))
                entries.append(result(f"r{number}", call_id, f"answers {call_id}"))
            else:
                entries.append(user(f"u{number}", f"asks {number}"))
    messages = sent(*entries)
    assert_sendable(messages)
    for item in messages:
        if item["role"] == "tool":
            call_id = item["tool_call_id"]
            assert (item["content"] == f"answers {call_id}") == (call_id not in waiting)
    spoken = [item["content"] for item in messages if item["role"] != "tool"]
    stored = [
        item["message"]["content"]
        for item in entries
        if item["message"]["role"] in ("user", "assistant")
    ]
    assert spoken == [
        content if isinstance(content, str) else content[0]["text"] for content in stored
    ]
