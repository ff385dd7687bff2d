"""`fencepost replay` on one processor and on two, beside a bare loop that calls the same parser and stores nothing.

    python -m benchmarks.replay [--responses 100000] [--profile windlass-balanced] [--profile json-repair]

Prints one JSON document a profile: seconds of each, `speedup` (one process over two) and `over_bare` (two processes
over the bare loop, which has one). `…_cpu…` are of seconds of processors, whatever else the machine does:
`one_cpu_over_bare` is all work over the bare loop's, and `speedup_cpu` and `over_bare_cpu` take for the clock what the
busier of the two processes used. The responses are 20 a session, half of them with a defect; all runs are of the same
minute.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from io import BytesIO
from pathlib import Path

import sqlalchemy as sa

from webapp import parsing
from webapp.config import Settings
from webapp.store.db import database
from webapp.store.ingest.start import ingest
from webapp.store.jobs import replays
from webapp.store.models import Parse, ParseRepair, Turn

SESSION_RESPONSES = 20
PROSE = "I looked at the table of results per day and will now plot what I found in it. " * 12


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--responses", type=int, default=100_000)
    parser.add_argument("--profile", action="append", help="windlass-balanced unless given; several, one after another")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder), database=f"sqlite:///{folder}/store.sqlite3")
        engine = database.connect(settings.database)
        database.migrate(engine)
        ingest(engine, settings, BytesIO(dump(options.responses)), filename="responses.jsonl")
        for profile in options.profile or ["windlass-balanced"]:
            print(json.dumps(measured(engine, settings, profile), indent=2))


def measured(engine: sa.Engine, settings: Settings, profile: str) -> dict[str, str | float | list[float]]:
    bare, bare_cpu = bare_loop(engine, profile)
    seconds, cpu = {}, {}
    for processes in (1, 2):
        forget(engine, profile)
        started, cpu_before = time.perf_counter(), processor_seconds()
        run = replays.replay(engine, settings, profile, processes=processes)
        seconds[processes] = time.perf_counter() - started
        cpu[processes] = [after - before for after, before in zip(processor_seconds(), cpu_before, strict=True)]
        assert run.new == run.counts["responses"]
    return {
        "profile": profile,
        "responses": run.new,
        "bare": round(bare, 2),
        "one_process": round(seconds[1], 2),
        "two_processes": round(seconds[2], 2),
        "speedup": round(seconds[1] / seconds[2], 2),
        "over_bare": round(seconds[2] / bare, 2),
        "bare_cpu": round(bare_cpu, 2),
        "one_cpu_over_bare": round(cpu[1][0] / bare_cpu, 2),
        "two_cpu": [round(part, 2) for part in cpu[2]],
        "speedup_cpu": round(cpu[1][0] / max(cpu[2]), 2),
        "over_bare_cpu": round(max(cpu[2]) / bare_cpu, 2),
    }


def processor_seconds() -> tuple[float, float]:
    """Of this process, and of those that it waited for."""
    times = os.times()
    return times.user + times.system, times.children_user + times.children_system


def bare_loop(engine: sa.Engine, profile: str) -> tuple[float, float]:
    """Seconds, and seconds of the processor, to parse all texts, which are in memory."""
    with engine.connect() as connection:
        texts = connection.scalars(sa.select(Turn.raw).where(Turn.kind == "response")).all()
    chosen = parsing.profile(profile)
    started, cpu_before = time.perf_counter(), time.process_time()
    for text in texts:
        parsing.parse(text or "", chosen)
    return time.perf_counter() - started, time.process_time() - cpu_before


def forget(engine: sa.Engine, profile: str) -> None:
    """As if the profile had never been run; facets follow with the next run, which says nothing was new otherwise."""
    with engine.begin() as connection:
        for table in (Parse, ParseRepair):
            connection.execute(sa.delete(table).where(table.profile == profile))


def dump(responses: int) -> bytes:
    """Windlass entries in lines."""
    return "\n".join(json.dumps(entry(number)) for number in range(responses)).encode()


def entry(number: int) -> dict[str, str]:
    call = json.dumps({"tool": "run_code", "arguments": {"code": f"plot({number})", "days": list(range(20))}})
    closers = "}}" if number % 2 else ""
    session = f"session-{number // SESSION_RESPONSES}"
    content = f"{PROSE}\n\n```json\n{call}{closers}\n```\n{number}"
    return {"session_id": session, "node_type": "agent", "role": "agent", "content": content}


if __name__ == "__main__":
    main()
