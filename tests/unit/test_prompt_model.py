"""Which model answers a prompt, where it is asked, and with which key."""

from typing import Any

import pytest

from branchline.errors import PromptFailed
from branchline.service.client import Client, Silence
from branchline.service.prompt_model import PromptModel, prompt_model

Json = Any
KEYS = {"OPENAI_API_KEY": "key-official", "USUAL_KEY": "key-usual", "THEIR_KEY": "key-theirs"}
USUAL = {"baseUrl": "http://usual:1/v1", "apiKeyEnv": "USUAL_KEY", "model": "m"}
MODELS = {
    "theirs/big": {
        "baseUrl": "https://theirs.test/v1",
        "apiKeyEnv": "THEIR_KEY",
        "maxOutputTokens": 500,
    },
    "theirs/open": {"baseUrl": "https://theirs.test/v1"},
    "local/m": {"contextWindow": 8192, "maxOutputTokens": 100},
    "org/team/name": {"baseUrl": "http://team:2/v1"},
}


def chosen(asked: str | None = None, last: str | None = None, settings: Json = None) -> PromptModel:
    """The model for these settings (else all of the above) and a session's last model."""
    client = Client(Silence(), {"HOME": "/nowhere", **KEYS})
    client.configure({"prompt": USUAL, "models": MODELS} if settings is None else settings, [])
    provider, _, model_id = (last or "").partition("/")
    named = {"provider": provider, "modelId": model_id} if last else None
    return prompt_model(client, asked, named)


@pytest.mark.parametrize(
    ("asked", "last", "name", "where", "key"),
    [
        (None, None, "local/m", "http://usual:1/v1", "key-usual"),
        # The session's last model counts if the settings say where it is.
        (None, "theirs/big", "theirs/big", "https://theirs.test/v1", "key-theirs"),
        (None, "org/team/name", "org/team/name", "http://team:2/v1", None),
        (None, "local/m", "local/m", "http://usual:1/v1", "key-usual"),
        (None, "evil/big", "local/m", "http://usual:1/v1", "key-usual"),
        (None, "http://evil/v1/x", "local/m", "http://usual:1/v1", "key-usual"),
        # What the client names comes first, with provider or without.
        ("theirs/big", None, "theirs/big", "https://theirs.test/v1", "key-theirs"),
        ("big", "theirs/open", "theirs/big", "https://theirs.test/v1", "key-theirs"),
        ("team/name", None, "org/team/name", "http://team:2/v1", None),
        ("m", "theirs/big", "local/m", "http://usual:1/v1", "key-usual"),
        ("other", "theirs/big", "usual:1/other", "http://usual:1/v1", "key-usual"),
        ("vendor/other", None, "usual:1/vendor/other", "http://usual:1/v1", "key-usual"),
        # A server of its own gets no key that is meant for another.
        ("theirs/open", None, "theirs/open", "https://theirs.test/v1", None),
    ],
)
def test_the_model_its_server_and_its_key(
    asked: str | None, last: str | None, name: str, where: str, key: str | None
) -> None:
    found = chosen(asked, last)
    assert f"{found.provider}/{found.model_id}" == name
    assert (found.endpoint.base_url, found.endpoint.api_key) == (where, key)
    assert found.endpoint.model == found.model_id
    assert found.is_named_by({"provider": found.provider, "modelId": found.model_id})
    assert not found.is_named_by(None)
    assert not found.is_named_by({"provider": found.provider, "modelId": "x"})


def test_the_longest_answer_is_the_models_own() -> None:
    assert chosen("theirs/big").max_tokens == 500
    assert chosen().max_tokens == 100
    assert chosen("other").max_tokens is None


def test_the_connection_is_the_summarizers_unless_prompts_have_one() -> None:
    summarizer = {**USUAL, "timeoutSeconds": 7, "maxRetries": 1}
    both = {"summarizer": summarizer, "prompt": {"model": "p"}}
    shared = chosen(settings=both)
    assert (shared.endpoint.base_url, shared.endpoint.api_key) == ("http://usual:1/v1", "key-usual")
    assert (shared.endpoint.timeout_seconds, shared.endpoint.max_retries) == (7, 1)
    assert (shared.provider, shared.model_id) == ("usual:1", "p")
    own = {
        "baseUrl": "http://own/v1",
        "apiKeyEnv": "THEIR_KEY",
        "timeoutSeconds": 9,
        "maxRetries": 0,
    }
    apart = chosen(settings={"summarizer": summarizer, "prompt": {"model": "p", **own}})
    assert (apart.endpoint.base_url, apart.endpoint.api_key) == ("http://own/v1", "key-theirs")
    assert (apart.endpoint.timeout_seconds, apart.endpoint.max_retries) == (9, 0)


def test_without_a_base_url_it_is_the_official_server() -> None:
    found = chosen(settings={"prompt": {"model": "gpt"}})
    assert (found.provider, found.endpoint.base_url) == ("openai", None)
    assert found.endpoint.api_key == "key-official"


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"summarizer": {"model": "m", "baseUrl": "http://usual:1/v1"}},  # that is no consent
        {"models": {"evil/m": {"contextWindow": 1}}},
    ],
)
@pytest.mark.parametrize("last", [None, "evil/m"])
def test_without_a_model_there_is_an_error(settings: Json, last: str | None) -> None:
    with pytest.raises(PromptFailed) as failed:
        chosen(last=last, settings=settings)
    assert "prompt.model" in failed.value.message
    assert failed.value.facts == {"provider": "the model", "status": None, "retryable": False}


def test_no_key_is_in_its_text() -> None:
    for name in ("theirs/big", None):
        shown = repr(chosen(name))
        assert not [key for key in KEYS.values() if key in shown]
