"""What made the responses of a session fail: its failure groups with counts, and the smallest reproduction of each."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.contracts import BROKEN
from webapp.exports.session import CauseView
from webapp.parsing import UnknownProfile, failure_group, installing, minimal, profile
from webapp.store.models import FailedResponse, Parse, Session, Turn, TurnContract
from webapp.store.sessions.turns import MODEL_KINDS
from webapp.store.write.facets import kind_of
from webapp.store.write.failed_responses import contract_key

MOST_REPRODUCED = 5
"""causes, the most frequent first, of which a reproduction is looked for …"""
CHARACTERS = 600_000
"""… each with so many code points given to the parser, about a second"""
LONGEST_RAW = 60_000
_MOST_POSITIONS = 20
_NO_GROUP = "failed, and in no failure group: parsed before there were any"


def causes(db: orm.Session, session: Session) -> tuple[CauseView, ...]:
    """Every cause, the most frequent first; their counts add up to the responses that failed."""
    positions: dict[str, list[int]] = {}
    for position, title in _failures(db, session):
        positions.setdefault(title, []).append(position)
    in_order = sorted(positions.items(), key=lambda item: (-len(item[1]), item[1][0]))
    views = []
    for number, (title, places) in enumerate(in_order):
        example, why_none = (None, "")
        if number < MOST_REPRODUCED:
            example, why_none = _reproduction(db, session, places[0])
        views.append(CauseView(title, len(places), tuple(places[:_MOST_POSITIONS]), example, why_none))
    return tuple(views)


def _failures(db: orm.Session, session: Session) -> Iterator[tuple[int, str]]:
    """Position and cause of every failed response."""
    home = sa.and_(Parse.turn_id == Turn.id, Parse.profile == session.home_profile)
    at_home = FailedResponse.session_id == session.id, FailedResponse.under == session.home_profile
    query = (
        sa.select(
            Turn.position,
            Parse.verdict,
            FailedResponse.group_key,
            Turn.recorded_failure,
            TurnContract.state,
            TurnContract.detail,
        )
        .outerjoin(Parse, home)
        .outerjoin(FailedResponse, sa.and_(*at_home, FailedResponse.turn_id == Turn.id))
        .outerjoin(TurnContract, sa.and_(TurnContract.turn_id == Turn.id, TurnContract.state.in_(BROKEN)))
        .where(Turn.session_id == session.id, Turn.duplicate_of.is_(None), Turn.kind.in_(MODEL_KINDS))
        .where(sa.or_(Turn.recorded_failure.is_not(None), Parse.verdict == "failed", TurnContract.state.is_not(None)))
        .order_by(Turn.position)
    )
    for row in db.execute(query):
        if row.group_key is not None:
            yield row.position, failure_group.title(row.group_key)
        elif row.state is not None:
            yield row.position, failure_group.title(contract_key(row.detail))
        elif row.recorded_failure is not None:
            yield row.position, f"recorded in the log: {kind_of(row.recorded_failure)}"
        else:
            yield row.position, _NO_GROUP


def _reproduction(db: orm.Session, session: Session, position: int) -> tuple[str | None, str]:
    """The smallest reproduction of what failed at `position`, else why there is none."""
    query = sa.select(Turn.raw).where(Turn.session_id == session.id, Turn.position == position)
    raw = db.scalar(query.where(Turn.duplicate_of.is_(None))) or ""
    if len(raw) > LONGEST_RAW:
        return None, f"not reduced: the response has {len(raw):,} characters, more than {LONGEST_RAW:,}"
    try:
        if missing := installing.reason(profile(session.home_profile)):
            return None, f"not reduced: {missing}"
    except UnknownProfile:
        return None, "not reduced: the parser is unknown"
    result = minimal.of_profile(raw, session.home_profile, CHARACTERS)
    if not result.same:
        return None, "not reduced: the parser reads the response, and the failure is the log's"
    return result.text, minimal.sentence(result, len(raw), session.home_profile)
