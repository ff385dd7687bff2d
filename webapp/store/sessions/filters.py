"""What the session list, its facets, search and statistics are narrowed to and ordered by, the same everywhere; and the
cursor that says where the list's next page begins.

The numbers of a session that the list shows, sorts and filters by are each defined here alone. One more number is: a
column of `Session` that the fold counts, a line of `NUMBERS`, and where it has a filter a field of `Filters`. Page,
API, command options and cursors follow.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.contracts.contract import STATES
from webapp.dumps.messages.metadata import STOPS
from webapp.refusals import BadInput, WrongUse
from webapp.store.db import ids
from webapp.store.db.ids import microseconds
from webapp.store.db.types import UtcDateTime
from webapp.store.models.people import Label
from webapp.store.models.sessions import Session
from webapp.store.write.tally import BROKEN_AS_ONE, NOT_RUN, VERDICTS


@dataclass(frozen=True, slots=True)
class Number:
    """`name` is the API's, and `things` says what it counts.

    One with a `title` is a column of the page (a `wide` one where there is room), with a `sort` an order, most first,
    and `more_than` names the filter that asks for more than so many.
    """

    name: str
    column: orm.InstrumentedAttribute[int]
    things: str
    title: str = ""
    wide: bool = False
    sort: str = ""
    more_than: str = ""


NUMBERS = (
    Number("turns", Session.turn_count, "turns"),
    Number("responses", Session.response_count, "responses", title="Responses", wide=True, sort="length"),
    Number("failed", Session.failed_count, "failures"),
    Number("failing", Session.failing_count, "failures", title="Failed", sort="failures", more_than="failures"),
    Number("rescued", Session.rescued_count, "failures that Fencepost can read"),
    Number("labelled", Session.label_count, "labels"),
    Number("bytes", Session.raw_bytes, "bytes"),
)
SHOWN = tuple(sorted((number for number in NUMBERS if number.title), key=lambda number: number.wide))
"""in the order of the page's columns"""
MORE_THAN = {number.more_than: number for number in NUMBERS if number.more_than}


KEYS: dict[str, tuple[Any, ...]] = {
    "failing": (Session.failed, Session.happened_at, Session.id),
    "time": (Session.happened_at, Session.id),
    "match": (Session.id,),
    **{number.sort: (number.column, Session.happened_at, Session.id) for number in NUMBERS if number.sort},
    "labels": (Label.made_at, Label.id),
}
"""of lists of sessions, and of labels: most important first; all of them descend, and the last says which of two
otherwise equal ones comes first"""


class BadCursor(BadInput):
    """`after` is not what a page gave as `next`."""


def place(sort: str, row: Any) -> list[Any]:
    """Where a session, or a row that has the order's keys, stands in that order."""
    return [getattr(row, key.key) for key in KEYS[sort]]


def behind(sort: str, place: Sequence[Any], *, forward: bool = True) -> sa.ColumnElement[bool]:
    """Whether a session comes behind a place in the order, or before it."""
    keys = KEYS[sort]
    bound = sa.tuple_(*(sa.literal(value, key.type) for key, value in zip(keys, place, strict=True)))
    is_behind: sa.ColumnElement[bool] = sa.tuple_(*keys) < bound if forward else sa.tuple_(*keys) > bound
    return is_behind


def order_by(sort: str, *, forward: bool = True) -> list[Any]:
    """What to order by."""
    return [key.desc() if forward else key.asc() for key in KEYS[sort]]


def cursor(sort: str, place: Sequence[Any], *more: int) -> str:
    """The cursor behind a place in an order, with `more` numbers from 0."""
    numbers = [microseconds(value) if isinstance(value, datetime) else int(value) for value in (*place, *more)]
    text = json.dumps([sort, *numbers], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def cursor_place(sort: str, after: str | None, more: int = 0) -> list[Any] | None:
    """The place in that order behind which a cursor stands, and so many `more` numbers; None at the beginning. Raises
    `BadCursor`."""
    if after is None:
        return None
    try:
        data = base64.urlsafe_b64decode(after.encode("ascii") + b"=" * (-len(after) % 4))
        of_order, *numbers = json.loads(data)
        if of_order != sort or not all(type(number) is int and 0 <= number < 2**63 for number in numbers):
            raise ValueError
        kinds = [ids.moment if isinstance(key.type, UtcDateTime) else key.type.python_type for key in KEYS[sort]]
        return [kind(number) for kind, number in zip([*kinds, *[int] * more], numbers, strict=True)]
    except (ValueError, TypeError, RecursionError, OverflowError):
        raise BadCursor("after is not what an earlier page gave as next in this order") from None


def cursor_number(after: str | None) -> int | None:
    """The number that the cursor of a list is that has no order of its own; raises `BadCursor`."""
    if after and not (after.isascii() and after.isdecimal() and len(after) < 10):
        raise BadCursor("after is not what an earlier page gave as next")
    return int(after) if after else None


JUDGEMENTS = ("right", "wrong", "missed", "spurious", "unsure")
LABELS = ("labelled", "unlabelled", *JUDGEMENTS)
SORTS = ("failing", "time", *(number.sort for number in SHOWN if number.sort))
"""failed in production first, then the newest; the newest; most of a number"""
HOME = "home"
"""what `under` says where each session is looked at under its own home profile"""
SWITCHES = ("failed", "rescued")
MOST = 2**31 - 1


class BadFilter(WrongUse):
    """A filter has a value that it does not take; the message lists those that it takes."""


_DAY = "an ISO 8601 date or time, UTC if it has no time zone"


class FilterWords(NamedTuple):
    """What pages, the API and commands say of a filter: `about` which sessions it keeps; `takes` () for any text."""

    about: str
    title: str = ""
    takes: tuple[str, ...] = ()


def _filter(about: str, title: str = "", *, takes: tuple[str, ...] = (), default: Any = None) -> Any:
    return field(default=default, metadata={"described": FilterWords(about, title, takes)})


@dataclass(frozen=True, slots=True)
class Filters:
    """What the list is narrowed to; all that are set must hold. The names are those of the URL's parameters.

    `verdict`, `strategy` and `repair` are of at least one response under the profile `under` ("home": each session's
    own). `dump` is a number or a sha256; `since` and `until` are ISO 8601 dates or times, UTC where they have no
    zone, and `until` a day holds that day; `failures` asks for more failed responses than that; `q` searches.
    A value that nothing has matches nothing. Raises `BadFilter` on values that cannot be meant.
    """

    failed: bool = _filter("with a failed response", "failed", default=False)
    rescued: bool = _filter("with a failed response that Fencepost can read", "Fencepost can read", default=False)
    verdict: str | None = _filter("with a response of this verdict", "Verdict", takes=(*VERDICTS, NOT_RUN))
    under: str = _filter("profile that verdict, strategy and repair speak of; home: each session's own", default=HOME)
    strategy: str | None = _filter("with a response that this strategy won", "Strategy that won")
    repair: str | None = _filter("with a response that needed this repair", "Repair needed")
    error: str | None = _filter("with this kind of error", "Error")
    model: str | None = _filter("with this model", "Model")
    host: str | None = _filter("served by this provider, address or fingerprint", "Host")
    agent: str | None = _filter("with this agent", "Agent")
    phase: str | None = _filter("with this phase", "Phase")
    tool: str | None = _filter("with a call of this tool", "Tool")
    home: str | None = _filter("the session's parser; `unknown` if none is set", "Your parser")
    finding: str | None = _filter("for which this rule found something", "Finding")
    label: str | None = _filter("labelled, unlabelled, or with this judgement", "Label", takes=LABELS)
    service: str | None = _filter("what the program calls itself", "Service")
    format: str | None = _filter("of logs in this format", "Source format")
    contract: str | None = _filter(
        "with a response in this state, or any broken one", "Contract", takes=(*STATES, BROKEN_AS_ONE)
    )
    stop: str | None = _filter("whose model stopped a response for this reason", "Why the model stopped", takes=STOPS)
    dump: str | None = _filter("of this log, by number or sha256", "Dump")
    since: str | None = _filter(f"from then on: {_DAY}", "from")
    until: str | None = _filter(f"until then: {_DAY}; a day holds that day", "until")
    failures: int | None = _filter("with more failures than that")
    q: str | None = _filter("words, phrases in quotation marks, prefix*, -not", "search")
    sort: str = _filter("the order; a search shows the newest matches first", takes=SORTS, default=SORTS[0])

    def __post_init__(self) -> None:
        for name, described in DESCRIBED.items():
            value = getattr(self, name)
            if value is not None and described.takes and value not in described.takes:
                raise BadFilter(f"{name} takes {', '.join(described.takes)}, not {value[:100]!r}")
        for name in MORE_THAN:
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


DESCRIBED: dict[str, FilterWords] = {field_.name: field_.metadata["described"] for field_ in fields(Filters)}
_DEFAULTS = tuple((each.name, each.default) for each in fields(Filters))
NARROWING = tuple(name for name in DESCRIBED if name not in ("under", "sort", "q"))
"""The filters that narrow what is in view, without search."""


def of_parameters(parameters: dict[str, str]) -> Filters:
    """The filters that a URL's parameters ask for; others among them are left alone. Raises `BadFilter`."""
    values: dict[str, Any] = {}
    for name in DESCRIBED:
        text = parameters.get(name, "")
        if name in SWITCHES:
            values[name] = text == "1"
        elif name in MORE_THAN and text:
            values[name] = _number(name, text)
        elif text:
            values[name] = text
    return Filters(**values)


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
