"""What is stored of a session's derived state is what a fold over its stored turns makes, however it came to be."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.derived import everything
from tests.store.made import BROKEN, CALL, Bring, entry, facets, windlass
from tests.store.searching import found_in_all
from webapp.config import Settings
from webapp.store import derive
from webapp.store.db import database
from webapp.store.db.ids import SLOTS
from webapp.store.derive import reindex
from webapp.store.jobs import replays
from webapp.store.labels import labels
from webapp.store.models import TURNS_A_SESSION, Finding, Parse, Session, SessionFacet
from webapp.store.sessions import sessions, turns

SIZE = 300_000
"""bytes of the largest file of the corpus that is taken in here"""


def check(engine: sa.Engine, count: int | None = None) -> None:
    """Compare all that is derived of each session with a fold from scratch."""
    with engine.connect() as connection:
        stored = connection.execute(sa.select(Session.__table__)).all()
        assert stored and count in (None, len(stored))
        for row in stored:
            found = connection.execute(derive._find, {"first": row.id, "last": row.id}).all()
            (state,) = derive._made(connection, found, nothing_lacks_a_parse)
            assert not row.stale
            assert {name: getattr(row, name) for name in state.columns()} == state.columns()
            assert facets(orm.Session(connection), row.external_id, row.revision) == by_name(state.facets.counts)
            assert findings(connection, row.id) == [
                (finding.rule, finding.severity, list(finding.turns), finding.detail) for finding in state.findings
            ]
            assert notes(connection, row.id) == {note.key: note.text for note in state.notes}


def by_name(counts: dict[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    names: dict[str, dict[str, int]] = {}
    for (name, value), count in counts.items():
        names.setdefault(name, {})[value] = count
    return names


def nothing_lacks_a_parse(new: object) -> None:
    raise AssertionError(new)


def findings(connection: sa.Connection, session_id: int) -> list[tuple[Any, ...]]:
    columns = (Finding.rule, Finding.severity, Finding.turns, Finding.detail)
    query = sa.select(*columns).where(Finding.session_id == session_id).order_by(Finding.id)
    return [tuple(row) for row in connection.execute(query)]


def notes(connection: sa.Connection, session_id: int) -> dict[int, str]:
    low, high = (number * TURNS_A_SESSION * SLOTS for number in (session_id, session_id + 1))
    query = sa.text("SELECT rowid, text FROM search_note WHERE rowid >= :low AND rowid < :high")
    rows = connection.execute(query, {"low": low, "high": high})
    return {row[0]: bytes(row[1]).decode("utf-8", "surrogatepass") for row in rows}


def made_entries(seed: int) -> list[dict[str, Any]]:
    """Entries of which some are broken, logged twice, or errors about earlier ones."""
    chance = random.Random(seed)
    entries = []
    for number in range(chance.randint(2, 40)):
        kind, role = chance.choice(
            (("agent", "agent"), ("turn_output", "assistant"), ("validation_error", "user"), ("tool_result", "tool"))
        )
        text = chance.choice((CALL, BROKEN, "zebra \ud800", f"No {number}", "The script ran successfully.", "{}"))
        more = {"model": chance.choice("ab\0"), "phase_name": chance.choice(("plan", "ä" * 300))}
        entries.append(entry(text, kind, role, timestamp=float(chance.randint(0, 99)), **more))
    return entries


@pytest.mark.parametrize(
    ("url", "seed"),
    [*(("sqlite", seed) for seed in range(4)), pytest.param("postgres", 4, marks=pytest.mark.postgres)],
    indirect=["url"],
)
def test_made_sessions(
    seed: int, bring: Bring, engine: sa.Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = made_entries(seed)
    chance = random.Random(seed)
    bring(windlass("whole", entries))
    with monkeypatch.context() as patch:
        patch.setattr("webapp.store.ingest.dump_ingest.MOST_TEXT", 0)
        patch.setattr("webapp.store.write.turn_rows.MOST_TURNS", 7)
        bring(windlass("long", entries))
    for count in sorted(chance.sample(range(1, len(entries) + 1), min(3, len(entries)))):
        bring(windlass("grows", entries[:count]))
    check(engine, 3)
    replays.replay(engine, settings, "four-tier")
    check(engine)
    bring(windlass("grows", [*entries, *made_entries(seed + 100)]))
    check(engine)
    assert reindex(engine, anew=True) == 3
    check(engine)


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_the_corpus(bring: Bring, engine: sa.Engine, shared: Path) -> None:
    for path in corpus(shared):
        bring(path.read_bytes(), path.name)
    check(engine)


def corpus(shared: Path) -> Iterator[Path]:
    for path in sorted((shared / "corpus").glob("*/*")):
        if path.name != "LICENSE" and path.parent.name != "jsontestsuite" and path.stat().st_size < SIZE:
            yield path


def test_a_replay_renews_findings(bring: Bring, engine: sa.Engine, settings: Settings, db: orm.Session) -> None:
    """An older version of the home profile read what today's does not."""
    bring(windlass("s", [entry("go", "turn_input"), entry(BROKEN), entry("The script ran successfully.")]))
    expected = _rules(db)
    assert expected == ["lost_tool_call", "claimed_result"]
    ours = sa.select(Parse.trace).where(Parse.profile == "fencepost")
    clean = db.scalars(ours.order_by(Parse.turn_id)).first()
    older = {"version": "0", "verdict": "repaired", "trace": (clean or {}) | {"profile": "windlass-strict"}}
    db.execute(sa.update(Parse).where(Parse.profile == "windlass-strict", Parse.verdict == "failed").values(older))
    db.commit()
    with database.writing(engine) as connection:
        derive.derive(connection, [connection.scalars(sa.select(Session.id)).one()])
    assert _rules(db) != expected
    replays.replay(engine, settings, "windlass-strict")
    assert _rules(db) == expected
    check(engine)


def _rules(db: orm.Session) -> list[str]:
    db.rollback()
    return list(db.scalars(sa.select(Finding.rule).order_by(Finding.id)))


QUERIES = ("needle", "one two*", "JSONDecodeError", "mangled", "zebra", "s1", "-x CALL*", '"run_code"')


def stored(bring: Bring, db: orm.Session) -> None:
    refused = entry("The tool call was refused: mangled", "validation_error")
    bring(windlass("s1", [entry("a needle", "turn_input"), entry(BROKEN), refused]))
    bring(windlass("s2", [entry("one twofold", "turn_input"), entry(CALL), entry(CALL, "turn_output")]))
    session = sessions.find(db, "s1")
    labels.put(db, turns.find(db, session, 1).turn, author="ann", judgement="missed", note="zebra")


def seen(db: orm.Session) -> list[Any]:
    found = [found_in_all(db.connection(), query) for query in QUERIES]
    db.rollback()
    return found


def bare(engine: sa.Engine) -> None:
    """Take away what is made of sessions."""
    with engine.begin() as connection:
        for table in (Finding, SessionFacet):
            connection.execute(sa.delete(table))
        connection.execute(sa.update(Session).values(stale=True, raw_bytes=0))


def derived(db: orm.Session) -> list[Any]:
    found = [everything(db, session) for session in db.scalars(sa.select(Session).order_by(Session.id))]
    db.rollback()
    return found


def test_what_is_missing_is_made_once(bring: Bring, engine: sa.Engine, db: orm.Session) -> None:
    stored(bring, db)
    before = derived(db)
    bare(engine)
    told: list[tuple[int, int]] = []
    assert reindex(engine, on_progress=lambda done, of: told.append((done, of))) == 2
    assert told == [(1, 2), (2, 2)]
    assert derived(db) == before
    assert reindex(engine) == 0


def test_one_that_was_interrupted_goes_on(bring: Bring, engine: sa.Engine, db: orm.Session) -> None:
    stored(bring, db)
    matches = seen(db)

    def stop(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        reindex(engine, anew=True, on_progress=stop)
    assert reindex(engine) == 1
    assert seen(db) == matches
