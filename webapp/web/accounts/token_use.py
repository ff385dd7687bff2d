"""Notes when an API token was last used, beside the request: one that only reads waits for no writer."""

from __future__ import annotations

import logging
from concurrent.futures import Future, ThreadPoolExecutor

import sqlalchemy as sa

from webapp.store.accounts import api_tokens

_log = logging.getLogger("fencepost.accounts")
_notes = ThreadPoolExecutor(1, "fencepost-token-use")


def note(engine: sa.Engine, number: int) -> Future[None]:
    """Write it as soon as the database is free; a token that was revoked meanwhile is passed over."""
    return _notes.submit(_write, engine, number)


def settle() -> None:
    """Wait until all that was noted is written."""
    _notes.submit(lambda: None).result()


def _write(engine: sa.Engine, number: int) -> None:
    try:
        with engine.begin() as connection:
            api_tokens.note_use(connection, number)
    except sa.exc.SQLAlchemyError:
        _log.exception("the last use of API token %s was not recorded", number)
