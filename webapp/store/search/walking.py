"""Goes through the sessions that match a query from the newest, reading as little of the index as it can."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa

from webapp.store.models import TURNS_A_SESSION, Session
from webapp.store.search.hits import Expression, keys
from webapp.store.search.pending import KINDS, SLOTS

Allowed = Sequence[int] | Callable[[int], bool]
"""Session ids that may be found, in ascending order, or a function that says so of one; only of sessions that are there
and not deleted. A sequence is skipped through, a function is asked for each session that matches."""
Hits = dict[int, list[int] | None]
"""Sessions that match, the newest first, each with the keys of its matches in order; None where not all were read."""


BUDGET = 0.5
"""seconds after which a search answers with what it has and where to go on"""
_WIDTH = 2048
"""sessions looked through first; four times as many each time that nothing is found"""
_SOON = BUDGET / 10
"""… as long as no more seconds than this are over: the last range is to end with the budget"""
_AT_ONCE = 512
_AT_ONCE_OF_FEW = 24
_MOST_AT_ONCE = 4096
"""hits read at once, without and with a sequence of allowed sessions; twice as many whenever none was allowed. With
SQLite 200 of them cost as much as another query; with PostgreSQL 20 may, so that there it is twice as many as sessions
are asked for at first, and twice as many each time."""
_RAW = KINDS.index("raw")
_A_SESSION = TURNS_A_SESSION * SLOTS


@dataclass(slots=True)
class Walk:
    """Goes through the sessions from the newest, a range at a time.

    `turns` and `notes`, ascending, are what was read last, down to the sessions `turns_low` and `notes_low`; with
    `turns_cut` not all of `turns_low` was.
    """

    connection: sa.Connection
    match: Expression
    allowed: Allowed | None
    turns: list[int] = field(default_factory=list)
    turns_low: int | None = None
    turns_cut: bool = False
    notes: list[int] = field(default_factory=list)
    notes_low: int | None = None
    notes_at_once: int = _AT_ONCE
    at_once: int = field(init=False)

    def __post_init__(self) -> None:
        self.at_once = _AT_ONCE_OF_FEW if self._few else _AT_ONCE

    @property
    def _few(self) -> bool:
        """Whether it is told the sessions that may be found."""
        return self.allowed is not None and not callable(self.allowed)

    def sessions(self, below: int | None, limit: int) -> tuple[Hits, int | None]:
        """Sessions that match, descending from `below`, and the `below` of those behind them."""
        if self.match.raw is None and self.match.note is None:
            return {}, None
        until = time.monotonic() + BUDGET
        in_blocks = self.connection.dialect.name != "sqlite"
        if in_blocks and not self._few:
            self.at_once = min(2 * limit, _MOST_AT_ONCE)
        newest = (self.connection.scalar(_newest) or 0) + 1
        high = newest if below is None else min(below, newest)
        matching: Hits = {}
        width = _WIDTH
        while (high := _skip(self.allowed, high)) > 0:
            low = max(0, high - width)
            hits, reached = self._range(low, high)
            allowed = self._allowed(sorted(hits, reverse=True))
            matching |= {number: hits[number] for number in allowed}
            if in_blocks or not allowed:
                self.at_once = min(2 * self.at_once, _MOST_AT_ONCE)
            if reached == low and time.monotonic() < until - BUDGET + _SOON:
                width *= 4
            high = reached
            if len(matching) > limit:
                ids = list(matching)[:limit]
                return {number: matching[number] for number in ids}, ids[-1]
            if time.monotonic() > until and high > 0 and not self._has_read_all():
                return matching, high
        return matching, None

    def _allowed(self, numbers: list[int]) -> list[int]:
        allowed = self.allowed
        if allowed is None:
            return visible(self.connection, numbers)
        if callable(allowed):
            return [number for number in numbers if allowed(number)]
        return [number for number in numbers if _skip(allowed, number + 1) == number + 1]

    def _range(self, low: int, high: int) -> tuple[Hits, int]:
        """Matches from session `low` on and below `high`, down to the session that is the second answer."""
        noted = self._noted(high)
        reached = max(low, self.notes_low or 0)
        turn_ids = self._turns(reached, high)
        reached = max(reached, self.turns_low or 0)
        turn_ids = turn_ids[bisect_left(turn_ids, reached * TURNS_A_SESSION) :]
        noted = noted[bisect_left(noted, reached * _A_SESSION) : bisect_left(noted, high * _A_SESSION)]
        texts = [key * SLOTS + _RAW for key in turn_ids]
        hits: Hits = {}
        for key in sorted([*texts, *noted]) if noted else texts:
            number = key // _A_SESSION
            if (self.turns_cut and number == self.turns_low) or number == self.notes_low:
                hits[number] = None
            else:
                hits.setdefault(number, []).append(key)  # type: ignore[union-attr]
        return hits, reached

    def _turns(self, low: int, high: int) -> list[int]:
        """The turns whose raw texts match below the session `high`, ascending, and `turns_low` set to fit.

        SQLite's index has no lower bound: where nothing matches it reads all that it has of each word, however few
        sessions are asked for. So it is asked for all at once, and what is below `low` is kept for the next range.
        """
        if self.match.raw is None:
            return []
        if self.turns_low is None or high <= self.turns_low:
            bottom = 0 if self.connection.dialect.name == "sqlite" else low
            between = (bottom * TURNS_A_SESSION, high * TURNS_A_SESSION)
            limit = self.at_once
            self.turns = keys(self.connection, "search_raw", self.match.raw, between, newest=True, limit=limit)[::-1]
            self.turns_cut = len(self.turns) == limit
            self.turns_low = self.turns[0] // TURNS_A_SESSION if self.turns_cut else bottom
        return self.turns[: bisect_left(self.turns, high * TURNS_A_SESSION)]

    def _has_read_all(self) -> bool:
        """Whether no text is left to ask the database for, so that to go on takes no time."""
        turns = self.match.raw is None or (self.turns_low == 0 and not self.turns_cut)
        return turns and (self.match.note is None or self.notes_low == 0)

    def _noted(self, high: int) -> list[int]:
        """The keys of notes that match below the session `high`, ascending, and `notes_low` set to fit."""
        if self.match.note is None:
            return []
        if self.notes_low is None or high <= self.notes_low:
            limit = self.notes_at_once
            between = (0, high * _A_SESSION)
            self.notes = keys(self.connection, "search_note", self.match.note, between, newest=True, limit=limit)[::-1]
            self.notes_low = self.notes[0] // _A_SESSION if len(self.notes) == limit else 0
            self.notes_at_once = min(2 * limit, _MOST_AT_ONCE)
        return self.notes


_newest = sa.select(sa.func.max(Session.id))


def _skip(allowed: Allowed | None, high: int) -> int:
    """The `high` below which the next allowed session is the first; 0 where there is none."""
    if allowed is None or callable(allowed):
        return high
    index = bisect_left(allowed, high)
    return allowed[index - 1] + 1 if index else 0


def visible(connection: sa.Connection, numbers: list[int]) -> list[int]:
    """Those that are there and not deleted, in the same order."""
    if not numbers:
        return []
    query = sa.select(Session.id).where(Session.id.in_(numbers), Session.deleted_at.is_(None))
    visible = set(connection.scalars(query))
    return [number for number in numbers if number in visible]
