"""A recording that is sent again as it grows stays one dump."""

from __future__ import annotations

import json

import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import Bring
from webapp.config import Settings
from webapp.store.ingest import dump_files, kept_dumps
from webapp.store.models import Dump, DumpSession, Session


def recording(count: int, text: str = "said") -> bytes:
    lines = [
        {"session_id": "run", "recorded_at": 1e9 + number, "kind": "response", "text": f"{text} {number}"}
        for number in range(count)
    ]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def test_the_longer_takes_the_place_of_the_shorter(bring: Bring, db: orm.Session, settings: Settings) -> None:
    for count in (2, 3, 7):
        bring(recording(count), "run.jsonl")
    line = db.scalars(sa.select(Dump)).one()
    assert (line.state, line.turn_count, line.bytes) == ("done", 7, len(recording(7)))
    assert kept_dumps.open_kept(settings, line.sha256).read() == recording(7)
    assert len(list(dump_files.folder(settings.data).glob("*.zst"))) == 1
    assert db.scalars(sa.select(Session.turn_count)).one() == 7
    assert db.scalars(sa.select(DumpSession.dump_id)).one() == line.id


def test_another_recording_of_the_same_name_is_a_dump_of_its_own(bring: Bring, db: orm.Session) -> None:
    bring(recording(2), "run.jsonl")
    bring(recording(3, "other"), "run.jsonl")
    bring(recording(4), "elsewhere.jsonl")
    assert db.scalars(sa.select(sa.func.count()).select_from(Dump)).one() == 3
