"""Jobs, mappings, saved views, label history and causes; what the list filters by is counted in the session."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from webapp.store.db.backfill import Backfill, whole
from webapp.store.write import derived

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Bytes = sa.LargeBinary()
Time = sa.DateTime(timezone=True)

TABLES = (
    "job",
    "mapping",
    "saved_view",
    "label_event",
    "final_label",
    "cause",
    "label_queue",
    "label_queue_item",
    "live_span",
)
SEARCH_TABLES = ("search_raw", "search_note", "search_words")
SYMBOLS = (
    (0x20BA, 0x20C0),
    (0x218A, 0x218B),
    (0x2066, 0x2069),
    (0x23F4, 0x23FF),
    (0x2700, 0x2700),
    (0x2B4D, 0x2BFF),
    (0x2E3C, 0x2E5D),
    (0x1F19B, 0x1F1AD),
    (0x1F260, 0x1F265),
    (0x1F300, 0x1F6FF),
    (0x1F780, 0x1F7F0),
    (0x1F900, 0x1FAFF),
)
"""What Unicode has as symbols and SQLite's tables, of Unicode 6.1, have not: to those it would be part of a word."""
SESSION_COLUMNS = ("raw_bytes", "facets", "changed", "grown_at", "deleted_at")


def upgrade() -> None:
    for create in CREATE:
        create()
    _session()
    op.add_column("dump", sa.Column("home", sa.String(length=64), nullable=True))
    op.add_column("dump", sa.Column("mapping", Bytes, nullable=True))
    op.add_column("label", sa.Column("expects", sa.String(length=16), nullable=True))
    op.add_column("label", sa.Column("seconds", sa.Double(), nullable=True))
    op.execute("UPDATE label SET expects = 'one' WHERE has_expected")
    _search()
    whole(backfill)


def downgrade() -> None:
    for name in reversed(SEARCH_TABLES):
        op.execute(f"DROP TABLE IF EXISTS {name}")
    op.drop_column("label", "seconds")
    op.drop_column("label", "expects")
    op.drop_column("dump", "mapping")
    op.drop_column("dump", "home")
    op.drop_index("ix_session_changed", "session")
    for name in reversed(SESSION_COLUMNS):
        op.drop_column("session", name)
    for name in reversed(TABLES):
        op.drop_table(name)


def _fold_sessions(connection: sa.Connection, ids: Sequence[int]) -> None:
    """Derive anew what the list filters by of sessions that are there."""
    for session_id in ids:
        derived.refold(connection, session_id)


backfill = Backfill("session", _fold_sessions, at_once=20, where="turn_count > 0")


def _session() -> None:
    op.add_column("session", sa.Column("raw_bytes", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("session", sa.Column("facets", Bytes, nullable=True))
    op.add_column("session", sa.Column("changed", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("session", sa.Column("grown_at", Time, nullable=True))
    op.add_column("session", sa.Column("deleted_at", Time, nullable=True))
    op.create_index("ix_session_changed", "session", ["changed"])


def _search() -> None:
    """The search index: of raw texts, without the texts, by turn id; of notes by `store.search.index.key`."""
    if op.get_bind().dialect.name == "sqlite":
        symbols = "".join(chr(code) for first, last in SYMBOLS for code in range(first, last + 1))
        cut = f"tokenize=\"unicode61 remove_diacritics 0 tokenchars '_' separators '{symbols}'\", columnsize=0"
        op.execute(f"CREATE VIRTUAL TABLE search_raw USING fts5(raw, content='', {cut})")
        op.execute(f"CREATE VIRTUAL TABLE search_note USING fts5(text, {cut})")
        op.execute("CREATE VIRTUAL TABLE search_words USING fts5vocab(search_raw, instance)")
        return
    op.execute("CREATE TABLE search_raw (id BIGINT PRIMARY KEY, words TSVECTOR NOT NULL)")
    op.execute("CREATE TABLE search_note (id BIGINT PRIMARY KEY, text BYTEA NOT NULL, words TSVECTOR NOT NULL)")
    for name in ("search_raw", "search_note"):
        op.execute(f"CREATE INDEX ix_{name}_words ON {name} USING gin (words)")


def _job() -> None:
    op.create_table(
        "job",
        sa.Column("id", Id, nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("filename", Bytes, nullable=False),
        sa.Column("spooled", sa.String(length=128), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("format", sa.String(length=64), nullable=True),
        sa.Column("home", sa.String(length=64), nullable=True),
        sa.Column("mapping", Bytes, nullable=True),
        sa.Column("progress", Bytes, nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("result", Bytes, nullable=True),
        sa.Column("cancelled", sa.Boolean(), nullable=False),
        sa.Column("dump_id", Id, nullable=True),
        sa.Column("made_at", Time, nullable=False),
        sa.Column("beat_at", Time, nullable=True),
        sa.Column("ended_at", Time, nullable=True),
        sa.ForeignKeyConstraint(["dump_id"], ["dump.id"], name="fk_job_dump_id_dump", ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name="pk_job"),
    )
    op.create_index("ix_job_state", "job", ["state"])


def _mapping() -> None:
    op.create_table(
        "mapping",
        sa.Column("id", Id, nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("fields", Bytes, nullable=False),
        sa.Column("made_at", Time, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_mapping"),
        sa.UniqueConstraint("name", name="uq_mapping_name"),
    )


def _saved_view() -> None:
    op.create_table(
        "saved_view",
        sa.Column("id", Id, nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("query", Bytes, nullable=False),
        sa.Column("author", Bytes, nullable=False),
        sa.Column("made_at", Time, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_saved_view"),
        sa.UniqueConstraint("name", name="uq_saved_view_name"),
    )


def _label_event() -> None:
    op.create_table(
        "label_event",
        sa.Column("id", Id, nullable=False),
        sa.Column("turn_id", Id, nullable=False),
        sa.Column("author", Bytes, nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("said", Bytes, nullable=False),
        sa.Column("happened_at", Time, nullable=False),
        sa.ForeignKeyConstraint(["turn_id"], ["turn.id"], name="fk_label_event_turn_id_turn", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_label_event"),
    )
    op.create_index("ix_label_event_turn_id", "label_event", ["turn_id"])


def _final_label() -> None:
    op.create_table(
        "final_label",
        sa.Column("turn_id", Id, autoincrement=False, nullable=False),
        sa.Column("author", Bytes, nullable=False),
        sa.Column("judgement", sa.String(length=16), nullable=False),
        sa.Column("cause", sa.String(length=128), nullable=True),
        sa.Column("expected", Bytes, nullable=True),
        sa.Column("expects", sa.String(length=16), nullable=True),
        sa.Column("why", Bytes, nullable=True),
        sa.Column("made_at", Time, nullable=False),
        sa.ForeignKeyConstraint(["turn_id"], ["turn.id"], name="fk_final_label_turn_id_turn", ondelete="RESTRICT"),
        sa.PrimaryKeyConstraint("turn_id", name="pk_final_label"),
    )


def _cause() -> None:
    op.create_table(
        "cause",
        sa.Column("id", Id, nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("parent", sa.String(length=128), nullable=True),
        sa.Column("merged_into", sa.String(length=128), nullable=True),
        sa.Column("author", Bytes, nullable=False),
        sa.Column("made_at", Time, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_cause"),
        sa.UniqueConstraint("name", name="uq_cause_name"),
    )


def _label_queue() -> None:
    op.create_table(
        "label_queue",
        sa.Column("id", Id, nullable=False),
        sa.Column("spec", sa.String(length=1024), nullable=False),
        sa.Column("state", Bytes, nullable=False),
        sa.Column("complete", sa.Boolean(), nullable=False),
        sa.Column("made_at", Time, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_label_queue"),
        sa.UniqueConstraint("spec", name="uq_label_queue_spec"),
    )


def _label_queue_item() -> None:
    item = "label_queue_item"
    op.create_table(
        item,
        sa.Column("queue_id", Id, nullable=False),
        sa.Column("turn_id", Id, autoincrement=False, nullable=False),
        sa.Column("session_id", sa.BigInteger(), nullable=False),
        sa.Column("rank", sa.BigInteger(), nullable=False),
        sa.Column("likeness", sa.LargeBinary(length=16), nullable=False),
        sa.ForeignKeyConstraint(
            ["queue_id"], ["label_queue.id"], name="fk_label_queue_item_queue_id_label_queue", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("queue_id", "turn_id", name="pk_label_queue_item"),
    )
    op.create_index("ix_label_queue_item_order", item, ["queue_id", "rank", "turn_id"])
    op.create_index("ix_label_queue_item_likeness", item, ["queue_id", "likeness"])


def _live_span() -> None:
    op.create_table(
        "live_span",
        sa.Column("trace", sa.LargeBinary(length=16), nullable=False),
        sa.Column("span", sa.LargeBinary(length=8), nullable=False),
        sa.Column("session_id", Id, nullable=False),
        sa.Column("started", sa.BigInteger(), nullable=False),
        sa.Column("entry", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("turns", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"], ["session.id"], name="fk_live_span_session_id_session", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("trace", "span", "session_id", name="pk_live_span"),
    )
    op.create_index("ix_live_span_order", "live_span", ["session_id", "started", "entry"])


CREATE = (
    _job,
    _mapping,
    _saved_view,
    _label_event,
    _final_label,
    _cause,
    _label_queue,
    _label_queue_item,
    _live_span,
)
