"""Patterns that people give, run by RE2, whose time grows with the text alone; without it, literal text.

The standard `re` tries every way to match: a pattern such as `(.*)*x` holds the interpreter for ever.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

from webapp.installation import MissingLibrary, install_extra
from webapp.refusals import WrongUse

LONGEST_PATTERN = 1_000
"""characters"""
LARGEST_PROGRAM = 2_000
"""RE2's instructions: a text costs at most so many steps a byte"""


class BadPattern(WrongUse):
    """A pattern is no regular expression, or one too large; the message says why."""


def compiled_by_re2(pattern: str) -> Any:
    """Raises `BadPattern`, and `ImportError` without the library google-re2."""
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        regex = re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        message = error.args[0] if error.args else error
        words = message.decode("utf-8", "replace") if isinstance(message, bytes) else message
        raise BadPattern(f"{pattern[:100]!r} is not a regular expression of RE2: {words}") from None
    if regex.programsize > LARGEST_PROGRAM:
        raise BadPattern(f"{pattern[:100]!r} is too large: its repetitions come to {regex.programsize:,} steps")
    return regex


MOST_PATTERNS = 20
SECONDS = 2.0
"""All matches of one export may take the thread so long, whoever else has the processor …"""
CHARACTERS_A_SECOND = 500_000
"""… and a second more for each so many characters: RE2 looks ahead to the end for every match of `x(?:.*y)?`."""
_SPECIAL = re.compile(r"\\(.)|([.^$*+?{}\[\]()|\\])", re.DOTALL)
_WORDS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")


class TextPattern:
    """One pattern over many texts. Raises `BadPattern`, and `MissingLibrary` where it needs RE2 and that is not there.

    Where its time is up, what is left of a text counts as matched: what may hold a secret does not leave.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._compiled = compiled(pattern)
        self._seconds = SECONDS

    def __call__(self, text: str) -> Iterator[tuple[int, int, str]]:
        self._seconds += len(text) / CHARACTERS_A_SECOND
        name, begun, at = f"pattern {self.pattern}", time.thread_time(), 0
        for match in self._compiled.finditer(text.encode("utf-8", "replace").decode("utf-8")):
            at = match.end()
            yield match.start(), at, name
            if time.thread_time() - begun > self._seconds:
                yield at, len(text), f"{name}, which took too long: all that follows is hidden"
                break
        self._seconds -= time.thread_time() - begun


def compiled(pattern: str) -> Any:
    """What finds `pattern`: RE2's, or `re`'s for literal text."""
    if len(pattern) > LONGEST_PATTERN:
        raise BadPattern(f"a pattern may have {LONGEST_PATTERN:,} characters, not {len(pattern):,}")
    text = literal(pattern)
    if text is not None:
        return re.compile(re.escape(text))
    try:
        return compiled_by_re2(pattern)
    except ImportError:
        raise MissingLibrary(
            f"{pattern[:100]!r} is more than literal text and needs the library google-re2:"
            f" {install_extra('redact')}; literal text needs \\ before . ^ $ * + ? {{ }} [ ] ( ) |"
        ) from None


def literal(pattern: str) -> str | None:
    """The text that `pattern` means where it is nothing but text, with `\\` before special characters; else None."""
    for match in _SPECIAL.finditer(pattern):
        if match[2] is not None or match[1] in _WORDS:
            return None
    return _SPECIAL.sub(r"\1", pattern)
