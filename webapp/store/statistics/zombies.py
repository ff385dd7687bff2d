"""How often a model was left out of later rounds after an answer that could not be parsed, by model and round."""

from __future__ import annotations

from collections import Counter

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.time_limit import TookTooLong, within
from webapp.store.failures.rates import Rate, rate
from webapp.store.models import Finding, Session, Turn
from webapp.store.sessions.view import View

LIMIT = 1.0
"""seconds"""
MOST = 200
_who = sa.func.coalesce(Turn.agent, Turn.model)


def zombies(db: orm.Session, view: View) -> list[tuple[str, int, Rate]]:
    """Model, round, and how many of its answers in that round made it a zombie; empty where none did.

    The rates are over all answers in view; without `of` where counting these took longer than a second.
    """
    found = sa.select(Finding.detail).join(Session, Session.id == Finding.session_id)
    details = db.scalars(found.where(Finding.rule == "zombie_model", *view.where()))
    left_out = Counter((str(detail["model"]), int(detail["round"])) for detail in details)
    of = _answers(db, view) if left_out else {}
    keys = sorted(left_out, key=lambda key: (-left_out[key], key))[:MOST]
    return [(model, number, rate(model, left_out[model, number], of.get((model, number)))) for model, number in keys]


def _answers(db: orm.Session, view: View) -> dict[tuple[str, int], int]:
    query = sa.select(_who.label("who"), Turn.round, sa.func.count().label("of"))
    query = query.join(Session, Session.id == Turn.session_id).where(*view.where())
    query = query.where(Turn.kind == "response", Turn.duplicate_of.is_(None), Turn.round.is_not(None))
    try:
        with within(db.connection(), LIMIT):
            return {(row.who, row.round): row.of for row in db.execute(query.group_by(_who, Turn.round))}
    except TookTooLong:
        return {}
