"""From one response of a failure group to the next, and "same failure: 49 responses in 12 sessions since 8 Nov"."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter

from sqlalchemy import orm

from webapp.store.failures import groups, overlay
from webapp.store.failures.failure_reader import StoredFailure
from webapp.store.failures.group_line import Example
from webapp.store.failures.group_sets import GroupPlaces, first_and_last, together
from webapp.store.index.session_reader import moment
from webapp.store.models import TURNS_A_SESSION, FailureOverlay
from webapp.store.sessions.filters import Filters


@dataclass(frozen=True, slots=True)
class SameFailure:
    """The group that a response is in: so many responses in so many sessions, `here` of them in its own session.

    `earlier` and `later` are the responses of the group before and after it, in the order of time.
    """

    key: str
    title: str
    count: int
    sessions: int
    here: int
    since: datetime
    last_seen: datetime
    earlier: Example | None
    later: Example | None


def of_turn(db: orm.Session, turn_id: int, filters: Filters | None = None) -> SameFailure | None:
    """The group of a response, of those that the filters leave; None where it did not fail, or is not in view.

    Without filters, all failed responses under home are in view.
    """
    in_view, lines = groups.lines(db, filters or Filters(), datetime.now(UTC))
    session_id = turn_id // TURNS_A_SESSION
    for key, places in in_view.items():
        failure = next((failure for failure in _of_session(places, session_id) if failure.turn_id == turn_id), None)
        if failure is not None:
            return _same(db, key, lines.people.changes, places, failure)
    return None


def of_session(db: orm.Session, session_id: int) -> list[SameFailure]:
    """The groups that a session's failed responses are in, the one with most of them first."""
    in_view, lines = groups.lines(db, Filters(), datetime.now(UTC))
    same: list[SameFailure] = []
    for key, places in in_view.items():
        if (first := next(_of_session(places, session_id), None)) is not None:
            same.append(_same(db, key, lines.people.changes, places, first))
    return sorted(same, key=lambda same_failure: (-same_failure.here, -same_failure.count, same_failure.key))


def _of_session(places: GroupPlaces, session_id: int) -> Iterator[StoredFailure]:
    for segment, bits in places:
        yield from (segment.failures[place] for place in bits & segment.of_sessions([session_id]))


def _same(
    db: orm.Session, key: str, changes: tuple[FailureOverlay, ...], places: GroupPlaces, failure: StoredFailure
) -> SameFailure:
    facts = together(places, key)
    first, last = first_and_last(places)
    earlier, later = (_beside(places, failure, forward) for forward in (False, True))
    examples = groups.examples(db, [neighbour.turn_id for neighbour in (earlier, later) if neighbour is not None])
    here = sum(1 for _ in _of_session(places, failure.turn_id // TURNS_A_SESSION))
    return SameFailure(
        key,
        overlay.title(key, changes),
        facts.count,
        facts.sessions,
        here,
        moment(first),
        moment(last),
        None if earlier is None else examples.get(earlier.turn_id),
        None if later is None else examples.get(later.turn_id),
    )


def _beside(places: GroupPlaces, failure: StoredFailure, forward: bool) -> StoredFailure | None:
    """The response of a group right after another one, or right before it."""
    candidates: list[StoredFailure] = []
    for segment, bits in places:
        place = bisect_left(segment.failures, failure.place, key=attrgetter("place"))
        if forward:
            is_same = place < len(segment.failures) and segment.failures[place].turn_id == failure.turn_id
            if bits and bits.max() >= place + is_same:
                candidates.append(segment.failures[bits.next_set_bit(place + is_same)])
        elif before := bits.rank(place - 1) if place else 0:
            candidates.append(segment.failures[bits[before - 1]])
    return (min if forward else max)(candidates, key=attrgetter("place"), default=None)
