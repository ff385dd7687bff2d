"""How many keys a label of a failed response takes: `python -m benchmarks.label_keys CASES … [--corpus FOLDER …]`.

Without a browser, from what the form starts with and offers. Two figures, each as JSON with its median:

`cases`: responses whose right answer is known (a line has `text`, `expected`, `accept` or `nothing`), once for each
profile that failed on them, as if it were the program's own parser. The keys are those that make the *right* label:
judgement and expected value. A value that nobody offers is typed, character by character.

`corpus`: failed responses of folders of dumps. What was meant is not known there, so this is the least that gives a
label with a value that some profile offers; where none offers one, the response is counted as `no offer`, and the
median takes it for more than any number. Causes are taken as they are suggested, in both.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import parsing
from webapp.config import Settings
from webapp.dumps.records import UnknownFormat
from webapp.jsontext import same_as
from webapp.parsing import Trace
from webapp.store.db import database
from webapp.store.ingest.start import ingest
from webapp.store.labels import queue
from webapp.store.labels.label_content import written
from webapp.store.labels.queue_spec import Spec
from webapp.store.models import Session, Turn
from webapp.web.labels import label_form
from webapp.web.labels.label_form import Fields

LONGEST = 100_000
"""characters of a response that every profile parses; longer ones are left out and counted"""
NO_OFFER = 10**6


MOST_CARDS = 7


@dataclass(frozen=True, slots=True)
class Form:
    """What the form of a response starts with, and the values on its cards: a digit takes one and saves."""

    fields: Fields
    cards: list[list[Any]]

    def keys(self, accepted: Sequence[list[Any] | None]) -> int:
        """The fewest keys that make the label with one of these lists of values; [] where no JSON is meant."""
        return min(self._keys(meant) for meant in accepted)

    def least(self) -> int:
        """The fewest keys that make a label with a value that is offered."""
        return self.keys([*self.cards] or [None])

    def _keys(self, meant: list[Any] | None) -> int:
        if meant is None:
            return NO_OFFER
        if not meant or any(same_as(card) == same_as(meant) for card in self.cards):
            return 1
        return 2 + len(written(meant))


def parsed(raw: str) -> dict[str, Trace]:
    """The response under every profile."""
    return {name: parsing.parse(raw, name) for name in parsing.profiles()}


def form(traces: dict[str, Trace], home: str, recorded: str | None = None) -> Form:
    """The form of a response, as its page makes it."""
    session: Any = SimpleNamespace(home_profile=home)
    turn: Any = SimpleNamespace(recorded_failure=recorded)
    groups = [group for group in label_form.groups(traces, home, None) if group["has_value"]][:MOST_CARDS]
    cards = [list(traces[group["names"][0]].values) for group in groups]
    return Form(label_form.start(session, turn, traces), cards)


def of_cases(files: Sequence[Path]) -> list[int]:
    """The keys of each case under each profile that failed on it."""
    keys = []
    for file in files:
        for line in file.read_text("utf-8").strip("\n").split("\n"):
            case = json.loads(line)
            traces = parsed(case["text"])
            failed = [name for name, trace in traces.items() if isinstance(trace, Trace) and trace.verdict == "failed"]
            keys += [form(traces, name).keys(list(_accepted(case))) for name in failed]
    return keys


def _accepted(case: dict[str, Any]) -> Iterator[list[Any]]:
    if case.get("nothing") or case.get("or_nothing"):
        yield []
    for value in [case["expected"]] * ("expected" in case) + case.get("accept", []):
        yield [value]
        if isinstance(value, list):
            yield value


def of_corpus(folders: Sequence[Path]) -> dict[str, Any]:
    """The least keys of the failed responses in these folders, the files that are no dumps, and how many responses are
    too long."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder), database=f"sqlite:///{folder}/keys.db")
        engine = database.connect(settings.database)
        database.migrate(engine)
        no_dumps = []
        for file in sorted(path for each in folders for path in each.rglob("*") if path.is_file()):
            with file.open("rb") as stream:
                try:
                    ingest(engine, settings, stream, filename=file.name)
                except UnknownFormat:
                    no_dumps.append(file.name)
        with orm.Session(engine) as db:
            keys, too_long = _of_queue(db)
    return summary(keys) | {"too long": too_long, "no dumps": no_dumps}


def _of_queue(db: orm.Session) -> tuple[list[int], int]:
    turn_ids = queue.of(db, Spec("failed")).turn_ids
    query = sa.select(Turn.raw, Turn.recorded_failure, Session.home_profile).join(
        Session, Session.id == Turn.session_id
    )
    rows = db.execute(query.where(Turn.id.in_(turn_ids))).all()
    short = [row for row in rows if len(row.raw) <= LONGEST]
    return [form(parsed(row.raw), row.home_profile, row.recorded_failure).least() for row in short], len(rows) - len(
        short
    )


def summary(keys: Sequence[int]) -> dict[str, Any]:
    """The median, and how many labels take 1, 2, 3 and more keys."""
    if not keys:
        return {"labels": 0, "median": None}
    median = statistics.median(keys)
    names = Counter("no offer" if key == NO_OFFER else str(key) if key < 4 else "4 or more" for key in keys)
    share = sum(key <= 2 for key in keys) / len(keys)
    shown = median if median < NO_OFFER else None
    return {"labels": len(keys), "median": shown, "two or fewer": round(share, 3), "keys": dict(sorted(names.items()))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path, nargs="*")
    parser.add_argument("--corpus", type=Path, action="append", default=[])
    given = parser.parse_args()
    answer: dict[str, Any] = {"cases": summary(of_cases(given.cases))}
    if given.corpus:
        answer["corpus"] = of_corpus(given.corpus)
    print(json.dumps(answer, indent=2))


if __name__ == "__main__":
    main()
