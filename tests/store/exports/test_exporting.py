"""Labels that were exported and taken back by another store are the same there, and are exported the same again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import CALL, Bring, entry, windlass
from webapp import jsontext
from webapp.config import Settings
from webapp.store.db import database
from webapp.store.exports import exporting
from webapp.store.ingest.start import ingest
from webapp.store.labels import importing, labels, settling
from webapp.store.labels.label_content import LabelContent
from webapp.store.sessions import sessions, turns

DOCUMENT = windlass("s", [entry(CALL), entry('{"a": 1,}'), entry("none")])


@pytest.fixture
def other(tmp_path: Path) -> Iterator[orm.Session]:
    """Another store with the same dump in it."""
    engine = database.connect(f"sqlite:///{tmp_path / 'other' / 'store.sqlite3'}")
    database.migrate(engine)
    path = tmp_path / "s.json"
    path.write_text(json.dumps(DOCUMENT))
    with path.open("rb") as stream:
        ingest(engine, Settings(data=tmp_path / "other", database=str(engine.url)), stream, filename="s.json")
    with orm.Session(engine) as db:
        yield db
    engine.dispose()


def exported(db: orm.Session, name: str = "jsonl", **scope: Any) -> bytes:
    return b"".join(exporting.labels(db, name, scope="all labels", **scope))


def test_an_export_taken_back_is_the_same(bring: Bring, db: orm.Session, other: orm.Session) -> None:
    bring(DOCUMENT, filename="s.json")
    session = sessions.find(db, "s")
    first, second = (turns.find(db, session, position).turn for position in (0, 1))
    labels.put(db, first, author="Ada", judgement="right", note="=fine", expects="one", expected={"a": [1.5, None]})
    labels.put(db, first, author="Ada", judgement="wrong", cause="ellipsis", expects="several", expected=[1, "x"])
    labels.put(db, first, author="Bo", judgement="spurious", expects="none")
    settling.settle(db, first, LabelContent("wrong", expects="one", expected=2), author="Cy", why="so it is")
    labels.put(db, second, author="Bo", judgement="unsure", expects="unknown")
    lines = exported(db).splitlines()
    assert len(lines) == 3
    done = importing.take(other, ((number, jsontext.loads(line)) for number, line in enumerate(lines, 1)))
    assert (done.new, done.problems) == (3, [])
    assert [jsontext.loads(line) for line in exported(other).splitlines()] == [jsontext.loads(line) for line in lines]


def test_only_what_was_asked_for_goes_out(bring: Bring, db: orm.Session) -> None:
    bring(DOCUMENT, filename="s.json")
    turn = turns.find(db, sessions.find(db, "s"), 0).turn
    labels.put(db, turn, author="Ada", judgement="right", expects="none")
    assert exported(db, turn_ids=[turn.id]) and not exported(db, turn_ids=[turn.id + 1])
    assert exported(db, sessions=[turn.session_id]) and not exported(db, sessions=[])
    assert exported(db, sessions=range(turn.session_id, turn.session_id + 10_000))


def test_a_session_is_read_with_its_findings_and_labels(bring: Bring, db: orm.Session) -> None:
    bring(DOCUMENT, filename="s.json")
    session = sessions.find(db, "s")
    labels.put(db, turns.find(db, session, 1).turn, author="Ada", judgement="missed")
    page = b"".join(exporting.session(db, "html", session)).decode()
    assert "Labelled <b>missed</b> by Ada" in page and page.count("<li id=") == 3
    assert db.scalar(sa.select(sa.func.count()).select_from(labels.Label)) == 1
