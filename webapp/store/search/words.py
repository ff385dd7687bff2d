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
_punctuation = re.compile(rb"\xe2\x80[\x80-\xbf]")
"""U+2000 to U+203F in UTF-8: quotes, dashes and the like, none of which is of a word. Most texts have no others."""


def words(text: str) -> Iterator[str]:
    """The words of `text` in order, folded."""
    return (match.group().lower() for match in _word.finditer(text))


def words_of_bytes(raw: bytes) -> list[bytes]:
    """The same words of a text in UTF-8, in a fifth of the time: for texts of which as many fit in memory."""
    is_ascii = raw.isascii()
    if not is_ascii:
        raw = _punctuation.sub(b" ", raw)
        is_ascii = raw.isascii()
    stretches = raw.translate(_TO_FOLDED).split()
    return stretches if is_ascii else list(_cut_again(stretches))


def _cut_again(stretches: list[bytes]) -> Iterator[bytes]:
    """Stretches that are no ASCII may be several words, or none."""
    done, last = 0, len(stretches)
    ascii_or_not = [*map(bytes.isascii, stretches), False]
    while (at := ascii_or_not.index(False, done)) < last:
        yield from stretches[done:at]
        for word in _word.findall(stretches[at].decode("utf-8", "surrogatepass")):
            yield word.lower().encode()
        done = at + 1
    yield from stretches[done:]


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
