"""The rules of the chat-completions API that a request must keep, whatever a session holds.

As OpenAI's own server checks them, which is the strictest of those that speak this form. No tools
are offered, so an assistant message may hold calls only because they were made in the past.
"""

import base64
import json
import re
from typing import Any

from branchline import codec

Message = dict[str, Any]

_CALL_ID = re.compile("[A-Za-z0-9_-]{1,40}")
_TOOL_NAME = re.compile("[A-Za-z0-9_-]{1,64}")
_IMAGE_URL = re.compile(r"data:image/[\w.+-]+;base64,(.+)", re.ASCII)
_KEYS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls"},
    "tool": {"role", "content", "tool_call_id"},
}


def assert_sendable(messages: list[Message]) -> None:
    """Fail unless a server would take these messages. None at all is fine: nothing is asked."""
    waiting: list[str] = []
    seen: set[str] = set()
    for at, item in enumerate(messages):
        role = item["role"]
        assert item.keys() <= _KEYS[role]
        assert role != "system" or at == 0
        if role == "tool":
            waiting.remove(item["tool_call_id"])
        else:
            assert not waiting, "every call is answered before anything else is said"
        if "tool_calls" in item:
            assert item["tool_calls"]
            for call in item["tool_calls"]:
                _assert_call(call)
                assert call["id"] not in seen
                seen.add(call["id"])
                waiting.append(call["id"])
        _assert_content(item)
    assert not waiting, "every call is answered"
    assert_strict(codec.encode(messages))


def assert_strict(body: bytes) -> None:
    """Fail unless this is strict JSON in valid UTF-8, without halves of surrogate pairs."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    value = json.loads(body.decode(), parse_constant=refuse)
    assert not re.search("[\ud800-\udfff]", json.dumps(value, ensure_ascii=False))


def _assert_call(call: Message) -> None:
    assert call.keys() == {"id", "type", "function"}
    assert call["type"] == "function"
    assert _CALL_ID.fullmatch(call["id"])
    assert call["function"].keys() == {"name", "arguments"}
    assert _TOOL_NAME.fullmatch(call["function"]["name"])
    assert isinstance(json.loads(call["function"]["arguments"]), dict)


def _assert_content(item: Message) -> None:
    content = item["content"]
    if content is None:
        assert item["role"] == "assistant"
        assert "tool_calls" in item
    elif isinstance(content, str):
        assert content.strip()
    else:
        assert item["role"] == "user", "only a user's message has parts here"
        assert content
        for part in content:
            _assert_part(part)


def _assert_part(part: Message) -> None:
    if part["type"] == "text":
        assert part.keys() == {"type", "text"}
        assert part["text"].strip()
    else:
        assert part.keys() == {"type", "image_url"}
        assert part["type"] == "image_url"
        assert part["image_url"].keys() == {"url"}
        match = _IMAGE_URL.fullmatch(part["image_url"]["url"])
        assert match is not None
        assert base64.b64decode(match[1], validate=True)
