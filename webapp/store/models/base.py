"""What all tables share: the base class, with names for constraints that are the same everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.ids import TURNS_A_SESSION as TURNS_A_SESSION
from webapp.store.db.types import BigId

_NO_TURNS = (0, -1)
"""a range of turns' numbers that holds none"""


def turns_of(turn_id: Any, session_id: Any) -> sa.ColumnElement[bool]:
    """Whether a turn's number is one of that session."""
    first = session_id * TURNS_A_SESSION
    is_of: sa.ColumnElement[bool] = turn_id.between(first, first + TURNS_A_SESSION - 1)
    return is_of


def turns_of_any(turn_id: Any, session_ids: Iterable[int]) -> sa.ColumnElement[bool]:
    """Whether a turn's number is one of these sessions, neighbours of which are asked for together.

    As often as a power of two, with nothing more in it: SQLAlchemy keeps what it compiled for each form of a statement,
    and one with a hundred ranges takes some hundred kilobytes.
    """
    ranges: list[tuple[int, int]] = []
    for number in sorted(session_ids):
        first = number * TURNS_A_SESSION
        start = ranges.pop()[0] if ranges and ranges[-1][1] == first - 1 else first
        ranges.append((start, first + TURNS_A_SESSION - 1))
    ranges += [_NO_TURNS] * ((1 << (len(ranges) - 1).bit_length()) - len(ranges) if ranges else 1)
    return sa.or_(*(turn_id.between(first, last) for first, last in ranges))


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
