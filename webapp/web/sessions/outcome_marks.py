"""Outcome marks: one mark a response, binned where a session is long, as cheap HTML."""

from __future__ import annotations

from collections import Counter

from markupsafe import Markup

from webapp.parsing import words
from webapp.store.sessions.overview import Cell

NAMES = {
    "f": "failed",
    "s": "failed, Fencepost can read",
    "r": "repaired",
    "e": "extracted",
    "c": "clean",
    "n": "no JSON found",
    "u": "Fencepost cannot read either",
    "x": "parser not run",
}
"""The marks' letters, the gravest first: a mark for several responses takes the first of these among them."""
CELLS = 30
"""the most marks of one session: two lines of the list's column, so that a row stays one glance high"""
_GRAVITY = {letter: place for place, letter in enumerate(NAMES)}
_MARKS = {letter: f"<i class={letter}></i>" for letter in NAMES}


def responses_per_mark(letters: str, cells: int = CELLS) -> int:
    """For how many responses each mark stands, so that there are at most `cells` of them."""
    return max(1, -(-len(letters) // cells))


SHADES = (0.01, 0.05, 0.2, 0.5)
"""the share of failed responses above which a mark for several of them is one shade darker"""


def shade(failed: int, of: int) -> int:
    """0 where none of `of` failed, else 1 to 5 by the share that did."""
    return 1 + sum(failed > limit * of for limit in SHADES) if failed else 0


def failures(letters: str, each: int) -> list[int]:
    """How many responses failed of those that each mark stands for."""
    return [group.count("f") + group.count("s") for group in _groups(letters, each)]


def _groups(letters: str, each: int) -> list[str]:
    return [letters[at : at + each] for at in range(0, len(letters), each)]


def marks(letters: str, each: int = 1) -> Markup:
    """Marks for `each` responses, drawn in app.css; of several responses shaded by the share that failed.

    Else a mark is the gravest letter that there is; other letters are left out.
    """
    groups = _groups(letters, each)
    levels = [shade(failed, len(group)) for failed, group in zip(failures(letters, each), groups, strict=True)]
    pieces = (
        f"<i class=q{level}></i>" if level and each > 1 else _MARKS.get(group[gravest(group)], "")
        for level, group in zip(levels, groups, strict=True)
    )
    return Markup("".join(pieces))  # noqa: S704 -- made of constants


def gravest(letters: str) -> int:
    """Where the gravest letter first stands: 0 in an empty text too."""
    return min(range(len(letters)), key=lambda at: _GRAVITY.get(letters[at], 9), default=0)


UNKNOWN_NAMES = NAMES | {
    "f": "recorded failure",
    "s": "recorded failure, Fencepost can read",
    "r": "needs repairs",
    "e": "JSON inside other text",
    "c": "plain JSON",
    "n": "no JSON found",
}
"""The same where nobody knows what the program's parser made of them."""


def marks_in_words(letters: str, unknown: bool = False) -> str:
    """`2 failed, 3 clean`: what the marks show, in words."""
    counts = Counter(letters)
    if unknown:
        shapes = (f"{counts[letter]:,} {name}" for letter, name in UNKNOWN_NAMES.items() if counts[letter])
        return f"parser unknown: {', '.join(shapes) or 'none'}"
    return ", ".join(f"{counts[letter]:,} {name}" for letter, name in NAMES.items() if counts[letter]) or "none"


def cell_words(cell: Cell, unknown: bool = False) -> str:
    """What a mark of a session's map stands for: `turns 0–416: 12 of 400 responses failed, 3.0 %`."""
    if cell.position == cell.last:
        names = UNKNOWN_NAMES if unknown else NAMES
        return ": ".join((f"turn {cell.position}", *map(names.__getitem__, cell.letters)))
    failed, of = cell.failed, len(cell.letters)
    among = f"{failed:,} of {words.counted(of, 'response')} {'recorded failures' if unknown else 'failed'}"
    share = f", {percent(failed, of)} %" if failed else ""
    return f"turns {cell.position:,}–{cell.last:,}: {among}{share}"


def percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.2f}".rstrip("0").rstrip(".") if whole else "0"
