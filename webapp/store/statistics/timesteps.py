"""Steps of time for statistics: at most 40, all as long: each an hour, a day, or so many weeks (UTC)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

MOST = 40
_FIRST, _LAST = (bound.replace(tzinfo=UTC) for bound in (datetime.min, datetime.max))
_STEPS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}
_STEPS |= {f"{weeks} weeks": timedelta(weeks=weeks) for weeks in (4, 13, 52, 260, 1300, 15600)}


def edges(first: datetime, last: datetime) -> tuple[str, list[datetime]]:
    """The finest step with which at most 40 hold both times, and where the steps begin and the last one ends.

    Weeks begin on Mondays, as the year 1 did.
    """
    fits = (name for name, step in _STEPS.items() if (last - _FIRST) // step - (first - _FIRST) // step < MOST)
    name = next(fits)
    step = _STEPS[name]
    begin, end = (first - _FIRST) // step, (last - _FIRST) // step + 1
    return name, [_FIRST + min(number * step, _LAST - _FIRST) for number in range(begin, end + 1)]


def text(when: datetime) -> str:
    """As the filters `since` and `until` take it, to the minute."""
    return when.astimezone(UTC).isoformat()[:16] + "Z"
