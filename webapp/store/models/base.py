"""What all tables share: the base class, with names for constraints that are the same everywhere."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.ids import TURNS_A_SESSION as TURNS_A_SESSION


class Base(orm.DeclarativeBase):
    metadata = sa.MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
