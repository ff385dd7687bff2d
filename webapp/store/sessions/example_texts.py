"""The raw texts of a few responses with what `fencepost` made of them, for lists that draw each in one line."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.parsing import Trace
from webapp.store.db import heads
from webapp.store.models import Parse, Turn
from webapp.store.write.parser import OURS

LONGEST = 100_000
"""bytes of a text that is read whole; of a longer one only its length is told"""


@dataclass(frozen=True, slots=True)
class ExampleText:
    """`raw` and `ours` are None where the text has more than `LONGEST` of its `size` bytes, `ours` where unparsed."""

    raw: str | None
    size: int
    ours: Trace | None


def of_turns(db: orm.Session, turn_ids: Collection[int]) -> dict[int, ExampleText]:
    """The texts by turn; of a turn that has none nothing."""
    if not turn_ids:
        return {}
    sizes = sa.select(Turn.id, heads.Length(Turn.raw)).where(Turn.id.in_(turn_ids), Turn.raw.is_not(None))
    by_size = {row[0]: int(row[1] or 0) for row in db.execute(sizes)}
    short = [turn_id for turn_id, size in by_size.items() if size <= LONGEST]
    texts = {row[0]: row[1] for row in db.execute(sa.select(Turn.id, Turn.raw).where(Turn.id.in_(short)))}
    query = sa.select(Parse.turn_id, Parse.trace).where(Parse.turn_id.in_(short), Parse.profile == OURS)
    traces = {row[0]: Trace.from_dict(row[1]) for row in db.execute(query)}
    return {turn_id: ExampleText(texts.get(turn_id), size, traces.get(turn_id)) for turn_id, size in by_size.items()}
