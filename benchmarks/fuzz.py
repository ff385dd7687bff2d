"""Mutates every file of a folder many ways, ingests each, and renders pages of a sample: nothing may break.

    python benchmarks/fuzz.py FOLDER [--ways 1000] [--seed 0] [--longest 60000] [--seconds 0]

A file longer than `--longest` bytes is mutated in its beginning. What counts as broken: an exception that is no refusal
in words, a status of 500 or more, a dump left as "reading", a session without its turns. Exits 1 where something broke.
"""

from __future__ import annotations

import argparse
import copy
import io
import json
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from webapp.app import create_app
from webapp.config import Settings
from webapp.dumps.records import BadDump, UnknownFormat
from webapp.extensions import db
from webapp.store.ingest import ingest
from webapp.store.models import Dump, Session, Turn

PIECES = [
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b",",
    b"\\",
    b"\n",
    b"\0",
    b"\xff",
    b"NaN",
    b"null",
    b"-1",
    b'"\\ud800"',
    b"9" * 400,
]
VALUES: list[Any] = [
    None,
    True,
    -1,
    2**70,
    1e308,
    float("nan"),
    "",
    "x",
    [],
    {},
    [[]],
    {"": None},
    "\ud800",
    [None, {}],
]
PAGES_EVERY = 10


def mutated(content: bytes, chance: random.Random) -> bytes:
    """Bits flipped, parts cut, doubled or deleted, or values of a JSON text swapped for others."""
    if chance.random() < 0.35 and (swapped := swapped_values(content, chance)) is not None:
        return swapped
    data = bytearray(content)
    for _ in range(chance.randint(1, 5)):
        at = chance.randrange(len(data) + 1)
        end = min(len(data), at + chance.choice((1, 1, 4, 40, 1000)))
        way = chance.randrange(5)
        if way == 0 and at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        elif way == 1:
            del data[at:end]
        elif way == 2:
            data[at:at] = data[at:end]
        elif way == 3:
            data[at:end] = chance.choice(PIECES)
        elif way == 4 and chance.random() < 0.3:
            del data[at:]
    return bytes(data)


def swapped_values(content: bytes, chance: random.Random) -> bytes | None:
    try:
        lines = [json.loads(content)]
    except ValueError:
        try:
            lines = [json.loads(line) for line in content.splitlines() if line.strip()]
        except ValueError:
            return None
    for _ in range(chance.randint(1, 4)):
        swap(lines, chance)
    return "\n".join(json.dumps(line) for line in lines).encode()


def swap(value: Any, chance: random.Random) -> None:
    """Replace something inside `value`, as deep as chance leads."""
    while isinstance(value, dict | list) and value:
        key = chance.choice(sorted(value)) if isinstance(value, dict) else chance.randrange(len(value))
        if chance.random() < 0.3 or not isinstance(value[key], dict | list) or not value[key]:
            value[key] = copy.deepcopy(chance.choice(VALUES))
            return
        value = value[key]


def check(app: Any, content: bytes, name: str, render: bool, counts: Counter[str]) -> None:
    """Ingest, then look; raises what must not be raised."""
    try:
        found = ingest(db.engine, app.config["SETTINGS"], io.BytesIO(content), filename=name)
    except (BadDump, UnknownFormat) as refusal:
        if not str(refusal):
            raise AssertionError("a refusal without words") from None
        counts["refused"] += 1
        return
    counts["taken"] += 1
    with db.engine.connect() as connection:
        if connection.scalar(sa.select(sa.func.count()).select_from(Dump).where(Dump.state == "reading")):
            raise AssertionError("a dump is left as reading")
        for key in found.keys[:3]:
            session = connection.execute(sa.select(Session.id, Session.turn_count).where(Session.key == key)).one()
            query = sa.select(sa.func.count()).where(Turn.session_id == session.id, Turn.duplicate_of.is_(None))
            if connection.scalar(query) != session.turn_count:
                raise AssertionError("a session is stored in part")
    if render:
        client = app.test_client()
        for key in found.keys[:2]:
            paths = [
                f"/sessions/{key}",
                f"/api/session/{key}/dump",
                f"/sessions/{key}/turns/0",
                f"/sessions/{key}/turns/1",
            ]
            for path in paths:
                answer = client.get(path)
                counts["pages"] += 1
                if answer.status_code >= 500:
                    raise AssertionError(f"{path} answered {answer.status_code}")


def run(folder: Path, ways: int, seed: int, longest: int, seconds: float) -> Counter[str]:
    """What became of all mutations; inputs of those that are `broken` are kept under the temporary folder."""
    counts: Counter[str] = Counter()
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "LICENSE")
    ends = time.monotonic() + seconds if seconds else float("inf")
    kept = Path(tempfile.gettempdir()) / "fencepost-fuzz"
    for number in range(ways):
        with tempfile.TemporaryDirectory() as name:
            app = create_app(Settings(data=Path(name), database=f"sqlite:///{name}/f.sqlite3"))
            app.logger.disabled = True
            with app.app_context():
                for index, path in enumerate(files):
                    if time.monotonic() > ends:
                        break
                    with path.open("rb") as file:
                        content = mutated(file.read(longest), random.Random(f"{seed} {number} {path.name}"))
                    try:
                        check(app, content, path.name, (number + index) % PAGES_EVERY == 0, counts)
                    except Exception:  # noqa: BLE001 - this is what is looked for
                        counts["broken"] += 1
                        kept.mkdir(exist_ok=True)
                        (kept / f"{seed}-{number}-{path.name}").write_bytes(content)
                        print(f"{path.name}, way {number}:\n{traceback.format_exc(limit=-4)}", flush=True)
                db.engine.dispose()
        counts["ways"] = number + 1
        if time.monotonic() > ends:
            break
    counts["files"] = len(files)
    return counts


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("folder", type=Path)
    reader.add_argument("--ways", type=int, default=1000)
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--longest", type=int, default=60_000)
    reader.add_argument("--seconds", type=float, default=0, help="stop after so long; 0 goes on to the end")
    given = reader.parse_args()
    counts = run(given.folder, given.ways, given.seed, given.longest, given.seconds)
    print(", ".join(f"{value} {name}" for name, value in sorted(counts.items())))
    sys.exit(bool(counts["broken"]))


if __name__ == "__main__":
    main()
