"""Ranges of turns: those of the sessions and no others, in few forms of a statement."""

from __future__ import annotations

import random

import pytest
import sqlalchemy as sa

from webapp.store.models.base import TURNS_A_SESSION, turns_of_any

EDGES = (0, 1, TURNS_A_SESSION - 1)
turn = sa.table("turn", sa.column("id", sa.BigInteger))


@pytest.mark.parametrize(
    "ids", [[], [7], [7, 8], [9, 7], [5, 6, 7, 9, 11, 12], *(random.Random(1).sample(range(60), 9),)]
)
def test_the_turns_of_these_sessions_and_no_others(ids: list[int]) -> None:
    every = [session * TURNS_A_SESSION + ordinal for session in range(62) for ordinal in EDGES]
    with sa.create_engine("sqlite://").connect() as connection:
        connection.exec_driver_sql("CREATE TABLE turn (id INTEGER PRIMARY KEY)")
        connection.execute(sa.insert(turn), [{"id": number} for number in every])
        chosen = connection.scalars(sa.select(turn.c.id).where(turns_of_any(turn.c.id, ids)).order_by(turn.c.id)).all()
    assert chosen == [number for number in every if number // TURNS_A_SESSION in ids]


def test_however_many_sessions_there_are_few_statements_are_compiled() -> None:
    chance = random.Random(2)
    samples = [chance.sample(range(5_000), count) for count in range(257)]
    forms = {str(turns_of_any(turn.c.id, ids).compile()) for ids in samples}
    assert len(forms) <= 9
    assert str(turns_of_any(turn.c.id, range(256))) == "turn.id BETWEEN :id_1 AND :id_2"
