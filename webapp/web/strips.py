"""Outcome strips: one mark a response, binned where a session is long, as cheap HTML."""

from __future__ import annotations

from collections import Counter
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
CELLS = 60
"""the most marks in a row of the list: 50 rows of them stay under 100 KB"""
_GRAVITY = {letter: place for place, letter in enumerate(NAMES)}
_MARKS = {letter: f"<i class={letter}></i>" for letter in NAMES}


def binned(letters: str, cells: int = CELLS) -> tuple[str, int]:
    """At most `cells` letters, and for how many responses each stands; a failed response is never outweighed."""
    each = max(1, -(-len(letters) // cells))
    if each == 1:
        return letters, 1
    bins = (letters[at : at + each] for at in range(0, len(letters), each))
    return "".join(min(group, key=lambda letter: _GRAVITY.get(letter, 9)) for group in bins), each


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
