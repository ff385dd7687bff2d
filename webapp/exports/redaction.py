"""Hides what must not leave: each redacted character becomes another one, so that spans stay valid."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from webapp.exports.labelled import REDACTED, Labelled, Redaction, Said

ASTRAL = "\U0001fb8b"
"""Stands for a code point above U+FFFF, whose escape takes twelve characters."""
_KEPT = frozenset('\n\t\r\b\f"\\/')
"""Characters that JSON writes with a short escape: they stay, so that the text decodes to as many code points."""
_ESCAPE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL)
_COLON = re.compile(r"\s*:")
_SCALAR = re.compile(r"[^\s,}\]]+")


class BadPattern(ValueError):
    """A pattern is no regular expression; the message says where it ends to be one."""


Rule = Callable[[str], Iterator[tuple[int, int, str]]]
"""Finds what to hide in a text: (start, end, name of the rule), in code points."""


@dataclass(frozen=True, slots=True)
class Redactor:
    """What to hide: values under `keys` (any case), what `patterns` match, and what a library's rules find."""

    keys: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    words: str = ""

    def spans(self, text: str) -> list[Redaction]:
        """The stretches of `text` to hide, in order and without overlaps."""
        found = [*_under_keys(text, self.keys), *(hit for rule in self.rules for hit in rule(text))]
        merged: list[Redaction] = []
        for start, end, rule in sorted(found):
            if merged and start < merged[-1].end:
                last = merged[-1]
                merged[-1] = replace(last, end=max(end, last.end))
            elif start < end:
                merged.append(Redaction(start, end, rule))
        return merged

    def text(self, text: str) -> str:
        """`text` with what is to be hidden masked, as long as before."""
        return mask(text, self.spans(text))

    def value(self, value: Any, *, under: bool = False) -> Any:
        """A decoded value with its strings masked as they are in the text; all of those below a hidden key."""
        if isinstance(value, str):
            return _masked(value, escapes=False) if under else self._string(value)
        if isinstance(value, dict):
            hidden = {key.lower() for key in self.keys}
            return {
                self._string(key): self.value(item, under=under or key.lower() in hidden) for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.value(item, under=under) for item in value]
        return value

    def response(self, response: Labelled) -> Labelled:
        """The response with raw, labels and names masked, and its redactions noted."""
        spans = self.spans(response.raw)
        labels = tuple(self.said(said) for said in response.labels)
        final = None if response.final is None else self.said(response.final)
        return replace(
            response,
            raw=mask(response.raw, spans),
            labels=labels,
            final=final,
            session=self.text(response.session),
            settled=None if response.settled is None else self.value(response.settled),
            redactions=tuple(spans),
        )

    def said(self, said: Said) -> Said:
        """A label with its note, expected value and history masked."""
        note = None if said.note is None else self.text(said.note)
        history = tuple(self.value(event) for event in said.history)
        return replace(said, note=note, expected=self.value(said.expected), history=history)

    def _string(self, text: str) -> str:
        spans = [hit for rule in self.rules for hit in rule(text)]
        for start, end, _ in spans:
            text = text[:start] + _masked(text[start:end], escapes=False) + text[end:]
        return text


def redactor(keys: Iterable[str] = (), patterns: Iterable[str] = (), *, secrets: bool = False) -> Redactor | None:
    """What to hide, or None where nothing is. Raises `BadPattern`, and `MissingLibrary` for `secrets`."""
    keys, patterns = tuple(filter(None, keys)), tuple(filter(None, patterns))
    rules = [_pattern(pattern) for pattern in patterns]
    if secrets:
        from webapp.exports.secrets import secret_rule

        rules.append(secret_rule())
    if not keys and not rules:
        return None
    words = [f"values of {', '.join(keys)}"] if keys else []
    words += [f"{len(patterns)} pattern{'s' * (len(patterns) > 1)}"] if patterns else []
    words += ["detect-secrets' rules"] if secrets else []
    return Redactor(keys, tuple(rules), ", ".join(words))


def mask(text: str, spans: Iterable[Redaction]) -> str:
    """`text` with the characters of `spans` masked; no span of anything else moves."""
    pieces, at = [], 0
    for span in spans:
        pieces += [text[at : span.start], _masked(text[span.start : span.end], escapes=True)]
        at = span.end
    return "".join([*pieces, text[at:]])


def _masked(text: str, *, escapes: bool) -> str:
    return "".join(_one(match.group(), escapes) for match in _ESCAPE.finditer(text))


def _one(piece: str, escapes: bool) -> str:
    """One character or escape masked; with `escapes` a `\\uXXXX` is masked as one, so that it still decodes to one."""
    if len(piece) == 1:
        return piece if piece in _KEPT else ASTRAL if ord(piece) > 0xFFFF else REDACTED
    if not escapes:
        return "".join(_one(character, False) for character in piece)
    if len(piece) == 12:
        return "\\ud83e\\udf8b"
    if len(piece) == 6:
        return piece if chr(int(piece[2:], 16)) in _KEPT else "\\u2588"
    return piece


def _pattern(pattern: str) -> Rule:
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadPattern(f"{pattern[:100]!r} is no regular expression: {error}") from None

    def find(text: str) -> Iterator[tuple[int, int, str]]:
        return ((match.start(), match.end(), f"pattern {pattern}") for match in compiled.finditer(text))

    return find


def _under_keys(text: str, keys: tuple[str, ...]) -> Iterator[tuple[int, int, str]]:
    """What stands behind one of `keys` in `text`, which need not be JSON: strings, and all strings of a container."""
    if not keys:
        return
    names, covered = "|".join(re.escape(key) for key in keys), 0
    for match in re.finditer(rf"(?<![\w-])(['\"]?)({names})\1\s*[:=]\s*", text, re.IGNORECASE):
        if match.start() < covered:
            continue
        for start, end in _strings(text, match.end()):
            covered = end
            yield start, end, f"key {match.group(2)}"


def _strings(text: str, at: int) -> Iterator[tuple[int, int]]:
    """The insides of the strings of the value that begins at `at`, or an unquoted scalar that is no number or word."""
    opener = text[at : at + 1]
    if opener in ('"', "'"):
        yield at + 1, _closing(text, at)
    elif opener in ("{", "["):
        yield from _inside(text, at)
    elif (match := _SCALAR.match(text, at)) and not re.fullmatch(r"-?[\d.eE+-]+|true|false|null", match.group()):
        yield match.span()


def _inside(text: str, at: int) -> Iterator[tuple[int, int]]:
    """The strings of the container that begins at `at`, but its keys; (end, end) last, which covers the rest."""
    depth = 0
    while at < len(text):
        character = text[at]
        depth += (character in "{[") - (character in "}]")
        if character in "\"'":
            end = _closing(text, at)
            if not _COLON.match(text, end + 1):
                yield at + 1, end
            at = end
        at += 1
        if depth == 0:
            break
    yield at, at


def _closing(text: str, at: int) -> int:
    """The place of the quote that ends the string that begins at `at`; the text's end where none does."""
    quote = text[at]
    for match in re.compile(rf"\\.|{quote}", re.DOTALL).finditer(text, at + 1):
        if match.group() == quote:
            return match.start()
    return len(text)
