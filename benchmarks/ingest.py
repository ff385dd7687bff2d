"""Ingest against the floor: `json.load` plus a bare `sqlite3.executemany` of the same rows, and memory over size.

    python -m benchmarks.ingest [--megabytes 20] [--large 500] [--quick] [--searchable [--rounds 3]]

With `--searchable` alone the other figure: 10,000 turns of 1.5 KB in 500 sessions, until listed, parsed and searchable,
beside bare `sqlite3` inserting the same rows into a table and the same FTS5 index: in one transaction, in one for each
session (which is what makes a session whole or not there), and in one for each turn. Also what a turn takes on disk,
everything included. With `--long TURNS` alone one session of so many turns, and how long of its ingest SQLite is
locked, in all and at a stretch. `--large 2048` is the memory over 2 GB.

Prints one JSON document. Everything is made here and measured in one run: `times` is how many times as long as
the floor the ingest takes until all is listed and parsed; `memory` is the peak of a process of its own for 10 MB
and for `--large` MB. Both kinds of dump are measured: one long session in a document, many short ones in lines.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import sqlalchemy as sa

from webapp.config import Settings
from webapp.store.db import database, types
from webapp.store.ingest.start import ingest

MEGABYTE = 1024 * 1024
PHRASE = "the agent reads a file and then runs code to plot what it found in the table of results per day"
WORDS = PHRASE.split()
SESSION_TURNS = 20
Run = tuple[float, float]
"""seconds, and seconds of processor time"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=20, help="size of the dumps that are timed")
    parser.add_argument("--large", type=int, default=500, help="size of the dump whose memory is measured")
    parser.add_argument("--quick", action="store_true", help="4 MB timed, 40 MB measured")
    parser.add_argument(
        "--searchable", action="store_true", help="10,000 turns beside bare sqlite3 with FTS5, and disk"
    )
    parser.add_argument("--long", type=int, metavar="TURNS", help="one session of so many turns, and its copying")
    parser.add_argument("--rounds", type=int, default=3, help="how often both are run with --searchable")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(_child(options.child)))
        return
    if options.searchable:
        with tempfile.TemporaryDirectory(prefix="fencepost-benchmark-") as folder:
            print(json.dumps(_searchable(Path(folder), options.rounds), indent=2))
        return
    if options.long:
        with tempfile.TemporaryDirectory(prefix="fencepost-benchmark-") as folder:
            print(json.dumps(_long(Path(folder), options.long), indent=2))
        return
    timed, large = (4, 40) if options.quick else (options.megabytes, options.large)
    with tempfile.TemporaryDirectory(prefix="fencepost-benchmark-") as folder:
        report = {kind: _timed(Path(folder), kind, timed) for kind in ("document", "lines")}
        report["memory"] = {kind: _memory(Path(folder), kind, large) for kind in ("document", "lines")}
    print(json.dumps(report, indent=2))


def _timed(folder: Path, kind: str, megabytes: int) -> dict[str, Any]:
    dump = write_dump(folder, kind, megabytes)
    seconds, store = _ingest(dump, folder / f"{kind}-store")
    floor = _floor(dump, kind, store, folder / f"{kind}-floor.sqlite3")
    turns = _count(store)
    return {
        "megabytes": megabytes,
        "turns": turns,
        "seconds": round(seconds, 2),
        "turns_a_second": round(turns / seconds),
        "floor_seconds": round(floor, 2),
        "times": round(seconds / floor, 2),
        "bytes_a_turn": round(store.stat().st_size / turns),
    }


def _searchable(folder: Path, rounds: int) -> dict[str, Any]:
    """500 sessions of 20 turns, and their rows in bare sqlite3, in turn: medians of seconds and of processor time."""
    dump = write_prose(folder / "prose.jsonl", sessions=500)
    warm = write_prose(folder / "warm.jsonl", sessions=5)
    _ingest(warm, folder / "warm")
    ours: list[Run] = []
    bare: dict[str, list[Run]] = {"transaction": [], "transaction_a_session": [], "transaction_a_turn": []}
    for number in range(rounds):
        data = folder / f"store-{number}"
        started = _processor()
        seconds, store = _ingest(dump, data)
        ours.append((seconds, _processor() - started))
        for kind, turns in (("transaction", 0), ("transaction_a_session", SESSION_TURNS), ("transaction_a_turn", 1)):
            bare[kind].append(_bare_fts(store, folder / f"bare-{number}-{turns}.sqlite3", turns))
    turns = _count(store)
    kept = sum(path.stat().st_size for path in (data / "dumps").glob("*.zst"))
    wall, processor = _medians(ours)
    return {
        "turns": turns,
        "rounds": rounds,
        "load_beside": [round(one, 1) for one in os.getloadavg()],
        "turns_a_second": round(turns / wall),
        "processor_ms_a_turn": round(1000 * processor / turns, 3),
        "bare": {
            kind: {"turns_a_second": round(turns / _medians(runs)[0]), "times": round(wall / _medians(runs)[0], 2)}
            for kind, runs in bare.items()
        },
        "bytes_a_turn": round((store.stat().st_size + kept) / turns),
        "of_it": {"kept_file": round(kept / turns), **_parts(store, turns)},
    }


def _long(folder: Path, turns: int) -> dict[str, Any]:
    """Seconds of ingesting one session, and of its transactions, during each of which nobody else can write."""
    path = folder / "long.jsonl"
    with path.open("w", encoding="utf-8") as out:
        for number, entry in enumerate(itertools.islice(_entries("document"), turns)):
            entry["content"] = f"{number} {entry['content'][:260]}"
            out.write(json.dumps(entry) + "\n")
    locked: list[float] = []
    transaction = database.writing_long

    @contextmanager
    def timed(engine: sa.Engine) -> Iterator[sa.Connection]:
        with transaction(engine) as connection:
            started = time.perf_counter()
            yield connection
        locked.append(time.perf_counter() - started)

    database.writing_long = timed
    try:
        seconds, store = _ingest(path, folder / "store")
    finally:
        database.writing_long = transaction
    load = [round(one, 1) for one in os.getloadavg()]
    return {
        "turns": _count(store),
        "load_beside": load,
        "seconds": round(seconds, 1),
        "locked_seconds": round(sum(locked), 2),
        "longest_lock": round(max(locked), 3),
        "share": round(sum(locked) / seconds, 3),
    }


def _processor() -> float:
    """Seconds that this process and those it waited for have computed."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _medians(runs: list[Run]) -> tuple[float, float]:
    return statistics.median(run[0] for run in runs), statistics.median(run[1] for run in runs)


def _parts(store: Path, turns: int) -> dict[str, int]:
    """Bytes a turn of each table and index that takes more than one."""
    with closing(sqlite3.connect(store)) as source:
        sizes = source.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC").fetchall()
    return {name: round(size / turns) for name, size in sizes if size > turns}


def _bare_fts(store: Path, path: Path, turns: int) -> Run:
    """For inserting the turns' rows and texts as an ingest left them, `turns` of them in a transaction; 0 for all."""
    with closing(sqlite3.connect(store)) as source:
        names = [row[1] for row in source.execute("PRAGMA table_info(turn)")]
        rows = source.execute("SELECT * FROM turn ORDER BY id").fetchall()
        index = source.execute("SELECT sql FROM sqlite_master WHERE name = 'search_raw'").fetchone()[0]
    at = names.index("raw")
    texts = [(row[0], types.unpack_text(row[at])) for row in rows]
    with closing(sqlite3.connect(path)) as target:
        for pragma in ("page_size=8192", "journal_mode=WAL", "synchronous=NORMAL"):
            target.execute(f"PRAGMA {pragma}")
        target.execute(f"CREATE TABLE turn (id INTEGER PRIMARY KEY, {', '.join(names[1:])})")
        target.execute(index)
        started, spent = time.perf_counter(), time.process_time()
        insert = f"INSERT INTO turn VALUES ({', '.join('?' * len(names))})"
        for at in range(0, len(rows), turns or len(rows)):
            end = at + (turns or len(rows))
            target.executemany(insert, rows[at:end])
            target.executemany("INSERT INTO search_raw(rowid, raw) VALUES (?, ?)", texts[at:end])
            target.commit()
        return time.perf_counter() - started, time.process_time() - spent


def _memory(folder: Path, kind: str, large: int) -> dict[str, Any]:
    """Peak resident memory of a process that ingests 10 MB, and of one that ingests `large` MB."""
    peaks = {}
    for megabytes in (10, large):
        dump = write_dump(folder, kind, megabytes)
        command = [sys.executable, "-m", "benchmarks.ingest", "--child", str(dump)]
        done = subprocess.run(command, check=True, capture_output=True, cwd=Path(__file__).parents[1])
        peaks[megabytes] = json.loads(done.stdout)
        dump.unlink()
    growth = peaks[large]["peak_megabytes"] - peaks[10]["peak_megabytes"]
    return {"small": peaks[10], f"{large}_megabytes": peaks[large], "growth_megabytes": round(growth, 1)}


def _child(dump: Path) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="fencepost-benchmark-") as folder:
        seconds, _ = _ingest(dump, Path(folder))
    return {"peak_megabytes": round(_peak() / 1024, 1), "seconds": round(seconds, 1)}


def _peak() -> int:
    """Peak resident kilobytes of this program; `ru_maxrss` would count the parent's memory from before the exec."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise SystemExit("needs Linux: no VmHWM in /proc/self/status")


def _ingest(dump: Path, data: Path) -> tuple[float, Path]:
    path = data / "store.sqlite3"
    settings = Settings(data=data, database=f"sqlite:///{path}")
    engine = database.connect(settings.database)
    database.migrate(engine)
    started = time.perf_counter()
    with dump.open("rb") as stream:
        ingest(engine, settings, stream, filename=dump.name)
    seconds = time.perf_counter() - started
    engine.dispose()
    return seconds, path


def _floor(dump: Path, kind: str, store: Path, path: Path) -> float:
    """Seconds for decoding the dump and for inserting the rows that the ingest made, with nothing else."""
    with closing(sqlite3.connect(store)) as source:
        rows = {table: source.execute(f"SELECT * FROM {table}").fetchall() for table in ("session", "turn", "parse")}
    started = time.perf_counter()
    with dump.open() as file:
        document = [json.loads(line) for line in file] if kind == "lines" else json.load(file)
    with closing(sqlite3.connect(path)) as target:
        target.execute("PRAGMA journal_mode=WAL")
        for table, values in rows.items():
            places = ", ".join("?" * len(values[0]))
            target.execute(f"CREATE TABLE {table} ({', '.join(f'c{index}' for index in range(len(values[0])))})")
            target.executemany(f"INSERT INTO {table} VALUES ({places})", values)
        target.commit()
    del document
    return time.perf_counter() - started


def _count(store: Path) -> int:
    with closing(sqlite3.connect(store)) as source:
        return int(source.execute("SELECT count(*) FROM turn").fetchone()[0])


def write_dump(folder: Path, kind: str, megabytes: int) -> Path:
    """A Windlass dump of that size: a document of one session, or lines of many."""
    path = folder / f"{kind}-{megabytes}.json"
    size, limit = 0, megabytes * MEGABYTE
    with path.open("w", encoding="utf-8") as out:
        out.write("" if kind == "lines" else '{"session_id": "long", "entries": [\n')
        for number, entry in enumerate(_entries(kind)):
            text = json.dumps(entry)
            size += out.write(text if number == 0 else f"\n{text}" if kind == "lines" else f",\n{text}")
            if size >= limit:
                break
        out.write("\n" if kind == "lines" else "\n]}\n")
    return path


def _entries(kind: str) -> Iterator[dict[str, Any]]:
    """Entries with texts of 1.5 KB: a prompt, then responses, each logged twice; one call in ten has extra closers."""
    chance = random.Random(7)
    number = 0
    while True:
        session = f"session-{number // SESSION_TURNS}" if kind == "lines" else "long"
        text = _prose(chance, 900)
        closers = "}}" if chance.random() < 0.1 else ""
        call = json.dumps({"tool": "run_code", "arguments": {"code": _prose(chance, 450)}}) + closers
        raw = f"{text}\n```json\n{call}\n```\n" if chance.random() < 0.5 else f"{text} {_prose(chance, 550)}"
        yield _entry(session, number, "turn_input", "user", _prose(chance, 1500))
        yield _entry(session, number + 1, "agent", "agent", raw)
        yield _entry(session, number + 2, "turn_output", "assistant", raw)
        yield _entry(session, number + 3, "tool_result", "tool", _prose(chance, 1500))
        number += 4


def write_prose(path: Path, sessions: int) -> Path:
    """Windlass lines, none logged twice, in words of English text as often as they are there beside each other."""
    words = re.findall(r"\S+\s*", "\n".join(topics.values()))
    following: dict[str, list[str]] = {}
    for word, other in itertools.pairwise(words):
        following.setdefault(word, []).append(other)
    chance = random.Random(7)

    def text(length: int) -> str:
        found, size, word = [], 0, chance.choice(words)
        while size < length:
            found.append(word)
            size += len(word)
            word = chance.choice(following.get(word, words) if chance.random() < 0.9 else words)
        return "".join(found)[:length]

    with path.open("w", encoding="utf-8") as out:
        for number in range(sessions * SESSION_TURNS):
            kind, role = (("turn_input", "user"), ("agent", "agent"), ("tool_result", "tool"))[number % 3]
            raw = text(1500)
            if kind == "agent" and chance.random() < 0.5:
                closers = "}}" if chance.random() < 0.1 else ""
                call = json.dumps({"tool": "run_code", "arguments": {"code": text(450)}}) + closers
                raw = f"{text(950)}\n```json\n{call}\n```\n"
            session = f"session-{number // SESSION_TURNS}"
            out.write(json.dumps(_entry(session, number, kind, role, raw)) + "\n")
    return path


def _entry(session: str, number: int, node_type: str, role: str, content: str) -> dict[str, Any]:
    return {
        "timestamp": 1.7e9 + number,
        "session_id": session,
        "trace_id": f"{number:032x}",
        "parent_id": None,
        "node_type": node_type,
        "role": role,
        "depth": 0,
        "sounding_index": None,
        "is_winner": None,
        "phase_name": "plan",
        "duration_ms": 812.5,
        "tokens_in": 900,
        "tokens_out": 300,
        "cost": 0.00123,
        "model": "a-model-of-some-size",
        "content": content,
        "tool_calls": None,
        "metadata": {"turn_number": number},
        "has_images": False,
    }


def _prose(chance: random.Random, length: int) -> str:
    words: list[str] = []
    size = 0
    while size < length:
        words.append(chance.choice(WORDS))
        size += len(words[-1]) + 1
    return " ".join(words)


if __name__ == "__main__":
    main()
