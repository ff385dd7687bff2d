"""Brings a database from revision to revision; what one computes for each row is committed some rows at a time."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from alembic.runtime.environment import EnvironmentContext
from alembic.script import ScriptDirectory

from webapp.store.db import database
from webapp.store.db.backfill import IN_CHUNKS, Backfill

_LOCK = 0x46454E43  # an arbitrary number of our own for PostgreSQL's advisory lock
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Progress:
    """Of `total` rows `done` have what `revision` computes for them."""

    revision: str
    done: int
    total: int


@dataclass(slots=True)
class Upgrade:
    """An upgrade by this process; others may upgrade the same database at once, in turn with it."""

    engine: sa.Engine
    on_progress: Callable[[Progress], None]
    _script: ScriptDirectory = field(init=False)
    _progress: Progress | None = None
    _at: str | None = None
    """the revision that `_progress` is of"""

    def run(self) -> None:
        """Bring the database to the newest revision; raises `NewerDatabase`."""
        self._script = ScriptDirectory.from_config(database.alembic_config())
        self._warn()
        while database.revision(self.engine) != database.HEAD:
            with database.writing(self.engine) as connection:
                if connection.dialect.name == "postgresql":
                    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
                self._go_on(connection)
            if self._progress is not None:
                self.on_progress(self._progress)

    def _warn(self) -> None:
        current = database.revision(self.engine)
        self._refuse_unknown(current)
        if current is not None:
            words = "the database goes from revision %s to %s, which takes minutes for a large one"
            _log.warning(words, current, database.HEAD)

    def _go_on(self, connection: sa.Connection) -> None:
        """As far as one transaction goes: to the newest revision, or until some rows are filled in."""
        while (current := database.revision_of(connection)) != database.HEAD:
            name, after = split(current)
            if name is None or after is None:
                self._refuse_unknown(name)
                self._change_tables(connection, name)
            elif self._fill(connection, name, after):
                return

    def _change_tables(self, connection: sa.Connection, current: str | None) -> None:
        """To the next revision that has something to fill in, or to the newest."""
        ahead = list(self._script.iterate_revisions("head", current))[::-1]
        target = next(
            (script_revision.revision for script_revision in ahead if hasattr(script_revision.module, "backfill")),
            database.HEAD,
        )
        run = EnvironmentContext(
            database.alembic_config(), self._script, fn=lambda at, _: self._script._upgrade_revs(target, at)
        )
        options: dict[str, Any] = {IN_CHUNKS: True}
        with run as context:
            context.configure(connection=connection, transactional_ddl=True, **options)
            context.run_migrations()
        if hasattr(self._script.get_revision(target).module, "backfill"):
            database.set_revision(connection, _joined(target, 0))

    def _fill(self, connection: sa.Connection, name: str, after: int) -> bool:
        """Fill in some rows of the revision `name`; where none is left, the database is at that revision, and False."""
        backfill: Backfill = self._script.get_revision(name).module.backfill
        ids = backfill.next_ids(connection, after)
        if not ids:
            backfill.end(connection)
            database.set_revision(connection, name)
            return False
        backfill.fill(connection, ids)
        marker = _joined(name, ids[-1])
        database.set_revision(connection, marker)
        if self._progress is not None and self._at == _joined(name, after):
            self._progress = Progress(name, self._progress.done + len(ids), self._progress.total)
        else:
            self._progress = Progress(name, *backfill.count(connection, ids[-1]))
        self._at = marker
        return True

    def _refuse_unknown(self, current: str | None) -> None:
        name, _ = split(current)
        if name is None or name in {known_revision.revision for known_revision in self._script.walk_revisions()}:
            return
        if name == database.UNFINISHED_COPY:
            raise database.NewerDatabase(
                "The database is an unfinished copy: run fencepost db copy again to continue it."
            )
        raise database.NewerDatabase(
            f"The database is at revision {current!r}, which this Fencepost does not know: a newer one wrote it. "
            "Install that version, or point FENCEPOST_DATABASE at another database; nothing was changed."
        )


def split(revision: str | None) -> tuple[str | None, int | None]:
    """A revision, and the id up to which its rows are filled in; None where all of them are."""
    name, plus, after = (revision or "").partition("+")
    return name or None, int(after) if plus and after.isdecimal() else None


def _joined(name: str, after: int) -> str:
    return f"{name}+{after}"
