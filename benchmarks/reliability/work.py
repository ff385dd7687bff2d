"""What goes on while something is killed: uploads, labels, runs, prunes, exports, homes; notes what is acknowledged."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from benchmarks.reliability.ledger import LabelPlace, Ledger, Maker, Upload
from benchmarks.reliability.world import PROFILE, World
from benchmarks.replay import forget
from webapp.store import derive
from webapp.store.models import Dump, DumpSession, Session

UPLOADERS = 3
MOST_NEW = 8
"""uploads of each a round: every check reads all that is stored"""
_AWAY = (OSError, http.client.HTTPException)
_LONG_AGO = timedelta(days=365)
HOMES = ("direct", "langchain", "windlass-strict")
_JUDGEMENTS = ("right", "wrong", "unsure")


class Refused(Exception):
    """The answer is neither yes nor, as things are, an expected no."""


class Work:
    """One round of it. `interrupted` counts what was under way at the kill, `complaints` what failed before it."""

    def __init__(self, world: World, ledger: Ledger, kind: str, victim: str, seed: str) -> None:
        self.world, self.ledger, self.kind, self.victim = world, ledger, kind, victim
        self._random = random.Random(seed)
        self._ends, self._killed = threading.Event(), threading.Event()
        self._threads: list[threading.Thread] = []
        self.command: Any = None
        self.complaints: list[str] = []
        self.open_runs = 0
        self.open_prunes = 0
        self.open_exports = 0
        name = seed.replace("x", "")
        by_command = kind == "ingest" and victim == "command"
        ways = ("command",) if by_command else ("sync", "sync", "background")
        self._makers = [Maker(ledger, f"{seed}{at}", f"{name}u{at}", ways) for at in range(UPLOADERS)]

    def prepare(self) -> None:
        """While nothing else goes on: responses that no run has gone over, sessions that are old."""
        if self.kind == "replay":
            forget(self.world.engine, PROFILE)
            with self.world.engine.begin() as connection:
                for number in connection.scalars(sa.select(Session.id)).all():
                    derive.derive(connection, [number])
        if self.kind == "prune":
            names = sorted(self.ledger.sessions)
            self.ledger.old = set(self._random.sample(names, 2 * len(names) // 3))
            self._age(self.ledger.old)

    def _age(self, names: set[str]) -> None:
        then = datetime.now(UTC) - _LONG_AGO
        ids = sa.select(Session.id).where(Session.external_id.in_(names))
        dumps = sa.select(DumpSession.dump_id).where(DumpSession.session_id.in_(ids))
        with self.world.engine.begin() as connection:
            old = sa.update(Session).where(Session.external_id.in_(names))
            connection.execute(old.values(ingested_at=then, grown_at=None))
            connection.execute(sa.update(Dump).where(Dump.id.in_(dumps)).values(received_at=then))
            derive.derive(connection, connection.scalars(ids).all())

    def begin(self) -> None:
        tasks: dict[str, list[Callable[[], None]]] = {
            "ingest": [*(lambda maker=maker: self._upload(maker) for maker in self._makers)],
            "replay": [self._replay],
            "prune": [self._prune, lambda: self._upload(self._makers[0])],
            "label": [lambda: self._label("bob")],
            "export": [self._export],
            "home": [self._change_homes, self._change_homes],
        }
        for task in (*tasks[self.kind], lambda: self._label("ann")):
            thread = threading.Thread(target=self._guarded, args=(task,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def kill(self, chance: random.Random) -> bool:
        """Kill the victim at once; False where there was none to kill."""
        self._killed.set()
        if self.victim == "command":
            if self.command is None or self.command.poll() is not None:
                return False
            self.command.kill()
            return True
        return self.world.kill(self.victim, chance)

    def end(self) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join(120)
            if thread.is_alive():
                self.complaints.append("a request or a command did not end within two minutes")

    @property
    def interrupted(self) -> int:
        chosen = sum(map(len, (*self.ledger.open_labels.values(), *self.ledger.open_homes.values())))
        return len(self.ledger.open_uploads) + self.open_runs + self.open_prunes + self.open_exports + chosen

    def finish(self) -> None:
        """Send what nobody acknowledged again, until somebody does."""
        for upload in list(self.ledger.open_uploads):
            self._again(lambda upload=upload: self._send(upload))  # type: ignore[misc]
            self.ledger.open_uploads.remove(upload)
        while self.open_runs:
            self._again(self._ask_for_run)
            self.open_runs -= 1
        while self.open_prunes:
            self._again(self._run_prune)
            self.open_prunes -= 1
        while self.open_exports:
            self._again(self._ask_for_export)
            self.open_exports -= 1

    def _again(self, task: Callable[[], None]) -> None:
        end = time.monotonic() + 60
        while True:
            try:
                return task()
            except (*_AWAY, Refused) as error:
                if time.monotonic() > end:
                    raise Refused(f"not again within a minute: {error}") from error
                time.sleep(0.3)

    def _guarded(self, task: Callable[[], None]) -> None:
        try:
            task()
        except (*_AWAY, Refused) as error:
            if not self._killed.is_set():
                self.complaints.append(f"before the kill: {type(error).__name__}: {error}")

    def _upload(self, maker: Maker) -> None:
        for _ in range(MOST_NEW):
            if self._ends.is_set() or self._killed.is_set():
                return
            upload = maker.upload()
            self.ledger.open_uploads.append(upload)
            self._send(upload)
            self.ledger.open_uploads.remove(upload)
            time.sleep(0.2)

    def _send(self, upload: Upload) -> None:
        if upload.way == "command":
            path = self.world.folder / upload.name
            path.write_bytes(upload.body())
            self._run("ingest", str(path))
        else:
            background = {"background": "1"} if upload.way == "background" else {}
            status, said = self.world.ask("POST", "/api/dumps", upload.body(), filename=upload.name, **background)
            if status not in (200, 201, 202):
                raise Refused(f"upload: {status} {said}")
        self.ledger.upload_acknowledged(upload)

    def _run(self, *arguments: str) -> Any:
        self.command = process = self.world.command(*arguments)
        out, _ = process.communicate()
        if process.returncode != 0:
            raise Refused(f"{arguments[0]}: exit {process.returncode}: {out[-300:]!r}")
        return json.loads(out) if "--json" in arguments else None

    def _label(self, author: str) -> None:
        while not self._ends.is_set() and not self._killed.is_set():
            if not (names := sorted(self.ledger.sessions)):
                time.sleep(0.1)
                continue
            session = self._random.choice(names)
            texts = self.ledger.sessions.get(session)
            if texts is not None:
                self._put_label((session, self._random.randrange(len(texts)), author))
            if self.kind != "label":
                time.sleep(0.1)

    def _put_label(self, place: LabelPlace) -> None:
        session, position, author = place
        judgement = self._random.choice([one for one in _JUDGEMENTS if one != self.ledger.labels.get(place)])
        self.ledger.label_sent(place, judgement)
        body = json.dumps({"judgement": judgement, "author": author}).encode()
        status, answer = self.world.ask("PUT", f"/api/session/{session}/turns/{position}/label", body)
        if status == 200:
            self.ledger.label_acknowledged(place, judgement)
        elif status == 404 and (session in self.ledger.old or self._waits(session)):
            self.ledger.open_labels.pop(place, None)
        else:
            raise Refused(f"label: {status} {answer}")

    def _waits(self, session: str) -> bool:
        """Whether a worker may not have read it yet."""
        return any(session in upload.sessions for upload in self.ledger.in_background)

    def _replay(self) -> None:
        self.open_runs += 1
        self._ask_for_run()
        self.open_runs -= 1

    def _ask_for_run(self) -> None:
        if self.victim == "command":
            run = self._run("replay", "--profile", PROFILE, "--json")
            if run["state"] != "done":
                raise Refused(f"replay: {run}")
            return
        status, said = self.world.ask("POST", f"/api/profiles/{PROFILE}/runs")
        if status != 202:
            raise Refused(f"run: {status} {said}")

    def _export(self) -> None:
        self.open_exports += 1
        self._ask_for_export()
        self.open_exports -= 1

    def _ask_for_export(self) -> None:
        status, said = self.world.ask("POST", "/api/exports")
        if status != 202:
            raise Refused(f"export: {status} {said}")
        self.ledger.exports.append(said["export"]["id"])

    def _change_homes(self) -> None:
        names = self._random.sample(sorted(self.ledger.sessions), len(self.ledger.sessions))
        for session in names:
            if self._ends.is_set() or self._killed.is_set():
                return
            home = self._random.choice([one for one in HOMES if one != self.ledger.homes.get(session)])
            tried = self.ledger.open_homes.setdefault(session, [])
            tried.append(home)
            status, said = self.world.ask("PUT", f"/api/session/{session}/home", json.dumps({"home": home}).encode())
            if status != 200:
                raise Refused(f"home: {status} {said}")
            if tried == [home]:  # or another client asks for another one meanwhile, and either may be the last
                self.ledger.open_homes.pop(session, None)  # it may be answered after the look that follows a kill
            self.ledger.homes[session] = home

    def _prune(self) -> None:
        self.open_prunes += 1
        self._run_prune()
        self.open_prunes -= 1

    def _run_prune(self) -> None:
        self._run("prune", "--older-than", "90d", "--yes", "--json")
