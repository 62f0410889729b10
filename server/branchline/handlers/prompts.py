"""Asking the model: ``session/prompt``."""

from typing import Any

from branchline.handlers.connection import Connection
from branchline.service.prompting import PromptRequest
from branchline.service.prompting import prompt as ask
from branchline.wire.method_params import PromptParams


async def prompt(connection: Connection, params: PromptParams) -> dict[str, Any]:
    """``session/prompt``."""
    done = await ask(
        connection.service.jobs,
        connection.service.compactor,
        await connection.session(params.session),
        connection.client,
        PromptRequest(
            content=params.content,
            model=params.model,
            expected_leaf_id=params.expected_leaf_id,
            token=params.work_done_token,
        ),
    )
    return {
        "userEntryId": done.user_id,
        "assistantEntryId": done.assistant_id,
        "leafId": done.written.leaf_id,
        "revision": done.written.revision,
        "stopReason": done.stop_reason,
        "usage": done.usage,
    }
