"""Steps of time for statistics: at most 40, each a whole hour, day, week, month, quarter or number of years (UTC)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

MOST = 40
_LAST = datetime.max.replace(tzinfo=UTC)

Step = Callable[[datetime], datetime]


def edges(first: datetime, last: datetime) -> tuple[str, list[datetime]]:
    """The finest step with which at most 40 hold both times, and where the steps begin and the last one ends."""
    for name, floor, following in _STEPS:
        steps = list(islice(_from(floor(first), following, last), MOST + 2))
        if len(steps) <= MOST + 1:
            return name, steps
    years = -(-(last.year - first.year + 1) // MOST)
    return "year", list(_from(_years(first, 0), lambda when: _years(when, years), last))


def text(when: datetime) -> str:
    """As the filters `since` and `until` take it, to the minute."""
    return when.astimezone(UTC).isoformat()[:16] + "Z"


def _from(start: datetime, following: Step, last: datetime) -> Iterator[datetime]:
    yield start
    while start <= last and start < _LAST:
        start = following(start)
        yield start


def _months(when: datetime, count: int) -> datetime:
    """The beginning of the month that comes so many after the one of `when`."""
    year, month = divmod(when.year * 12 + when.month - 1 + count, 12)
    return datetime(year, month + 1, 1, tzinfo=UTC) if year <= _LAST.year else _LAST


def _years(when: datetime, count: int) -> datetime:
    return _months(when.replace(month=1), 12 * count)


def _later(when: datetime, much: timedelta) -> datetime:
    return when + much if when < _LAST - much else _LAST


def _day(when: datetime) -> datetime:
    return when.replace(hour=0, minute=0, second=0, microsecond=0)


def _week(when: datetime) -> datetime:
    """Monday, but for the days before the first one that there is."""
    day = _day(when)
    return day - timedelta(days=min(day.weekday(), day.toordinal() - 1))


_STEPS: tuple[tuple[str, Step, Step], ...] = (
    ("hour", lambda when: when.replace(minute=0, second=0, microsecond=0), lambda w: _later(w, timedelta(hours=1))),
    ("day", _day, lambda when: _later(when, timedelta(days=1))),
    ("week", _week, lambda when: _later(when, timedelta(weeks=1))),
    ("month", lambda when: _months(when, 0), lambda when: _months(when, 1)),
    ("quarter", lambda when: _months(when, -((when.month - 1) % 3)), lambda when: _months(when, 3)),
    ("year", lambda when: _years(when, 0), lambda when: _years(when, 1)),
)
