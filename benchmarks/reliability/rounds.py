"""One kill after another: work, a kill at a random moment, and a look at all that is stored."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import product

import sqlalchemy as sa
from sqlalchemy import orm

from benchmarks.reliability import exact
from benchmarks.reliability.ledger import Ledger
from benchmarks.reliability.processes import until
from benchmarks.reliability.work import Refused, Work
from benchmarks.reliability.world import PROFILE, World
from webapp.store import tasks
from webapp.store.models import Dump, Session, Task
from webapp.store.sessions import deletion

LONGEST = {"ingest": 2.0, "replay": 2.0, "prune": 2.5, "label": 1.0, "export": 1.5, "home": 1.5}
"""seconds from the beginning of some work to the kill, at most"""
LONGEST_PAUSE = 120.0
"""seconds until all that waits is done again"""
FEWEST = 30
"""sessions: with fewer there is nothing to prune, so that dumps come in next"""


@dataclass
class Outcome:
    work: str
    victim: str
    killed: bool = False
    under_way: int = 0
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0


class Rounds:
    """Every kind of work with everything that can be killed, in a random order, again and again."""

    def __init__(self, world: World, chance: random.Random) -> None:
        self._world, self._chance, self._ledger, self._number = world, chance, Ledger(), 0
        self._waiting: list[tuple[str, str]] = []
        self._last_dump = 0
        self.restarts = 0
        """processes that ended by themselves, as a worker that starts while the database does"""

    def next(self) -> Outcome:
        outcome, began = Outcome(*self._chosen()), time.monotonic()
        self._number += 1
        work = Work(self._world, self._ledger, outcome.work, outcome.victim, f"{self._number}r")
        self._ledger.in_background.clear()
        try:
            work.prepare()
            work.begin()
            time.sleep(self._chance.uniform(0.05, LONGEST[outcome.work]))
            waiting = self._waiting_for_workers()
            outcome.killed = work.kill(self._chance)
            work.end()
            outcome.under_way = waiting + work.interrupted
            outcome.wrong += [*work.complaints, *self._checked(work)]
        except (OSError, Refused, sa.exc.SQLAlchemyError) as error:
            outcome.wrong.append(f"{type(error).__name__}: {error}")
        outcome.seconds = time.monotonic() - began
        return outcome

    def _waiting_for_workers(self) -> int:
        """Tasks that were acknowledged and have not ended."""
        live = sa.select(sa.func.count()).select_from(Task).where(Task.state.in_(tasks.LIVE))
        return int(self._world.value(live))

    def _chosen(self) -> tuple[str, str]:
        if len(self._ledger.sessions) < FEWEST:
            return "ingest", self._chance.choice(self._world.victims("ingest"))
        if not self._waiting:
            every = [pair for work in LONGEST for pair in product((work,), self._world.victims(work))]
            self._waiting = self._chance.sample(every, len(every))
        return self._waiting.pop()

    def _checked(self, work: Work) -> Iterator[str]:
        """First what was acknowledged by the kill, then all, once the rest was sent again."""
        world, ledger = self._world, self._ledger
        self._settle()
        yield from exact.acknowledged(world, ledger)
        yield from exact.labels(world, ledger)
        work.finish()
        self._settle()
        if work.kind == "prune":
            yield from exact.prune_ended(world, ledger)
            self._bring_back()
        yield from exact.acknowledged(world, ledger)
        yield from exact.labels(world, ledger)
        yield from exact.homes(world, ledger)
        yield from exact.exported(world, ledger)
        self._take_over_labels()
        yield from exact.whole(world)
        yield from exact.recounted(world)
        if work.kind == "replay":
            yield from exact.run_counts(world, PROFILE)
        yield from exact.kept(world, self._last_dump)
        self._last_dump = world.value(sa.select(sa.func.max(Dump.id))) or 0
        yield from exact.pages(world, ledger)

    def _settle(self) -> None:
        """Wait until nothing waits; what a server does once in ten minutes or an hour is done now."""
        until(self._is_settled, LONGEST_PAUSE)
        self._world.ask("GET", "/api/sessions", limit="1")  # a server's index is read every ten minutes, at least
        deletion.purge(self._world.engine, older_than=timedelta(seconds=-5))

    def _is_settled(self) -> bool:
        self.restarts += self._world.restart_ended()
        with self._world.engine.connect() as connection:
            return not tasks.page(connection, live=True) and not connection.scalar(
                sa.select(Dump.id).where(Dump.state == "reading")
            )

    def _bring_back(self) -> None:
        """Sessions that were hidden, and got a label before they were removed."""
        with orm.Session(self._world.engine) as db:
            deletion.undo(db, db.scalars(sa.select(Session.key).where(Session.deleted_at.is_not(None))).all())

    def _take_over_labels(self) -> None:
        """Labels that nobody acknowledged are there or not: from now on it is known."""
        held = exact.stored_labels(self._world)
        for place in list(self._ledger.open_labels):
            self._ledger.labels.pop(place, None)
            if place in held:
                self._ledger.labels[place] = held[place]
        self._ledger.open_labels.clear()
