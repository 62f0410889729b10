"""What looks like a secret in a text: keys by their shape, passwords by what stands before them.

Rules find candidates, and `_is_value` throws out what is code, a type, a placeholder or a default.
All patterns are bounded, so that no text makes them slow. Nothing here is sure: a secret without a
shape and without a name is not seen.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from branchline.entries import ENTRY_TYPES, ROLES

# A key begins a word, or stands behind an escaped line end of text that was encoded twice.
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"

_SHAPES: Final = tuple(
    (hints, re.compile(pattern))
    for hints, pattern in (
        (("sk-",), _START + r"sk-[A-Za-z0-9_-]{16,400}"),
        (("_live_", "_test_"), _START + r"[srp]k_(?:live|test)_[A-Za-z0-9]{10,200}"),
        (("gh",), _START + r"gh[pousr]_[A-Za-z0-9]{20,255}"),
        (("github_pat_",), _START + r"github_pat_[A-Za-z0-9_]{20,255}"),
        (("glpat-",), _START + r"glpat-[A-Za-z0-9_-]{16,255}"),
        (("xox", "xapp-"), _START + r"(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,255}"),
        (("hooks.slack.com",), r"(?<=hooks\.slack\.com/services/)[A-Za-z0-9/]{20,100}"),
        (("AKIA", "ASIA"), _START + r"A[KS]IA[0-9A-Z]{16}(?![0-9A-Za-z])"),
        (("AIza",), _START + r"AIza[0-9A-Za-z_-]{30,100}"),
        (("ya29.",), _START + r"ya29\.[A-Za-z0-9_-]{20,400}"),
        (("hf_",), _START + r"hf_[A-Za-z0-9]{20,100}"),
        (("gsk_", "xai-", "whsec_"), _START + r"(?:gsk_|xai-|whsec_)[A-Za-z0-9+/=]{20,200}"),
        (("npm_",), _START + r"npm_[A-Za-z0-9]{30,100}"),
        (("pypi-",), _START + r"pypi-[A-Za-z0-9_-]{30,400}"),
        (("SG.",), _START + r"SG\.[A-Za-z0-9_-]{16,100}\.[A-Za-z0-9_-]{16,100}"),
        (("dop_v1_",), _START + r"dop_v1_[a-f0-9]{40,100}"),
        (("AGE-SECRET-KEY-",), _START + r"AGE-SECRET-KEY-1[0-9A-Z]{40,100}"),
        (
            ("eyJ",),
            r"eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,8000}(?:\.[A-Za-z0-9_-]{0,4000})?",
        ),
    )
)
"""Shapes of keys, each with the texts one of which must be there before it is looked for."""

_PEM: Final = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[A-Za-z0-9+/=\s\\\"',:.()-]{0,8000}?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"|(?:[\s\\nr\"',]{0,8}[A-Za-z0-9+/=]{16,100}){0,400})"
)
_PEM_LINE: Final = re.compile(r"[A-Za-z0-9+/=]{24,100}")

_URL: Final = re.compile(
    r"[a-z][a-z0-9+.-]{1,20}://([^\s/:@\"'<>\\]{0,200})(?::([^\s/@\"'<>\\]{1,200}))?@"
)
_BEARER: Final = re.compile(r"(?:bearer|basic|token)\s{1,3}([a-z0-9._~+/=-]{12,4000})")

_NAMES: Final = (
    "passw", "passphrase", "pwd", "secret", "token", "api_key", "api-key", "apikey", "access_key",
    "access-key", "accesskey", "private_key", "private-key", "privatekey", "credential",
    "signing_key", "encryption_key", "auth_key", "authkey", "account_key", "accountkey",
)  # fmt: skip
_ASSIGNED: Final = re.compile(
    r"(?:passw(?:or)?d|passwd|passphrase|pwd|secret|token|(?:api|access|private|signing|encryption"
    r"|auth|account)[_-]?key|credential)(?!s\b|i[sz]|ing)[a-z0-9_-]{0,40}"
    r"(\\{0,3}[\"'`]?\]?)(\s{0,3}(?::=|=>|[:=])[ \t]{0,3})(\\{0,3}[\"'`]?)"
)
"""A name and the sign behind it, in lower case: groups closing quote, sign, opening quote."""
_QUOTED: Final = re.compile(r"[^\"'`\s\\]{4,400}")
_BARE: Final = re.compile(r"[^\s\"'`,;()\[\]{}<>\\|&]{4,400}")
_AFTER_WORD: Final = re.compile(
    r"\b(?:key|secret|token|password|credential|signature)s?[\"'`]?(?:\s{0,3}[:=]|\s{1,3}is\b)?"
    r"[\s\"'`]{1,4}([a-z0-9+/_-]{24,400}={0,2})(?![a-z0-9])"
)

_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][A-Za-z_$.-]*")
_NOT_A_VALUE: Final = re.compile(r"[$%{<*\[(]|\.\.|os\.|env\.|process\.|self\.|\d{4}-\d\d-\d\d")
_WORDS: Final = """
string boolean number integer object undefined none null true false any unknown never bytes
optional required input output value values type text password passwd passphrase secret token
tokens credential credentials apikey username user root admin guest test testing tests example
examples changeme change dummy fake placeholder default localhost postgres postgresql mysql
mariadb mongo mongodb redis rabbitmq minio development staging production local hidden redacted
masked empty missing invalid expired valid yours mine here there this that from with have email
path command content message messages session text thinking image toolcall stop length tooluse
error aborted timestamp data name label arguments description pattern query replacement summary
details provider model usage header branchline system const await return function import class
public private static
"""
_COMMON: Final = frozenset({*_WORDS.split(), *map(str.lower, ENTRY_TYPES), *map(str.lower, ROLES)})
"""What is no secret wherever it stands: types, placeholders, defaults, words of the file format."""


def secrets_in(text: str) -> Iterator[str]:
    """What looks like a key or a password in a text, each as it stands there."""
    for hints, pattern in _SHAPES:
        if any(hint in text for hint in hints):
            for match in pattern.finditer(text):
                if any(one.isdigit() for one in match[0]):
                    yield match[0]
    if "-----BEGIN " in text:
        for match in _PEM.finditer(text):
            yield match[0]
            yield from _PEM_LINE.findall(match[0])
    if "://" in text and "@" in text:
        yield from _in_urls(text)
    yield from _named(text)


@lru_cache(1000)
def names_secret(name: str) -> bool:
    """Whether a name is one that secrets have."""
    lower = name[:200].lower()
    return any(one in lower for one in _NAMES)


def is_strong(secret: str) -> bool:
    """Whether a secret is unlike any word, so that it is one wherever its characters stand."""
    return (
        len(secret) >= 8
        and any(one.isdigit() for one in secret)
        and any(not one.isdigit() for one in secret)
    ) or len(secret) >= 20


def _in_urls(text: str) -> Iterator[str]:
    """Passwords in URLs, and user names that are tokens."""
    for match in _URL.finditer(text):
        user, password = match[1], match[2]
        if password is not None and _is_value(password, quoted=True):
            yield password
        if len(user) >= 16 and is_strong(user):
            yield user


def _named(text: str) -> Iterator[str]:
    """Values that stand behind a name such as ``password`` or ``API_KEY``."""
    lower = text.lower()
    if len(lower) != len(text):  # a few letters have a longer lower case
        lower = text = lower
    if "bearer" in lower or "authorization" in lower:
        for match in _BEARER.finditer(lower):
            value = text[match.start(1) : match.end(1)].rstrip(".")
            if re.search(r"[0-9=]", value) and not _NOT_A_VALUE.match(value):
                yield value
    if any(name in lower for name in _NAMES):
        for match in _ASSIGNED.finditer(lower):
            yield from _assigned(text, match)
    if "key" in lower or "secret" in lower or "token" in lower:
        for match in _AFTER_WORD.finditer(lower):
            value = text[match.start(1) : match.end(1)]
            if _is_random(value):
                yield value


def _assigned(text: str, match: "re.Match[str]") -> Iterator[str]:
    sign, quoted = match[2], bool(match[3])
    value = (_QUOTED if quoted else _BARE).match(text, match.end())
    if value is None:
        return
    found = value[0] if quoted else value[0].rstrip(".:!?")
    behind = text[value.end() : value.end() + 1]
    if not quoted and behind in ("(", "["):
        return  # a call, not a value
    if not _is_value(found, quoted=quoted):
        return
    if found.isdigit() and not match[0].startswith(("passw", "pwd")):
        return  # a count of tokens
    if _IDENTIFIER.fullmatch(found):
        if any(name in found.lower() for name in _NAMES) or (quoted and len(found) < 6):
            return  # a variable, passed on
        is_shell = sign == "=" and text[match.start()].isupper()
        is_line = ":" in sign and match[0].startswith("passw") and behind in ("", "\n", "\r")
        if not (quoted or is_shell or is_line):
            return
    elif not quoted and len(found) < 6:
        return
    yield found


def _is_value(text: str, *, quoted: bool) -> bool:
    """Whether a text can be a secret at all, and is no placeholder."""
    return (
        len(text) >= 4
        and text.lower() not in _COMMON
        and not _NOT_A_VALUE.match(text)
        and "..." not in text
        and len(set(text)) > 2
        and (quoted or any(one.isalnum() for one in text))
    )


def _is_random(text: str) -> bool:
    """Whether the characters are spread as those of random bytes in hex or base64 are."""
    if not any(one.isdigit() for one in text) or not any(one.isalpha() for one in text):
        return False
    counts = Counter(text)
    entropy = -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values())
    is_hex = all(one in "0123456789abcdefABCDEF-" for one in text)
    return entropy >= (2.8 if is_hex else 3.6)
