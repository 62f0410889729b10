"""One message is estimated as Pi estimates it, and never fails."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchline import codec
from branchline.entries import Entry, Kind
from branchline.tree.tokens import (
    entry_tokens,
    message_tokens,
    reported_tokens,
    usage_tokens,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
ROLES = (
    "user",
    "assistant",
    "toolResult",
    "bashExecution",
    "system",
    "custom",
    "compactionSummary",
    "branchSummary",
    "robot",
)


@pytest.mark.parametrize(("characters", "tokens"), [(0, 0), (1, 1), (4, 1), (5, 2), (4000, 1000)])
def test_four_characters_are_a_token_rounded_up(characters: int, tokens: int) -> None:
    assert message_tokens({"role": "user", "content": "x" * characters}) == tokens


def test_characters_are_utf16_code_units() -> None:
    assert message_tokens({"role": "user", "content": "é" * 4}) == 1
    assert message_tokens({"role": "user", "content": "😀" * 4}) == 2


def test_an_image_counts_4800_characters() -> None:
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    assert message_tokens({"role": "toolResult", "content": [image]}) == 1200


def test_an_assistant_counts_text_thinking_and_calls() -> None:
    content = [
        {"type": "text", "text": "12345"},
        {"type": "thinking", "thinking": "123"},
        {
            "type": "toolCall",
            "id": "long id that counts nothing",
            "name": "read",
            "arguments": {"a": 1},
        },
    ]
    characters = 5 + 3 + len("read") + len('{"a":1}')
    assert message_tokens({"role": "assistant", "content": content}) == -(-characters // 4)


def test_arguments_count_as_javascript_writes_them() -> None:
    call = {"type": "toolCall", "id": "c", "name": "", "arguments": {"number": 1000000000000.0}}
    assert message_tokens({"role": "assistant", "content": [call]}) == -(
        -len('{"number":1000000000000}') // 4
    )


def test_a_system_message_counts_text_sections_and_tools() -> None:
    message = {
        "role": "system",
        "content": "1234",
        "sections": {"name": "12345678", "gone": None},
        "toolsAdded": [{"name": "r"}],
    }
    assert message_tokens(message) == (4 + 8 + len('[{"name":"r"}]') + 3) // 4


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        ({"role": "bashExecution", "command": "1234", "output": "12345678"}, 3),
        ({"role": "bashExecution", "command": "1234", "excludeFromContext": True}, 1),
        ({"role": "custom", "content": "12345678"}, 2),
        ({"role": "compactionSummary", "summary": "12345"}, 2),
        ({"role": "branchSummary", "summary": "12345"}, 2),
        ({"role": "robot", "content": "12345"}, 0),
        ({}, 0),
    ],
)
def test_other_roles(message: Entry, tokens: int) -> None:
    assert message_tokens(message) == tokens


def test_an_entry_counts_the_message_it_shows() -> None:
    text = "12345678"
    message = {"type": "message", "message": {"role": "user", "content": text}}
    assert entry_tokens(message, Kind.USER) == 2
    assert entry_tokens({"type": "custom_message", "content": text}, Kind.CUSTOM_MESSAGE) == 2
    assert entry_tokens({"type": "compaction", "summary": text}, Kind.COMPACTION) == 2
    assert entry_tokens({"type": "branch_summary", "summary": text}, Kind.BRANCH_SUMMARY) == 2
    assert entry_tokens({"type": "custom", "data": text, "content": text}, Kind.CUSTOM) == 0


def test_arguments_nested_too_deeply_to_be_written_do_no_harm() -> None:
    arguments = codec.decode(b'{"a":' * 800 + b"1" + b"}" * 800)
    call = {"type": "toolCall", "id": "c", "name": "1234", "arguments": arguments}
    assert message_tokens({"role": "assistant", "content": [call]}) >= 1


@given(
    st.sampled_from(ROLES),
    st.dictionaries(
        st.sampled_from(["content", "summary", "command", "sections", "toolsAdded"]), JSON
    ),
)
def test_whatever_a_message_holds_it_has_an_estimate(role: str, fields: dict[str, Any]) -> None:
    assert message_tokens({**fields, "role": role}) >= 0


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"totalTokens": 120, "input": 1}, 120),
        ({"totalTokens": 0, "input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4}, 10),
        ({"input": 5}, 5),
        ({"totalTokens": "many", "input": True, "output": 2.0}, 2),
        ({"totalTokens": -5}, 0),
        ({}, 0),
        (None, 0),
    ],
)
def test_usage_tells_the_size_of_a_context(usage: Any, tokens: int) -> None:
    assert usage_tokens(usage) == tokens


@pytest.mark.parametrize(
    ("stop_reason", "tokens"), [("stop", 7), ("length", 7), ("aborted", 0), ("error", 0)]
)
def test_usage_of_a_message_that_broke_off_tells_nothing(stop_reason: str, tokens: int) -> None:
    message = {"role": "assistant", "stopReason": stop_reason, "usage": {"totalTokens": 7}}
    assert reported_tokens(message) == tokens
    assert reported_tokens({**message, "role": "user"}) == 0
