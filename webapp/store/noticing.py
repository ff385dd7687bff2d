"""Runs the findings' rules over a session, while it is written or from the database, and keeps what they found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import findings, parsing
from webapp.dumps.records import Turn
from webapp.findings import About, Notice, Seen
from webapp.findings.facts import finish_reason, most_rounds
from webapp.store import facets
from webapp.store.models import Finding, Parse, Session
from webapp.store.models import Turn as StoredTurn
from webapp.store.parsed import OURS
from webapp.store.tally import READABLE, Place

_AT_ONCE = 200
"""rows fetched together; a row holds a turn, its entry and its traces"""

_STOPS = ("response", "tool_call", "prompt")
"""kinds whose entry may say why the model stopped: an exchange begins with its prompt"""

_insert = sa.insert(Finding)
_drop = sa.delete(Finding).where(Finding.session_id == sa.bindparam("session"))


def readers(raw: str) -> list[str]:
    """The profiles that read a value from `raw`."""
    return [name for name in parsing.profiles() if parsing.parse(raw, name).verdict in READABLE]


def watch(home: str) -> Notice:
    """The rules over a session whose program used the profile `home`."""
    return Notice(About(home, readers))


def show(
    notice: Notice, place: Place, turn: Turn, traces: tuple[parsing.Trace, ...], answers: int | None = None
) -> None:
    """Show the rules a turn that is being written; `answers` is the position of the response that an error is about."""
    again = place.original is not None
    source = turn.source if isinstance(turn.source, dict) else None
    notice.see(
        Seen(
            place.position,
            turn.entry,
            "again" if again else turn.kind,
            turn.kind if again else turn.role,
            turn.agent,
            turn.model,
            turn.phase,
            turn.sounding,
            turn.round,
            turn.raw,
            turn.tool_calls,
            turn.failure,
            answers,
            turn.sent_at,
            traces[0] if traces else None,
            traces[-1] if traces else None,
            finish_reason(source) if source is not None and turn.kind in _STOPS else None,
            most_rounds(source) if source is not None and turn.kind == "event" else None,
        )
    )


def save(connection: sa.Connection, session_id: int, notice: Notice) -> dict[str, int]:
    """Keep what was found in a session; how many findings of each rule there are. The caller commits."""
    found = notice.findings()
    keep(connection, session_id, found)
    return counts(found)


def keep(connection: sa.Connection, session_id: int, found: Sequence[findings.Finding]) -> None:
    """Keep what was found in a session that has no findings yet; the caller commits."""
    if found:
        connection.execute(_insert, [_row(session_id, finding) for finding in found])


def counts(found: Iterable[findings.Finding]) -> dict[str, int]:
    """How many findings of each rule there are."""
    return dict(Counter(finding.rule for finding in found))


def renew(connection: sa.Connection, session_id: int) -> None:
    """Run the rules anew over a stored session, a few turns in memory at a time; the caller commits."""
    home = connection.scalars(sa.select(Session.home_profile).where(Session.id == session_id)).one()
    notice = watch(home)
    for turn in _stored(connection, session_id, home):
        notice.see(turn)
    connection.execute(_drop, {"session": session_id})
    facets.set_findings(connection, session_id, save(connection, session_id, notice))


def of(db: orm.Session, session_id: int) -> list[Finding]:
    """The findings of a session, what weighs most first."""
    order = {name: rank for rank, name in enumerate(findings.rules())}
    found = db.scalars(sa.select(Finding).where(Finding.session_id == session_id).order_by(Finding.id))
    return sorted(found, key=lambda finding: order.get(finding.rule, len(order)))


def told(finding: Finding) -> dict[str, Any]:
    """A finding as dumps and the API say it; `reason` is its sentence, `turns` are positions."""
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "reason": findings.reason(finding),
        "turns": finding.turns,
        "detail": finding.detail,
    }


def _row(session_id: int, finding: findings.Finding) -> dict[str, Any]:
    return {
        "session_id": session_id,
        "rule": finding.rule,
        "severity": finding.severity,
        "turns": list(finding.turns),
        "detail": finding.detail,
    }


def _stored(connection: sa.Connection, session_id: int, home: str) -> Iterator[Seen]:
    """The session's turns as they were shown when they were written.

    What an error answers is not stored; it is found as formats find it: the last response of the same sounding,
    else of the session, which then has a recorded failure.
    """
    last: dict[int | None, tuple[int, bool]] = {}
    for row in connection.execute(_turns(session_id, home).execution_options(yield_per=_AT_ONCE)):
        answers = None
        failed = row.recorded_failure is not None
        if row.duplicate_of is None and row.kind == "response":
            last[row.sounding] = last[None] = (row.position, failed)
        elif row.kind == "error":
            position, answered = last.get(row.sounding) or last.get(None) or (0, False)
            answers = position if answered else None
        yield _seen(row, answers)


def _seen(row: sa.Row[*tuple[Any, ...]], answers: int | None) -> Seen:
    again = row.duplicate_of is not None
    home = parsing.Trace.from_dict(row.home) if row.home is not None and not again else None
    ours = parsing.Trace.from_dict(row.ours) if row.ours is not None and not again and row.apart else home
    return Seen(
        row.position,
        row.entry,
        "again" if again else row.kind,
        row.kind if again else row.role,
        row.agent,
        row.model,
        row.phase,
        row.sounding,
        row.round,
        row.raw,
        row.tool_calls,
        row.recorded_failure,
        answers,
        row.sent_at,
        home,
        ours,
        finish_reason(row.source) if row.kind in _STOPS else None,
        most_rounds(row.source) if row.kind == "event" else None,
    )


def _turns(session_id: int, home_profile: str) -> sa.Select[*tuple[Any, ...]]:
    home, ours = orm.aliased(Parse), orm.aliased(Parse)
    query = sa.select(
        StoredTurn.position,
        StoredTurn.entry,
        StoredTurn.duplicate_of,
        StoredTurn.kind,
        StoredTurn.role,
        StoredTurn.agent,
        StoredTurn.model,
        StoredTurn.phase,
        StoredTurn.sounding,
        StoredTurn.round,
        StoredTurn.raw,
        StoredTurn.tool_calls,
        StoredTurn.recorded_failure,
        StoredTurn.sent_at,
        StoredTurn.source,
        home.trace.label("home"),
        ours.trace.label("ours"),
        sa.literal(home_profile != OURS).label("apart"),
    )
    query = query.outerjoin(home, sa.and_(home.turn_id == StoredTurn.id, home.profile == home_profile))
    query = query.outerjoin(ours, sa.and_(ours.turn_id == StoredTurn.id, ours.profile == OURS))
    return query.where(StoredTurn.session_id == session_id).order_by(StoredTurn.ordinal)
