"""Text and ids that break naive stores: NUL, lone surrogates, any id, numbers and times out of range."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import Bring, BringRecords, entry, on_sqlite, windlass
from webapp import jsontext
from webapp.dumps.records import SessionStart, Turn
from webapp.store.db import ids
from webapp.store.exports import session_dump
from webapp.store.models import Turn as StoredTurn
from webapp.store.sessions import session_list, sessions, turns
from webapp.store.sessions.filters import Filters

TEXTS = ["a\0b", "\ud800", "\udfff\ud800", "😀" * 1000, "\x1b[31m", "\u202eabc", "", " \n\t", "é" * 5000, "\ufeff{}"]
IDS = ["", "😀" * 300, "\0", "\ud800", "x" * 5000, "É", "'\";--"]
"""those that a database may have its own way with; `tests/web/test_doors.py` has those of addresses and files"""


def test_a_text_comes_back_exactly(bring: Bring, db: orm.Session) -> None:
    for number, text in enumerate(TEXTS):
        came = entry(text, phase_name=text, model=text, metadata={"x": text}, extra=[text])
        bring(windlass(f"s{number}", [came]))
        session = sessions.find(db, f"s{number}")
        stored = sa.select(StoredTurn.raw).where(StoredTurn.session_id == session.id)
        assert [raw or "" for raw in db.scalars(stored)] == [text]
        (line,) = turns.timeline(db, session)
        assert line.preview is None or line.preview == text[:200]
        assert jsontext.loads(b"".join(session_dump.stream(db, session)))["entries"] == [came]


@pytest.mark.parametrize("external_id", IDS)
def test_a_session_of_any_id_is_found_by_id_and_key_and_its_own_dump_changes_nothing(
    external_id: str, bring: Bring, db: orm.Session
) -> None:
    done = bring(windlass(external_id, [entry("{}")], entry_count=1))
    kept = ids.shortened(external_id)
    session = sessions.find(db, kept)
    assert session.external_id == kept
    assert sessions.find(db, done.keys[0]).id == session.id
    assert len(kept.encode("utf-8", "surrogatepass")) <= ids.LONGEST_ID
    assert [line.external_id for line in session_list.page(db, Filters(q=external_id[:50])).sessions] == [kept]
    again = bring(b"".join(session_dump.stream(db, session)))
    assert (again.created, again.keys) == (False, done.keys)


@on_sqlite
def test_two_long_ids_stay_two(bring: Bring, db: orm.Session) -> None:
    bring(windlass("x" * 5000 + "a", [entry("1")]))
    bring(windlass("x" * 5000 + "b", [entry("2")]))
    assert session_list.page(db, Filters()).total == 2


def test_numbers_out_of_range_are_left_to_the_source(bring_records: BringRecords, db: orm.Session) -> None:
    turn = Turn(
        0, "response", "{}", sounding=2**63, round=-(2**64), tokens_in=10**30, cost=float("inf"), source={"n": 10**30}
    )
    bring_records(SessionStart("s", "made-up"), turn)
    stored = db.scalars(sa.select(StoredTurn)).one()
    assert (stored.sounding, stored.round, stored.tokens_in) == (None, None, None)
    assert stored.source == {"n": 10**30}


def test_a_large_turn_is_kept_whole(bring: Bring, db: orm.Session) -> None:
    text = '{"a": "' + "x" * 5_000_000
    bring(windlass("s1", [entry(text)]))
    session = sessions.find(db, "s1")
    assert turns.find(db, session, 0).turn.raw == text
    (line,) = turns.timeline(db, session)
    assert (line.length, len(line.preview or "")) == (len(text), 200)
