"""Session dumps: entries unchanged, the file written whole, its name safe."""

from __future__ import annotations

import pytest
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, BringRecords, entry, on_sqlite, windlass
from webapp import jsontext
from webapp.config import Settings
from webapp.dumps.records import SessionStart, Turn
from webapp.store.exports import session_dump
from webapp.store.sessions import sessions

ENTRIES = [
    entry("do it", "turn_input", odd={"nan": float("inf"), "big": 10**40, "t": [1, None, "\ud800"]}),
    entry(CALL, model="m1"),
    entry(CALL, "turn_output"),
    entry(BROKEN, tool_calls='[{"a": 1}]'),
    entry({"a": [1]}),
    entry(None),
    {},
]


def test_the_file_is_written_whole_under_a_safe_name(bring: Bring, db: orm.Session, settings: Settings) -> None:
    bring(windlass("../../etc/x", ENTRIES))
    written = session_dump.write(db, settings, sessions.find(db, "../../etc/x"))
    assert written.entry_count == 7
    path = settings.data / written.name
    assert written.address == str(path)
    assert path.parent == settings.data / "logs" / "session_dumps"
    assert jsontext.unmarked(jsontext.loads(path.read_bytes()))["entries"] == ENTRIES
    again = session_dump.write(db, settings, sessions.find(db, "../../etc/x"))
    assert again.address == written.address
    assert list(path.parent.iterdir()) == [path]


@on_sqlite
def test_nothing_is_left_where_writing_fails(
    bring: Bring, db: orm.Session, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(windlass("s1", ENTRIES))

    def fsync(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fsync)
    with pytest.raises(OSError, match="No space"):
        session_dump.write(db, settings, sessions.find(db, "s1"))
    assert list((settings.data / "logs" / "session_dumps").iterdir()) == []


@on_sqlite
def test_turns_without_entries_come_out_as_small_ones(bring_records: BringRecords, db: orm.Session) -> None:
    bring_records(SessionStart("s", "made-up"), Turn(0, "response", "{}", role="assistant"))
    document = jsontext.unmarked(jsontext.loads(b"".join(session_dump.stream(db, sessions.find(db, "s")))))
    assert document["entries"] == [{"kind": "response", "role": "assistant", "content": "{}"}]


@on_sqlite
def test_an_entry_of_several_turns_comes_out_once(bring_records: BringRecords, db: orm.Session) -> None:
    source = {"content": None, "tool_calls": [{"arguments": "{}"}]}
    text = Turn(0, "response", "said", source=source, raw_at=("content",))
    bring_records(SessionStart("s", "made-up"), text, Turn(0, "tool_call", "{}"))
    session = sessions.find(db, "s")
    assert (session.entry_count, session.turn_count, session.response_count) == (1, 2, 2)
    document = jsontext.unmarked(jsontext.loads(b"".join(session_dump.stream(db, session))))
    assert document["entries"] == [{"content": "said", "tool_calls": [{"arguments": "{}"}]}]
