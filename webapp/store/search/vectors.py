"""Makes what PostgreSQL's search index takes of a text: each of its words once, with the places where it stands."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from webapp.store.search.words import LONGEST, shortened, words, words_of_bytes

_PLACES = 16_383
_PLACES_A_WORD = 256
_MOST_LEXEMES = 600_000
"""what a tsvector holds: the highest place, places of one word, bytes of words"""
_SHORT = 100_000
"""bytes of a text whose words are all in memory at once"""
_WIDTH = 2
"""bytes of a place"""
_place_numbers = [place.to_bytes(_WIDTH, "big") for place in range(1, _PLACES + 1)]
_counts = [b"\0" + count.to_bytes(2, "big") for count in range(_PLACES_A_WORD + 1)]
"""what stands between a word and so many places"""
_HEAD = len(_counts[0])
_single_ends = [_counts[1] + number for number in _place_numbers]
"""what follows a word with one place, by that place"""


class Vector(bytes):
    """A tsvector as PostgreSQL's binary `COPY` takes it; a class of its own, to be told from a text."""

    __slots__ = ()


def vector(raw: bytes) -> Vector:
    """The tsvector of a text in UTF-8. Of very long texts it keeps what PostgreSQL takes: see `docs/search.md`."""
    ends = _ends(raw)
    return Vector(len(ends).to_bytes(4, "big") + b"".join(chain.from_iterable(ends.items())))


def vector_text(raw: bytes) -> str:
    """The same as text."""
    return " ".join(f"'{word.decode()}'{_as_text(end[_HEAD:])}" for word, end in _ends(raw).items())


def _as_text(at: bytes) -> str:
    places = [str(int.from_bytes(at[start : start + _WIDTH], "big")) for start in range(0, len(at), _WIDTH)]
    return ":" + ",".join(places) if places else ""


def _ends(raw: bytes) -> dict[bytes, bytes]:
    """Each word with what follows it: NUL, how many places it has, and their numbers one after the other."""
    if len(raw) > _SHORT:
        return _ends_of_many(word.encode() for word in words(raw.decode("utf-8", "surrogatepass")))
    in_order = words_of_bytes(raw)
    ends = dict(zip(in_order, _single_ends, strict=False))
    if len(in_order) > _PLACES or max(map(len, ends), default=0) > LONGEST:
        return _ends_of_many(in_order)
    earlier = _earlier_places(in_order, ends) if len(ends) < len(in_order) else {}
    if len(in_order) > _PLACES_A_WORD and max(map(len, earlier.values()), default=0) >= _PLACES_A_WORD * _WIDTH:
        return _ends_of_many(in_order)
    for word, at in earlier.items():
        ends[word] = _counts[len(at) // _WIDTH + 1] + at + ends[word][_HEAD:]
    return ends


def _earlier_places(in_order: list[bytes], last: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """Of words that stand several times, all places but the last one, whose end is in `last`."""
    places: dict[bytes, bytes] = {}
    for word, end, number in zip(in_order, _single_ends, _place_numbers, strict=False):
        if last[word] is end:
            continue
        if word in places:
            places[word] += number
        else:
            places[word] = number
    return places


def _ends_of_many(in_order: Iterable[bytes]) -> dict[bytes, bytes]:
    """As `_ends`, word by word, of texts with more words, or longer ones, than the index takes."""
    places: dict[bytes, bytes] = {}
    size = 0
    for place, long_word in enumerate(in_order):
        word = shortened(long_word)
        at = places.get(word)
        if at is None:
            size += len(word) + 8
            if size > _MOST_LEXEMES:
                break
            at = b""
        places[word] = at + _place_numbers[place] if place < _PLACES and len(at) < _PLACES_A_WORD * _WIDTH else at
    return {word: _counts[len(at) // _WIDTH] + at for word, at in places.items()}
