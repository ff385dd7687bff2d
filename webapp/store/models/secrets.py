"""The table of random values that all machines of one database share."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.models.base import Base


class DatabaseSecret(Base):
    """Made once, by whichever machine needs it first: see `store.db.database_secrets`."""

    name: orm.Mapped[str] = orm.mapped_column(sa.String(64), primary_key=True)
    value: orm.Mapped[bytes] = orm.mapped_column(sa.LargeBinary)
