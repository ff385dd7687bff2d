"""The next and the previous failure across the sessions of a list: all of them, once each, in the list's order."""

from __future__ import annotations

import pytest
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, entry, windlass
from webapp.store.sessions import debugger_queries, sessions
from webapp.store.sessions.filters import Filters

MODELS = ("m1", "m2", "m1", "m2")


@pytest.fixture
def several(bring: Bring) -> None:
    """From the newest: s3 … s0 with 4, 3, 2 and 1 responses, each second of them failed; s0 has no failure."""
    for number, model in enumerate(MODELS):
        texts = [BROKEN if turn % 2 else CALL for turn in range(number + 1)]
        entries = [entry(text, model=model, timestamp=100.0 * number + at) for at, text in enumerate(texts)]
        bring(windlass(f"s{number}", entries))


def walk(db: orm.Session, filters: Filters, name: str, position: int, forward: bool) -> list[tuple[str, int]]:
    places, session = [], sessions.find(db, name)
    while place := debugger_queries.failed_beside(db, filters, session, position, forward):
        session, position = place.session, place.position
        places.append((session.external_id, position))
    return places


def test_all_failures_once_in_the_order_of_the_list_and_back(several: None, db: orm.Session) -> None:
    for sort in ["failing", "time", "failures", "length"]:
        expected = [("s3", 1), ("s3", 3), ("s2", 1), ("s1", 1)]
        assert walk(db, Filters(sort=sort), "s3", -1, True) == expected
        assert walk(db, Filters(sort=sort), "s1", 1, False) == expected[-2::-1]


def test_filters_leave_sessions_out_and_a_session_outside_of_them_has_a_place(several: None, db: orm.Session) -> None:
    assert walk(db, Filters(model="m2"), "s3", -1, True) == [("s3", 1), ("s3", 3), ("s1", 1)]
    assert walk(db, Filters(model="m2"), "s2", 1, True) == [("s1", 1)]
    assert walk(db, Filters(model="m2"), "s2", 0, False) == [("s3", 3), ("s3", 1)]
    assert walk(db, Filters(q="run_code", sort="length"), "s3", 3, True) == [("s2", 1), ("s1", 1)]
    assert walk(db, Filters(), "s0", -1, True) == []
