"""Runs the findings' rules over stored sessions that grew, and keeps what they found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import findings
from webapp.findings import RuleFinding
from webapp.store.db.dialect import change
from webapp.store.models import Finding, Session
from webapp.store.write import contracts, list_rows
from webapp.store.write.home import UNKNOWN
from webapp.store.write.session_state import PlacedTurn, finding_counts, rules_for, turn_view
from webapp.store.write.stored_turns import StoredTurns

_AT_ONCE = 200
_insert = sa.insert(Finding)
_find = (
    sa.select(Finding.rule, Finding.severity, Finding.turns, Finding.detail)
    .where(Finding.session_id == sa.bindparam("session"))
    .order_by(Finding.id)
)
_find_home = sa.select(Session.home_profile, Session.changed).where(Session.id == sa.bindparam("session"))
_lock = sa.select(Session.id).where(Session.id == sa.bindparam("session")).with_for_update()
_drop = sa.delete(Finding).where(Finding.session_id == sa.bindparam("session"))


class FindingRunner:
    """The rules over a stored session: they see each turn once, also when the session grows at its end.

    What they have seen is good while the session's `changed` is the same.
    """

    def __init__(self, session_id: int, home: str, changed: int) -> None:
        self.changed = changed
        self._turns = StoredTurns(session_id, home)
        self._rules = rules_for(home)
        self._answers: contracts.Answers[PlacedTurn] = contracts.Answers()
        self._is_home_known = home != UNKNOWN

    def read(self, connection: sa.Connection, most: int = _AT_ONCE) -> bool:
        """Have the rules see at most `most` further turns; False where there was nothing left beyond those."""
        placed = self._turns.read(connection, most)
        for turn in placed:
            for earlier, contract in self._answers.add(turn):
                self._rules.see(turn_view(earlier, self._is_home_known, contract))
        return len(placed) == most

    def findings(self) -> list[RuleFinding]:
        """What the rules found so far."""
        for turn, contract in self._answers.rest():
            self._rules.see(turn_view(turn, self._is_home_known, contract))
        return self._rules.so_far()


def runner_for(connection: sa.Connection, session_id: int) -> FindingRunner | None:
    """The rules over a stored session, none of whose turns they have seen; None where it is gone."""
    row = connection.execute(_find_home, {"session": session_id}).one_or_none()
    return None if row is None else FindingRunner(session_id, *row)


def insert(connection: sa.Connection, new: Mapping[int, Sequence[RuleFinding]]) -> None:
    """Store the findings of sessions that have none yet; the caller commits."""
    rows = [_row(session_id, finding) for session_id, findings_of_it in new.items() for finding in findings_of_it]
    if rows:
        connection.execute(_insert, rows)


def replace(connection: sa.Connection, session_id: int, new: Sequence[RuleFinding]) -> None:
    """Store findings in place of those that a session had, and count them in its facets; the caller commits.

    Whoever does the same meanwhile (PostgreSQL) waits, so that no finding is stored twice.
    """
    connection.execute(_lock, {"session": session_id})
    replace_rows(connection, session_id, new)
    set_counts(connection, session_id, finding_counts(new))


def replace_rows(connection: sa.Connection, session_id: int, new: Sequence[RuleFinding]) -> None:
    """Store findings in place of those that a session had, which the caller has locked and counts."""
    connection.execute(_drop, {"session": session_id})
    insert(connection, {session_id: new})


def set_counts(connection: sa.Connection, session_id: int, rules: Mapping[str, int]) -> None:
    """Set how many findings of each rule a session has; in the transaction that writes them, behind `SessionWriter`."""
    where = Session.id == session_id
    stored_facets = connection.scalar(sa.select(Session.facets).where(where).with_for_update()) or {}
    facets = {name: part for name, part in stored_facets.items() if name != "finding"}
    if rules:
        facets["finding"] = dict(rules)
    connection.execute(sa.update(Session).where(where).values(facets=facets, changed=change()))
    list_rows.renew(connection, [session_id])


def is_stored(connection: sa.Connection, session_id: int, new: Iterable[RuleFinding]) -> bool:
    """Whether just these are stored already."""
    rows = [_row(session_id, row) for row in connection.execute(_find, {"session": session_id})]
    return rows == [_row(session_id, finding) for finding in new]


def findings_of(db: orm.Session, session_id: int) -> list[Finding]:
    """The findings of a session, what weighs most first."""
    order = {name: rank for rank, name in enumerate(findings.rules())}
    rows = db.scalars(sa.select(Finding).where(Finding.session_id == session_id).order_by(Finding.id))
    return sorted(rows, key=lambda finding: order.get(finding.rule, len(order)))


def as_dict(finding: Finding) -> dict[str, Any]:
    """A finding as dumps and the API say it; `reason` is its sentence, `turns` are positions."""
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "reason": findings.reason(finding),
        "turns": finding.turns,
        "detail": finding.detail,
    }


def _row(session_id: int, finding: RuleFinding | sa.Row[Any]) -> dict[str, Any]:
    return {
        "session_id": session_id,
        "rule": finding.rule,
        "severity": finding.severity,
        "turns": list(finding.turns),
        "detail": finding.detail,
    }
