"""What all tables share: the base class, with names for constraints that are the same everywhere."""

from __future__ import annotations

import re
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.ids import TURNS_A_SESSION as TURNS_A_SESSION
from webapp.store.db.types import BigId


def turns_of(turn_id: Any, session_id: Any) -> sa.ColumnElement[bool]:
    """Whether a turn's number is one of that session."""
    first = session_id * TURNS_A_SESSION
    is_of: sa.ColumnElement[bool] = turn_id.between(first, first + TURNS_A_SESSION - 1)
    return is_of


def partial_index(name: str, *columns: str, where: str) -> sa.Index:
    """An index of those rows alone for which the SQL `where` is true."""
    return sa.Index(name, *columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))


class Base(orm.DeclarativeBase):
    """A table, which is called as its class is: `label_queue` for `LabelQueue`."""

    metadata = sa.MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )

    @orm.declared_attr.directive
    @classmethod
    def __tablename__(cls) -> str:
        return re.sub(r"\B[A-Z]", r"_\g<0>", cls.__name__).lower()


class Numbered(Base):
    """A table whose rows have numbers of their own."""

    __abstract__ = True

    id: orm.Mapped[int] = orm.mapped_column(BigId, primary_key=True, sort_order=-1)
