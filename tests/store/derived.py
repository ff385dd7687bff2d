"""All that is stored of a session and made of it, so that two ways to come to one can be compared."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import facets
from webapp.store.models import FailedResponse, Parse, Session, Turn
from webapp.store.write import stored_turns

NAMES = ("id", "dump_id", "ingested_at", "key", "extra", "external_id", "revision", "changed", "grown_at")
TURN = ("position", "entry", "kind", "raw", "raw_at", "role", "agent", "model", "recorded_failure")
PARSE = (Turn.ordinal, Parse.profile, Parse.version, Parse.verdict, Parse.strategy, Parse.repairs)
FAILED = (Turn.ordinal, FailedResponse.under, FailedResponse.group_key)


def everything(db: orm.Session, session: Session) -> dict[str, Any]:
    """Without names, numbers of rows, and moments: what two sessions of the same turns have alike."""
    turns = db.scalars(sa.select(Turn).where(Turn.session_id == session.id).order_by(Turn.ordinal)).all()
    first = turns[0].id if turns else 0
    parses = sa.select(*PARSE).join(Parse, Parse.turn_id == Turn.id).where(Turn.session_id == session.id)
    failed = sa.select(*FAILED).join(FailedResponse, FailedResponse.turn_id == Turn.id)
    return {
        "session": facts(session),
        "turns": [
            (*(getattr(turn, name) for name in TURN), turn.duplicate_of and turn.duplicate_of - first) for turn in turns
        ],
        "parses": set(map(tuple, db.execute(parses))),
        "failed": set(map(tuple, db.execute(failed.where(Turn.session_id == session.id)))),
        "findings": [stored_turns.finding_dict(row) for row in stored_turns.findings_of(db, session.id)],
        "facets": facets(db, session.external_id, session.revision),
    }


def facts(session: Session) -> dict[str, object]:
    """When it came in stands for the time of a session whose turns have none, and is left out."""
    names = {column.name for column in Session.__table__.columns} - {*NAMES}
    return {name: getattr(session, name) for name in names if name != "happened_at" or session.started_at}
