"""What made the responses of a session fail: its failure groups with counts, and the smallest reproduction of each."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.exports.session import CauseView
from webapp.parsing import UnknownProfile, failure_group, installing, minimal, profile
from webapp.store.models import FailedResponse, Session, Turn
from webapp.store.write.failed_responses import HOME, recorded_key
from webapp.store.write.parser import UNKNOWN

MOST_REPRODUCED = 5
"""causes, the most frequent first, of which a reproduction is looked for …"""
CHARACTERS = 600_000
"""… each with so many code points given to the parser, about a second"""
LONGEST_RAW = 60_000
_MOST_POSITIONS = 20


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
    query = sa.select(Turn.position, Turn.recorded_failure, FailedResponse.group_key, FailedResponse.profile)
    query = query.join(FailedResponse, FailedResponse.turn_id == Turn.id).order_by(Turn.position)
    at_home = FailedResponse.session_id == session.id, FailedResponse.under == HOME
    for row in db.execute(query.where(*at_home)):
        if session.home_profile != UNKNOWN or not row.profile:
            yield row.position, failure_group.title(row.group_key)
        elif row.recorded_failure is not None:  # it would fail under `json.loads`, too, which nobody said was used
            yield row.position, failure_group.title(recorded_key(row.recorded_failure))


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
