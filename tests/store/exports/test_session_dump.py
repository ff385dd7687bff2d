"""Session dumps: entries unchanged, the file written whole, its name safe."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, BringRecords, entry, on_sqlite, windlass
from webapp import jsontext
from webapp.config import Settings
from webapp.dumps.records import SessionStart, Turn
from webapp.exports.redaction import redactor
from webapp.parsing import minimal
from webapp.store.exports import exporting, session_dump
from webapp.store.exports.session_dump import path_in, safe_name
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


ANY = st.text(st.characters(exclude_categories=()), max_size=300) | st.sampled_from(
    ["", ".", "..", "/", "a/b", "CON", "con.txt", "~", "a~b", "%2e", "..\\..", "a.", ".a", "a..b", "x" * 201, "\0"]
)


@pytest.mark.parametrize("plain", ["abc", "ABC-1_x", "a.b.c", "2026-11-22", "x" * 200, "console", "-", "_"])
def test_a_plain_id_stays_as_it_is(plain: str) -> None:
    assert safe_name(plain) == plain


@pytest.mark.parametrize(
    "odd", ["", ".", "..", "a/b", "../../etc/x", "CON", "con.x", "Lpt1", "a.", ".a", "x" * 201, "a~b", "é"]
)
def test_any_other_id_gets_a_hash(odd: str) -> None:
    assert safe_name(odd) != odd
    assert "~" in safe_name(odd)


@given(ANY)
def test_a_name_never_leaves_the_folder(external_id: str) -> None:
    name = safe_name(external_id)
    folder = Path("/somewhere/logs")
    assert (folder / f"{name}.json").resolve().parent == folder
    assert 0 < len(f"{name}.json".encode("ascii")) <= 255
    assert not set(name) & set('<>:"/\\|?* \0')
    assert not name.startswith(".") and not name.endswith(".")


@given(ANY, ANY)
def test_two_ids_have_two_names(one: str, other: str) -> None:
    assert (safe_name(one) == safe_name(other)) == (one == other)


def test_a_file_of_another_case_is_not_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a file system that folds case: the path exists, but the folder lists another name."""
    (tmp_path / "abc.json").write_text("")
    folded = Path.exists
    monkeypatch.setattr(Path, "exists", lambda path: folded(path.with_name(path.name.lower())))
    assert path_in(tmp_path, "abc", ".json").name == "abc.json"
    assert path_in(tmp_path, "ABC", ".json").name.startswith("ABC~")


COMMA = '```json\n{"tool": "run_code", "arguments": {"code": "1",}}\n```'


@on_sqlite
def test_every_cause_is_counted_and_the_counts_add_up(bring: Bring, db: orm.Session) -> None:
    texts = [BROKEN, COMMA, CALL, BROKEN, COMMA, BROKEN]
    bring(windlass("s", [entry(text, timestamp=float(at)) for at, text in enumerate(texts)]))
    session = sessions.find(db, "s")
    causes = session_dump.causes_of(db, session)
    assert sum(cause.count for cause in causes) == session.failed_count == 5
    assert [(cause.title, cause.count, cause.positions) for cause in causes] == [
        ("extra closing bracket — fenced, alone", 3, (0, 3, 5)),
        ("trailing comma — fenced, alone", 2, (1, 4)),
    ]
    for cause, raw in zip(causes, (BROKEN, COMMA), strict=True):
        assert cause.reproduction is not None and len(cause.reproduction) < len(raw)
        way = minimal.way_of_failing(raw, "windlass-strict")
        assert way and minimal.way_of_failing(cause.reproduction, "windlass-strict") == way


@on_sqlite
def test_the_report_has_address_causes_and_reproductions_and_no_cut_where_something_is_masked(
    bring: Bring, db: orm.Session
) -> None:
    bring(windlass("s", [entry(BROKEN), entry(COMMA)]))
    session = sessions.find(db, "s")
    report = b"".join(exporting.session(db, "report", session, url="http://localhost/sessions/s")).decode()
    assert "- page: http://localhost/sessions/s" in report and "### Causes of 2 failed responses" in report
    assert "- **1** extra closing bracket — fenced, alone (turn 0)" in report
    assert report.count("Smallest reproduction of") == 2 and "no character can be left out" in report
    masked = b"".join(exporting.session(db, "report", session, redactor=redactor([], ["run_code"]))).decode()
    assert masked.count("left out, since it may contain confidential data") == 2
    assert "no character can be left out" not in masked


def test_what_the_dump_records_is_a_cause_of_its_own(bring: Bring, db: orm.Session) -> None:
    bring(windlass("s", [entry(CALL), entry("Value is not 3", "validation_error"), entry(BROKEN)]))
    causes = session_dump.causes_of(db, sessions.find(db, "s"))
    recorded = next(cause for cause in causes if "recorded" in cause.title)
    assert recorded.count == 1 and recorded.reproduction is None and "the log's" in recorded.how
