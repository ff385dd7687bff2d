"""Gives turns that came late their positions in the order of time; ordinals, and so ids, stay as they are."""

from __future__ import annotations

import sqlalchemy as sa

from webapp.store.live.spans import Arrived
from webapp.store.models import TURNS_A_SESSION, LiveSpan
from webapp.store.models import Turn as StoredTurn
from webapp.store.write.tally import Tally

_turns = StoredTurn.__table__
_move = sa.update(_turns).where(_turns.c.id == sa.bindparam("turn")).values(position=sa.bindparam("place"))  # type: ignore[arg-type]
_after = (
    sa.select(LiveSpan.entry, LiveSpan.ordinal, LiveSpan.turns)
    .where(LiveSpan.session_id == sa.bindparam("session"), LiveSpan.started >= sa.bindparam("start"))
    .order_by(LiveSpan.started, LiveSpan.entry)
)


def settle(connection: sa.Connection, session_id: int, tally: Tally, new: list[Arrived]) -> None:
    """Put the turns of `new`, which stand at the end, where their spans belong; `new` is in the order of time."""
    after = connection.execute(_after, {"session": session_id, "start": new[0].started}).all()
    after = after[next(index for index, row in enumerate(after) if row.entry == new[0].number) :]
    if [row.entry for row in after] == [span.number for span in new]:
        return
    order = [at for row in after for at in range(row.ordinal, row.ordinal + row.turns) if tally.originals[at] == at]
    before = tally.positions[:]
    for at, place in zip(order, sorted(before[at] for at in order), strict=True):
        tally.positions[at] = place
    for at, original in enumerate(tally.originals):
        tally.positions[at] = tally.positions[original]
    first = session_id * TURNS_A_SESSION
    moved = [at for at, position in enumerate(tally.positions) if position != before[at]]
    if moved:
        connection.execute(_move, [{"turn": first + at, "place": tally.positions[at]} for at in moved])
