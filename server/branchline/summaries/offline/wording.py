"""Text of a session made fit to stand in a summary, and taken apart into what is said.

Promises: what leaves here is one line, without control characters, escapes of a terminal or
bidirectional overrides; it begins with no list, heading or quote mark; outside code it holds
nothing that reads as a tag, inside code no tag that summaries are wrapped in. Code spans are
never cut.

It knows no messages and no sections.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from branchline.codec import clean_text
from branchline.summaries.offline.languages import STOP_WORDS

LONGEST_STATEMENT: Final = 320
"""Characters of one sentence or item in a summary."""
LONGEST_CODE: Final = 160
"""Characters of one quoted command, error or path."""
LONGEST_WHOLE: Final = 3_000
"""Characters of a message that is kept word for word."""
_LONGEST_QUOTED: Final = 1_000  # characters of one code span in such a message
_LONGEST_SENTENCE: Final = 1_000  # characters of a sentence that are looked at
_HEAD, _TAIL = 24_000, 8_000  # characters of one text that are looked at, at its two ends

_REMOVED = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b\n]*(?:\x07|\x1b\\\\)?"
    "|[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]+")
_SPACES = re.compile(r"\s+")
_TAG_IN_CODE = re.compile(
    r"<(?=/?(?:summary|previous-summary|conversation|read-files|modified-files|system|user"
    r"|assistant|instructions)\b)",
    re.IGNORECASE,
)
_TAG = re.compile(r"<(?=[/!?A-Za-z])")
_SPAN = re.compile(r"(?<!`)(`{1,3})(?!`)([^`]+)\1(?!`)")
_BACKTICKS = re.compile(r"`+")
_MARKS = re.compile(r"(?:\s|#+(?=\s|#|$)|>|[-*+•·](?=\s)|\d{1,3}[.)](?=\s)|\[[ xX]\]|=+$|\|)+")
_PATH = re.compile(
    r"(?<![\w`/.:@~<;-])(?:~?/|\.{1,2}/)?(?:[\w.@+-]{1,80}/){1,12}[\w.@+-]{0,80}\.[A-Za-z]\w{0,7}\b"
    r"|(?<![\w`/.:@~<;-])(?:~?/|\.{1,2}/)(?:[\w.@+{}-]{1,80}/){0,12}[\w@+-][\w.@+-]{1,80}(?<![.])"
    r"|(?<![\w`/.:@~<;-])[\w-]{1,60}(?:\.[\w-]{1,20}){0,2}\.(?:py|pyi|ts|tsx|js|jsx|mjs|json|md|toml|ya?ml"
    r"|rs|go|java|kt|rb|php|c|h|cc|cpp|hpp|cs|swift|lua|sh|sql|html|css|txt|csv|cfg|ini|lock|xml|vue"
    r"|proto|ipynb|env|log)\b(?!\()",
    re.ASCII,
)
_SENTENCE_END = re.compile(
    r"""[.!?…]["'”\u2019)\]]*\s+ | [。\uff01\uff1f\uff1b]["”\u2019」』\uff09]*\s* | (?<!&lt);\s+
    | [:;]-?[)D(P]\s+ | [\U0001f300-\U0001faff]\s+
    | ,\s+(?=(?:but|however|aber|jedoch|mais|pero)\b) | [,\uff0c]\s*(?=但|不过|可是)""",
    re.VERBOSE,
)
_ABBREVIATION = re.compile(r"(?:\b(?:[zZBbduDaA]|ca|etc|vs|Nr|bzw)|e\.g|i\.e)\.")
_QUESTION = re.compile(r"[?\uff1f]\W*$|(?:ですか|ますか|でしょうか|吗|呢)[。\W]*$")
_MEASURED = re.compile(
    r"(?<![\w.])\d[\d.,_]*\s*(?:%|ms|µs|s|sec|secs|seconds?|min|minutes?|h|hours?|[KMGT]i?B|kB|bytes?"
    r"|px|fps|rows?|lines?|requests?|tokens?|users?|files?|tests?|times|x|Hz|million|Sekunden?"
    r"|Minuten?|Stunden?|Zeilen|Dateien|Tests|Mal|Millionen)\b"
    r"|\d[\d.,]*\s*(?:秒|分钟?|毫秒|ミリ秒|小时|時間|行|件|个|個|倍|万|億|亿|次|回)"
)
_FENCE = re.compile(r"\s{0,3}(`{3,}(?=[^`]*$)|~{3,})")
_ITEM = re.compile(r"\s{0,4}(?:[-*+•]\s+|(\d{1,2})(?:[.)](?=\s)|[、\uff0e\uff09])\s*)(\S.*)")
_BOX = re.compile(r"\[([ xX✓✔])\]\s*|(✅|☑|✔|✓)\s*|(☐|⬜)\s*")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(\S.*)|\s*\*\*([^*]+)\*\*\s*[:\uff1a]?\s*")
_PARTICIPLE = re.compile(
    r"(an|ab|auf|aus|ein|um|vor|nach|zu|weg|zurück|hinzu|fest|durch)?ge(\w{2,}?)(?:et|t|en)"
    r"|(\w{2,}ier)t|((?:er|ver|be|ent|zer)\w{3,})t"
)
"""Of German verbs."""
_TRAILING = re.compile(r"(?:,|(?<!&lt);|[\uff0c\uff1b])+$")
_LEADING = re.compile(r"(?:[\s>|]|#{1,6}(?=\s|$)|~{3,})+")
_IRREGULAR = {
    "wrote": "writ", "written": "writ", "made": "mak", "ran": "run", "built": "build",
    "kept": "keep", "sent": "send", "found": "find", "split": "split", "set": "set",
    "geschrieben": "schreib", "verschoben": "verschieb",
}  # fmt: skip
_WIDE_ENDS = "\u3002\uff01\uff1f\uff1b\u300d"
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_GRAMMAR = re.compile("[\u3041-\u309f已了的经都也还把给将和与在是]+")
_ALONE = re.compile("[\u3400-\u9fff]|[\u30a0-\u30ff\uac00-\ud7af]+")
_UNSPACED = re.compile(f"[{_CJK}]+")
_WORD = re.compile(rf"[{_CJK}]+|[^\W\d_{_CJK}](?:[^\W{_CJK}]|-)*")


Parts = list[tuple[str, bool]]
"""Parts of a line in order, and whether each is code."""


def excerpt(text: str) -> str:
    """The text without escapes and control characters; of a very long one, head and tail."""
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD]}\n{text[-_TAIL:]}"
    text = _REMOVED.sub("", text.replace("\r\n", "\n"))
    return clean_text(_CONTROL.sub(" ", text))


def code(text: str, limit: int = LONGEST_CODE) -> str:
    """The text as one code span of at most about ``limit`` characters; empty if it is blank."""
    line = _SPACES.sub(" ", excerpt(text[: 4 * limit])).strip()
    line = _TAG_IN_CODE.sub(r"<\\", line)
    if len(line) > limit or len(text) > 4 * limit:
        line = line[: limit - 1].rstrip() + "…"
    if not line:
        return ""
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def prose(text: str, limit: int = LONGEST_STATEMENT) -> str:
    """What a person or a model said, as one line; code spans stay, bare paths become some.

    Longer texts are cut between words and outside code, with "…".
    """
    line = " ".join(_MARKS.sub("", one, count=1) if _MARKS.match(one) else one
                    for one in text[: 8 * limit].split("\n"))  # fmt: skip
    return _cut(_made(_with_paths(line)), limit)


def whole(text: str) -> str:
    """A message word for word, as one line; what is pasted in it is quoted as code and shortened.

    Of a message that is longer than `LONGEST_WHOLE` its beginning and its end are kept.
    """
    lines: list[str] = []
    pasted: list[str] = []
    fence = ""
    for raw in (*excerpt(text).split("\n"), ""):
        mark = _FENCE.match(raw)
        if (fence and not mark) or (not fence and raw.lstrip().startswith(">")):
            pasted.append(raw.lstrip(" \t>"))
            continue
        if pasted:
            lines.append(code(" ".join(pasted)))
            pasted = []
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        else:
            heading = _HEADING.fullmatch(raw)
            lines.append((heading[1] or heading[2]) if heading else raw.lstrip(" \t|"))
    made = _made(_spans(" ".join((*lines, code(" ".join(pasted))))), _LONGEST_QUOTED)
    if sum(len(part) for part, _ in made) <= LONGEST_WHOLE:
        return _unmarked("".join(part for part, _ in made))
    room = LONGEST_WHOLE - len(" … ")
    head = _cut(made, room * 2 // 3).removesuffix("…")
    tail = _cut([(part[::-1], is_code) for part, is_code in reversed(made)], room // 3)
    return _unmarked(f"{head.rstrip()} … {tail.removesuffix('…')[::-1].lstrip()}")


def _unmarked(line: str) -> str:
    line = _SPACES.sub(" ", line).strip()
    return line[mark.end() :] if (mark := _LEADING.match(line)) else line


def _made(spans: Iterable[tuple[str, bool]], longest_code: int = LONGEST_CODE) -> Parts:
    """The parts as they may stand in a summary."""
    return [(code(part, longest_code) if is_code else _safe(part), is_code)
            for part, is_code in spans]  # fmt: skip


def _cut(made: Parts, limit: int) -> str:
    """The parts together, cut between words and outside code, with "…"."""
    parts: list[str] = []
    room = limit
    for part, is_code in made:
        if len(part) > room:
            if not is_code:
                cut = part[:room]
                word = cut if _UNSPACED.search(cut[-12:]) else cut.rpartition(" ")[0]
                parts.append(re.sub(r"&(?:lt|l)?$", "", word).rstrip(" ,;:\uff0c、\uff1b\uff1a("))
            parts.append("…")
            break
        parts.append(part)
        room -= len(part)
    return "".join(parts).strip()


def _spans(text: str) -> Iterator[tuple[str, bool]]:
    """The parts of a text in order, and whether each is quoted as code."""
    line = _SPACES.sub(" ", text).strip()
    position = 0
    for span in _SPAN.finditer(line):
        yield line[position : span.start()], False
        yield span[2].strip(), True
        position = span.end()
    yield line[position:], False


def _with_paths(text: str) -> Iterator[tuple[str, bool]]:
    """The same, where a path counts as code too."""
    for part, is_code in _spans(text):
        position = 0
        for path in () if is_code or not _may_have_paths(part) else _PATH.finditer(part):
            yield part[position : path.start()], False
            yield path[0], True
            position = path.end()
        yield part[position:], is_code


def _safe(text: str) -> str:
    text = text.replace("**", "").replace("`", "'")
    return _TAG.sub("&lt;", text)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of what somebody said: a sentence's worth, an item, or a heading.

    Attributes:
        text: without its mark.
        number: of a numbered item; 0 for a bullet; None if it is no item.
        ticked: whether an item has a box, and whether that is ticked; None without a box.
        heading: whether it is a heading.
    """

    text: str
    number: int | None = None
    ticked: bool | None = None
    heading: bool = False

    @property
    def sentences(self) -> list[str]:
        """The sentences of the line, each as far as it is looked at; a heading has none."""
        if self.heading:
            return []
        return [one[:_LONGEST_SENTENCE] for one in sentences(self.text)]


def said(text: str) -> list[Line]:
    """The lines of a message: paragraphs joined, code blocks and quotations left out."""
    lines: list[Line] = []
    paragraph: list[str] = []
    fence = ""

    def end_paragraph() -> None:
        if paragraph:
            lines.append(Line("\n".join(paragraph)))
            paragraph.clear()

    for raw in excerpt(text).split("\n"):
        mark = _FENCE.match(raw)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
            end_paragraph()
        elif fence or raw.lstrip().startswith((">", "|")) or raw.startswith(("\t", "     ")):
            continue
        elif not raw.strip():
            end_paragraph()
        elif heading := _HEADING.fullmatch(raw):
            end_paragraph()
            lines.append(Line(heading[1] or heading[2], heading=True))
        elif item := _ITEM.fullmatch(raw):
            end_paragraph()
            body, ticked = item[2], None
            if box := _BOX.match(body):
                ticked = box[3] is None and box[1] != " "
                body = body[box.end() :]
            lines.append(Line(body, number=int(item[1] or 0), ticked=ticked))
        else:
            paragraph.append(raw.strip())
    end_paragraph()
    return lines


def sentences(line: str) -> list[str]:
    """The sentences of a line, and what stands against each other in one.

    Full stops inside code, paths and numbers end none.
    """
    spans = [(one.start(), one.end()) for one in _SPAN.finditer(line)]
    found: list[str] = []
    start = at = 0
    for end in _SENTENCE_END.finditer(line):
        while at < len(spans) and spans[at][1] <= end.start():
            at += 1
        if at < len(spans) and spans[at][0] < end.start():
            continue
        if _ABBREVIATION.search(line, max(0, end.start() - 3), end.start() + 1):
            continue
        found.append(line[start : end.end()].strip())
        start = end.end()
    found.append(line[start:].strip())
    return [one for one in (_TRAILING.sub("", part) for part in found) if one]


def is_question(sentence: str) -> bool:
    """Whether a sentence is a question."""
    return _QUESTION.search(sentence) is not None


def is_measured(sentence: str) -> bool:
    """Whether a sentence states a number with its unit."""
    return _MEASURED.search(sentence) is not None


def joined(parts: Iterable[str]) -> str:
    """Sentences one after the other, with a space where the script sets one."""
    text = ""
    for part in parts:
        text += part if not text or text[-1] in _WIDE_ENDS else f" {part}"
    return text


@lru_cache(maxsize=2_000)
def features(text: str) -> frozenset[str]:
    """What a text is about: its words in lower case, or pairs of characters without spaces."""
    found: set[str] = set()
    for word in _WORD.findall(text.casefold()):
        if _UNSPACED.fullmatch(word):
            found.update(word[at : at + 2] for at in range(max(1, len(word) - 1)))
        elif len(word) > 2 and word not in STOP_WORDS:
            found.add(_stem(word))
    return frozenset(found)


def core(text: str) -> frozenset[str]:
    """What a clause is about, word for word where they are set apart, else sign for sign.

    Finer than `features`: endings and particles of Chinese and Japanese are no part of it.
    """
    found: set[str] = set()
    for word in _WORD.findall(text.casefold()):
        if _UNSPACED.fullmatch(word):
            found.update(_ALONE.findall(_GRAMMAR.sub(" ", word)))
        elif word not in STOP_WORDS:
            found.add(_stem(word))
    return frozenset(found)


def _stem(word: str) -> str:
    """The word without a common ending: "added" and "adds" have one stem."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if participle := _PARTICIPLE.fullmatch(word):
        return "".join(filter(None, participle.groups()))
    for ending in ("ing", "ed", "es", "s", "en", "e"):
        if word.endswith(ending) and len(word) - len(ending) > 2:
            return word[: -len(ending)]
    return word


def paths_in(text: str) -> list[str]:
    """The paths that a text names outside code."""
    return [match[0] for match in _PATH.finditer(text)] if _may_have_paths(text) else []


def _may_have_paths(text: str) -> bool:
    return "/" in text or "." in text


def code_in(text: str) -> list[str]:
    """What a text quotes as code."""
    return [span[2].strip() for span in _SPAN.finditer(text)]


def unquoted(line: str) -> str:
    """The line without its code spans."""
    return _SPAN.sub(" ", line)
