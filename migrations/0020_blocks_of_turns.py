"""PostgreSQL's search index knows blocks of turns, and each turn's words in order instead of a vector with places."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from webapp.store import search
from webapp.store.db import packing
from webapp.store.db.backfill import Backfill, whole
from webapp.store.models import Turn, turns_of

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

_AT_ONCE = 16
"""texts, each of any size"""


def upgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    op.execute("DROP INDEX ix_search_raw_words")
    op.execute("TRUNCATE search_raw")
    op.execute("ALTER TABLE search_raw ALTER words TYPE TEXT USING ''")
    op.execute("CREATE TABLE search_block (id BIGINT PRIMARY KEY, last BIGINT NOT NULL, words TSVECTOR NOT NULL)")
    op.execute("ALTER TABLE search_block ALTER words SET STORAGE EXTERNAL")  # words in no order hardly compress
    whole(backfill)


def downgrade() -> None:
    """Leaves the index empty: `fencepost db reindex` of the version before fills it in."""
    if op.get_bind().dialect.name != "postgresql":
        return
    op.execute("DROP TABLE search_block")
    op.execute("TRUNCATE search_raw, search_note")
    op.execute("ALTER TABLE search_raw ALTER words TYPE TSVECTOR USING ''::tsvector")
    op.execute("CREATE INDEX ix_search_raw_words ON search_raw USING gin (words)")


def _index_turns(connection: sa.Connection, ids: Sequence[int]) -> None:
    """Index the raw texts of those sessions that were in the index."""
    for session_id in ids:
        if search.is_indexed(connection, session_id):
            _index_session(connection, session_id)


def _index_session(connection: sa.Connection, session_id: int) -> None:
    text = sa.type_coerce(Turn.raw, sa.LargeBinary()).label("text")
    query = sa.select(Turn.id, text).where(
        turns_of(Turn.id, session_id), Turn.raw.is_not(None), Turn.duplicate_of.is_(None)
    )
    pending = search.Pending()
    for rows in connection.execute(query.order_by(Turn.id).execution_options(yield_per=_AT_ONCE)).partitions():
        for row in rows:
            pending.text(row.id, packing.unpack_text(bytes(row.text)))
        pending.flush_where_much(connection)
    pending.flush(connection)


def _index_words() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("CREATE INDEX ix_search_block_words ON search_block USING gin (words)")
        op.execute("ANALYZE search_raw, search_block")  # else searches are planned badly until autovacuum does


backfill = Backfill("session", _index_turns, at_once=20, finish=_index_words, dialect="postgresql")
