"""What a server's error means: that the request is too long, or anything else."""

import pytest

from branchline.models.refusal import error_refusal, refusal

TOO_LONG = (
    "This model's maximum context length is 8192 tokens. However, your messages have 9000 tokens.",
    "the request exceeds the available context size, try increasing it",
    "prompt is too long: 213462 tokens > 200000 maximum",
    "Input is too long for requested model.",
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
    "prompt token count of 90210 exceeds the limit of 64000",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Please reduce the length of the messages or completion.",
    "Your request exceeded model token limit: 8192 (requested: 9000)",
    '{"error": {"code": "context_length_exceeded", "message": ""}}',
    "invalid params, context window exceeds limit (2013)",
)
RATES = (
    "Rate limit reached: too many tokens per minute, prompt is too long",
    "Request too large for model m on tokens per minute (TPM): Limit 6000, Requested 9000",
    "Too many tokens, please wait before trying again.",
    "ThrottlingException: too many tokens",
    "Too many requests: the context window is busy",
    "You exceeded your current quota; the input is too long",
    "The model is overloaded, the prompt is too long for now",
)


@pytest.mark.parametrize("said", TOO_LONG)
@pytest.mark.parametrize("status", [200, 400, 413, 422])
def test_a_request_that_does_not_fit(said: str, status: int) -> None:
    found = refusal(status, said)
    assert found.overflow
    assert not found.transient
    assert said not in found.problem


@pytest.mark.parametrize("said", TOO_LONG)
@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503, 529])
def test_other_statuses_say_nothing_of_its_length(said: str, status: int) -> None:
    assert not refusal(status, said).overflow
    assert not error_refusal({"code": str(status), "message": said}).overflow


@pytest.mark.parametrize("said", RATES)
@pytest.mark.parametrize("status", [200, 400, 413, 429, 529])
def test_a_rate_is_no_length(said: str, status: int) -> None:
    assert not refusal(status, said).overflow
    assert not error_refusal({"message": said}).overflow


@pytest.mark.parametrize("said", ["bad request", "unknown field messages[0].content", ""])
def test_what_is_merely_wrong_is_no_length(said: str) -> None:
    assert not refusal(400, said).overflow
