"""Patches: edits in the making, before they are put in order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from webapp.parsing.edit import Edit
from webapp.parsing.span import Span


class Patch(NamedTuple):
    """An edit in the making; patches are sorted by place and, at one place, stay in the order made."""

    start: int
    end: int
    new: str
    repair: str


def in_order(raw: str, patches: list[Patch]) -> list[Edit]:
    """The patches as edits, sorted by place; one that overlaps the one before it is left out."""
    patches.sort(key=_place)
    edits: list[Edit] = []
    at = 0
    for start, end, new, repair in patches:
        if start >= at:
            edits.append(as_edit((repair, as_span((start, end)), raw[start:end], new)))
            at = end
    return edits


def _place(patch: Patch) -> int:
    """Start, then end, as one number: pairs would be thousands of objects more for the garbage collector to look at."""
    return patch[0] << 40 | patch[1]


as_patch: Callable[[tuple[int, int, str, str]], Patch] = partial(tuple.__new__, Patch)
as_edit: Callable[[tuple[str, Span, str, str]], Edit] = partial(tuple.__new__, Edit)
as_span: Callable[[tuple[int, int]], Span] = partial(tuple.__new__, Span)
"""What `Patch(…)`, `Edit(…)` and `Span(…)` make, at a third of the cost; for where thousands are made of one text."""


class NotJson(Exception):
    """What is being read is no JSON; `at` is where that became plain and the message says why."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(why)
        self.at = at
