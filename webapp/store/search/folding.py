"""Texts as PostgreSQL's index keeps them: their words in order and in lower case, in blocks of turns of one session.

Each block has the words of all its texts once. A word stands in most turns of a session where it stands in one, so
that blocks take half of what turns would. Knows no database: `blocks` writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from webapp.store.db.ids import TURNS_A_SESSION
from webapp.store.search.words import LONGEST, shortened, words, words_of_bytes

_SHORT = 100_000
"""bytes of a text whose words are all in memory at once"""
_MOST_TURNS = 32
_MOST_BYTES = 64 * 1024
"""of the folded texts of a block, unless it is of one turn"""
_MOST_LEXEMES = 600_000
"""bytes of the words of a block, about what a tsvector holds"""
_word = re.compile(rb"[^ ]+")
_END = b"\0\0\0"
"""of a word in a tsvector, and that it has no places"""

Text = tuple[int, bytes]
"""a turn's id and its raw text in UTF-8, or folded: its words, each with a space before and behind it"""


class Block(NamedTuple):
    """Folded texts of some turns of one session, and their words as PostgreSQL's binary `COPY` takes them."""

    texts: list[Text]
    words: bytes

    def moved(self, by: int) -> Block:
        """The same for turns whose ids are so much greater."""
        return Block([(turn_id + by, text) for turn_id, text in self.texts], self.words)

    @property
    def row(self) -> tuple[int, int, bytes]:
        """Its first turn, its last, and the words."""
        return self.texts[0][0], self.texts[-1][0], self.words


def in_blocks(texts: Iterable[Text]) -> Iterator[Block]:
    """Blocks of turns, which come in order."""
    folded_texts: list[Text] = []
    block_words: set[bytes] = set()
    size, session_id = 0, -1
    for turn_id, raw in texts:
        text, text_words = _folded(raw)
        is_other = turn_id // TURNS_A_SESSION != session_id
        if folded_texts and (is_other or len(folded_texts) >= _MOST_TURNS or size + len(text) > _MOST_BYTES):
            yield _block(folded_texts, block_words)
            folded_texts, block_words, size = [], set(), 0
        session_id = turn_id // TURNS_A_SESSION
        folded_texts.append((turn_id, text))
        size += len(text)
        block_words.update(text_words)
    if folded_texts:
        yield _block(folded_texts, block_words)


def folded(raw: bytes) -> bytes:
    """The words of a text in UTF-8, each with a space before and behind it."""
    return _folded(raw)[0]


def needle(tokens: tuple[str, ...], prefix: bool) -> str:
    """What stands in the folded text where these words follow each other; with `prefix` the last may go on."""
    return f" {' '.join(tokens)}{'' if prefix else ' '}"


def _folded(raw: bytes) -> tuple[bytes, Iterable[bytes]]:
    """A text folded, and its words; of a long one, which is a block of its own, as many as that holds."""
    if len(raw) <= _SHORT:
        in_order = words_of_bytes(raw)
        text = b" %b " % b" ".join(in_order) if in_order else b""
        return text, in_order if len(text) <= _MOST_BYTES else _first_words(text)
    long_text = bytearray(b" ")
    for word in words(raw.decode("utf-8", "surrogatepass")):
        long_text += word.encode()
        long_text += b" "
    text = bytes(long_text) if len(long_text) > 1 else b""
    return text, _first_words(text)


def _block(texts: list[Text], block_words: set[bytes]) -> Block:
    if max(map(len, block_words), default=0) > LONGEST:
        block_words = set(map(shortened, block_words))
    return Block(texts, len(block_words).to_bytes(4, "big") + _END.join([*block_words, b""]))


def _first_words(text: bytes) -> set[bytes]:
    """The words of a long text, as many as a tsvector holds."""
    first_words: set[bytes] = set()
    size = 0
    for match in _word.finditer(text):
        word = shortened(match.group())
        if word not in first_words:
            size += len(word) + 8
            if size > _MOST_LEXEMES:
                break
            first_words.add(word)
    return first_words
