"""Kept dumps: downloaded, and read again when a format has learned more."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, BringRecords, entry, on_sqlite, windlass
from webapp.config import Settings
from webapp.dumps.budget import BadDump
from webapp.dumps.records import Record, SessionStart, Turn, UnknownFormat
from webapp.store.ingest import dump_files
from webapp.store.ingest.start import IngestResult, ingest, ingest_again
from webapp.store.labels import label_list, labels
from webapp.store.models import Dump, Session
from webapp.store.sessions import dumps, sessions, turns

EXAMPLES = sorted(path for path in (Path(__file__).parents[3] / "examples").iterdir() if path.suffix != ".md")
Again = Callable[..., IngestResult]


@pytest.fixture
def again(engine: sa.Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Again:
    """Read a dump again; with records, as if today's format read those out of it."""

    def again(ident: str | int, *records: Record, **options: str) -> IngestResult:
        def read(*_: object, **__: object) -> Iterator[Record]:
            yield from records

        with monkeypatch.context() as patch:
            if records:
                patch.setattr("webapp.dumps.reading.read", read)
                patch.setattr("webapp.dumps.reading.sniff", lambda *_: "newer")
            return ingest_again(engine, settings, ident, **options)

    return again


@on_sqlite
def test_what_is_read_as_it_was_changes_nothing(bring: Bring, again: Again, db: orm.Session) -> None:
    for path in EXAMPLES:
        done = bring(path.read_bytes(), filename=path.name)
        anew = again(done.dump.sha256)
        assert (anew.created, anew.keys, anew.dump._asdict()) == (False, done.keys, done.dump._asdict())
    assert set(db.scalars(sa.select(Session.revision))) == {1}


@on_sqlite
def test_real_dumps_of_every_format_are_read_as_they_were(
    engine: sa.Engine, settings: Settings, shared: Path, again: Again
) -> None:
    formats = set()
    for path in sorted((shared / "corpus").rglob("*")):
        if not path.is_file() or path.stat().st_size > 200_000:
            continue
        with path.open("rb") as stream, contextlib.suppress(UnknownFormat):
            done = ingest(engine, settings, stream, filename=path.name, known_only=True)
            formats.add(done.dump.format)
            anew = again(done.dump.id)
            assert (path.name, anew.new, anew.grown, anew.keys) == (path.name, 0, 0, done.keys)
    assert len(formats) > 5


START = SessionStart("s", "made-up")
OLD = [Turn(0, "prompt", "do it"), Turn(1, "response", BROKEN), Turn(2, "error", "no", answers=1)]


@on_sqlite
@pytest.mark.parametrize(
    "changed",
    [
        {"model": "m"},
        {"kind": "tool_call"},
        {"raw": CALL},
        {"phase": "plan"},
        {"tokens_in": 7, "cost": 0.25},
        {"parent": "p"},
        {"duplicate_of": 0},
    ],
)
def test_a_format_that_learned_more_makes_a_revision_beside_the_labelled_one(
    changed: dict[str, object], bring_records: BringRecords, again: Again, db: orm.Session
) -> None:
    old = bring_records(START, *OLD)
    labels.put(db, turns.find(db, sessions.find(db, "s"), 1).turn, author="ann", judgement="missed")
    source = {"text": None}
    known = [OLD[0], replace(OLD[1], **changed), OLD[2]]
    if "raw" in changed or "kind" in changed:
        known = [replace(turn, source=source, raw_at=("text",)) for turn in known]
    new = again(old.dump.id, START, *known)
    assert (new.created, new.new, new.new_turns) == (True, 1, 3)
    assert [session.revision for session in sessions.revisions(db, "s")] == [2, 1]
    (line,), _ = label_list.page(db)
    assert (line.session.revision, line.position, line.label.judgement) == (1, 1, "missed")
    assert new.dump.format == "newer"
    assert again(old.dump.id, START, *known).created is False
    assert len(dumps.find(db, old.dump.id).sessions) == 2


@on_sqlite
@pytest.mark.parametrize(
    ("before", "now"),
    [
        ([*OLD[:2], Turn(2, "error", "no")], OLD),
        (OLD[:2], [OLD[0], replace(OLD[1], failure="told")]),
    ],
    ids=["an error that answers", "its own"],
)
def test_a_failure_that_is_now_read_is_another_reading(
    before: list[Turn], now: list[Turn], bring_records: BringRecords, again: Again, db: orm.Session
) -> None:
    old = bring_records(START, *before)
    assert again(old.dump.id, START, *now).new == 1
    assert sessions.find(db, "s").failed_count == 1


@on_sqlite
def test_one_entry_that_now_gives_two_turns_is_another_reading(bring_records: BringRecords, again: Again) -> None:
    source = {"a": 1}
    old = bring_records(START, Turn(0, "response", "{}", source=source))
    two = [Turn(0, "response", "{}", source=source), Turn(0, "tool_call", "{}")]
    assert again(old.dump.id, START, *two).new == 1
    assert again(old.dump.id, START, two[0]).created is False


@on_sqlite
def test_a_dump_that_holds_more_now_grows_its_session(
    bring_records: BringRecords, again: Again, db: orm.Session
) -> None:
    old = bring_records(START, *OLD[:2])
    grown = again(old.dump.id, START, *OLD)
    assert (grown.grown, grown.new_turns, grown.keys) == (1, 1, old.keys)
    assert sessions.find(db, "s").failed_count == 1


@on_sqlite
def test_a_session_that_grew_dump_by_dump_is_left_alone(bring: Bring, again: Again, db: orm.Session) -> None:
    """What only a later twin knew was put to the turns that were stored before the twin came."""
    entries = [
        entry("do it", "turn_input"),
        entry(CALL),
        entry(CALL, "turn_output", phase_name="plan"),
        entry(BROKEN),
        entry("wrong", "validation_error"),
        entry("wrong", "validation_error", role="json_parse_error"),
        entry("more"),
    ]
    for length in range(1, len(entries) + 1):
        bring(windlass("s1", entries[:length]))
    assert len(sessions.revisions(db, "s1")) == 1
    assert [again(number).new for number in dumps.beginning(db.connection())] == [0] * len(entries)


def test_a_dump_that_no_format_knew_is_read_once_one_does(bring: Bring, again: Again, db: orm.Session) -> None:
    with pytest.raises(UnknownFormat):
        bring(b"mystery", filename="m.bin")
    (line,) = dumps.page(db)
    with pytest.raises(UnknownFormat):
        again(line.id)
    db.rollback()
    done = again(line.id, START, *OLD)
    assert (done.new, done.dump.state, done.dump.error, done.dump.format) == (1, "done", None, "newer")
    assert done.dump.received_at == line.received_at


@on_sqlite
def test_a_dump_that_is_refused_today_stays_as_it_was(
    bring: Bring, again: Again, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = bring(windlass("s1", [entry(CALL)]))

    def refuse(*_: object, **__: object) -> Iterator[Record]:
        raise BadDump("no more", "byte 0")
        yield

    monkeypatch.setattr("webapp.dumps.reading.read", refuse)
    with pytest.raises(BadDump, match="no more"):
        again(old.dump.id)
    assert dumps.find(db, old.dump.id)._asdict() == old.dump._asdict()


@on_sqlite
def test_a_format_that_was_told_is_told_again(bring: Bring, again: Again, monkeypatch: pytest.MonkeyPatch) -> None:
    old = bring(windlass("s1", [entry(CALL)]), format="windlass")

    def unknown(*_: object) -> str:
        raise UnknownFormat("no")

    monkeypatch.setattr("webapp.dumps.reading.sniff", unknown)
    assert again(old.dump.id).dump.format == "windlass"


@on_sqlite
def test_a_kept_file_that_is_gone_or_damaged(bring: Bring, again: Again, settings: Settings, db: orm.Session) -> None:
    old = bring(windlass("s1", [entry(CALL)]))
    path = settings.data / dump_files.name_of(old.dump.sha256)
    whole = path.read_bytes()
    dump_files.keep(settings, Path(__file__), "f" * 64)
    another = (settings.data / dump_files.name_of("f" * 64)).read_bytes()
    for damaged in (whole[:-9], b"no zstd", another):
        path.write_bytes(damaged)
        with pytest.raises(BadDump, match="the stored file"):
            again(old.dump.id)
    path.unlink()
    with pytest.raises(dump_files.NotKept):
        again(old.dump.id)
    with pytest.raises(dump_files.NotKept):
        dump_files.open_kept(settings, old.dump.sha256)
    assert list(dump_files.incoming(settings.data).iterdir()) == []
    assert dumps.find(db, old.dump.id)._asdict() == old.dump._asdict()
    with pytest.raises(dumps.NoSuchDump):
        again("0" * 64)


def test_dumps_are_found_by_the_beginning_of_hash_or_name(bring: Bring, db: orm.Session) -> None:
    made = [bring(windlass(name, [entry("x")]), filename=f"{name}.json").dump for name in ("one", "only", "two")]
    found = [[line.id for line in made if line.id in dumps.beginning(db.connection(), "on")]]
    assert found == [[made[0].id, made[1].id]]
    assert dumps.beginning(db.connection(), made[2].sha256[:12].upper()) == [made[2].id]
    assert dumps.beginning(db.connection()) == [line.id for line in reversed(made)]
    assert dumps.beginning(db.connection(), "no\0such\ud800") == []


@on_sqlite
@pytest.mark.parametrize("data", [b"", b"  \n", b"mystery"])
def test_what_is_no_dump_leaves_no_trace_where_only_dumps_are_wanted(
    data: bytes, engine: sa.Engine, settings: Settings, db: orm.Session
) -> None:
    with pytest.raises(UnknownFormat):
        ingest(engine, settings, io.BytesIO(data), filename="x", known_only=True)
    assert db.scalar(sa.select(sa.func.count()).select_from(Dump)) == 0
    assert [path for path in (settings.data / "dumps").rglob("*") if path.is_file()] == []
