"""Times ago as commands take them: 30m, 36h, 90d, 12w."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import click

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def time_ago(text: str, now: datetime, units: str = "mhdw") -> datetime | None:
    """The time that was so long before `now`; None where `text` is no such time. Raises a usage error before year 1."""
    match = re.fullmatch(rf"(\d{{1,6}})([{units}])", text, re.ASCII)
    if match is None:
        return None
    try:
        return now - timedelta(**{_UNITS[match[2]]: int(match[1])})
    except OverflowError:
        raise click.UsageError(f"{text} ago is before the year 1") from None
