"""Fills a database with made sessions of 20 turns through the store's own writer: models, formats, failures, a year.

Of a session's turns half are responses, drawn from a pool of texts of about 1.5 KB that a seed makes; each is parsed
once, as a text that comes again soon is in an ingest. Prompts and tool results are words by Zipf's law, so that a
search has common and rare ones; `RARE` stands in one turn in 100,000.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import sqlalchemy as sa

from webapp.config import Settings
from webapp.dumps.records import SessionStart, Turn
from webapp.store import database, parsed, search, writing
from webapp.store.models import Dump, DumpSession

TURNS = 20
RARE = "zanzibarite"
COMMON = "ba"
MODELS = [f"vendor-{vendor}/model-{size}" for vendor in "abcdef" for size in ("small", "large", "2026-01", "preview")]
HOMES = ("fencepost", "fencepost", "direct", "windlass-strict", "json-repair", "four-tier")
FORMATS = ("openai", "windlass", "otlp", "langfuse", "claude_code")
PHASES = ("plan", "act", "review", "summarise")
AGENTS = [f"agent-{number}" for number in range(60)]
TOOLS = ("run_code", "read_file", "search", "write_file", "browse", "ask_user")
ERRORS = ("value is not a valid list", "Field required: tool", "Expecting ',' delimiter: line 3 column 7", "timed out")
_SYLLABLES = [first + last for first in "bcdfghjklmnprstvwz" for last in "aeiou"]
_FIRST = datetime(2025, 7, 1, tzinfo=UTC)
_POOL = 300
_AT_ONCE = 100


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
    database.migrate(engine)
    writing.Parser = _shared_parser  # type: ignore[assignment, attr-defined]
    made = _Made(random.Random(20260101))
    began = time.monotonic()
    for first in range(0, turns // TURNS, _AT_ONCE):
        numbers = range(first, min(first + _AT_ONCE, turns // TURNS))
        _write(engine, made, numbers)
        if first % 1000 == 0:
            print(f"{numbers.stop * TURNS:>9,} turns after {time.monotonic() - began:6.0f} s", flush=True)
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    engine.dispose()


def _write(engine: sa.Engine, made: _Made, numbers: range) -> None:
    pending = search.Pending()
    with database.writing(engine) as connection:
        dump = sa.insert(Dump).returning(Dump.id)
        values = {"filename": f"night-{numbers.start}.jsonl", "format": "openai", "bytes": 0, "state": "done"}
        values |= {"sha256": f"{numbers.start:064x}", "problems": [], "received_at": _FIRST}
        dump_id = connection.scalars(dump, {**values, "session_count": len(numbers)}).one()
        for number in numbers:
            start, turns = made.session(number)
            outcome = writing.write(
                *(connection, start, turns),
                home=start.home or "fencepost",
                dump_id=lambda _: dump_id,
                problem=lambda _: None,
                index=pending,
            )
            link = {"dump_id": dump_id, "session_id": outcome.id, "new_turns": outcome.new_turns}
            connection.execute(sa.insert(DumpSession), link)
        pending.flush(connection)


_parsers: dict[str, parsed.Parser] = {}


def _shared_parser(home: str) -> parsed.Parser:
    parsed._MOST_KEPT = 2 * _POOL
    return _parsers.setdefault(home, parsed.Parser(home))


class _Made:
    """Sessions by their number, the same ones for the same seed."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.words = ["".join(chance.choices(_SYLLABLES, k=1 + number // 90)) for number in range(450)]
        self.words += ["".join(chance.choices(_SYLLABLES, k=chance.randint(3, 5))) for _ in range(20_000)]
        self.words[0] = COMMON
        weights = [1 / (rank + 2) for rank in range(len(self.words))]
        self.drawn = chance.choices(self.words, weights, k=400_000)
        self.fine = [self.response(broken=False) for _ in range(_POOL // 2)]
        self.broken = [self.response(broken=True) for _ in range(_POOL // 2)]

    def text(self, words: int) -> str:
        at = self.chance.randrange(len(self.drawn) - words)
        return " ".join(self.drawn[at : at + words])

    def response(self, *, broken: bool) -> str:
        call = {"tool": self.chance.choice(TOOLS), "arguments": {"code": self.text(110), "path": self.text(2)}}
        data = json.dumps(call, indent=2)
        if broken:
            data = self.chance.choice((data + "}", data.replace("},", "}"), data[:-30], data.replace('"tool"', "tool")))
        return f"{self.text(80)}\n```json\n{data}\n```\n{self.text(20)}"

    def session(self, number: int) -> tuple[SessionStart, list[Turn]]:
        chance = self.chance
        home, source = chance.choice(HOMES), chance.choice(FORMATS)
        start = SessionStart(f"session-{number:07d}-{chance.getrandbits(32):08x}", source, home, self.text(6))
        begins = _FIRST + timedelta(seconds=chance.uniform(0, 365 * 86400))
        failing = chance.random() < 0.3
        models = chance.sample(MODELS, k=chance.choice((1, 1, 1, 2, 3)))
        return start, list(self.turns(begins, models, chance.choice(AGENTS), failing))

    def turns(self, begins: datetime, models: list[str], agent: str, failing: bool) -> Iterator[Turn]:
        chance = self.chance
        for entry in range(TURNS):
            sent = begins + timedelta(seconds=7 * entry)
            phase = PHASES[entry * len(PHASES) // TURNS]
            if entry % 2 == 0:
                raw = self.text(250) + (f" {RARE}" if chance.random() < 2e-5 else "")
                kind = "prompt" if entry == 0 else "tool_result"
                yield self.turn(entry, kind, raw, "user", sent, phase=phase)  # type: ignore[arg-type]
                continue
            broken = failing and chance.random() < 0.25
            raw = chance.choice(self.broken if broken else self.fine)
            failure = chance.choice(ERRORS) if broken and chance.random() < 0.3 else None
            more = {"agent": agent, "model": chance.choice(models), "phase": phase, "failure": failure}
            calls = [{"name": chance.choice(TOOLS)}] if not broken else None
            yield self.turn(entry, "response", raw, "assistant", sent, tool_calls=calls, **more)  # type: ignore[arg-type]

    def turn(self, entry: int, kind: str, raw: str, role: str, sent: datetime, **more: object) -> Turn:
        source = {"role": role, "content": None, "id": f"m{entry}", "ts": sent.isoformat()}
        return Turn(entry, kind, raw, role, sent_at=sent, source=source, raw_at=("content",), **more)  # type: ignore[arg-type]


def size_of(settings: Settings) -> int:
    """Bytes on disk, everything included."""
    return sum(path.stat().st_blocks * 512 for path in settings.data.rglob("*") if path.is_file())


__all__ = ["COMMON", "RARE", "TURNS", "database_of", "fill", "size_of"]
