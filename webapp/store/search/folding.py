"""Texts as PostgreSQL's index keeps them: their words in order and in lower case, a space before and behind each."""

from __future__ import annotations

from webapp.store.search.words import words, words_of_bytes

_SHORT = 100_000
"""bytes of a text whose words are all in memory at once"""


class Folded(bytes):
    """The words of a text, each with a space before and behind it; a class of its own, to be told from a text."""

    __slots__ = ()


def folded(raw: bytes) -> Folded:
    """The words of a text in UTF-8."""
    if len(raw) > _SHORT:
        return _folded_long(raw)
    in_order = words_of_bytes(raw)
    return Folded(b" %b " % b" ".join(in_order) if in_order else b"")


def needle(tokens: tuple[str, ...], prefix: bool) -> str:
    """What stands in the folded text where these words follow each other; with `prefix` the last may go on."""
    return f" {' '.join(tokens)}{'' if prefix else ' '}"


def _folded_long(raw: bytes) -> Folded:
    text = bytearray(b" ")
    for word in words(raw.decode("utf-8", "surrogatepass")):
        text += word.encode()
        text += b" "
    return Folded(text if len(text) > 1 else b"")
