"""Regular expressions that people give, compiled by RE2: its time grows with the text alone, whatever the pattern."""

from __future__ import annotations

from typing import Any

LONGEST_PATTERN = 1_000
"""characters"""
LARGEST_PROGRAM = 2_000
"""RE2's instructions: a text costs at most so many steps a byte"""


class BadRegex(ValueError):
    """RE2 does not take a pattern, or it is too large; the message says why."""


def compiled(pattern: str) -> Any:
    """Raises `BadRegex`, and `ImportError` without the library google-re2."""
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        regex = re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        message = error.args[0] if error.args else error
        words = message.decode("utf-8", "replace") if isinstance(message, bytes) else message
        raise BadRegex(f"{pattern[:100]!r} is not a regular expression of RE2: {words}") from None
    if regex.programsize > LARGEST_PROGRAM:
        raise BadRegex(f"{pattern[:100]!r} is too large: its repetitions come to {regex.programsize:,} steps")
    return regex
