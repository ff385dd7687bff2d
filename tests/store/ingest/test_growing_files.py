"""A file that grows: what is new of it is appended, and it comes to what one reading of the whole comes to."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.derived import everything
from tests.store.made import BROKEN, CALL, Bring, entry, on_sqlite
from webapp.config import Settings
from webapp.store.ingest import dump_files
from webapp.store.ingest.start import IngestResult
from webapp.store.jobs import pruning
from webapp.store.models import Dump, DumpSession, Session
from webapp.store.sessions import sessions

TIME = "2026-01-02T03:04:05Z"
DAMAGED = '{"type": "assistant", "cut'
BROKEN_CALL = '{"path": "a.py"'


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
    "claude_code": code_line,
    "windlass": windlass_line,
    "codex": codex_line,
    "failing_call": failing_call,
    "twins": twin_line,
    "openai": request_line,
    "http_log": http_line,
    "pairs": pair_line,
    "responses": text_line,
}
ALONE = {"codex"}
"""whose sessions cannot be told apart line by line"""


def text(kind: str, name: str, first: int, last: int) -> bytes:
    return "".join(json.dumps(KINDS[kind](name, number)) + "\n" for number in range(first, last)).encode()


def log(kind: str, names: list[str], count: int) -> list[bytes]:
    """Lines of several sessions, mixed; the later ones begin later."""
    choose, numbers = random.Random(0), dict.fromkeys(names, 0)
    lines = []
    for at in range(count):
        name = choose.choice(names[: 1 + at * len(names) // count])
        lines.append(json.dumps(KINDS[kind](name, numbers[name])).encode() + b"\n")
        numbers[name] += 1
    return lines


def stored(db: orm.Session, result: IngestResult) -> list[Any]:
    """What is stored of the sessions of a dump, but for their names."""
    db.rollback()
    db.expire_all()
    return [everything(db, sessions.find(db, name)) for name in sorted(result.sessions)]


def counts(dump: Dump) -> tuple[object, ...]:
    return dump.bytes, dump.session_count, dump.turn_count, dump.problem_count, dump.format


@pytest.mark.parametrize(
    ("url", "kind"),
    [*(("sqlite", kind) for kind in KINDS), pytest.param("postgres", "windlass", marks=pytest.mark.postgres)],
    indirect=["url"],
)
def test_cut_anywhere_it_is_as_at_once(kind: str, bring: Bring, db: orm.Session) -> None:
    names = ["a"] if kind in ALONE else ["a", "b", "c"]
    lines = log(kind, names, 60)
    cuts = sorted(random.Random(0).sample(range(1, 60), 7))
    for cut in [*cuts, 60]:
        grown = bring(b"".join(lines[:cut]), "run.jsonl")
    grown_sessions, grown_counts = stored(db, grown), counts(db.get_one(Dump, grown.dump.id))
    problems = sorted((problem.at, problem.reason) for problem in grown.problems)
    for table in (Session, Dump):
        db.execute(sa.delete(table))
    db.commit()
    whole = bring(b"".join(lines), "other.jsonl" if kind != "responses" else "run2.jsonl")
    assert grown_sessions == stored(db, whole)
    assert grown_counts == counts(db.get_one(Dump, whole.dump.id))
    assert problems == sorted((problem.at, problem.reason) for problem in whole.problems)


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


def test_the_dump_stays_one_and_is_kept_whole(bring: Bring, db: orm.Session, settings: Settings) -> None:
    content = text("claude_code", "s", 0, 20) + DAMAGED.encode() + b"\n"
    first = bring(content, "run.jsonl")
    content += text("claude_code", "s", 20, 23) + DAMAGED.encode() + b"\n"
    grown = bring(content, "run.jsonl")
    dump = db.scalars(sa.select(Dump)).one()
    assert first.dump.id == grown.dump.id == dump.id
    assert [problem.at for problem in grown.problems] == ["line 21", "line 25"] == [one["at"] for one in dump.problems]
    assert (dump.bytes, dump.problem_count) == (len(content), 2)
    assert db.scalars(sa.select(DumpSession.new_turns)).one() == dump.turn_count
    assert dump_files.open_kept(settings, dump.sha256).read() == content
    assert [sha for sha, _ in dump_files.kept_files(settings)] == [dump.sha256]


@on_sqlite
def test_a_packed_file_that_grows_stays_one_dump(bring: Bring, db: orm.Session) -> None:
    lines = log("openai", ["a"], 13)
    member = gzip.compress(b"".join(lines[:12]))
    bring(member, "run.jsonl.gz")
    grown = bring(member + gzip.compress(lines[12]), "run.jsonl.gz")
    assert grown.grown == 1 and grown.dump.bytes == sum(map(len, lines))
    assert db.scalars(sa.select(Dump.id)).all() == [grown.dump.id]
