"""Hides what must not leave: each redacted character becomes another one, so that spans stay valid."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from webapp.exports.base import REDACTED, LabelledResponse, LabelView, Redaction
from webapp.installation import MissingLibrary, install_extra
from webapp.text_patterns import MOST_PATTERNS, BadPattern, TextPattern

STEP = 512
WINDOW = 2 * STEP
"""Characters that a rule sees at once: some take the square or the cube of what they see. Each step looks a window
ahead; what reaches the window's end is read again with more, so that a long token is hidden whole."""
WIDEST = 64 * WINDOW
_SPACES = (("(?: *)", "(?: {0,8})"), ("| +|", "| {1,8}|"))
"""Runs of spaces that the library lets be of any length, three in a row: of `n` spaces they make n³ tries."""


def secret_rule() -> Rule:
    """A rule that finds what the library's pattern detectors match (its entropy guesses are left out: they mark prose).

    Raises `MissingLibrary`. Nothing is asked of any network.
    """
    try:
        from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
        from detect_secrets.plugins.base import RegexBasedDetector
    except ImportError:
        message = f"these rules need the library detect-secrets: {install_extra('redact')}"
        raise MissingLibrary(message) from None
    kinds: list[Any] = list(get_mapping_from_secret_type_to_class().values())
    detectors = [kind() for kind in kinds if issubclass(kind, RegexBasedDetector)]
    patterns = [(detector.secret_type, bounded(pattern)) for detector in detectors for pattern in detector.denylist]

    def find(text: str) -> Iterator[tuple[int, int, str]]:
        for name, pattern in patterns:
            for start, end in windowed(pattern, text):
                yield start, end, name

    return find


def bounded(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """`pattern` with at most eight spaces where it takes any number."""
    source = pattern.pattern
    for unbounded, limited in _SPACES:
        source = source.replace(unbounded, limited)
    return re.compile(source, pattern.flags)


def windowed(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """The matches of `pattern`, looked for in windows: time grows with the text, whatever the pattern."""
    at = 0
    for begin in range(0, max(1, len(text)), STEP):
        at, stop, end = max(at, begin), begin + STEP, min(len(text), begin + WINDOW)
        while at < stop and (match := pattern.search(text, at, end)) and match.start() < stop:
            at = match.start() + 1
            if match.end() == end < len(text):
                match = _widened(pattern, text, match.start(), end - begin)
            if match:
                yield match.span()
                at = max(at, match.end())


def _widened(pattern: re.Pattern[str], text: str, start: int, size: int) -> re.Match[str] | None:
    """The match at `start` once the window does not cut it; None where there is none any more."""
    while True:
        size *= 2
        end = min(len(text), start + size)
        match = pattern.match(text, start, end)
        if match is None or match.end() < end or end == len(text) or size >= WIDEST:
            return match


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


MOST_KEYS = 100
ASTRAL = "\U0001fb8b"
"""Stands for a code point above U+FFFF, whose escape takes twelve characters."""
_AS_IT_IS = frozenset('\n\t\r\b\f"\\/')
"""Characters that JSON writes with a short escape: they stay, so that the text decodes to as many code points."""
_ESCAPE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL)
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
        return _merged([*under_keys(text, self.keys), *self._matches(text)])

    def _matches(self, text: str) -> Iterator[tuple[int, int, str]]:
        return (match for rule in self.rules for match in rule(text))

    def text(self, text: str) -> str:
        """`text` with what is to be hidden masked, as long as before."""
        return mask(text, self.spans(text))

    def value(self, value: Any, *, under: bool = False, record: bool = False) -> Any:
        """A decoded value with its strings masked as they are in the text; all of those below a hidden key.

        Of a `record` of ours the names stay as they are, but for those in an expected value.
        """
        if isinstance(value, str):
            return _masked(value, escapes=False) if under else self._string(value)
        if isinstance(value, dict):
            hidden = {key.lower() for key in self.keys}
            return {
                key if record else self._string(key): self.value(
                    item, under=under or key.lower() in hidden, record=record and key != "expected"
                )
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.value(item, under=under, record=record) for item in value]
        return value

    def response(self, response: LabelledResponse) -> LabelledResponse:
        """The response with raw, labels and names masked, and its redactions noted."""
        spans = self.spans(response.raw)
        labels = tuple(self.statement(statement) for statement in response.labels)
        final = None if response.final is None else self.statement(response.final)
        return replace(
            response,
            raw=mask(response.raw, spans),
            labels=labels,
            final=final,
            session=self.text(response.session),
            settled=None if response.settled is None else self.value(response.settled, record=True),
            redactions=tuple(spans),
        )

    def statement(self, statement: LabelView) -> LabelView:
        """A label with its note, expected value and history masked."""
        note = None if statement.note is None else self.text(statement.note)
        history = tuple(self.value(event, record=True) for event in statement.history)
        return replace(statement, note=note, expected=self.value(statement.expected), history=history)

    def _string(self, text: str) -> str:
        return mask(text, _merged(self._matches(text)), escapes=False)


def redactor(keys: Iterable[str] = (), patterns: Iterable[str] = (), *, secrets: bool = False) -> Redactor | None:
    """What to hide, or None where nothing is. Raises `BadPattern`, and `MissingLibrary` for `secrets`."""
    keys, patterns = tuple(filter(None, keys)), tuple(filter(None, patterns))
    if len(patterns) > MOST_PATTERNS or len(keys) > MOST_KEYS:
        raise BadPattern(f"an export may hide {MOST_KEYS} keys and {MOST_PATTERNS} patterns, no more")
    rules: list[Rule] = [TextPattern(pattern) for pattern in patterns]
    if secrets:
        rules.append(secret_rule())
    if not keys and not rules:
        return None
    words = [f"values of {', '.join(keys)}"] if keys else []
    words += [f"{len(patterns)} pattern{'s' * (len(patterns) > 1)}"] if patterns else []
    words += ["detect-secrets' rules"] if secrets else []
    return Redactor(keys, tuple(rules), ", ".join(words))


def _merged(matches: Iterable[tuple[int, int, str]]) -> list[Redaction]:
    """The stretches of `matches` in order; where two overlap, one under the first one's rule."""
    merged: list[Redaction] = []
    for start, end, rule in sorted(matches):
        if merged and start < merged[-1].end:
            last = merged[-1]
            merged[-1] = replace(last, end=max(end, last.end))
        elif start < end:
            merged.append(Redaction(start, end, rule))
    return merged


def mask(text: str, spans: Iterable[Redaction], *, escapes: bool = True) -> str:
    """`text` with the characters of `spans` masked; no span of anything else moves."""
    pieces, at = [], 0
    for span in spans:
        pieces += [text[at : span.start], _masked(text[span.start : span.end], escapes=escapes)]
        at = span.end
    return "".join([*pieces, text[at:]])


def _masked(text: str, *, escapes: bool) -> str:
    return "".join(_masked_character(match.group(), escapes) for match in _ESCAPE.finditer(text))


def _masked_character(piece: str, escapes: bool) -> str:
    """One character or escape masked; with `escapes` a `\\uXXXX` is masked as one, so that it still decodes to one."""
    if len(piece) == 1:
        return piece if piece in _AS_IT_IS else ASTRAL if ord(piece) > 0xFFFF else REDACTED
    if not escapes:
        return "".join(_masked_character(character, False) for character in piece)
    if len(piece) == 12:
        return "\\ud83e\\udf8b"
    if len(piece) == 6:
        return piece if chr(int(piece[2:], 16)) in _AS_IT_IS else "\\u2588"
    return piece
