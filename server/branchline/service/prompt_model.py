"""Which model answers a prompt, and where: the settings ``models`` and ``prompt`` made concrete."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from branchline.errors import PromptFailed
from branchline.models.completions import Endpoint
from branchline.service.client import Client
from branchline.settings import ModelSettings, Settings, model_key

_OFFICIAL: Final = "openai"
_NO_MODEL: Final = (
    "cannot be asked: no model is set. Set prompt.model, or give the session's model a baseUrl "
    "under models"
)


@dataclass(frozen=True, slots=True)
class PromptModel:
    """A model that can be asked.

    Attributes:
        provider, model_id: what the session's entries call it.
        endpoint: where it is.
        max_tokens: the longest answer; None: as long as the server lets it be.
    """

    provider: str
    model_id: str
    endpoint: Endpoint
    max_tokens: int | None

    def is_named_by(self, model: Mapping[str, Any] | None) -> bool:
        """Whether ``{provider, modelId}`` is this one."""
        return model_key(model) == f"{self.provider}/{self.model_id}"


def prompt_model(client: Client, asked: str | None, last: Mapping[str, Any] | None) -> PromptModel:
    """The model that answers.

    ``asked`` is the one that the client names for this prompt, as ``provider/model`` or by its name
    at the server. Else it is the session's ``last`` one, if the settings say where that is: a file
    does not decide which server is asked. Else it is ``prompt.model``. Raises `PromptFailed`.
    """
    settings = client.settings
    name = asked
    if name is None and _has_server(settings.models.get(model_key(last))):
        name = model_key(last)
    name = name or settings.prompt.model
    if not name:
        raise PromptFailed("the model", _NO_MODEL)
    key = _key_of(settings, name)
    known = settings.models.get(key, ModelSettings())
    base_url = known.base_url or settings.prompt.base_url
    # A server of its own gets no key that is meant for another.
    key_variable = known.api_key_env if known.base_url else settings.prompt.api_key_env
    endpoint = Endpoint(
        base_url=base_url,
        api_key=client.environment.get(key_variable) if key_variable else None,
        model=key.partition("/")[2] if key else name,
        timeout_seconds=settings.prompt.timeout_seconds,
        max_retries=settings.prompt.max_retries,
    )
    provider = key.partition("/")[0] if key else _provider(endpoint)
    return PromptModel(provider, endpoint.model, endpoint, known.max_output_tokens)


def _has_server(model: ModelSettings | None) -> bool:
    return model is not None and model.base_url is not None


def _key_of(settings: Settings, name: str) -> str:
    """The key in ``models`` that a name means: the name itself, or that of its model; else ""."""
    if name in settings.models:
        return name
    return next((key for key in settings.models if key.partition("/")[2] == name), "")


def _provider(endpoint: Endpoint) -> str:
    return _OFFICIAL if endpoint.base_url is None else endpoint.host or endpoint.base_url
