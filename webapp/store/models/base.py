"""What all tables share: the base class, with names for constraints that are the same everywhere."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.ids import TURNS_A_SESSION as TURNS_A_SESSION


def turns_of(turn_id: Any, session_id: Any) -> sa.ColumnElement[bool]:
    """Whether a turn's number is one of that session."""
    first = session_id * TURNS_A_SESSION
    is_of: sa.ColumnElement[bool] = turn_id.between(first, first + TURNS_A_SESSION - 1)
    return is_of


def partial_index(name: str, *columns: str, where: str) -> sa.Index:
    """An index of those rows alone for which the SQL `where` is true."""
    return sa.Index(name, *columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))


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
