"""Damages every file of a folder many ways, takes each in by one of the doors, and looks: nothing may break.

    python -m benchmarks.fuzz FOLDER [--ways 1000] [--first 0] [--seed 0] [--longest 60000] [--seconds 0]

A way is one damaged copy of each file. Of a file longer than `--longest` bytes a run of lines or members is taken, now
and then all. Most go through `ingest`, others through `POST /api/dumps`, `POST /dumps`, `POST /v1/traces` (spans) and
`fencepost ingest`. Ten ways share a database, so that sessions grow and get revisions. What counts as broken: an
exception that is no refusal in words, a status of 500 or more, a dump left as "reading", a session without all its
turns, entries and parses, a dump that changes something when it is taken in again, a page with markup out of a dump.
Exits 1 where something broke.

The same numbers make the same ways: `--first 400 --ways 100` goes on where `--ways 400` ended.
"""

from __future__ import annotations

import argparse
import atexit
import io
import json
import logging
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from click.testing import CliRunner
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from benchmarks import mutations
from webapp import cli
from webapp.app import create_app
from webapp.config import Settings
from webapp.dumps.budget import BadDump
from webapp.dumps.records import UnknownFormat
from webapp.extensions import db
from webapp.store.ingest.start import ingest
from webapp.store.jobs import worker
from webapp.store.models import Dump, Parse, Session, Task, Turn
from webapp.store.write.parser import UNKNOWN
from webapp.web import worker_process

KEPT = Path(tempfile.gettempdir()) / "fencepost-fuzz"
"""where what broke something is kept"""
TOGETHER = 10
"""ways that share a database"""
PAGES_EVERY = 10
"""of how many mutations one has its pages looked at"""
SESSION_PAGES = (
    "/sessions/{0}",
    "/sessions/{0}/turns/0",
    "/sessions/{0}/turns/1",
    "/sessions/{0}/turns/0/raw",
    "/sessions/{0}/turns/0/case",
    "/sessions/{0}/turns/0/markdown",
    "/sessions/{0}/turns/0/decoded",
    "/sessions/{0}/growth",
    "/api/session/{0}",
    "/api/session/{0}/turns/0",
    "/api/session/{0}/export?format=html",
)
PAGES = (
    "/",
    "/?q=the",
    "/?verdict=failed",
    "/dumps",
    "/dumps/{1}",
    "/dumps/{1}/file",
    "/statistics",
    "/labels",
    "/api/sessions",
    "/compare?left={0}&right={0}",
    "/profiles/fencepost/responses",
)


class Broken(AssertionError):
    """What must not be."""


class Log(logging.Handler):
    """Keeps what the app logs, which is where the traceback of a 500 goes."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(self.format(record))


class Harness:
    """An app over an empty database; `check` takes one mutation in and raises what must not be raised."""

    def __init__(self, folder: Path, counts: Counter[str]) -> None:
        self.folder, self.counts = folder, counts
        self.settings = Settings(data=folder / "data", database=f"sqlite:///{folder}/f.sqlite3")
        self.app: Flask = create_app(self.settings)
        self.log = Log()
        self.app.logger.handlers, self.app.logger.propagate = [self.log], False
        self.client: FlaskClient = self.app.test_client()
        self.doors: list[tuple[float, Callable[[bytes, str], None]]] = [
            (0.55, self.through_ingest),
            (0.30, self.through_api),
            (0.10, self.through_form),
            (0.05, self.through_command),
        ]
        self.seen = self.jobs = 0
        worker_process.of(self.app).wake = lambda: None  # type: ignore[method-assign]  # jobs are done here, in order

    def check(self, content: bytes, name: str, chance: random.Random, spans: bool) -> None:
        door = self.through_traces if spans and chance.random() < 0.3 else self._door(chance)
        door(content, name)
        self.counts[door.__name__] += 1
        with self.app.app_context():
            keys = list(self.stored())
        if chance.randrange(PAGES_EVERY) == 0:
            for key in keys[:2]:
                self.look(key, chance)

    def _door(self, chance: random.Random) -> Callable[[bytes, str], None]:
        shares, doors = zip(*self.doors, strict=True)
        found: Callable[[bytes, str], None] = chance.choices(doors, shares)[0]
        return found

    def through_ingest(self, content: bytes, name: str) -> None:
        with self.app.app_context():
            try:
                ingest(db.engine, self.settings, io.BytesIO(content), filename=name)
            except (BadDump, UnknownFormat) as refusal:
                if not str(refusal):
                    raise Broken("a refusal without words") from None
                self.counts["refused"] += 1

    def through_api(self, content: bytes, name: str) -> None:
        answer = self.client.post("/api/dumps", query_string={"filename": name}, data=content)
        self.judge(answer, {200, 201, 413, 415, 422})
        if answer.status_code > 201:
            self.counts["refused"] += 1
            if not answer.json or not answer.json["error"]["message"]:
                raise Broken("a refusal without words")

    def through_form(self, content: bytes, name: str) -> None:
        answer = self.client.post("/dumps", data={"file": (io.BytesIO(content), name)})
        self.judge(answer, {302, 413, 415, 422})
        self.counts["refused"] += answer.status_code != 302
        self.work()

    def work(self) -> None:
        """Do the jobs that large files have become."""
        with self.app.app_context():
            worker.work(db.engine, self.settings)
            with db.engine.connect() as connection:
                for result in connection.scalars(sa.select(Task.result).where(Task.id > self.jobs).order_by(Task.id)):
                    self.jobs += 1
                    self.counts["jobs"] += 1
                    if (result or {}).get("error", {}).get("code") == "internal_error":
                        raise Broken(f"a job ended in {result}")

    def through_traces(self, content: bytes, _name: str) -> None:
        """As an exporter sends spans, also where its bytes are no spans any more."""
        answer = self.client.post("/v1/traces", data=content, content_type="application/json")
        self.judge(answer, {200, 400, 413})
        self.counts["refused"] += answer.status_code != 200

    def through_command(self, content: bytes, name: str) -> None:
        path = self.folder / name.replace("/", "_")
        path.write_bytes(content)
        told = CliRunner().invoke(cli.main, ["ingest", "--json", str(path)], env=self.settings.environment())
        path.unlink()
        if not isinstance(told.exception, SystemExit | None):
            raise told.exception
        if told.exit_code not in (0, 1):
            raise Broken(f"fencepost ingest exits with {told.exit_code}: {told.output[-500:]}")
        self.counts["refused"] += told.exit_code

    def judge(self, answer: TestResponse, wanted: set[int] | None = None) -> TestResponse:
        """Read the whole answer; its status must be one of `wanted`, else anything below 500."""
        answer.get_data()
        answer.close()
        said, self.log.said = self.log.said, []
        good = answer.status_code < 500 if wanted is None else answer.status_code in wanted
        if "html" in (answer.mimetype or "") and mutations.HOSTILE in answer.text:
            raise Broken(f"{answer.request.path} shows markup that came in as it is")
        if said or not good:
            raise Broken(f"{answer.request.path} answered {answer.status_code}: {answer.text[:300]}\n{''.join(said)}")
        return answer

    def stored(self) -> Iterator[str]:
        """The keys of the sessions that were written or grew; every one must be whole."""
        with db.engine.connect() as connection:
            if connection.scalar(sa.select(sa.func.count()).select_from(Dump).where(Dump.state == "reading")):
                raise Broken("a dump is left as reading")
            query = sa.select(Session.__table__).where(Session.changed > self.seen).order_by(Session.changed)
            for session in connection.execute(query).all():
                self.whole(connection, session)
                self.seen = session.changed
                self.counts["sessions"] += 1
                yield session.key

    def whole(self, connection: sa.Connection, session: sa.Row[Any]) -> None:
        shown = sa.func.count(Turn.id).filter(Turn.duplicate_of.is_(None))
        firsts = sa.func.count(Turn.entry.distinct())
        query = sa.select(shown, sa.func.count(Turn.id), sa.func.max(Turn.ordinal) + 1, firsts)
        turns, rows, ordinals, entries = connection.execute(query.where(Turn.session_id == session.id)).one()
        parsed = sa.select(sa.func.count(Parse.id)).join(Turn, Turn.id == Parse.turn_id)
        parses = [
            connection.scalar(parsed.where(Turn.session_id == session.id, Parse.profile == name))
            for name in (session.home_profile, "fencepost")
            if name != UNKNOWN
        ]
        counted = session.clean_count + session.extracted_count + session.repaired_count
        counted += session.unparsed_count + session.none_count
        if (turns, rows, entries) != (session.turn_count, ordinals or 0, session.entry_count):
            raise Broken(f"a session is stored in part: {turns} turns, {rows} rows, {entries} entries of {session}")
        if set(parses) != {counted}:
            raise Broken(f"a session has {parses} parses of {counted}")

    def look(self, key: str, chance: random.Random) -> None:
        """Open its pages, and take its dump in again."""
        query = sa.select(Dump.sha256, Session.entry_count).join(Session, Session.dump_id == Dump.id)
        with self.app.app_context(), db.engine.connect() as connection:
            found = connection.execute(query.where(Session.key == key)).one()
        for path in [*SESSION_PAGES, *chance.sample(PAGES, 3)]:
            self.judge(self.client.get(path.format(key, found.sha256)))
            self.counts["pages"] += 1
        document = self.judge(self.client.get(f"/api/session/{key}/dump"), {200})
        if len(json.loads(document.data)["entries"]) != found.entry_count:
            raise Broken("a session's dump has not all of its entries")
        again = self.client.post("/api/dumps", query_string={"filename": "again.json"}, data=document.data)
        self.judge(again, {200})

    def close(self) -> None:
        with self.app.app_context():
            db.engine.dispose()
        atexit.unregister(worker_process.of(self.app).close)


def run(
    folder: Path,
    *,
    ways: int,
    first: int = 0,
    seed: int = 0,
    longest: int = 60_000,
    seconds: float = 0,
    keep: Path = KEPT,
) -> Counter[str]:
    """What became of all mutations; those that are `broken` are printed, and kept in the folder `keep`."""
    counts: Counter[str] = Counter()
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "LICENSE")
    ends = time.monotonic() + seconds if seconds else float("inf")
    for begin in range(first, first + ways, TOGETHER):
        with tempfile.TemporaryDirectory() as name:
            harness = Harness(Path(name), counts)
            for number in range(begin, min(begin + TOGETHER, first + ways)):
                for path in files:
                    if time.monotonic() > ends:
                        harness.close()
                        return counts
                    one(harness, path, f"{seed} {number} {path.relative_to(folder)}", longest, keep)
                counts["ways"] += 1
            harness.close()
        print(f"to way {begin + TOGETHER}, {time.process_time():.0f} s of processor: {told(counts)}", flush=True)
    return counts


def one(harness: Harness, path: Path, seed: str, longest: int, keep: Path) -> None:
    chance = random.Random(seed)
    content, name = mutations.mutation(path, longest, chance)
    harness.counts["mutations"] += 1
    try:
        harness.check(content, name, chance, spans="otlp" in path.name)
    except Exception:  # noqa: BLE001 - this is what is looked for
        harness.counts["broken"] += 1
        keep.mkdir(exist_ok=True)
        (keep / seed.replace("/", "_")).write_bytes(content)
        print(f"{seed} as {name}:\n{traceback.format_exc(limit=-6)}", flush=True)


def told(counts: Counter[str]) -> str:
    return ", ".join(f"{value:,} {name}" for name, value in sorted(counts.items()))


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("folder", type=Path)
    reader.add_argument("--ways", type=int, default=1000)
    reader.add_argument("--first", type=int, default=0)
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--longest", type=int, default=60_000, help="bytes of a file that are taken")
    reader.add_argument("--seconds", type=float, default=0, help="stop after so long; 0 goes on to the end")
    given = reader.parse_args()
    counts = run(**vars(given))
    print(told(counts))
    sys.exit(bool(counts["broken"]))


if __name__ == "__main__":
    main()
