"""What a compaction would do or did, and who writes summaries, as tables to read."""

from collections.abc import Mapping
from typing import Any, Final

from rich.cells import cell_len, set_cell_size

from branchline.terminal.entries import first_line
from branchline.terminal.rows import plain_text

Json = Any
_PARTS: Final = (("covered", "summarized"), ("turn prefix", "turnPrefix"), ("kept", "kept"))
_INDENT: Final = 14


def ends_of(plan: Mapping[str, Json]) -> list[str]:
    """The ids of the entries that `draw_compaction` names."""
    named = [plan[key][end] for _, key in _PARTS if plan[key] for end in (0, -1)]
    return list(dict.fromkeys(named))


def draw_compaction(
    plan: Mapping[str, Json],
    entries: Mapping[str, Json],
    *,
    tokens_after: int,
    width: int,
) -> list[str]:
    """The plan of ``session/compact``; ``entries`` are those of `ends_of`, by id."""
    lines = []
    for name, key in _PARTS:
        ids = plan[key]
        if ids:
            lines.append(_line(name, _many(len(ids), "message")))
            for word, entry_id in (("from", ids[0]), ("to", ids[-1]))[: min(2, len(ids))]:
                head = f"{'':<{_INDENT}}{word:<5}{plain_text(entry_id)}  "
                text = plain_text(first_line(entries[entry_id]))
                lines.append(head + _cropped(text, width - cell_len(head)))
    lines.append(_line("tokens", f"{plan['tokensBefore']:,} → about {tokens_after:,}"))
    return [*lines, *_files(plan), *_writer(plan)]


def draw_summarizer(result: Mapping[str, Json]) -> list[str]:
    """Who writes and why, who else could, and how the test went (``session/summarizer``)."""
    why = "the first that is there" if result["use"] == "auto" else "the setting summarizer.use"
    lines = [_line("written by", f"{_who(result)}; {why}")]
    for one in result["available"]:
        if one["kind"] == result["kind"]:
            continue
        state = "there" if one["reason"] is None else one["reason"]
        lines.append(_line(one["kind"], plain_text(f"{state}")))
    test = result["test"]
    if test is not None:
        usage = test["usage"]
        cost = f", {usage['totalTokens']:,} tokens" if usage else ""
        lines.append(_line("test", f"a small summary took {test['seconds']:.1f} s{cost}"))
    return lines


def _files(plan: Mapping[str, Json]) -> list[str]:
    rows = (("read", plan["readFiles"]), ("modified", plan["modifiedFiles"]))
    return [_line(name, plain_text(path)) for name, paths in rows for path in paths]


def _writer(plan: Mapping[str, Json]) -> list[str]:
    writer, tokens = plan["summarizer"], plan["promptTokens"]
    if writer is None:
        return []
    sent = "" if tokens is None else f"; about {tokens:,} tokens are sent"
    return [_line("written by", _who(writer) + sent)]


def _who(writer: Mapping[str, Json]) -> str:
    model = f" {writer['model']}" if writer["model"] else ""
    host = f" at {writer['host']}" if writer["host"] else ""
    rules = " (rules, no model; nothing is sent)" if writer["kind"] == "offline" else ""
    return plain_text(f"{writer['kind']}{model}{host}{rules}")


def _line(name: str, text: str) -> str:
    return f"{name:<{_INDENT}}{text}"


def _cropped(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, max(1, width - 1)) + "…"


def _many(count: int, one: str) -> str:
    return f"{count} {one}" if count == 1 else f"{count} {one}s"
