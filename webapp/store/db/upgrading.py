"""Brings a database to the newest revision under `migrations/`, in one transaction."""

from __future__ import annotations

import logging

import sqlalchemy as sa
from alembic.runtime.environment import EnvironmentContext
from alembic.script import ScriptDirectory

from webapp.store.db import database, dialect

_LOCK = 0x46454E43  # an arbitrary number of our own for PostgreSQL's advisory lock
_log = logging.getLogger(__name__)


class WrongRevisions(RuntimeError):
    """The files under `migrations/` are no chain that ends with the one whose name is the highest."""


def upgrade(engine: sa.Engine) -> None:
    """Upgrade it; two processes may do so at once. Raises `NewerDatabase` and `WrongRevisions`."""
    config = database.alembic_config()
    script = ScriptDirectory.from_config(config)
    if script.get_heads() != [database.HEAD]:
        heads = ", ".join(script.get_heads())
        raise WrongRevisions(
            f"migrations/ ends with {heads}, and its highest file is {database.HEAD}: they must be one"
        )
    with database.writing(engine) as connection:
        dialect.take_locks(connection, _LOCK)
        _refuse_unknown(script, database.revision_of(connection))
        steps = EnvironmentContext(config, script, fn=lambda at, _: script._upgrade_revs(database.HEAD, at))
        with steps as context:
            context.configure(connection=connection, transactional_ddl=True)
            context.run_migrations()


def _refuse_unknown(script: ScriptDirectory, current: str | None) -> None:
    if current is None:
        return
    if current not in {revision.revision for revision in script.walk_revisions()}:
        raise database.NewerDatabase(
            f"The database is at revision {current!r}, which this Fencepost does not know: a newer one wrote it, or "
            "one from before the first release. Install that version, or point FENCEPOST_DATABASE at another "
            "database; nothing was changed."
        )
    if current != database.HEAD:
        words = "the database goes from revision %s to %s, which takes minutes for a large one"
        _log.warning(words, current, database.HEAD)
