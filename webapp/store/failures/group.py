"""A failure group as people see it, a page of them, and where one of its responses is."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from webapp.store.failures.scope import Coverage
from webapp.store.models import FailedResponse, FailureEvent

COLUMNS = (FailedResponse.tokens_in, FailedResponse.tokens_out, FailedResponse.cost, FailedResponse.seconds)
NAMES = tuple(column.key for column in COLUMNS)
Spent = dict[str, float | None]
"""by name the sum, None where no response says it, and under `<name>_said` how many responses do"""


class Example(NamedTuple):
    """Where a response is shown: the session by its key, and by the id that its log has for it."""

    turn_id: int
    session: str
    external_id: str
    position: int


@dataclass(slots=True)
class Group:
    """One group in view. Times are UTC; `share` is of all responses that the profile was run on, None where that number
    is not known; `series` counts responses in equal stretches of `Groups.range`; `newest` is the turn of the last.

    `models`, `tools` and `paths` have how many responses, most first, at most 8 (`more_models` … count the others); a
    model is None where the dump names none. `findings` says how many of its sessions have each finding. `state` is what
    somebody said (`event`), "regressed" where a resolved group is seen again, "open" where it was ignored no longer
    than until now; `why` says so in words. `known_since` is when it was first seen, whatever the filters. `is_new`:
    that was in the window; `new_models`: known elsewhere, and first seen in these models there. `growth` compares both
    halves of the range: above 2 it grows for more reasons than chance. `merged` are the keys that people made part
    of it.
    """

    key: str
    title: str
    count: int
    sessions: int
    first_seen: datetime
    last_seen: datetime
    newest: int
    models: list[tuple[str | None, int]]
    more_models: int
    tools: list[tuple[str, int]]
    more_tools: int
    paths: list[tuple[str, int]]
    more_paths: int
    labelled: int
    findings: dict[str, int]
    spent: Spent
    known_since: datetime
    is_new: bool = False
    new_models: list[str] = field(default_factory=list)
    share: float | None = None
    series: tuple[int, ...] = ()
    growth: float = 0.0
    state: str = "open"
    why: str | None = None
    event: FailureEvent | None = None
    assignee: str | None = None
    merged: list[str] = field(default_factory=list)
    example: Example | None = None


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups, those that are new, seen again or growing first. `total` groups hold `count` responses.

    `coverage` says of how many responses; `range` is what `series` goes over, None where nothing failed; `window` what
    is meant by new.
    """

    groups: list[Group]
    next: str | None
    total: int
    count: int
    new: int
    coverage: Coverage
    range: tuple[datetime, datetime] | None
    window: tuple[datetime, datetime]
