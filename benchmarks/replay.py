"""`fencepost replay`, beside a bare loop that calls the same parser and stores nothing.

    python -m benchmarks.replay [--responses 100000] [--profile windlass-balanced] [--profile json-repair]

Prints one JSON document a profile: seconds of both, and `over_bare`, one over the other; `…_cpu` are of seconds of the
processor, whatever else the machine does. The responses are 20 a session, half of them with a defect; all runs are of
the same minute.
"""

from __future__ import annotations

import argparse
import json
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
from webapp.store.models import Parse, Turn

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


def measured(engine: sa.Engine, settings: Settings, profile: str) -> dict[str, str | float]:
    bare, bare_cpu = bare_loop(engine, profile)
    forget(engine, profile)
    started, cpu_before = time.perf_counter(), time.process_time()
    run = replays.replay(engine, settings, profile)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu_before
    assert run.new == run.counts["responses"]
    return {
        "profile": profile,
        "responses": run.new,
        "bare": round(bare, 2),
        "replay": round(seconds, 2),
        "over_bare": round(seconds / bare, 2),
        "bare_cpu": round(bare_cpu, 2),
        "replay_cpu": round(cpu, 2),
        "over_bare_cpu": round(cpu / bare_cpu, 2),
    }


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
        connection.execute(sa.delete(Parse).where(Parse.profile == profile))


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
