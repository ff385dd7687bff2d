"""The responses of a cell of a comparison, and how they fall into failure groups, models and causes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.compare import comparing
from webapp.store.db.ids import batched
from webapp.store.models import Label, Turn, is_response
from webapp.store.sessions import responses
from webapp.store.sessions.filters import BadFilter, Filters
from webapp.store.sessions.responses import ResponseLine

BY = {"group": "failure group", "model": "model", "cause": "cause"}
NONE = {"group": "no failure group", "model": "no model named", "cause": "no cause given"}
GROUPED = 5_000
"""responses of a cell that are grouped; of more it is said that only the first are"""
_AT_ONCE = 500


def page(
    db: orm.Session,
    first: str,
    second: str,
    cell: str,
    filters: Filters,
    *,
    by: str = "group",
    value: str | None = None,
    after: int = -1,
    limit: int = 30,
) -> dict[str, Any]:
    """The responses of one cell behind the turn `after`, in the order of turns; those with `value` of `by` where one is
    named. Raises `BadFilter`.

    A line is a response with the verdicts of both profiles, None where one was not run, and its value. `groups` counts
    the values over the first `grouped` responses of the cell, all of them unless `cut`.
    """
    if cell not in comparing.CELLS:
        raise BadFilter(f"cell takes {', '.join(comparing.CELLS)}, not {cell[:100]!r}")
    if by not in BY:
        raise BadFilter(f"by takes {', '.join(BY)}, not {by[:100]!r}")
    pair = (first, second)
    ids = list(islice(_ids(db, pair, cell, filters, -1), GROUPED + 1))
    cut, grouped = len(ids) > GROUPED, ids[:GROUPED]
    values: dict[int, str] = {}
    for some in batched(grouped):
        values |= _values(db, some, pair, by)
    counts = Counter(values.values())
    chosen: dict[int, str] = {}
    rest = _ids(db, pair, cell, filters, after) if cut else (ident for ident in ids if ident > after)
    while len(chosen) <= limit and (batch := list(islice(rest, _AT_ONCE))):
        values |= _values(db, [turn_id for turn_id in batch if turn_id not in values], pair, by)
        chosen.update((turn_id, values[turn_id]) for turn_id in batch if value is None or values[turn_id] == value)
    turn_ids = list(chosen)[:limit]
    following = turn_ids[-1] if len(chosen) > limit else None
    groups = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    lines = _lines(db, turn_ids, chosen, pair)
    return {"lines": lines, "next": following, "groups": groups, "grouped": len(grouped), "cut": cut}


def _ids(db: orm.Session, pair: tuple[str, str], cell: str, filters: Filters, after: int) -> Iterator[int]:
    """The turns of a cell behind `after`, ascending."""
    query = comparing.parsed(*pair, comparing.turn_id).where(
        comparing.cell == cell, comparing.turn_id > sa.bindparam("after")
    )
    query = query.order_by(comparing.turn_id)
    if comparing.is_everything(filters):
        while batch := db.scalars(query.limit(GROUPED + 1), {"after": after}).all():
            yield from batch
            after = batch[-1]
        return
    listed_ids: list[int] = []
    for ids in responses.turn_ids(db, responses.view_of(db, filters), is_response):
        listed_ids += db.scalars(query.where(comparing.turn_id.in_(ids)), {"after": after})
        if len(listed_ids) > comparing.MOST:
            break
    yield from sorted(listed_ids)


def _values(db: orm.Session, ids: Sequence[int], pair: tuple[str, str], by: str) -> dict[int, str]:
    """The value of `by` of each turn. The failure group is that of the profile that fails, of A where both do."""
    values: dict[int, str | None] = {}
    if by == "model":
        values = {row.id: row.model for row in db.execute(sa.select(Turn.id, Turn.model).where(Turn.id.in_(ids)))}
    elif by == "cause":
        newest = sa.select(Label.turn_id, Label.cause).where(Label.turn_id.in_(ids)).order_by(Label.made_at)
        values = {row.turn_id: row.cause for row in db.execute(newest) if row.cause}
    else:
        parses = comparing.parses_of(db, ids, *pair)
        for (turn_id, _), (_, group) in sorted(parses.items(), key=lambda item: item[0][1] == pair[0]):
            values[turn_id] = group or values.get(turn_id)
    return {turn_id: values.get(turn_id) or NONE[by] for turn_id in ids}


def _lines(
    db: orm.Session, ids: list[int], values: dict[int, str], pair: tuple[str, str]
) -> list[tuple[ResponseLine, str | None, str | None, str]]:
    verdicts = {key: made[0] for key, made in comparing.parses_of(db, ids, *pair).items()}
    return [
        (line, verdicts.get((turn_id, pair[0])), verdicts.get((turn_id, pair[1])), values[turn_id])
        for turn_id, line in responses.lines(db, Filters(), ids).items()
    ]
