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
"""code points of a word that PostgreSQL's index keeps …"""
MOST_BYTES = 2046
"""… and bytes of it, which is all that it takes"""

_word = re.compile(rf"\w[\w{MARKS}]*")
_FOLDED = "".join(letter.lower() if letter.isalnum() or letter == "_" else " " for letter in map(chr, range(128)))
_TO_FOLDED = _FOLDED.encode("ascii") + bytes(range(128, 256))
"""ASCII in lower case, what is between words a space"""


def words(text: str) -> Iterator[str]:
    """The words of `text` in order, folded."""
    return (match.group().lower() for match in _word.finditer(text))


def words_of_bytes(raw: bytes) -> list[bytes]:
    """The same words of a text in UTF-8, in a fifth of the time: for texts of which as many fit in memory."""
    stretches = raw.translate(_TO_FOLDED).split()
    if raw.isascii():
        return stretches
    words_so_far: list[bytes] = []
    for stretch in stretches:
        if stretch.isascii():
            words_so_far.append(stretch)
        else:
            words_so_far += [word.lower().encode() for word in _word.findall(stretch.decode("utf-8", "surrogatepass"))]
    return words_so_far


def shortened(word: bytes) -> bytes:
    """A word in UTF-8 as PostgreSQL's index keeps it."""
    if len(word) <= LONGEST:
        return word
    return word.decode()[:LONGEST].encode()[:MOST_BYTES].decode(errors="ignore").encode()


def pattern(tokens: tuple[str, ...], prefix: bool) -> str:
    """A regular expression for `tokens` one after the other, as whole words; the last may go on with `prefix`."""
    inside = rf"[^\w{MARKS}]+"
    ending = "" if prefix else rf"(?![\w{MARKS}])"
    return rf"(?<![\w{MARKS}])" + inside.join(re.escape(token) for token in tokens) + ending
