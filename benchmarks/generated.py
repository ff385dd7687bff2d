"""Fills a database with made sessions of 20 turns: models, formats, failures, a year.

The first 500 sessions go through the store's own writer: prompts and tool results are words by Zipf's law, so that a
search has common and rare ones, half of the turns are responses of about 1.5 KB, each another one, and each is parsed.
All further sessions are copies of those (see `copied`). `RARE` stands in one turn in 100,000.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchmarks.copied import Copy, Original, copy, written
from webapp.config import Settings
from webapp.dumps.records import SessionStart, Turn
from webapp.store import append
from webapp.store.db import database
from webapp.store.models import Dump, DumpSession
from webapp.store.write.parser import Home
from webapp.store.write.session_state import SessionInput

TURNS = 20
RARE = "zanzibarite"
COMMON = "ba"
MODELS = [f"vendor-{vendor}/model-{size}" for vendor in "abcdef" for size in ("small", "large", "2026-01", "preview")]
HOMES = ("fencepost", "fencepost", "direct", "windlass-strict", "json-repair", "four-tier", "unknown")
FORMATS = ("openai", "windlass", "otlp", "langfuse", "claude_code")
PHASES = ("plan", "act", "review", "summarise")
AGENTS = [f"agent-{number}" for number in range(60)]
TOOLS = ("run_code", "read_file", "search", "write_file", "browse", "ask_user")
ERRORS = ("value is not a valid list", "Field required: tool", "Expecting ',' delimiter: line 3 column 7", "timed out")
HOSTS = ("Acme", "Globex", "10.0.0.7:8000")
_SCHEMA = {
    "type": "object",
    "properties": {"code": {"type": "string"}, "path": {"type": "string"}, "lines": {"type": "integer"}},
    "required": ["code", "path"],
}
DECLARED = [
    {"tools": [{"name": tool, "schema": _SCHEMA | {"description": f"{number}"}} for tool in (*TOOLS, *AGENTS[:34])]}
    for number in range(10)
]
"""what requests of native calls declare: forty tools each"""
_SYLLABLES = [first + last for first in "bcdfghjklmnprstvwz" for last in "aeiou"]
_FIRST = datetime(2025, 7, 1, tzinfo=UTC)
_ORIGINALS = 500
_AT_ONCE = 250
_WORDS = 1_000_000


def database_of(folder: Path, turns: int) -> Settings:
    """A data folder with so many turns: the one from before, where it was finished, else made now."""
    data = folder / f"pages-{turns}"
    settings = Settings(data=data, database=f"sqlite:///{data / 'fencepost.sqlite3'}")
    if not (data / "finished").exists():
        data.mkdir(parents=True, exist_ok=True)
        (data / "fencepost.sqlite3").unlink(missing_ok=True)
        fill(settings, turns)
        (data / "finished").touch()
    return settings


def fill(settings: Settings, turns: int) -> None:
    engine = database.connect(settings.database)
    sa.event.listen(engine, "connect", lambda raw, _: raw.execute("PRAGMA synchronous=OFF"))
    database.migrate(engine)
    made = _Made(random.Random(20260101))
    originals: list[Original] = []
    began = time.monotonic()
    for first in range(0, turns // TURNS, _AT_ONCE):
        numbers = range(first, min(first + _AT_ONCE, turns // TURNS))
        with database.writing(engine) as connection:
            if first < _ORIGINALS:
                originals += _write(connection, made, numbers)
            else:
                _copy(connection, made, numbers, originals)
        print(f"{numbers.stop * TURNS:>9,} turns after {time.monotonic() - began:6.0f} s", flush=True)
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    engine.dispose()


def _dump(connection: sa.Connection, numbers: range) -> int:
    values = {"filename": f"night-{numbers.start}.jsonl", "format": "openai", "bytes": 0, "state": "done"}
    values |= {"sha256": f"{numbers.start:064x}", "problems": [], "received_at": _FIRST}
    return connection.scalars(sa.insert(Dump).returning(Dump.id), {**values, "session_count": len(numbers)}).one()


def _write(connection: sa.Connection, made: _Made, numbers: range) -> list[Original]:
    dump_id, originals = _dump(connection, numbers), list[Original]()
    for number in numbers:
        start, turns = made.session(number)
        session = SessionInput(start, turns, Home(start.home or "fencepost", "told"))
        (outcome,) = append.write(connection, [session], dump_id=dump_id, on_problem=lambda _: None)
        originals.append(written(connection, outcome.id, start, turns))
        link = {"dump_id": dump_id, "session_id": outcome.id, "new_turns": outcome.new_turns}
        connection.execute(sa.insert(DumpSession), link)
    return originals


def _copy(connection: sa.Connection, made: _Made, numbers: range, originals: list[Original]) -> None:
    copies = [made.copied(number, made.chance.choice(originals)) for number in numbers]
    copy(connection, copies, _dump(connection, numbers))


class _Made:
    """Sessions by their number, the same ones for the same seed."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        words = ["".join(chance.choices(_SYLLABLES, k=1 + number // 90)) for number in range(450)]
        words += ["".join(chance.choices(_SYLLABLES, k=chance.randint(3, 5))) for _ in range(20_000)]
        words[0] = COMMON
        drawn = chance.choices(words, [1 / (rank + 2) for rank in range(len(words))], k=_WORDS)
        self.drawn = drawn
        self.stream = " ".join(drawn)

    def text(self, words: int) -> str:
        at = self.chance.randrange(len(self.drawn) - words)
        return " ".join(self.drawn[at : at + words])

    def long(self, length: int) -> str:
        """Other words of `length` in all, the last one cut."""
        at = self.stream.index(" ", self.chance.randrange(len(self.stream) - length - 100)) + 1
        found = self.stream[at : at + length]
        return found if found[-1] != " " else found[:-1] + "a"

    def response(self, *, broken: bool) -> str:
        call = {"tool": self.chance.choice(TOOLS), "arguments": {"code": self.text(110), "path": self.text(2)}}
        data = json.dumps(call, indent=2)
        if broken:
            data = self.chance.choice((data + "}", data.replace("},", "}"), data[:-30], data.replace('"tool"', "tool")))
        return f"{self.text(80)}\n```json\n{data}\n```\n{self.text(20)}"

    def name(self, number: int) -> str:
        return f"session-{number:07d}-{self.chance.getrandbits(32):08x}"

    def begins(self) -> float:
        """Seconds behind the first of all."""
        return self.chance.uniform(0, 365 * 86400)

    def session(self, number: int) -> tuple[SessionStart, list[Turn]]:
        chance = self.chance
        start = SessionStart(self.name(number), chance.choice(FORMATS), chance.choice(HOMES), self.text(6))
        begins = _FIRST + timedelta(seconds=self.begins())
        failing = chance.random() < 0.3
        models = chance.sample(MODELS, k=chance.choice((1, 1, 1, 2, 3)))
        turns = list(self.turns(begins, models, chance.choice(AGENTS), failing))
        return start, self.native(turns) if number % 3 == 0 else turns

    def copied(self, number: int, original: Original) -> Copy:
        start = replace(original.start, external_id=self.name(number), title=self.text(6))
        later = _FIRST + timedelta(seconds=self.begins()) - (original.turns[0].sent_at or _FIRST)
        return original, start, [self.again(turn, later) for turn in original.turns]

    def turns(self, begins: datetime, models: list[str], agent: str, failing: bool) -> Iterator[Turn]:
        chance = self.chance
        for entry in range(TURNS):
            sent = begins + timedelta(seconds=7 * entry)
            phase = PHASES[entry * len(PHASES) // TURNS]
            if entry % 2 == 0:
                kind = "prompt" if entry == 0 else "tool_result"
                yield self.turn(entry, kind, self.asked(), "user", sent, phase=phase)
                continue
            broken = failing and chance.random() < 0.25
            failure = chance.choice(ERRORS) if broken and chance.random() < 0.3 else None
            more = {"agent": agent, "model": chance.choice(models), "phase": phase, "failure": failure}
            calls = [{"name": chance.choice(TOOLS)}] if not broken else None
            raw = self.response(broken=broken)
            yield self.turn(entry, "response", raw, "assistant", sent, tool_calls=calls, **more)

    def native(self, turns: list[Turn]) -> list[Turn]:
        """The turns with native calls for responses: of those that fail, every other breaks what is declared."""
        declared, host = self.chance.choice(DECLARED), self.chance.choice(HOSTS)
        return [self.call(turn, declared, host) if turn.kind == "response" else turn for turn in turns]

    def call(self, turn: Turn, declared: dict[str, Any], host: str) -> Turn:
        raw = json.dumps({"code": self.text(110), "path": self.text(2), "lines": 3})
        if not turn.tool_calls:
            raw = self.chance.choice((raw[:-1], raw.replace("3}", '"3"}'), raw.replace('"path"', '"file"')))
        tool = self.chance.choice(TOOLS)
        more = {"declared": declared, "host": host, "arguments": "written", "source": {"id": f"m{turn.entry}"}}
        return replace(turn, kind="tool_call", raw=raw, agent=tool, tool_calls=None, raw_at=None, **more)  # type: ignore[arg-type]

    def asked(self) -> str:
        return self.text(250) + (f" {RARE}" if self.chance.random() < 2e-5 else "")

    def turn(self, entry: int, kind: str, raw: str, role: str, sent: datetime, **more: object) -> Turn:
        source = {"role": role, "content": None, "id": f"m{entry}", "ts": sent.isoformat()}
        return Turn(entry, kind, raw, role, sent_at=sent, source=source, raw_at=("content",), **more)  # type: ignore[arg-type]

    def again(self, turn: Turn, later: timedelta) -> Turn:
        """The turn with other words: of a response the JSON stays, and so does where it stands; a call stays."""
        assert turn.raw and turn.sent_at
        if turn.kind == "tool_call":
            return replace(turn, sent_at=turn.sent_at + later)
        raw = self.asked()
        if turn.kind == "response":
            before, after = turn.raw.partition("\n```json\n")[0], turn.raw.rpartition("\n```\n")[2]
            data = turn.raw[len(before) : len(turn.raw) - len(after)]
            raw = self.long(len(before)) + data + self.long(len(after))
        sent = turn.sent_at + later
        source = {"role": turn.role, "content": None, "id": f"m{turn.entry}", "ts": sent.isoformat()}
        return replace(turn, raw=raw, sent_at=sent, source=source)


def size_of(settings: Settings) -> int:
    """Bytes on disk, everything included."""
    return sum(path.stat().st_blocks * 512 for path in settings.data.rglob("*") if path.is_file())


__all__ = ["COMMON", "RARE", "TURNS", "database_of", "fill", "size_of"]
