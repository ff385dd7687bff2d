"""The sessions that ship with Fencepost: listed while there are no others, then only where somebody asks for them."""

from __future__ import annotations

from hashlib import sha256

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import paths
from webapp.store.models import Dump, Session

_HASHES = [sha256(path.read_bytes()).hexdigest() for path in sorted(paths.resource("examples").glob("*.json*"))]
_dumps = sa.select(Dump.id).where(Dump.sha256.in_(_HASHES))
_another = orm.aliased(Session)
are_alone: sa.ColumnElement[bool] = ~sa.exists(
    sa.select(_another.id).where(
        _another.deleted_at.is_(None), sa.or_(_another.dump_id.is_(None), _another.dump_id.not_in(_dumps))
    )
)
"""whether nothing but examples is stored"""
is_example: sa.ColumnElement[bool] = sa.and_(Session.dump_id.is_not(None), Session.dump_id.in_(_dumps))
listed: sa.ColumnElement[bool] = sa.and_(Session.deleted_at.is_(None), sa.or_(~is_example, are_alone))
"""whether a session stands in lists, charts, queues and questions"""


deleted = sa.select(Session.id).where(Session.deleted_at.is_not(None))
"""the numbers of deleted sessions"""
hidden = sa.union_all(deleted, sa.select(Session.id).where(is_example, ~are_alone))
"""the numbers of the sessions that stand in no list: those that are deleted, and the examples beside others"""
