"""The same session again: grown in place, repeated, or with another past."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store import made
from tests.store.derived import everything
from tests.store.made import BROKEN, CALL, Bring, BringRecords, entry, on_sqlite, windlass
from webapp import jsontext
from webapp.dumps.records import SessionStart, Turn
from webapp.store import derive
from webapp.store.exports import session_dump
from webapp.store.models import Finding
from webapp.store.models import Turn as StoredTurn
from webapp.store.sessions import sessions
from webapp.store.write import facets, stored_turns
from webapp.store.write.facets import Facets, kind_of

FIRST = [entry("do it", "turn_input"), entry(CALL, model="m1", timestamp=100.0)]
MORE = [entry(BROKEN, model="m2", timestamp=200.0), entry(BROKEN, "turn_output", model="m2")]


def test_another_past_becomes_a_revision_beside_the_old_and_growth_finds_its_own(bring: Bring, db: orm.Session) -> None:
    old = bring(windlass("s1", FIRST))
    other = bring(windlass("s1", [entry("do that", "turn_input"), FIRST[1]]))
    assert (other.created, other.new) == (True, 1)
    assert [session.revision for session in sessions.revisions(db, "s1")] == [2, 1]
    assert (sessions.find(db, "s1").key, sessions.find(db, old.keys[0]).revision) == (other.keys[0], 1)
    grown = bring(windlass("s1", FIRST + MORE))
    assert (grown.created, grown.grown, grown.new, grown.new_turns, grown.keys) == (True, 1, 0, 2, old.keys)
    db.expire_all()
    assert [session.entry_count for session in sessions.revisions(db, "s1")] == [2, 4]


@on_sqlite
def test_a_time_that_a_later_twin_knows_is_stored_as_every_other(bring: Bring, db: orm.Session) -> None:
    bring(windlass("s1", [entry(BROKEN)]))
    bring(windlass("s1", [entry(BROKEN), entry(BROKEN, "turn_output", timestamp=200.0)]))
    assert db.scalars(sa.text("select sent_at from turn order by id")).all() == ["1970-01-01 00:03:20.000000"] * 2


@on_sqlite
def test_our_own_dump_in_an_empty_store_is_the_session_again(bring: Bring, db: orm.Session) -> None:
    bring(windlass("s1", FIRST + MORE))
    session = sessions.find(db, "s1")
    before = everything(db, session)
    document = b"".join(session_dump.stream(db, session)).replace(b'"session_id":"s1"', b'"session_id":"s2"')
    assert bring(document).created is True
    assert everything(db, sessions.find(db, "s2")) == before


@on_sqlite
def test_a_long_session_goes_through_a_file_and_grows(
    bring_records: BringRecords, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.dumps.sessions.MOST_TURNS", 20)
    start = SessionStart("long", "made-up")
    made = [
        Turn(number, "response", f"[{number}]", source={"content": None}, raw_at=("content",)) for number in range(46)
    ]
    bring_records(start, *made[:41], name="first")
    grown = bring_records(start, *made, name="second")
    assert (grown.grown, grown.new_turns) == (1, 5)
    session = sessions.find(db, "long")
    assert (session.turn_count, session.clean_count, session.strip) == (46, 46, "c" * 46)
    last = db.scalars(sa.select(StoredTurn).order_by(StoredTurn.ordinal.desc()).limit(1)).one()
    assert (last.raw, last.position) == ("[45]", 45)


COUNTED = [
    entry(BROKEN, model="m1", phase_name="plan"),
    entry("no", "validation_error"),
    entry(CALL, model="m2", phase_name="act"),
]


def test_what_is_counted(bring: Bring, db: orm.Session) -> None:
    bring(windlass("s", COUNTED))
    session = sessions.find(db, "s")
    counts = made.facets(db, "s")
    assert counts["verdict windlass-strict"] == counts["verdict home"] == {"extracted": 1, "failed": 1}
    assert counts["verdict fencepost"] == {"extracted": 1, "repaired": 1}
    assert sum(counts["repair fencepost"].values()) >= 1
    assert list(counts["strategy windlass-strict"].values()) == [1]
    assert counts["model"] == {"m1": 1, "m2": 1}
    assert (counts["model home failed"], counts["model fencepost repaired"]) == ({"m1": 1}, {"m1": 1})
    assert counts["phase"] == {"act": 1, "plan": 1}
    assert sum(counts["error"].values()) == 2
    assert counts["error"]["no"] == 1
    assert session.raw_bytes == len((BROKEN + "no" + CALL).encode())
    assert session.changed > 0


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Expecting ',' delimiter: line 12 column 3 (char 345)", "Expecting '…' delimiter: line N column N (char N)"),
        ('field "name" is\n  missing', 'field "…" is missing'),
        ("0xdeadbeef -1.5e", "N Ne"),
        ("", "other"),
        ("é" * 200, "é" * 79 + "…"),
    ],
)
def test_kinds_of_errors(message: str, kind: str) -> None:
    assert kind_of(message) == kind


def test_further_kinds_are_counted_together() -> None:
    counted = Facets("direct")
    for number in range(100):
        counted.failure("x" * number + "!")
    assert len(counted.counts) == facets.MOST_KINDS + 1
    assert counted.counts["error", facets.OTHER] == 100 - facets.MOST_KINDS


@pytest.mark.parametrize(
    ("calls", "names"),
    [
        ([{"function": {"name": "run_code"}}], ["run_code"]),
        ([{"tool": "a"}, {"name": "b"}, "c", 4, None, {"function": "d"}, {}], ["a", "b", "c", "d"]),
    ],
)
def test_names_of_tools(calls: list, names: list[str]) -> None:  # type: ignore[type-arg]
    counted = Facets("direct")
    counted.turn(Turn(0, "response", tool_calls=calls))
    assert [value for _, value in counted.counts] == names


LOST = [entry("go", "turn_input"), entry(BROKEN), entry("The script ran successfully.")]


def kept(db: orm.Session, name: str) -> dict[str, list[int]]:
    db.expire_all()
    return {finding.rule: finding.turns for finding in stored_turns.findings_of(db, sessions.find(db, name).id)}


def test_stored_sessions_get_what_a_new_rule_finds(bring: Bring, db: orm.Session, engine: sa.Engine) -> None:
    for name in ("s1", "s2"):
        bring(windlass(name, LOST))
    db.execute(sa.delete(Finding).where(Finding.rule == "claimed_result"))  # as if that rule had come later
    db.commit()
    steps: list[tuple[int, int]] = []
    assert derive.reindex(engine, every=True, on_progress=lambda *step: steps.append(step)) == 2
    assert steps == [(1, 2), (2, 2)]
    assert kept(db, "s1") == kept(db, "s2") == {"lost_tool_call": [1], "claimed_result": [2]}


def test_they_stand_in_the_dump_which_changes_nothing_when_it_comes_back(bring: Bring, db: orm.Session) -> None:
    bring(windlass("s1", LOST))
    written = b"".join(session_dump.stream(db, sessions.find(db, "s1")))
    findings = jsontext.loads(written)["fencepost"]["findings"]
    assert [(each["rule"], each["turns"]) for each in findings] == [("lost_tool_call", [1]), ("claimed_result", [2])]
    assert findings[0]["reason"] == "One tool call was written and never ran: extra closing bracket."
    assert not bring(written).created
