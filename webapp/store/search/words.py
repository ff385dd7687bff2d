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
LONGEST = 500
"""code points of a word that PostgreSQL's index keeps: it takes no more than 2046 bytes"""
MOST_BYTES = 500_000
"""of a text's words that it takes"""
_UNDERSCORE = "\u01c0"
"""a letter that hardly any text has, in place of `_`, at which PostgreSQL would cut a word"""
_word = re.compile(rf"\w[\w{MARKS}]*")


def words(text: str) -> Iterator[str]:
    """The words of `text` in order, folded."""
    return (match.group().lower() for match in _word.finditer(text))


def kept(word: str) -> str:
    """A word as PostgreSQL's index has it."""
    return word[:LONGEST].replace("_", _UNDERSCORE)


def folded(text: str) -> str:
    """A text's words in order as PostgreSQL is to have them; of a very long text those that come first."""
    data = " ".join(map(kept, words(text))).encode()
    return data[:MOST_BYTES].decode(errors="ignore")


def pattern(tokens: tuple[str, ...], prefix: bool) -> str:
    """A regular expression for `tokens` one after the other, as whole words; the last may go on with `prefix`."""
    inside = rf"[^\w{MARKS}]+"
    ending = "" if prefix else rf"(?![\w{MARKS}])"
    return rf"(?<![\w{MARKS}])" + inside.join(re.escape(token) for token in tokens) + ending
