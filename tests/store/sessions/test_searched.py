"""The list where something is searched for: newest matches first, in context, under the other filters."""

from __future__ import annotations

import pytest
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, entry, on_sqlite, windlass
from webapp.store.sessions import session_list, sessions
from webapp.store.sessions.filters import Filters


@pytest.fixture
def nine(bring: Bring) -> None:
    """Sessions s0 to s8, the last one the newest; those with an even number failed."""
    for number in range(9):
        texts = [entry("a zebra here"), entry(BROKEN if number % 2 == 0 else CALL, model=f"m{number % 3}")]
        bring(windlass(f"s{number}", texts))


def ids(page: session_list.Page) -> list[str]:
    return [line.external_id for line in page.sessions]


def test_the_newest_matches_come_first_in_context(nine: None, db: orm.Session) -> None:
    page = session_list.page(db, Filters(q="zebra"), limit=4)
    assert ids(page) == ["s8", "s7", "s6", "s5"]
    assert (page.total, page.hidden, page.open_ended) == (9, 0, False)
    match = page.matches[page.sessions[0].key][0]
    assert (match.position, match.where) == (0, "raw")
    assert ("zebra", True) in match.fragments
    seen = ids(page)
    while page.next is not None:
        page = session_list.page(db, Filters(q="zebra"), after=page.next, limit=4)
        seen += ids(page)
    assert seen == [f"s{number}" for number in range(8, -1, -1)]


def test_filters_and_facets_hold_under_a_search(nine: None, db: orm.Session) -> None:
    page = session_list.page(db, Filters(q="zebra", failed=True, model="m0"))
    assert ids(page) == ["s6", "s0"]
    assert (page.total, page.hidden) == (2, 7)
    assert dict(page.facets["model"].values) == {"m0": 2, "m1": 1, "m2": 2}
    assert session_list.page(db, Filters(q="zebra", model="unknown")).total == 0


def test_of_a_common_word_it_says_that_there_are_more(
    nine: None, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MOST_COUNTED", 3)
    page = session_list.page(db, Filters(q="zebra"), limit=2)
    assert (page.total, page.open_ended, ids(page)) == (3, True, ["s8", "s7"])
    page = session_list.page(db, Filters(q="zebra", model="m0"), limit=2)
    assert (page.total, page.open_ended, ids(page)) == (3, False, ["s6", "s3"])


def test_what_no_word_is_is_looked_for_within_ids(bring: Bring, db: orm.Session) -> None:
    for number in range(3):
        bring(windlass(f"run-{number}-0a1b2c3d4e", [entry(CALL)]))
    first = session_list.page(db, Filters(q="A1B2C3"), limit=2)
    assert ids(first) == ["run-2-0a1b2c3d4e", "run-1-0a1b2c3d4e"]
    assert ids(session_list.page(db, Filters(q="A1B2C3"), after=first.next, limit=2)) == ["run-0-0a1b2c3d4e"]
    assert session_list.page(db, Filters(q="%_")).total == 0


@on_sqlite
def test_a_cursor_of_another_order_is_refused(nine: None, db: orm.Session) -> None:
    after = session_list.page(db, Filters(), limit=2).next
    with pytest.raises(sessions.BadCursor, match="in this order"):
        session_list.page(db, Filters(q="zebra"), after=after)
