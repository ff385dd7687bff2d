"""What the session list, its facets, search and statistics are narrowed to: the same filters everywhere."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any

from webapp.contracts import STATES
from webapp.dumps.messages.beside import STOPS
from webapp.store.sessions import columns
from webapp.store.write.tally import BROKEN_AS_ONE, VERDICTS

JUDGEMENTS = ("right", "wrong", "missed", "spurious", "unsure")
LABELS = ("labelled", "unlabelled", *JUDGEMENTS)
SORTS = ("failing", "time", *(number.sort for number in columns.SHOWN if number.sort))
"""failed in production first, then the newest; the newest; most of a number"""
HOME = "home"
"""what `under` says where each session is looked at under its own home profile"""
MOST = 2**31 - 1


class BadFilter(ValueError):
    """A filter has a value that it does not take; the message lists those that it takes."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What the list is narrowed to; all that are set must hold. The names are those of the URL's parameters.

    `verdict`, `strategy` and `repair` are of at least one response under the profile `under` ("home": each session's
    own). `dump` is a number or a sha256; `since` and `until` are ISO 8601 dates or times, UTC where they have no
    zone, and `until` a day holds that day; `failures` asks for more failed responses than that; `q` searches.
    A value that nothing has matches nothing. Raises `BadFilter` on values that cannot be meant.
    """

    failed: bool = False
    rescued: bool = False
    verdict: str | None = None
    under: str = HOME
    strategy: str | None = None
    repair: str | None = None
    error: str | None = None
    model: str | None = None
    host: str | None = None
    agent: str | None = None
    phase: str | None = None
    tool: str | None = None
    home: str | None = None
    finding: str | None = None
    label: str | None = None
    service: str | None = None
    format: str | None = None
    contract: str | None = None
    stop: str | None = None
    dump: str | None = None
    since: str | None = None
    until: str | None = None
    failures: int | None = None
    q: str | None = None
    sort: str = SORTS[0]

    def __post_init__(self) -> None:
        if self.verdict is not None:
            _one_of("verdict", self.verdict, VERDICTS)
        if self.label is not None:
            _one_of("label", self.label, LABELS)
        if self.contract is not None:
            _one_of("contract", self.contract, (*STATES, BROKEN_AS_ONE))
        if self.stop is not None:
            _one_of("stop", self.stop, STOPS)
        _one_of("sort", self.sort, SORTS)
        for name in columns.MORE_THAN:
            bound = getattr(self, name)
            if bound is not None and not 0 <= bound <= MOST:
                raise BadFilter(f"{name} must be a number from 0 to {MOST}, not {bound}")
        self.span()

    def span(self) -> tuple[datetime | None, datetime | None]:
        """When a session may have happened: from the first time on, before the second."""
        since = None if self.since is None else _time("since", self.since, timedelta())
        until = None if self.until is None else _time("until", self.until, timedelta(days=1))
        return since, until

    @property
    def searches(self) -> bool:
        """Whether a text is searched for."""
        return bool(self.q and self.q.strip())

    def active(self) -> dict[str, Any]:
        """The parameters of a URL that leads here: only what is not as it is by default, True written as 1."""
        values = ((name, getattr(self, name), default) for name, default in _DEFAULTS)
        return {name: 1 if value is True else value for name, value, default in values if value != default}


_DEFAULTS = tuple((field.name, field.default) for field in fields(Filters))
NARROWING = tuple(field.name for field in fields(Filters) if field.name not in ("under", "sort", "q"))
"""The filters that narrow what is in view, without search."""


def of_parameters(parameters: dict[str, str]) -> Filters:
    """The filters that a URL's parameters ask for; others among them are left alone. Raises `BadFilter`."""
    values: dict[str, Any] = {}
    for field in fields(Filters):
        text = parameters.get(field.name, "")
        if field.name in ("failed", "rescued"):
            values[field.name] = text == "1"
        elif field.name in columns.MORE_THAN and text:
            values[field.name] = _number(field.name, text)
        elif text:
            values[field.name] = text
    return Filters(**values)


def _one_of(name: str, value: str, values: tuple[str, ...]) -> None:
    if value not in values:
        raise BadFilter(f"{name} takes {', '.join(values)}, not {value[:100]!r}")


def _number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 11):
        raise BadFilter(f"{name} must be a number, not {text[:100]!r}")
    return int(text)


def _time(name: str, text: str, day: timedelta) -> datetime:
    """A time in UTC; where `text` is a date alone, its beginning and `day` more."""
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        return moment + day if len(text) <= len("2026-01-01") else moment
    except (ValueError, OverflowError):
        raise BadFilter(
            f"{name} must be a date like 2026-01-31 or a time like 2026-01-31T18:30, not {text[:100]!r}"
        ) from None
