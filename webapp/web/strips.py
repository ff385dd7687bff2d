"""Outcome strips: one mark a response, binned where a session is long, as cheap HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import groupby

from markupsafe import Markup

NAMES = {
    "f": "failed",
    "s": "failed that fencepost reads",
    "r": "repaired",
    "e": "extracted",
    "c": "clean",
    "n": "none",
}
"""A strip's letters, the gravest first: a mark for several responses takes the first of these among them."""
CELLS = 100
"""the most marks of one strip"""
A_PAGE = 1800
"""the most marks of all strips of a page of the list, 15 bytes each, so that it stays under 100 KB"""
_GRAVITY = {letter: place for place, letter in enumerate(NAMES)}
_MARKS = {letter: f"<i class={letter}></i>" for letter in NAMES}


def binned(letters: str, cells: int = CELLS) -> tuple[str, int]:
    """At most `cells` letters, and for how many responses each stands; a failed response is never outweighed."""
    each = max(1, -(-len(letters) // cells))
    if each == 1:
        return letters, 1
    bins = (letters[at : at + each] for at in range(0, len(letters), each))
    return "".join(min(group, key=lambda letter: _GRAVITY.get(letter, 9)) for group in bins), each


def fitting(lengths: Iterable[int]) -> int:
    """The most marks that each strip of a page may have so that all of them together are not too many."""
    known = list(lengths)
    for cells in (CELLS, 80, 60, 48):
        if sum(min(length, cells) for length in known) <= A_PAGE:
            return cells
    return A_PAGE // 50


def gravest(letters: str) -> int:
    """Where the gravest letter first stands: 0 in an empty text too."""
    return min(range(len(letters)), key=lambda at: _GRAVITY.get(letters[at], 9), default=0)


def marks(letters: str) -> Markup:
    """The letters as marks, drawn by `.strip` in app.css; other letters are left out."""
    pieces = (_MARKS.get(letter, "") * len(list(run)) for letter, run in groupby(letters))
    return Markup("".join(pieces))  # noqa: S704 -- made of constants


def told(letters: str) -> str:
    """`2 failed, 3 clean`: what a strip shows, in words."""
    counts = Counter(letters)
    return ", ".join(f"{counts[letter]:,} {name}" for letter, name in NAMES.items() if counts[letter]) or "none"
