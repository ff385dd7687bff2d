"""Makes what PostgreSQL's search index takes of a text: each of its words once, with the places where it stands."""

from __future__ import annotations

from collections.abc import Iterable

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
_counts = [b"\0" + (size // _WIDTH).to_bytes(2, "big") for size in range(_PLACES_A_WORD * _WIDTH + 1)]
"""what stands between a word and its places, by the size of those"""


class Vector(bytes):
    """A tsvector as PostgreSQL's binary `COPY` takes it; a class of its own, to be told from a text."""

    __slots__ = ()


def vector(raw: bytes) -> Vector:
    """The tsvector of a text in UTF-8. Of very long texts it keeps what PostgreSQL takes: see `docs/search.md`."""
    places = _places(raw)
    entries = [word + _counts[len(at)] + at for word, at in places.items()]
    return Vector(len(entries).to_bytes(4, "big") + b"".join(entries))


def vector_text(raw: bytes) -> str:
    """The same as text."""
    return " ".join(f"'{word.decode()}'{_as_text(at)}" for word, at in _places(raw).items())


def _as_text(at: bytes) -> str:
    places = [str(int.from_bytes(at[start : start + _WIDTH], "big")) for start in range(0, len(at), _WIDTH)]
    return ":" + ",".join(places) if places else ""


def _places(raw: bytes) -> dict[bytes, bytes]:
    """Each word with the numbers of its places, one after the other."""
    if len(raw) > _SHORT:
        return _places_of_many(word.encode() for word in words(raw.decode("utf-8", "surrogatepass")))
    in_order = words_of_bytes(raw)
    places: dict[bytes, bytes] = {}
    for word, number in zip(in_order, _place_numbers, strict=False):
        if word in places:
            places[word] += number
        else:
            places[word] = number
    if _is_much(in_order, places):
        return _places_of_many(in_order)
    return places


def _is_much(in_order: list[bytes], places: dict[bytes, bytes]) -> bool:
    """Whether there is more of something than a tsvector holds."""
    if len(in_order) > _PLACES_A_WORD and max(map(len, places.values())) > _PLACES_A_WORD * _WIDTH:
        return True
    return len(in_order) > _PLACES or max(map(len, places), default=0) > LONGEST


def _places_of_many(in_order: Iterable[bytes]) -> dict[bytes, bytes]:
    """As `_places`, word by word, of texts with more words, or longer ones, than the index takes."""
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
    return places
