"""A line of the list of failure groups with its rate and interval, and a page of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import sqrt
from typing import Any

import sqlalchemy as sa

from webapp.store.failures.scope import Coverage
from webapp.store.models import FailedResponse, FailureEvent

COLUMNS = (FailedResponse.tokens_in, FailedResponse.tokens_out, FailedResponse.cost, FailedResponse.seconds)
NAMES = tuple(column.key for column in COLUMNS)
Spent = dict[str, float | None]
"""by name the sum, None where no response says it, and under `<name>_said` how many responses do"""


def added(values: Iterable[Sequence[Any]]) -> Spent:
    """What responses cost of which these are the values: each of the four for all responses."""
    spent: Spent = {}
    for name, of_all in zip(NAMES, values, strict=True):
        numbers = [value for value in of_all if value is not None]
        spent |= {name: sum(numbers) if numbers else None, f"{name}_said": len(numbers)}
    return spent


def summed(under: str, turn: Any, is_failed: sa.ColumnElement[bool]) -> list[sa.ColumnElement[Any]]:
    """The same as columns of a query that groups responses, of which some failed."""
    here = (FailedResponse.under == under, FailedResponse.session_id == turn.session_id)
    columns: list[sa.ColumnElement[Any]] = []
    for column in COLUMNS:
        of_turn = sa.select(column).where(*here, FailedResponse.turn_id == turn.id).scalar_subquery()
        value = getattr(turn, column.key) if hasattr(turn, column.key) else of_turn
        failed = sa.case((is_failed, value))
        columns += [sa.func.sum(failed).label(column.key), sa.func.count(failed).label(f"{column.key}_said")]
    return columns


def of_row(row: Any) -> Spent:
    """What `summed` made of a group."""
    spent: Spent = {f"{name}_said": getattr(row, f"{name}_said") for name in NAMES}
    for name in NAMES:
        value = getattr(row, name)
        plain = int if name.startswith("tokens") else float
        spent[name] = None if value is None else plain(value)
    return spent


@dataclass(frozen=True, slots=True)
class Example:
    """One response of a group."""

    turn_id: int
    session: str
    external_id: str
    position: int


@dataclass(frozen=True, slots=True)
class GroupLine:
    """One group in view. Times are UTC; `share` is of all responses that the profile was run on, None where that number
    is not known; `series` counts responses in equal stretches of `Groups.range`.

    `models`, `tools` and `paths` have how many responses, most first, at most 8 (`more_models` … count the others); a
    model is None where the dump names none. `findings` says how many of its sessions have each finding. `state` is what
    somebody said (`event`), "regressed" where a resolved group is seen again, "open" where it was ignored no longer
    than until now; `why` says so in words. `is_new`: first seen in the window; `new_models`: known elsewhere, and first
    seen in these models in the window. `growth` compares both halves of the range: above 2 it grows for more reasons
    than chance. `merged` are the keys that people made part of it.
    """

    key: str
    title: str
    count: int
    share: float | None
    sessions: int
    first_seen: datetime
    last_seen: datetime
    known_since: datetime
    series: tuple[int, ...]
    models: list[tuple[str | None, int]]
    more_models: int
    tools: list[tuple[str, int]]
    more_tools: int
    paths: list[tuple[str, int]]
    more_paths: int
    labelled: int
    findings: dict[str, int]
    state: str
    why: str | None
    event: FailureEvent | None
    assignee: str | None
    is_new: bool
    new_models: list[str]
    growth: float
    merged: list[str]
    example: Example | None
    spent: Spent


@dataclass(frozen=True, slots=True)
class Groups:
    """A page of groups, those that are new, seen again or growing first. `total` groups hold `count` responses.

    `coverage` says of how many responses; `range` is what `series` goes over, None where nothing failed; `window` what
    is meant by new.
    """

    groups: list[GroupLine]
    next: str | None
    total: int
    count: int
    new: int
    coverage: Coverage
    range: tuple[datetime, datetime] | None
    window: tuple[datetime, datetime]


Z = 1.959963984540054
"""of 95 %"""


@dataclass(frozen=True, slots=True)
class Rate:
    """`count` of `of`, and between which shares the true rate lies with 95 %: Wilson's score interval (1927), or one
    over sessions, where failures repeat within one.

    `of`, `low` and `high` are None where it is not known of how many.
    """

    name: str
    count: int
    of: int | None
    low: float | None
    high: float | None

    @property
    def interval(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def share(self) -> float | None:
        return self.count / self.of if self.of else None


def rate(name: str, count: int, of: int | None) -> Rate:
    """The rate of `count` among `of`."""
    if not of:
        return Rate(name, count, of, None, None)
    low, high = wilson(min(count, of), of)
    return Rate(name, count, of, low, high)


def wilson(count: int, of: int) -> tuple[float, float]:
    """Wilson's score interval of a share, both ends within 0 and 1."""
    share, square = count / of, Z * Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = Z * sqrt(share * (1 - share) / of + square / (4 * of * of)) / (1 + square / of)
    return (max(0.0, middle - half) if count else 0.0), (min(1.0, middle + half) if count < of else 1.0)
