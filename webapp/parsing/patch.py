"""Patches: edits in the making, before they are put in order."""

from __future__ import annotations

from operator import itemgetter
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
    make = tuple.__new__  # which costs half of what the classes take to call it
    edits: list[Edit] = []
    at = 0
    for start, end, new, repair in patches:
        if start >= at:
            edits.append(make(Edit, (repair, make(Span, (start, end)), raw[start:end], new)))
            at = end
    return edits


_place = itemgetter(0, 1)


class NotJson(Exception):
    """What is being read is no JSON; `at` is where that became plain and the message says why."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(why)
        self.at = at
