"""Where the values of given keys stand in a text, which need not be JSON. One pass: time grows with the text."""

from __future__ import annotations

import re
from collections.abc import Iterator

_COLON = re.compile(r"\s*:")
_SCALAR = re.compile(r"[^\s,}\]]+")
_PLAIN = re.compile(r"-?[\d.eE+-]+|true|false|null")
_QUOTES = {quote: re.compile(rf"\\.|{quote}", re.DOTALL) for quote in "\"'"}
_MARK = re.compile(r"[\"'{}\[\]]")


def under_keys(text: str, keys: tuple[str, ...]) -> Iterator[tuple[int, int, str]]:
    """What stands behind one of `keys`, any case: strings, and all strings of a container. (start, end, rule)."""
    if not keys:
        return
    names, covered = "|".join(re.escape(key) for key in keys), 0
    for match in re.finditer(rf"(?<![\w-])(['\"]?)({names})\1\s*[:=]\s*", text, re.IGNORECASE):
        if match.start() < covered:
            continue
        for start, end in _strings(text, match.end()):
            covered = end
            yield start, end, f"key {match[2]}"


def _strings(text: str, at: int) -> Iterator[tuple[int, int]]:
    """The insides of the strings of the value that begins at `at`, or an unquoted scalar that is no number or word."""
    opener = text[at : at + 1]
    if opener in ('"', "'"):
        yield at + 1, _closing(text, at)
    elif opener in ("{", "["):
        yield from _inside(text, at)
    elif (match := _SCALAR.match(text, at)) and not _PLAIN.fullmatch(match[0]):
        yield match.span()


def _inside(text: str, at: int) -> Iterator[tuple[int, int]]:
    """The strings of the container that begins at `at`, but its keys; (end, end) last, which covers the rest."""
    depth = 0
    while match := _MARK.search(text, at):
        character, at = match[0], match.start()
        depth += (character in "{[") - (character in "}]")
        if character in "\"'":
            end = _closing(text, at)
            if not _COLON.match(text, end + 1):
                yield at + 1, end
            at = end
        at += 1
        if depth == 0:
            break
    else:
        at = len(text)
    yield at, at


def _closing(text: str, at: int) -> int:
    """The place of the quote that ends the string that begins at `at`; the text's end where none does."""
    quote = text[at]
    for match in _QUOTES[quote].finditer(text, at + 1):
        if match[0] == quote:
            return match.start()
    return len(text)
