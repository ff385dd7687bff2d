"""Runs the findings' rules over a session, while it is written or from the database, and keeps what they found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
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
_home_of = sa.select(Session.home_profile).where(Session.id == sa.bindparam("session"))
_kept = sa.select(Finding.rule, Finding.severity, Finding.turns, Finding.detail).where(
    Finding.session_id == sa.bindparam("session")
)
_kept = _kept.order_by(Finding.id)
_lock = sa.select(Session.id).where(Session.id == sa.bindparam("session")).with_for_update()
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


def keep(connection: sa.Connection, session_id: int, found: Sequence[findings.Finding]) -> None:
    """Keep what was found in a session that has no findings yet; the caller commits."""
    if found:
        connection.execute(_insert, [_row(session_id, finding) for finding in found])


def counts(found: Iterable[findings.Finding]) -> dict[str, int]:
    """How many findings of each rule there are."""
    return dict(Counter(finding.rule for finding in found))


class Following:
    """The rules over a stored session: they see each turn once, also when the session grows at its end."""

    def __init__(self, session_id: int, home: str) -> None:
        self.session_id = session_id
        self._apart = home != OURS
        self._home = home
        self._next = 0
        self._notice = watch(home)
        self._last: dict[int | None, tuple[int, bool]] = {}

    def read(self, connection: sa.Connection, most: int = _AT_ONCE) -> bool:
        """Have the rules see at most `most` further turns; False where there was nothing left beyond those."""
        about = {"session": self.session_id, "home": self._home, "next": self._next, "most": most}
        count = 0
        for row in connection.execute(_following, about):
            self._notice.see(_seen(row, self._answers(row), self._apart))
            self._next = row.ordinal + 1
            count += 1
        return count == most

    def findings(self) -> list[findings.Finding]:
        """What the rules found so far."""
        return self._notice.so_far()

    def _answers(self, row: sa.Row[*tuple[Any, ...]]) -> int | None:
        """What an error answers is not stored; it is found as formats find it.

        That is the last response of the same sounding, else of the session, which then has a recorded failure.
        """
        if row.duplicate_of is None and row.kind == "response":
            self._last[row.sounding] = self._last[None] = (row.position, row.recorded_failure is not None)
        elif row.kind == "error":
            position, answered = self._last.get(row.sounding) or self._last.get(None) or (0, False)
            return position if answered else None
        return None


def follow(connection: sa.Connection, session_id: int) -> Following:
    """The rules over a stored session, none of whose turns they have seen."""
    return Following(session_id, connection.scalars(_home_of, {"session": session_id}).one())


def renew(connection: sa.Connection, session_id: int) -> None:
    """Run the rules anew over a stored session, a few turns in memory at a time; the caller commits."""
    following = follow(connection, session_id)
    while following.read(connection):
        pass
    replace(connection, session_id, following.findings())


def replace(connection: sa.Connection, session_id: int, found: Sequence[findings.Finding]) -> None:
    """Keep what was found in place of what was found before; the caller commits.

    Whoever does the same meanwhile (PostgreSQL) waits, so that no finding is kept twice.
    """
    connection.execute(_lock, {"session": session_id})
    connection.execute(_drop, {"session": session_id})
    keep(connection, session_id, found)
    facets.set_findings(connection, session_id, counts(found))


def is_kept(connection: sa.Connection, session_id: int, found: Iterable[findings.Finding]) -> bool:
    """Whether just that is kept already."""
    kept = [
        {"session_id": session_id, "rule": row.rule, "severity": row.severity, "turns": row.turns, "detail": row.detail}
        for row in connection.execute(_kept, {"session": session_id})
    ]
    return kept == [_row(session_id, finding) for finding in found]


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


def _seen(row: sa.Row[*tuple[Any, ...]], answers: int | None, apart: bool) -> Seen:
    again = row.duplicate_of is not None
    home = parsing.Trace.from_dict(row.home) if row.home is not None and not again else None
    ours = parsing.Trace.from_dict(row.ours) if row.ours is not None and not again and apart else home
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


def _turns() -> sa.Select[*tuple[Any, ...]]:
    home, ours = orm.aliased(Parse), orm.aliased(Parse)
    query = sa.select(
        StoredTurn.ordinal,
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
    )
    query = query.outerjoin(home, sa.and_(home.turn_id == StoredTurn.id, home.profile == sa.bindparam("home")))
    query = query.outerjoin(ours, sa.and_(ours.turn_id == StoredTurn.id, ours.profile == OURS))
    here = (StoredTurn.session_id == sa.bindparam("session"), StoredTurn.ordinal >= sa.bindparam("next"))
    return query.where(*here).order_by(StoredTurn.ordinal).limit(sa.bindparam("most"))


_following = _turns()
