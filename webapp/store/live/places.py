"""Gives turns that came late their positions in the order of time; ordinals, and so ids, stay as they are."""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sa

from webapp.store.live.spans import Arrived
from webapp.store.models import TURNS_A_SESSION, LiveSpan, Session
from webapp.store.models import Turn as StoredTurn
from webapp.store.write.tally import Tally

_shift = (
    sa.update(StoredTurn)
    .where(
        StoredTurn.session_id == sa.bindparam("session"),
        StoredTurn.position >= sa.bindparam("first"),
        StoredTurn.position <= sa.bindparam("last"),
        StoredTurn.ordinal < sa.bindparam("before"),
    )
    .values(position=StoredTurn.position + sa.bindparam("by"))
)
_turns = StoredTurn.__table__
_move = sa.update(_turns).where(_turns.c.id == sa.bindparam("turn")).values(position=sa.bindparam("place"))  # type: ignore[arg-type]
_strip = sa.update(Session).where(Session.id == sa.bindparam("session")).values(strip=sa.bindparam("marks"))

_after = (
    sa.select(LiveSpan.entry, LiveSpan.ordinal, LiveSpan.turns)
    .where(LiveSpan.session_id == sa.bindparam("session"), LiveSpan.started >= sa.bindparam("start"))
    .order_by(LiveSpan.started, LiveSpan.entry)
)


class _Run(NamedTuple):
    """Stored positions that move by the same."""

    first: int
    last: int
    by: int


def settle(connection: sa.Connection, session_id: int, tally: Tally, new: list[Arrived]) -> bool:
    """Put the turns of `new`, which stand at the end, where their spans belong; `new` is in the order of time.

    Whether stored turns moved.
    """
    after = connection.execute(_after, {"session": session_id, "start": new[0].started}).all()
    after = after[next(index for index, row in enumerate(after) if row.entry == new[0].number) :]
    if [row.entry for row in after] == [span.number for span in new]:
        return False
    before = next(row.ordinal for row in after if row.entry == new[0].number)
    order = [at for row in after for at in range(row.ordinal, row.ordinal + row.turns) if tally.originals[at] == at]
    runs = _permute(tally, order, before)
    for run in reversed(runs):
        values = {"session": session_id, "first": run.first, "last": run.last, "by": run.by, "before": before}
        connection.execute(_shift, values)
    moved = [
        {"turn": session_id * TURNS_A_SESSION + at, "place": tally.positions[at]}
        for at in range(before, len(tally.positions))
    ]
    connection.execute(_move, moved)
    connection.execute(_strip, {"session": session_id, "marks": tally.strip()})
    return bool(runs)


def _permute(tally: Tally, order: list[int], before: int) -> list[_Run]:
    """Give the turns `order` (ordinals, in their new order) the last positions; the runs of stored ones that moved."""
    first = len(tally.letters) - len(order)
    old = [tally.positions[at] for at in order]
    for marks in (tally.letters, tally.readable, tally.failures, tally.broken):
        marks[first:] = bytes(marks[position] for position in old)
    runs: list[_Run] = []
    for place, (at, position) in enumerate(zip(order, old, strict=True), first):
        tally.positions[at] = place
        if at >= before or place == position:
            continue
        last = runs[-1] if runs else None
        if last is not None and last.last == position - 1 and last.by == place - position:
            runs[-1] = last._replace(last=position)
        else:
            runs.append(_Run(position, position, place - position))
    for at, original in enumerate(tally.originals):
        if original != at:
            tally.positions[at] = tally.positions[original]
    return runs
