"""A file of lines that grows: what was added is read and folded, nothing else, and it comes to the same."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, entry
from tests.store.write.test_growth import facts
from tests.store.write.test_state_cache import findings
from webapp.commands import _file_reader
from webapp.commands._file_reader import FileReader
from webapp.commands._input import InputFile
from webapp.config import Settings
from webapp.store.ingest import file_growth, kept_dumps
from webapp.store.ingest.start import IngestResult
from webapp.store.jobs import pruning
from webapp.store.labels import labels
from webapp.store.models import Dump, DumpSession, Session
from webapp.store.models import Turn as StoredTurn
from webapp.store.sessions import sessions
from webapp.store.write import stored_turns
from webapp.store.write.session_state import PlacedTurn, SessionState
from webapp.store.write.state_cache import grown_from_dumps

TIME = "2026-01-02T03:04:05Z"
DAMAGED = '{"type": "assistant", "cut'


def code_line(name: str, number: int) -> dict[str, Any]:
    """A line of Claude Code's: prompts, calls whose answers say that they could not be read, answers."""
    kinds: list[dict[str, Any]] = [
        {"role": "user", "content": f"do {number}"},
        {
            "role": "assistant",
            "id": f"m{number}",
            "model": "m",
            "content": [{"type": "text", "text": f"{number} {CALL}"}],
        },
        {
            "role": "assistant",
            "id": f"m{number}",
            "content": [{"type": "tool_use", "id": f"t{number}", "name": "f", "input": {"a": number}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{number - 1}", "content": "done"}]},
        {"role": "assistant", "id": f"n{number}", "model": "m", "content": [{"type": "text", "text": BROKEN}]},
    ]
    message = kinds[number % len(kinds)]
    return {"type": message["role"], "uuid": f"u{number}", "sessionId": name, "message": message, "timestamp": TIME}


def windlass_line(name: str, number: int) -> dict[str, Any]:
    choose = random.Random(number)
    kinds = [
        entry(BROKEN, model="m1", phase_name="plan"),
        entry("wrong", "validation_error"),
        entry("no", "validation_error", role="json_parse_error"),
        entry(CALL, model="m2", timestamp=100.0),
        entry(BROKEN, "turn_output", model="m2"),
    ]
    return {**choose.choice(kinds), "session_id": name}


def codex_line(name: str, number: int) -> dict[str, Any]:
    if number == 0:
        return {"timestamp": "2026-01-02T03:04:05Z", "type": "session_meta", "payload": {"id": name}}
    said = f"said {number // 2} {CALL}"
    payloads: list[dict[str, Any]] = [
        {"type": "agent_message", "message": said},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]},
    ]
    kind = ("event_msg", "response_item")[number % 2]
    return {"timestamp": "2026-01-02T03:04:06Z", "type": kind, "payload": payloads[number % 2]}


LINES = {"claude_code": code_line, "windlass": windlass_line, "codex": codex_line}


def text(kind: str, name: str, first: int, last: int) -> bytes:
    return "".join(json.dumps(LINES[kind](name, number)) + "\n" for number in range(first, last)).encode()


class Work(NamedTuple):
    """What was done: sessions folded from the start, turns that a fold saw, bytes read of files."""

    folds: list[int]
    turns: list[PlacedTurn]
    bytes: list[int]

    def clear(self) -> None:
        for done in self:
            done.clear()


class Counted:
    """An open file of which every reading is counted."""

    def __init__(self, path: str, counts: list[int]) -> None:
        self._file, self._counts = Path(path).open("rb"), counts  # noqa: SIM115 - closed by `__exit__`

    def __enter__(self) -> Counted:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(size)
        self._counts.append(len(piece))
        return piece


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    done = Work([], [], [])
    fold, see = stored_turns.fold, SessionState.see

    def folded(connection: sa.Connection, session_id: int, *rest: Any) -> SessionState:
        done.folds.append(session_id)
        return fold(connection, session_id, *rest)

    def seen(state: SessionState, placed: PlacedTurn) -> None:
        done.turns.append(placed)
        see(state, placed)

    monkeypatch.setattr(stored_turns, "fold", folded)
    monkeypatch.setattr(SessionState, "see", seen)
    monkeypatch.setattr(_file_reader, "open_bytes", lambda path: Counted(path, done.bytes))
    return done


@pytest.fixture
def watched(engine: sa.Engine, settings: Settings, tmp_path: Path) -> Iterator[tuple[Path, FileReader]]:
    yield tmp_path / "run.jsonl", FileReader(engine, settings, show=False)


def brought(path: Path, reader: FileReader) -> IngestResult:
    result = reader.read(InputFile(str(path), path.name))
    assert result.ingested is not None, result.error
    return result.ingested


@pytest.mark.parametrize("kind", LINES)
def test_growth_costs_what_was_added(kind, watched, work, db, bring):
    path, reader = watched
    path.write_bytes(text(kind, "s", 0, 300))
    brought(path, reader)
    for first, last in ((300, 303), (303, 304), (304, 310)):
        work.clear()
        added = text(kind, "s", first, last)
        with path.open("ab") as file:
            file.write(added)
        grown = brought(path, reader)
        assert (grown.grown, grown.new_turns) == (1, len(work.turns))
        assert not work.folds and len(work.turns) <= 2 * (last - first)
        assert len(added) <= sum(work.bytes) <= len(added) + 64 * 1024
    bring(text(kind, "at once", 0, 310), "other.jsonl")
    one, other = sessions.find(db, "s"), sessions.find(db, "at once")
    assert facts(one) == facts(other) and findings(db, "s") == findings(db, "at once")


@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize("seed", range(2))
def test_cut_anywhere_it_is_as_at_once(kind, seed, bring: Bring, db):
    cuts = sorted(random.Random(seed).sample(range(1, 60), 6))
    for cut in [*cuts, 60]:
        bring(text(kind, "s", 0, cut), "run.jsonl")
    bring(text(kind, "at once", 0, 60), "other.jsonl")
    one, other = sessions.find(db, "s"), sessions.find(db, "at once")
    assert facts(one) == facts(other) and findings(db, "s") == findings(db, "at once")
    assert rows(db, one.id) == rows(db, other.id)


def test_a_file_that_grew_lately_is_not_old(bring: Bring, db, engine):
    bring(text("claude_code", "s", 0, 5), "run.jsonl")
    old = datetime.now(UTC) - timedelta(days=100)
    db.execute(sa.update(Dump).values(received_at=old))
    db.execute(sa.update(Session).values(ingested_at=old))
    db.commit()
    before = old + timedelta(days=10)
    with engine.connect() as connection:
        assert pruning.prunable(connection, before).sessions == 1
    assert bring(text("claude_code", "s", 0, 7), "run.jsonl").new_turns == 2
    with engine.connect() as connection:
        assert pruning.prunable(connection, before).sessions == 0


def rows(db: orm.Session, session_id: int) -> list[tuple[object, ...]]:
    columns = ("position", "entry", "kind", "raw", "role", "model", "recorded_failure")
    query = sa.select(StoredTurn).where(StoredTurn.session_id == session_id).order_by(StoredTurn.ordinal)
    turns = db.scalars(query).all()
    originals = [None if turn.duplicate_of is None else turn.duplicate_of - turns[0].id for turn in turns]
    values = [tuple(getattr(turn, name) for name in columns) for turn in turns]
    return [(*value, original) for value, original in zip(values, originals, strict=True)]


def test_the_dump_stays_one_and_is_kept_whole(watched, db, settings):
    path, reader = watched
    path.write_bytes(text("claude_code", "s", 0, 20) + DAMAGED.encode() + b"\n")
    first = brought(path, reader)
    with path.open("ab") as file:
        file.write(text("claude_code", "s", 20, 23) + DAMAGED.encode() + b"\n")
    grown = brought(path, reader)
    dump = db.scalars(sa.select(Dump)).one()
    assert first.dump.id == grown.dump.id == dump.id
    assert [problem.at for problem in grown.problems] == ["line 21", "line 25"] == [one["at"] for one in dump.problems]
    assert (dump.bytes, dump.problem_count) == (path.stat().st_size, 2)
    assert dump.turn_count == sessions.find(db, "s").turn_count + len(
        db.scalars(sa.select(StoredTurn.id).where(StoredTurn.duplicate_of.is_not(None))).all()
    )
    assert db.scalars(sa.select(DumpSession.new_turns)).one() == dump.turn_count
    assert kept_dumps.open_kept(settings, dump.sha256).read() == path.read_bytes()
    assert [sha for sha, _ in kept_dumps.files(settings)] == [dump.sha256]


def test_a_kept_file_that_was_extended_in_vain_still_gives_its_own_bytes(bring: Bring, settings, tmp_path):
    content = text("claude_code", "s", 0, 5)
    dump, more = bring(content, "run.jsonl").dump, tmp_path / "more"
    more.write_bytes(b"more")
    kept_dumps.extend(settings, dump.sha256, "0" * 64, more)
    spooled = kept_dumps.unpacked(settings, dump.sha256, dump.bytes)
    assert spooled.path.read_bytes() == content
    spooled.path.unlink()


def test_a_changed_beginning_is_read_whole_and_named(watched, work, db):
    path, reader = watched
    path.write_bytes(text("claude_code", "s", 0, 30))
    brought(path, reader)
    path.unlink()
    path.write_bytes(text("claude_code", "s", 1, 40))
    again = brought(path, reader)
    assert any(problem.at == "byte 0" and "has changed" in problem.reason for problem in again.problems)
    assert sum(work.bytes) > path.stat().st_size
    assert sessions.find(db, "s").revision == 2
    path.write_bytes(text("claude_code", "s", 1, 20))
    assert any("it had" in problem.reason for problem in brought(path, reader).problems)


def test_a_file_that_was_written_anew_with_the_same_beginning_goes_on(watched, work):
    path, reader = watched
    path.write_bytes(text("claude_code", "s", 0, 150))
    brought(path, reader)
    path.unlink()
    path.write_bytes(text("claude_code", "s", 0, 153))
    work.clear()
    grown = brought(path, reader)
    assert (grown.grown, len(work.turns), grown.problems) == (1, 3, [])
    assert sum(work.bytes) >= path.stat().st_size  # to take its hash


def test_another_session_in_the_added_lines_has_the_file_read_whole(watched, db):
    path, reader = watched
    path.write_bytes(text("claude_code", "s", 0, 10))
    brought(path, reader)
    path.write_bytes(text("claude_code", "s", 0, 12) + text("claude_code", "other", 0, 3))
    result = brought(path, reader)
    assert (result.new, result.grown, sorted(result.sessions)) == (1, 1, ["other", "s"])


def test_what_others_wrote_meanwhile_is_not_lost(watched, work, db, engine):
    path, reader = watched
    path.write_bytes(text("claude_code", "s", 0, 10))
    brought(path, reader)
    turn = db.scalars(sa.select(StoredTurn).where(StoredTurn.kind == "response")).first()
    labels.put(db, turn, author="ann", judgement="right")
    db.commit()
    with path.open("ab") as file:
        file.write(text("claude_code", "s", 10, 13))
    assert brought(path, reader).new_turns == 3
    db.rollback()
    db.expire_all()
    assert sessions.find(db, "s").label_count == 1
    file_growth.known_files(engine).take("run.jsonl")
    grown_from_dumps(engine).take(sessions.find(db, "s").id, None)
    with path.open("ab") as file:
        file.write(text("claude_code", "s", 13, 15))
    assert brought(path, reader).new_turns == 2  # without a memory the whole file is read


def test_lines_that_are_not_whole_wait(watched, db):
    path, reader = watched
    path.write_bytes(text("claude_code", "s", 0, 10) + b'{"type": "user", "uuid": "x"')
    brought(path, reader)
    path.write_bytes(text("claude_code", "s", 0, 12))
    assert brought(path, reader).new_turns == 2
