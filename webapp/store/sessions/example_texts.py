"""The raw texts of a few responses with what `fencepost` made of them, for lists that draw each in one line."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.parsing import Trace
from webapp.parsing.trace import read_stored
from webapp.store.db import types
from webapp.store.db.types import PackedJson, PackedText
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


_size = types.Length(Turn.raw)
_texts = (
    sa.select(
        *(Turn.id, _size),
        sa.type_coerce(sa.case((_size <= LONGEST, Turn.raw)), PackedText),
        sa.type_coerce(sa.case((_size <= LONGEST, Parse.trace)), PackedJson),
    )
    .outerjoin(Parse, sa.and_(Parse.turn_id == Turn.id, Parse.profile == OURS))
    .where(Turn.id.in_(sa.bindparam("turns", expanding=True)), Turn.raw.is_not(None))
)


def of_turns(db: orm.Session, turn_ids: Collection[int]) -> dict[int, ExampleText]:
    """The texts by turn; of a turn that has none nothing."""
    rows = db.execute(_texts, {"turns": list(turn_ids)}) if turn_ids else ()
    return {
        turn_id: ExampleText(raw, size or 0, None if trace is None else read_stored(raw or "", trace))
        for turn_id, size, raw, trace in rows
    }
