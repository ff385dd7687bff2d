"""Makes the tsvector of a note: each of its words once, with the places where it stands."""

from __future__ import annotations

from webapp.store.search.words import shortened, words

_PLACES = 16_383
_PLACES_A_WORD = 256
_MOST_LEXEMES = 600_000
"""what a tsvector holds: the highest place, places of one word, bytes of words"""


def vector_text(raw: bytes) -> str:
    """The tsvector of a text in UTF-8, as text; of very long ones what PostgreSQL takes: see `docs/search.md`."""
    places: dict[bytes, list[str]] = {}
    size = 0
    for place, long_word in enumerate(words(raw.decode("utf-8", "surrogatepass")), 1):
        word = shortened(long_word.encode())
        if word not in places:
            size += len(word) + 8
            if size > _MOST_LEXEMES:
                break
            places[word] = []
        if place <= _PLACES and len(places[word]) < _PLACES_A_WORD:
            places[word].append(str(place))
    return " ".join(f"'{word.decode()}'{':' if at else ''}{','.join(at)}" for word, at in places.items())
