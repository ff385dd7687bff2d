"""Words as the index has them: runs of letters, digits, `_` and accents, in any case.

SQLite's `unicode61` cuts texts itself, by Unicode 6.1; here stands the same rule for what it does not do: reading a
query, PostgreSQL's index, and finding the places of hits. The two differ only on code points without a meaning yet
and on those for private use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MARKS = "\u0300-\u0304\u0306-\u030c\u030f\u0311\u031b\u0323-\u0328\u032d\u032e\u0330\u0331"
"""Accents of their own: `unicode61` lets a word go on over these and over no other mark."""
LONGEST = 1000
"""code points of a word that PostgreSQL's index keeps; it takes at most 2 KB"""

_word = re.compile(rf"\w[\w{MARKS}]*")


def words(text: str) -> Iterator[str]:
    """The words of `text` in order, folded."""
    return (match.group().lower() for match in _word.finditer(text))


def all_words(text: str) -> list[str]:
    """The same as a list, in half the time: for texts of which there may be that many words in memory."""
    if text.isascii():
        return _word.findall(text.lower())
    return [word.lower() for word in _word.findall(text)]  # one by one, since what a Σ becomes depends on its word


def pattern(tokens: tuple[str, ...], prefix: bool) -> str:
    """A regular expression for `tokens` one after the other, as whole words; the last may go on with `prefix`."""
    inside = rf"[^\w{MARKS}]+"
    ending = "" if prefix else rf"(?![\w{MARKS}])"
    return rf"(?<![\w{MARKS}])" + inside.join(re.escape(token) for token in tokens) + ending
