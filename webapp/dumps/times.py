"""Times as dumps write them, as aware UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

_NUMERIC = re.compile(r"-?\d{1,20}(\.\d{1,20})?")
_LONG_FRACTION = re.compile(r"(\.\d{6})\d+")


def moment(value: Any) -> datetime | None:
    """A Unix time (seconds, milliseconds, micro- or nanoseconds: told by size) or an ISO 8601 text, as UTC.

    A text without a zone is taken as UTC. None for anything else, and for what no calendar holds.
    """
    if isinstance(value, str):
        value = value.strip()
        return moment(float(value)) if _NUMERIC.fullmatch(value) else _written(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return None
    try:
        return datetime.fromtimestamp(_seconds(value), UTC)
    except (ValueError, OverflowError, OSError):
        return None


def first_moment(holder: Any, *keys: str) -> datetime | None:
    """The first time under one of `keys`; None where `holder` is no object."""
    for key in keys if isinstance(holder, dict) else ():
        if when := moment(holder.get(key)):
            return when
    return None


def _seconds(value: float) -> float:
    """Seconds reach 10^11 in the year 5138, milliseconds had passed it by 1973; and so on by thousands."""
    for _ in range(3):
        if abs(value) < 1e11:
            break
        value = value / 1000
    return value


def _written(value: str) -> datetime | None:
    try:
        when = datetime.fromisoformat(_LONG_FRACTION.sub(r"\1", value))
        return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
