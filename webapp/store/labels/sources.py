"""Where expected values came from: a profile's name, `blind`, or nobody but the person who typed them."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.models import Label

TYPED = "typed"


def counts(db: orm.Session) -> dict[str, int]:
    """How many labels have an expected value, by its source, the most first."""
    query = sa.select(Label.source, sa.func.count()).where(Label.expects.in_(("one", "several")))
    rows = db.execute(query.group_by(Label.source).order_by(sa.func.count().desc(), Label.source)).all()
    return {row[0] or TYPED: row[1] for row in rows}
