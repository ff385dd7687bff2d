"""Secrets found by the rules of the library detect-secrets: the keys and tokens whose form says what they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from webapp.exports.base import MissingLibrary
from webapp.extras import install_extra

if TYPE_CHECKING:
    from webapp.exports.redaction import Rule

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
