"""Methods that write summaries: moving the leaf, compacting, and who writes."""

from typing import Any

from branchline.handlers.connection import Connection
from branchline.service.compaction import CompactRequest, compact
from branchline.service.summarising import summarizer_json
from branchline.service.switching import SummaryWish, Switch, switch_leaf
from branchline.service.writers import choices, choose, try_out
from branchline.wire.method_params import (
    CompactParams,
    SessionParams,
    SummarizerParams,
    SwitchLeafParams,
)

Result = dict[str, Any]


async def switch(connection: Connection, params: SwitchLeafParams) -> Result:
    """``session/switchLeaf``."""
    session = await connection.session(params.session)
    wish = params.summary
    done = await switch_leaf(
        connection.service.jobs,
        connection.service.drafts,
        session,
        connection.client,
        Switch(
            target_id=params.target_id,
            position=params.position,
            summary=SummaryWish(
                mode=wish.mode,
                text=wish.text,
                draft_id=wish.draft_id,
                instructions=wish.instructions,
                replace_instructions=wish.replace_instructions,
                summarizer=wish.summarizer,
            ),
            label=params.label,
            dry_run=params.dry_run,
            preview=params.preview,
            expected_leaf_id=params.expected_leaf_id,
            token=params.work_done_token,
        ),
    )
    written = done.written
    return {
        "leafId": written.leaf_id if written else session.leaf_id,
        "previousLeafId": done.previous_leaf_id,
        "revision": written.revision if written else session.revision,
        "summaryEntryId": done.summary_id,
        "summary": done.text,
        "draftId": done.draft_id,
        "editorContent": done.editor,
        "plan": done.plan,
    }


async def compaction(connection: Connection, params: CompactParams) -> Result:
    """``session/compact``."""
    session = await connection.session(params.session)
    if not params.dry_run:
        connection.service.compactor.asked_for(session)
    done = await compact(
        connection.service.jobs,
        connection.service.drafts,
        session,
        connection.client,
        CompactRequest(
            instructions=params.instructions,
            keep_recent_tokens=params.keep_recent_tokens,
            summarizer=params.summarizer,
            summary=params.summary,
            draft_id=params.draft_id,
            dry_run=params.dry_run,
            preview=params.preview,
            expected_leaf_id=params.expected_leaf_id,
            token=params.work_done_token,
        ),
    )
    written = done.written
    after = done.plan["tokensAfter"]
    if written is not None:
        after = session.usage(connection.client)["tokens"]
    return {
        "entryId": written.entries[0]["id"] if written else None,
        "leafId": written.leaf_id if written else session.leaf_id,
        "revision": written.revision if written else session.revision,
        "summary": done.text,
        "draftId": done.draft_id,
        "tokensAfter": after,
        "summarizer": done.summarizer,
        "usage": done.usage,
        "plan": done.plan,
    }


async def summarizer(connection: Connection, params: SummarizerParams) -> Result:
    """``session/summarizer``: who would write, who could, and whether it works."""
    if params.session is not None:
        await connection.session(params.session)
    client = connection.client
    use = client.settings.summarizer.use
    available = choices(client)
    usable = {one.kind for one in available if one.writer is not None}
    chosen = choose(client, None if use == "auto" or use in usable else "auto")[0]
    listed = [one.as_json() for one in available]
    test = await try_out(client) if params.test else None
    return {"use": use, **summarizer_json(chosen), "available": listed, "test": test}


async def cancel(connection: Connection, params: SessionParams) -> Result:
    """``session/cancel``: end the summary under way, if there is one."""
    job = connection.service.jobs.of(await connection.session(params.session))
    return {"cancelled": job is not None and job.cancel()}
