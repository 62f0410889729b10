"""Params of the wrong type, missing, null or huge: one answer each, and never an internal error."""

import dataclasses
import tempfile
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from branchline.demo.client import Client
from branchline.wire.methods import METHODS, Method
from branchline.wire.params import keys_of
from tests.e2e.conftest import SERVE, isolated
from tests.hostile.world import Asker, make, message

EXAMPLES = 40
"""For each method."""
IDS = ["top", "call", "result", "end", "no such entry", ""]

texts = st.one_of(
    st.sampled_from([*IDS, "__proto__", "\x00", "\ud800", "/", "x" * 100_000]), st.text(max_size=9)
)
numbers = st.one_of(
    st.sampled_from([0, -1, 1, 2**53, 2**64, 10**30, 1e308, -0.0, 0.5]),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
)
junk = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(texts.filter(lambda key: len(key) < 99), inner)
    ),
    max_leaves=8,
)
BODY = ("content", "usage", "toolCallId", "toolName", "timestamp")
entries = st.fixed_dictionaries(
    {"type": st.one_of(st.sampled_from([
        "message", "compaction", "branch_summary", "context_edit", "label", "session_info",
        "custom", "custom_message", "model_change", "leaf", "session", "usage",
    ]), junk)},
    optional={
        "message": st.one_of(junk, st.fixed_dictionaries(
            {"role": st.sampled_from(["user", "assistant", "toolResult", "system", "x"])},
            optional=dict.fromkeys(BODY, junk),
        )),
        **dict.fromkeys(
            ("id", "timestamp", "targetId", "label", "name", "summary", "firstKeptEntryId",
             "replacement", "customType", "content", "fromId", "provider", "modelId", "usage"),
            st.one_of(texts, junk),
        ),
    },
)  # fmt: skip


def plausible(annotation: Any) -> st.SearchStrategy[Any]:
    """Values of about the right type for an annotation of a params class."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return plausible(arguments[0])
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin is list:
        return st.lists(plausible(arguments[0]), max_size=4)
    if origin is dict:
        return entries
    if arguments:  # a union
        return st.one_of(st.none(), *(plausible(one) for one in arguments if isinstance(one, type)))
    if dataclasses.is_dataclass(annotation):
        return params_of(typing.cast("type", annotation))
    return {str: texts, int: numbers, bool: st.booleans()}.get(annotation, st.none())


def params_of(cls: type) -> st.SearchStrategy[dict[str, Any]]:
    """Params of which each may be right, wrong, null or missing."""
    annotations = typing.get_type_hints(cls, include_extras=True)
    fields = zip(keys_of(cls), dataclasses.fields(cls), strict=True)
    return st.fixed_dictionaries(
        {},
        optional={
            key: st.one_of(plausible(annotations[field.name]), st.none(), junk)
            for key, field in fields
            if key != "session"
        },
    )


class Target:
    """A daemon with a session that requests are made of."""

    def __init__(self, client: Client, agent_dir: Path) -> None:
        call = [{"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "x"}}]
        self.asker = Asker(client)
        self.agent_dir = agent_dir
        self.lines = (
            message("top", None),
            message("call", "top", call, role="assistant"),
            message("result", "call", [], role="toolResult", toolCallId="c", toolName="read"),
            message("end", "result"),
        )
        self.path = make(agent_dir, *self.lines)

    def ask(self, method: str, session: object, params: Any) -> None:
        """Ask; the answer is a result or a known error, and the session can still be read."""
        if isinstance(params, dict):
            params = {"session": session, **params}
        self.asker.ask(method.removeprefix("session/"), **params)
        if not self.path.exists():  # it may have been deleted: that is what was asked for
            make(self.agent_dir, *self.lines)
        self.asker.ok("context", self.path, format="none")


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        agent_dir = folder / "agent"
        agent_dir.mkdir()
        with Client(SERVE, environment=isolated(folder), seconds=300) as client:
            client.initialize(agent_dir, {"durability": "flush"})
            yield Target(client, agent_dir)


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_every_answer_is_a_result_or_a_known_error(
    target: Target, method: Method, data: st.DataObject
) -> None:
    named = st.sampled_from([str(target.path), "hostile", target.path.as_uri()])
    session = data.draw(st.one_of(named, named, named, junk), label="session")
    params = data.draw(params_of(method.params), label="params")
    target.ask(method.name, session, params)
