"""Filters, facets and counts are a recount: after growth, labels, home changes, replays, deletions and undo."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, entry, windlass
from tests.store.sessions.recount import Recount
from webapp.config import Settings
from webapp.store.db import dialect
from webapp.store.homes import changes
from webapp.store.jobs import replays
from webapp.store.labels import labels
from webapp.store.models import Session
from webapp.store.sessions import deletion, facets, session_list, sessions, turns
from webapp.store.sessions.filters import SORTS, Filters
from webapp.store.write.parser import Home

SOME = (
    Filters(failed=True),
    Filters(rescued=True, model="m1"),
    Filters(verdict="failed"),
    Filters(verdict="clean", under="fencepost"),
    Filters(verdict="extracted", under="direct", strategy="whole"),
    Filters(strategy="whole", under="fencepost", model="m2"),
    Filters(error="nothing is called that"),
    Filters(model="m0", home="windlass-strict"),
    Filters(home="unknown"),
    Filters(format="windlass", label="labelled"),
    Filters(label="missed", agent="worker"),
    Filters(label="unlabelled", failures=0),
    Filters(since="2026-01-02", until="2026-01-03"),
    Filters(verdict="repaired", under="no profile", model="m\0"),
)


def bring_some(bring: Bring, first: int, last: int) -> None:
    """Sessions of a few turns by three models, of which some fail."""
    for number in range(first, last):
        texts = [BROKEN if (number + at) % 3 == 0 else CALL if at % 2 else "said" for at in range(1 + number % 4)]
        when = 1_767_312_000.0 + 20_000 * number
        bring(windlass(f"s{number}", [entry(text, model=f"m{number % 3}", timestamp=when) for text in texts]))


def check_all(db: orm.Session, first: int = 0, step: int = 1) -> None:
    """Every filter, or every `step`th from the `first`, beside none."""
    counted = Recount(db)
    found = [counted.check(db, filters) for filters in (Filters(), *SOME[first::step])]
    assert found[0] > max(found[1:]) > 0
    db.rollback()


def test_filters_facets_and_counts_are_a_recount(
    bring: Bring, engine: sa.Engine, settings: Settings, db: orm.Session
) -> None:
    bring_some(bring, 0, 14)
    bring([{"role": "user", "content": "hi"}, {"role": "assistant", "content": CALL}], filename="chat.json")
    check_all(db)
    for sort in SORTS:
        Recount(db).check(db, Filters(sort=sort))
    db.rollback()

    bring(windlass("s3", [entry(text, model="m9", timestamp=1_767_312_000.0) for text in (CALL, BROKEN, "{}")]))
    turn = turns.find(db, sessions.find(db, "s6"), 0).turn
    labels.put(db, turn, author="ann", judgement="missed")
    check_all(db, 0, 4)

    ids = list(db.scalars(sa.select(Session.id).order_by(Session.id)))
    db.rollback()
    changes.work(engine, changes.begin(engine, ids[::3], Home("direct", "told")))
    changes.work(engine, changes.begin(engine, ids[1::5], Home("unknown", "declined")))
    replays.replay(engine, settings, "direct", filters=Filters(model="m2"))
    check_all(db)

    keys = list(db.scalars(sa.select(Session.key).order_by(Session.id)))
    deletion.delete(db, keys[::4])
    check_all(db, 1, 4)
    deletion.undo(db, keys[::8])
    check_all(db, 2, 4)


def test_what_takes_too_long_is_cut_and_says_so(bring: Bring, db: orm.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    bring_some(bring, 0, 3)
    monkeypatch.setattr(facets, "counts", _endless)
    monkeypatch.setattr(facets, "LIMIT", 0.05)
    page = session_list.page(db, Filters(), limit=2)
    assert len(page.sessions) == 2 and page.next is not None
    assert (page.total, page.hidden, page.counts, page.facets) == (None, None, None, {})
    assert page.cut == facets.FACETS
    monkeypatch.undo()
    assert session_list.page(db, Filters()).total == 3


def _endless(db: orm.Session, view: object) -> facets.Counts:
    """A question that no database answers in a minute."""
    numbers = sa.select(sa.literal(1).label("number")).cte("numbers", recursive=True)
    numbers = numbers.union_all(sa.select(numbers.c.number + 1).where(numbers.c.number < 10**9))
    db.scalar(sa.select(sa.func.count()).select_from(numbers))
    raise AssertionError("it was not cut")


def test_the_time_is_of_all_questions_together(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        with pytest.raises(dialect.TookTooLong), dialect.within(connection, 0.1):
            for number in range(20_000):  # of which many more than a tenth of a second has time for
                connection.scalar(sa.select(sa.literal(number % 9)))
        assert connection.scalar(sa.select(1)) == 1
