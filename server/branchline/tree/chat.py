"""The chat-completions form of a context: what a model server receives.

Promises, whatever the session holds (format.md, "From a leaf to the model's context", 6):
* each tool call has exactly one result, directly behind the message that makes the call, with only
  other results between. What stood between them in the file comes after; a call without a result
  gets one that says so;
* ids and names of calls have the characters and the length that every server takes, and each id is
  used by one call only: where a session uses it again, the later is renamed;
* left out are results without a call, second results, assistant messages that failed, blank
  messages, blank texts, images that are none, thinking, and shell commands that the user excluded;
* text from a session stands inside a fence that it cannot close, wherever we put words around it.

It never cuts, estimates or encodes; lone surrogates are replaced when the request is encoded.
"""

import binascii
import re
from collections.abc import Iterator
from typing import Any, Final

from branchline import codec
from branchline.entries import Entry, blocks, summary_of, tool_calls
from branchline.tree.context import Context
from branchline.tree.messages import failed, pair_results
from branchline.tree.system import system_text

BRANCH_INTRODUCTION: Final = (
    "The user explored a different conversation branch before returning here."
)
"""The sentence at the head of a branch summary: stored there, added here where it is missing."""

_COMPACTION_HEAD: Final = (
    "The earlier part of this conversation is no longer shown. "
    "Between the fences stands a summary of it:"
)
_BRANCH_HEAD: Final = (
    "Between the fences stands a summary of another branch of this conversation, "
    "which was left to go on from here:"
)
_BASH_HEAD: Final = "The user ran this shell command:"
_NO_OUTPUT: Final = "(no output)"
_SEE_IMAGE: Final = "(see attached image)"
_IMAGES_HEAD: Final = "Images from the tool results above:"
_NO_RESULT: Final = (
    "Error: this tool call has no result. It did not finish, or its result was removed."
)

_BACKTICKS: Final = re.compile("`+")
_NOT_IN_NAMES: Final = re.compile("[^A-Za-z0-9_-]+")
_LONGEST_ID: Final = 40
_LONGEST_NAME: Final = 64
_IMAGE_TYPE: Final = re.compile(r"image/[\w.+-]+", re.ASCII)


def chat_messages(context: Context) -> list[Entry]:
    """The messages of a chat-completions request, the system message first."""
    messages = [message for _, message in context.items]
    results = pair_results(messages).results
    sent: list[Entry] = []
    used_ids: dict[str, int] = {}
    if context.system is not None:
        sent += _message("system", system_text(context.system))
    for index, message in enumerate(messages):
        if message.get("role") == "assistant":
            if not failed(message):
                answers = [None if at is None else messages[at] for at in results[index]]
                sent += _assistant_group(message, answers, used_ids)
        else:
            sent += _user_message(_user_parts(message))
    return sent


def is_image(block: Entry) -> bool:
    """Whether a block is an image that a server takes: it has a type of images, and base64."""
    data, mime_type = block.get("data"), block.get("mimeType")
    if block.get("type") != "image" or not (isinstance(data, str) and isinstance(mime_type, str)):
        return False
    try:
        content = binascii.a2b_base64(data, strict_mode=True)
    except ValueError:
        return False
    return bool(content) and _IMAGE_TYPE.fullmatch(mime_type) is not None


def chat_tools(system: Entry | None) -> list[Entry]:
    """The tools that a folded system message offers, as they are stored."""
    return list(system.get("toolsAdded", [])) if system else []


def _assistant_group(
    message: Entry, answers: list[Entry | None], used_ids: dict[str, int]
) -> Iterator[Entry]:
    """An assistant message, the results of its calls in call order, and then their images."""
    text = "\n".join(_texts(message.get("content")))
    calls = list(tool_calls(message.get("content")))
    if not calls:
        yield from _message("assistant", text)
        return
    call_ids = [_unused_id(call["id"], used_ids) for call in calls]
    yield {
        "role": "assistant",
        "content": text or None,
        "tool_calls": [
            {
                "id": call_id,
                "type": "function",
                "function": {"name": _tool_name(call["name"]), "arguments": _arguments(call)},
            }
            for call_id, call in zip(call_ids, calls, strict=True)
        ],
    }
    images: list[Entry] = []
    for call_id, answer in zip(call_ids, answers, strict=True):
        text = _NO_RESULT
        if answer is not None:
            found = list(_images(answer.get("content")))
            text = "\n".join(_texts(answer.get("content"))) or (_SEE_IMAGE if found else _NO_OUTPUT)
            images += found
        yield {"role": "tool", "tool_call_id": call_id, "content": text}
    if images:
        yield from _user_message([_text_part(_IMAGES_HEAD), *images])


def _unused_id(stored_id: str, used_ids: dict[str, int]) -> str:
    """The id as it is sent: if a call before has it, with the first free number behind it.

    Behind a bar some providers keep ids of their own in it, of any length.
    """
    call_id = _NOT_IN_NAMES.sub("_", stored_id.partition("|")[0])[:_LONGEST_ID] or "call"
    unused = call_id
    while unused in used_ids:
        used_ids[call_id] += 1
        number = f"-{used_ids[call_id]}"
        unused = call_id[: _LONGEST_ID - len(number)] + number
    used_ids[unused] = 1
    return unused


def _tool_name(name: str) -> str:
    return _NOT_IN_NAMES.sub("_", name)[:_LONGEST_NAME] or "tool"


def _arguments(call: Entry) -> str:
    arguments = call.get("arguments")
    return codec.encode(arguments).decode() if isinstance(arguments, dict) else "{}"


def _user_parts(message: Entry) -> list[Entry]:
    """What a message that is sent as the user's says; nothing for any other."""
    match message.get("role"):
        case "user" | "custom":
            return list(_parts(message.get("content")))
        case "bashExecution" if not message.get("excludeFromContext"):
            return _bash_parts(message)
        case "compactionSummary":
            return _summary_parts(_COMPACTION_HEAD, summary_of(message))
        case "branchSummary":
            summary = summary_of(message)
            if summary.strip() and not summary.lstrip().startswith(BRANCH_INTRODUCTION):
                summary = f"{BRANCH_INTRODUCTION}\n\n{summary}"
            return _summary_parts(_BRANCH_HEAD, summary)
        case _:
            return []


def _summary_parts(head: str, summary: str) -> list[Entry]:
    return [_text_part(f"{head}\n\n{fenced(summary)}")] if summary.strip() else []


def _bash_parts(message: Entry) -> list[Entry]:
    command, output, path = (
        value if isinstance(value, str) else ""
        for value in (message.get(key) for key in ("command", "output", "fullOutputPath"))
    )
    if not (command.strip() or output.strip()):
        return []
    said = [_BASH_HEAD, fenced(command)]
    said += ["Its output:", fenced(output)] if output.strip() else [_NO_OUTPUT]
    exit_code = message.get("exitCode")
    if message.get("cancelled"):
        said.append("The command was cancelled.")
    elif isinstance(exit_code, int) and exit_code != 0:
        said.append(f"The command failed with exit code {exit_code}.")
    if message.get("truncated") and path:
        said.append(f"The output was cut. All of it is in this file:\n{fenced(path)}")
    return [_text_part("\n".join(said))]


def fenced(text: str) -> str:
    """The text between two lines of backticks, more of them than stand together inside."""
    longest = max(map(len, _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _message(role: str, text: str) -> Iterator[Entry]:
    """The message, unless nothing is left to say."""
    if text:
        yield {"role": role, "content": text}


def _user_message(parts: list[Entry]) -> Iterator[Entry]:
    """A user message of these parts, as plain text where they are only text; none for no parts."""
    if all(part["type"] == "text" for part in parts):
        yield from _message("user", "\n".join(part["text"] for part in parts))
    else:
        yield {"role": "user", "content": parts}


def _parts(content: Any) -> Iterator[Entry]:
    """Texts and images in order; blank texts and what is no image left out."""
    for block in blocks(content):
        yield from map(_text_part, _texts([block]))
        yield from _images([block])


def _texts(content: Any) -> Iterator[str]:
    for block in blocks(content, "text"):
        text = block.get("text")
        if isinstance(text, str) and text.strip():
            yield text


def _images(content: Any) -> Iterator[Entry]:
    for block in filter(is_image, blocks(content, "image")):
        url = f"data:{block['mimeType']};base64,{block['data']}"
        yield {"type": "image_url", "image_url": {"url": url}}


def _text_part(text: str) -> Entry:
    return {"type": "text", "text": text}
