"""A file that grows over several processes: only what was added is read, and it comes to what one reading comes to."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.ingest.test_file_growth import LINES, rows
from tests.store.write.test_growth import facts
from tests.store.write.test_state_cache import findings
from webapp import saved_state
from webapp.config import Settings
from webapp.dumps.decoding import Decoder
from webapp.dumps.read_tail import FEWEST
from webapp.store.db import database
from webapp.store.ingest.start import IngestResult, ingest
from webapp.store.models import Dump, GrowingFile, GrowingSession, Session
from webapp.store.sessions import deletion, sessions
from webapp.store.write import stored_turns
from webapp.store.write.session_state import PlacedTurn, SessionState

BROKEN_CALL = '{"path": "a.py"'


def request_line(name: str, number: int) -> dict[str, Any]:
    """A request that repeats all before it, with its response; now and then a call that could not be read."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You read files."}]
    for one in range(number + 1):
        messages += [{"role": "user", "content": f"{name} asks {one}"}] + [answer(name, one)] * (one < number)
    response = {"choices": [{"message": answer(name, number), "finish_reason": "stop"}]}
    return {"conversation_id": name, "request": {"model": "m", "messages": messages}, "response": response}


def answer(name: str, number: int) -> dict[str, Any]:
    return {"role": "assistant", "content": f'{name} {number} ```json\n{{"a": {number}}}{"}" * (number % 3 == 0)}\n```'}


def failing_call(name: str, number: int) -> dict[str, Any]:
    """Claude Code's lines: each second one answers the call before it, every third of which had broken arguments."""
    ident = f"t{number // 2}"
    call = {"type": "tool_use", "id": ident, "name": "read", "input": BROKEN_CALL if number % 3 else {"a": 1}}
    said = "Error parsing tool call arguments: invalid JSON" if number % 3 != 1 else "done"
    answered = {"type": "tool_result", "tool_use_id": ident, "content": said}
    message: dict[str, Any] = {"role": "assistant", "id": f"m{number}", "model": "m", "content": [call]}
    if number % 2:
        message = {"role": "user", "content": [answered]}
    return {"type": message["role"], "uuid": f"{name}{number}", "sessionId": name, "message": message}


def twin_line(name: str, number: int) -> dict[str, Any]:
    """Windlass' lines: an answer, and the same again with what the first one did not know."""
    said = {"session_id": name, "content": f'{number // 2} {{"a": {number // 2}}}'}
    if number % 2:
        return {**said, "node_type": "turn_output", "role": "assistant", "phase_name": "plan", "tokens_out": number}
    return {**said, "node_type": "agent", "role": "agent", "model": "m"}


def http_line(name: str, number: int) -> dict[str, Any]:
    line = request_line(name, number)
    return {"method": "POST", "uri": "https://api.openai.com/v1/chat/completions", "session_id": name} | {
        key: line[key] for key in ("request", "response")
    }


def pair_line(name: str, number: int) -> dict[str, Any]:
    return {"session_id": name, "prompt": f"ask {number}", "completion": answer(name, number)["content"]}


def text_line(name: str, number: int) -> dict[str, Any]:
    return {"session_id": name, "id": f"{name}-{number}", "text": answer(name, number)["content"]}


KINDS: dict[str, Callable[[str, int], dict[str, Any]]] = {
    **LINES,
    "failing_call": failing_call,
    "twins": twin_line,
    "openai": request_line,
    "http_log": http_line,
    "pairs": pair_line,
    "responses": text_line,
}
ALONE = {"codex"}
"""whose sessions cannot be told apart line by line: a second one has the whole file read"""


def log(kind: str, names: list[str], count: int, seed: int = 0) -> list[bytes]:
    """Lines of several sessions, mixed; the later ones begin later."""
    choose, numbers = random.Random(seed), dict.fromkeys(names, 0)
    lines = []
    for at in range(count):
        name = choose.choice(names[: 1 + at * len(names) // count])
        lines.append(json.dumps(KINDS[kind](name, numbers[name])).encode() + b"\n")
        numbers[name] += 1
    return lines


class Work(NamedTuple):
    """What was done: lines that were decoded, turns that a fold saw, sessions folded from the start."""

    decoded: list[str]
    turns: list[PlacedTurn]
    folds: list[int]

    def clear(self) -> None:
        for done in self:
            done.clear()


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    done = Work([], [], [])
    loads, see, fold = Decoder.loads, SessionState.see, stored_turns.fold

    def decoded(decoder: Decoder, text: str) -> Any:
        done.decoded.append(text)
        return loads(decoder, text)

    def seen(state: SessionState, placed: PlacedTurn) -> None:
        done.turns.append(placed)
        see(state, placed)

    def folded(connection: sa.Connection, session_id: int, *rest: Any) -> SessionState:
        done.folds.append(session_id)
        return fold(connection, session_id, *rest)

    monkeypatch.setattr(Decoder, "loads", decoded)
    monkeypatch.setattr(SessionState, "see", seen)
    monkeypatch.setattr(stored_turns, "fold", folded)
    return done


Anew = Callable[..., IngestResult]


@pytest.fixture
def anew(engine: sa.Engine, settings: Settings) -> Iterator[Anew]:
    """Ingests as a process does that has just begun: nothing is in its memory."""

    def anew(content: bytes, filename: str = "run.jsonl") -> IngestResult:
        other = database.connect(settings.database)
        try:
            return ingest(other, settings, BytesIO(content), filename=filename)
        finally:
            other.dispose()

    yield anew


def everything(db: orm.Session, result: IngestResult) -> list[Any]:
    """What is stored of the sessions of a dump, but for their names."""
    db.rollback()
    db.expire_all()
    stored = [sessions.find(db, name) for name in sorted(result.sessions)]
    return [[timeless_facts(one), findings(db, one.external_id), rows(db, one.id)] for one in stored]


def timeless_facts(session: Session) -> dict[str, object]:
    """Without when it came in, which stands for the time of a session whose turns have none."""
    return {name: value for name, value in facts(session).items() if name != "happened_at" or session.started_at}


def counts(dump: Dump) -> tuple[object, ...]:
    return dump.bytes, dump.session_count, dump.turn_count, dump.problem_count, dump.format


@pytest.mark.parametrize("kind", KINDS)
def test_another_process_reads_what_was_added(kind: str, anew: Anew, work: Work) -> None:
    lines = log(kind, ["s"], 200)
    anew(b"".join(lines[:190]))
    for first, last in ((190, 193), (193, 194), (194, 200)):
        work.clear()
        grown = anew(b"".join(lines[:last]))
        assert (grown.grown, grown.new) == (1, 0)
        assert not work.folds or kind in ("failing_call", "twins")
        assert len(work.decoded) <= 2 * (last - first) + 20  # the first lines tell the format
        assert work.folds or len(work.turns) == grown.new_turns <= 3 * (last - first)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - ALONE))
def test_of_several_sessions_those_grow_that_lines_were_added_to(kind: str, anew: Anew, work: Work, db) -> None:
    names = [f"s{number}" for number in range(40)]
    lines = log(kind, names, 400)
    before = anew(b"".join(lines)).dump.session_count
    more = [json.dumps(KINDS[kind](name, 0)).encode() + b"\n" for name in ("t1", "t2", "t1")]
    work.clear()
    grown = anew(b"".join([*lines, *log(kind, ["s3"], 60)[-2:], *more]))
    assert (grown.grown, grown.new, grown.dump.session_count, len(grown.sessions)) == (1, 2, before + 2, before + 2)
    assert len(work.decoded) <= 2 * 5 + 20
    assert grown.dump.format == ("claude_code" if kind == "failing_call" else "windlass" if kind == "twins" else kind)
    assert len(work.turns) <= grown.new_turns + FEWEST
    assert db.scalars(sa.select(Dump.id)).all() == [grown.dump.id]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_cut_anywhere_over_processes_it_is_as_at_once(kind: str, seed: int, anew: Anew, db: orm.Session) -> None:
    names = ["a"] if kind in ALONE else ["a", "b", "c"]
    lines = log(kind, names, 60, seed)
    cuts = sorted(random.Random(seed).sample(range(1, 60), 7))
    for cut in [*cuts, 60]:
        grown = anew(b"".join(lines[:cut]))
    grown_rows, grown_counts = everything(db, grown), counts(db.get_one(Dump, grown.dump.id))
    problems = sorted((problem.at, problem.reason) for problem in grown.problems)
    for table in (Session, Dump):
        db.execute(sa.delete(table))
    db.commit()
    whole = anew(b"".join(lines), "other.jsonl" if kind != "responses" else "run2.jsonl")
    assert grown_rows == everything(db, whole)
    assert grown_counts == counts(db.get_one(Dump, whole.dump.id))
    assert problems == sorted((problem.at, problem.reason) for problem in whole.problems)


def test_packed_files_grow_too(anew: Anew, work: Work) -> None:
    lines = log("openai", ["a"], 130)
    member = gzip.compress(b"".join(lines[:120]))
    anew(member, "run.jsonl.gz")
    work.clear()
    grown = anew(member + gzip.compress(b"".join(lines[120:])), "run.jsonl.gz")
    assert grown.grown and not work.folds and len(work.decoded) <= 2 * 10 + 20
    assert grown.dump.bytes == sum(map(len, lines))


def test_processes_with_other_hashes_agree(settings: Settings, tmp_path: Path, engine, db) -> None:
    """Python hashes texts otherwise in each process; what is stored does not depend on that."""
    lines = log("openai", ["a", "b"], 40)
    path = tmp_path / "run.jsonl"
    environment = {**os.environ, "FENCEPOST_DATABASE": settings.database, "FENCEPOST_DATA": str(settings.data)}
    for seed, count in enumerate((20, 30, 40)):
        path.write_bytes(b"".join(lines[:count]))
        command = [sys.executable, "-m", "webapp", "ingest", "--json", str(path)]
        said = subprocess.run(command, env={**environment, "PYTHONHASHSEED": str(seed)}, capture_output=True, text=True)
        assert said.returncode == 0, said.stderr
    assert db.scalar(sa.select(sa.func.count()).select_from(Dump)) == 1
    grown = [rows(db, sessions.find(db, name).id) for name in "ab"]
    assert [len(turns) for turns in grown] == [2 * b"".join(lines).count(b'_id": "%c"' % name) + 1 for name in b"ab"]


def test_what_other_code_wrote_is_not_gone_on_from(anew: Anew, monkeypatch: pytest.MonkeyPatch, work: Work) -> None:
    lines = log("openai", ["a"], 30)
    anew(b"".join(lines[:20]))
    monkeypatch.setattr(saved_state, "made_by", lambda: "other code")
    work.clear()
    assert anew(b"".join(lines)).grown == 1
    assert len(work.decoded) > 2 * 30


def test_damaged_states_are_not_read(anew: Anew, db: orm.Session, work: Work) -> None:
    lines = log("openai", ["a"], 130)
    anew(b"".join(lines[:120]))
    for table, columns in ((GrowingFile, ("state",)), (GrowingSession, ("reader", "fold"))):
        db.execute(sa.update(table).values(dict.fromkeys(columns, b"no pickle")))
        db.commit()
        assert anew(b"".join(lines[:125] if table is GrowingFile else lines)).grown == 1


@pytest.mark.parametrize("reference", [os.system, subprocess.Popen, deletion.purge, Settings])
def test_no_state_names_anything_else(reference: Any) -> None:
    with pytest.raises(saved_state.NotSaved, match="no class of a state"):
        saved_state.restored(saved_state.saved(reference))


def test_a_session_that_is_gone_takes_its_state_along(anew: Anew, db: orm.Session, engine: sa.Engine) -> None:
    anew(b"".join(log("pairs", ["a", "b"], 300)))
    assert db.scalar(sa.select(sa.func.count()).select_from(GrowingSession)) == 2
    deletion.delete(db, [sessions.find(db, "a").key])
    deletion.purge_just_hidden(engine, db.scalars(sa.select(Session.id).where(Session.external_id == "a")).all())
    db.rollback()
    assert db.scalar(sa.select(sa.func.count()).select_from(GrowingSession)) == 1
