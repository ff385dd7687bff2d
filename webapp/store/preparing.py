"""Makes the rows of sessions that are believed to be new, before anything is written: a pure function of their turns.

As a program (see `store.aside`) it does so beside the process that reads and writes.
"""

from __future__ import annotations

import pickle
import signal
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from webapp.dumps.records import Problem, SessionStart, Turn
from webapp.findings import Finding
from webapp.store import collector, ids, noticing, rows, search
from webapp.store.gathering import Gathering
from webapp.store.models import TURNS_A_SESSION
from webapp.store.parsed import Parser
from webapp.store.tally import Tally

READY = "ready\n"
"""what the program says before anything else"""


class Given(NamedTuple):
    """A session as a dump gave it, and the home profile it is read under."""

    start: SessionStart
    turns: Iterable[Turn]
    home: str


@dataclass(slots=True)
class Prepared:
    """The rows of a new session. Until it has a number, its turns' ids are their ordinals."""

    external_id: str
    values: dict[str, Any]
    """the columns of `session`, counters included"""
    turns: list[rows.Values] = field(default_factory=list)
    parses: list[rows.Values] = field(default_factory=list)
    repairs: list[rows.Values] = field(default_factory=list)
    texts: list[tuple[int, bytes]] = field(default_factory=list)
    notes: list[search.Note] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    found: list[Finding] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def number(self, session_id: int) -> None:
        """Give the session its number."""
        base = session_id * TURNS_A_SESSION
        self.turns = [
            (turn_id + base, session_id, None if original is None else original + base, *others)
            for turn_id, _, original, *others in self.turns
        ]
        self.parses = [(turn_id + base, *others) for turn_id, *others in self.parses]
        self.repairs = [(turn_id + base, *others) for turn_id, *others in self.repairs]
        self.texts = [(turn_id + base, raw) for turn_id, raw in self.texts]
        self.notes = [note._replace(target=note.target + base) for note in self.notes]


def prepare(given: Given) -> Prepared:
    """The rows of a session, as its first revision."""
    return gathered(given)[0]


def gathered(given: Given) -> tuple[Prepared, Gathering]:
    """As `prepare`, with what was counted on the way."""
    gathering, problems = begin(given)
    for turn in given.turns:
        if not gathering.add(turn):
            break
    prepared = end(given, gathering, problems)
    prepared.turns = rows.values(rows.TURN, gathering.turns)
    prepared.parses = rows.values(rows.PARSE, gathering.parses)
    prepared.repairs = rows.values(rows.REPAIR, gathering.repairs)
    prepared.texts, prepared.notes = gathering.pending.texts, gathering.pending.notes
    return prepared, gathering


def begin(given: Given) -> tuple[Gathering, list[Problem]]:
    """What takes the turns of a new session in, and the problems that it will find."""
    problems: list[Problem] = []
    gathering = Gathering(0, Parser(given.home), Tally(), problems.append, noticing.watch(given.home))
    gathering.pending.note(*search.session_notes(0, ids.shortened(given.start.external_id), given.start.title))
    return gathering, problems


def end(given: Given, gathering: Gathering, problems: list[Problem]) -> Prepared:
    """All but the rows of a session whose turns have all been taken in."""
    gathering.settle()
    external_id = ids.shortened(given.start.external_id)
    values = columns(given.start, external_id, 1, ids.key(external_id, 1), given.home) | gathering.counters()
    models = sorted(gathering.tally.models)
    return Prepared(external_id, values, models=models, found=gathering.found, problems=problems)


def columns(start: SessionStart, external_id: str, revision: int, key: str, home: str) -> dict[str, Any]:
    """The columns of `session` that are known before its turns."""
    now = datetime.now(UTC)
    return {
        "external_id": external_id,
        "revision": revision,
        "key": key,
        "title": start.title,
        "source_format": start.source_format[:64],
        "home_profile": home,
        "models": [],
        "started_at": None,
        "ended_at": None,
        "ingested_at": now,
        "happened_at": now,
        "extra": start.extra or None,
    }


def main() -> None:
    """For each name that comes in: read that file of the folder, write its answer beside it, say so."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this ends it, by closing its input
    folder = Path(sys.argv[1])
    print(READY, end="", flush=True)
    with collector.seldom():
        for line in sys.stdin:
            name = line.strip()
            prepared = [prepare(given) for given in pickle.loads((folder / name).read_bytes())]  # noqa: S301
            (folder / f"{name}.done").write_bytes(pickle.dumps(prepared, pickle.HIGHEST_PROTOCOL))
            print(name, flush=True)
