"""Jobs, mappings, saved views, label history and causes; what the list filters by is counted in the session."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Bytes = sa.LargeBinary()
Time = sa.DateTime(timezone=True)

TABLES = ("job", "mapping", "saved_view", "label_event", "final_label", "cause", "label_queue", "label_queue_item")
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


def downgrade() -> None:
    op.drop_column("label", "seconds")
    op.drop_column("label", "expects")
    op.drop_column("dump", "mapping")
    op.drop_column("dump", "home")
    op.drop_index("ix_session_changed", "session")
    for name in reversed(SESSION_COLUMNS):
        op.drop_column("session", name)
    for name in reversed(TABLES):
        op.drop_table(name)


def _session() -> None:
    op.add_column("session", sa.Column("raw_bytes", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("session", sa.Column("facets", Bytes, nullable=True))
    op.add_column("session", sa.Column("changed", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("session", sa.Column("grown_at", Time, nullable=True))
    op.add_column("session", sa.Column("deleted_at", Time, nullable=True))
    op.create_index("ix_session_changed", "session", ["changed"])


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


CREATE = (
    _job,
    _mapping,
    _saved_view,
    _label_event,
    _final_label,
    _cause,
    _label_queue,
    _label_queue_item,
)
