"""Makes the narrow rows of a session that lists, facets, statistics and failure groups are asked of."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

from webapp.store.write import failed_responses, session_facets


def renew(connection: sa.Connection, session_ids: Iterable[int]) -> None:
    """Replace all of them, as the sessions are now; one that is deleted has none. The caller commits.

    To be called in each transaction that changes what is made of a session, hides it or shows it again.
    """
    ids = list(session_ids)
    session_facets.renew(connection, ids)
    failed_responses.renew(connection, ids)
