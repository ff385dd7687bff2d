"""What a rule's clause is worded with: numbers, names, code and defects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from webapp.repair_names import defect

_SMALL = ("no", "one", "two", "three")


def number(count: int, noun: str, many: str | None = None) -> str:
    """`one tool call`, `4 tool calls`."""
    word = noun if count == 1 else many or noun + "s"
    return f"{_SMALL[count] if count < 2 else f'{count:,}'} {word}"


def defects(repairs: Iterable[str], most: int = 2) -> str:
    """What was wrong, by the repairs that mended it: `extra closing bracket and trailing comma`."""
    names = list(dict.fromkeys(map(defect, repairs)))
    return _joined(names[:most])


def _joined(names: Sequence[str]) -> str:
    return " and ".join(([", ".join(names[:-1])] if len(names) > 1 else []) + list(names[-1:]))


def names(values: Iterable[str], most: int = 3) -> str:
    """Names as code, joined with commas and an `and`."""
    return _joined([code(value) for value in list(values)[:most]])


def code(text: str, most: int = 60) -> str:
    """Text from a session as a code span: bounded, and without backticks of its own."""
    short = text if len(text) <= most else text[: most - 1] + "…"
    return f"`{short.replace('`', '') or ' '}`"
