"""The causes of a session in its report: all of them, with counts that add up, and reproductions that fail the same."""

from __future__ import annotations

from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, entry, on_sqlite, windlass
from webapp.exports.redaction import redactor
from webapp.parsing import minimal
from webapp.store.exports import exporting, session_dump
from webapp.store.sessions import sessions

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
