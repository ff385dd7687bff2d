"""Patches: edits in the making, before they are put in order."""

from __future__ import annotations

from typing import NamedTuple


class Patch(NamedTuple):
    """An edit in the making; patches are sorted by place and, at one place, stay in the order made."""

    start: int
    end: int
    new: str
    repair: str


class Refused(Exception):
    """What is being read is no JSON; `at` is where that became plain and the message says why."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(why)
        self.at = at
