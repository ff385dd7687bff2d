"""The tables of what requests declare, and of how their answers keep it."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.contracts import BROKEN
from webapp.store.db.types import BigId, ExactJson, PackedJson
from webapp.store.models.base import Base


def has_failed(turn: Any) -> sa.ColumnElement[bool]:
    """Whether a response, of which these are the columns, failed whatever its parser made of it: its dump records
    that, or it breaks what its request declares."""
    is_broken = sa.func.coalesce(contract_state(turn).in_(BROKEN), sa.false())
    return sa.or_(turn.recorded_failure.is_not(None), is_broken)


def contract_state(turn: Any) -> sa.ScalarSelect[str]:
    """The state of a response, of which these are the columns, under its contract; NULL where nothing is declared."""
    return sa.select(TurnContract.state).where(TurnContract.turn_id == turn.id).scalar_subquery()


class Declaration(Base):
    """What a request declares, once however many turns refer to it; its number is made of its content."""

    id: orm.Mapped[int] = orm.mapped_column(BigId, primary_key=True, autoincrement=False)
    content: orm.Mapped[dict[str, Any]] = orm.mapped_column(PackedJson)


class TurnContract(Base):
    """How a response keeps what its request declares; none for one of which the log does not say what that is."""

    __table_args__ = (sa.Index("ix_turn_contract_state", "state", "turn_id"),)

    turn_id: orm.Mapped[int] = orm.mapped_column(
        sa.ForeignKey("turn.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    state: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    detail: orm.Mapped[dict[str, Any] | None] = orm.mapped_column(ExactJson)
    """all of it, as the API gives it; None where it is kept"""
