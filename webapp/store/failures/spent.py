"""What failed responses cost: tokens, US dollars and seconds, as far as the log says it, and of how many it does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from webapp.store.models import FailedResponse

COLUMNS = (FailedResponse.tokens_in, FailedResponse.tokens_out, FailedResponse.cost, FailedResponse.seconds)
NAMES = tuple(column.key for column in COLUMNS)
Spent = dict[str, float | None]
"""by name the sum, None where no response says it, and under `<name>_said` how many responses do"""


def added(values: Iterable[Sequence[Any]]) -> Spent:
    """What responses cost of which these are the values: each of the four for all responses."""
    spent: Spent = {}
    for name, of_all in zip(NAMES, values, strict=True):
        numbers = [value for value in of_all if value is not None]
        spent |= {name: sum(numbers) if numbers else None, f"{name}_said": len(numbers)}
    return spent


def summed(under: str, turn: Any, is_failed: sa.ColumnElement[bool]) -> list[sa.ColumnElement[Any]]:
    """The same as columns of a query that groups responses, of which some failed."""
    here = (FailedResponse.under == under, FailedResponse.session_id == turn.session_id)
    columns: list[sa.ColumnElement[Any]] = []
    for column in COLUMNS:
        of_turn = sa.select(column).where(*here, FailedResponse.turn_id == turn.id).scalar_subquery()
        value = getattr(turn, column.key) if hasattr(turn, column.key) else of_turn
        failed = sa.case((is_failed, value))
        columns += [sa.func.sum(failed).label(column.key), sa.func.count(failed).label(f"{column.key}_said")]
    return columns


def of_row(row: Any) -> Spent:
    """What `summed` made of a group."""
    spent: Spent = {f"{name}_said": getattr(row, f"{name}_said") for name in NAMES}
    for name in NAMES:
        value = getattr(row, name)
        plain = int if name.startswith("tokens") else float
        spent[name] = None if value is None else plain(value)
    return spent
