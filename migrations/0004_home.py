"""A session's home profile may be unknown: who named it is kept, and changes and rules have tables."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from webapp.store.db.backfill import Backfill, whole
from webapp.store.write import derived

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Bytes = sa.LargeBinary()
Time = sa.DateTime(timezone=True)
TABLES = ("home_rule", "home_change_session", "home_change")


def upgrade() -> None:
    op.add_column("session", sa.Column("home_source", sa.String(length=16), nullable=False, server_default="unknown"))
    op.add_column("session", sa.Column("service", sa.String(length=255), nullable=True))
    op.add_column("session", sa.Column("tried", Bytes, nullable=True))
    op.add_column("session", sa.Column("tried_key", sa.String(length=32), nullable=True))
    op.create_index("ix_session_home_source", "session", ["home_source"])
    _tables()
    _sources()
    whole(backfill)


def downgrade() -> None:
    op.execute("UPDATE session SET home_profile = 'fencepost' WHERE home_profile = 'unknown'")
    for name in TABLES:
        op.drop_table(name)
    op.drop_index("ix_session_home_source", "session")
    for name in ("tried_key", "tried", "service", "home_source"):
        op.drop_column("session", name)


def _sources() -> None:
    """Say who named each home. Where nobody did, `fencepost` stood in for it: then it is unknown, and derived anew."""
    op.execute(
        "UPDATE session SET home_source = CASE"
        " WHEN home_profile = (SELECT dump.home FROM dump WHERE dump.id = session.dump_id) THEN 'told'"
        " WHEN source_format = 'windlass' AND home_profile = 'windlass-strict' THEN 'format'"
        " WHEN source_format IN ('recorder', 'fencepost', 'otlp') AND home_profile <> 'fencepost' THEN 'told'"
        " WHEN home_profile <> 'fencepost' THEN 'setting' ELSE 'unknown' END"
    )
    op.execute("UPDATE session SET home_profile = 'unknown' WHERE home_source = 'unknown'")


def _fold_unknown(connection: sa.Connection, ids: Sequence[int]) -> None:
    for session_id in ids:
        derived.refold(connection, session_id)


backfill = Backfill("session", _fold_unknown, at_once=20, where="home_source = 'unknown' AND turn_count > 0")


def _tables() -> None:
    op.create_table(
        "home_change",
        sa.Column("id", Id, nullable=False),
        sa.Column("profile", sa.String(length=64), nullable=False),
        sa.Column("scope", Bytes, nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("author", Bytes, nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("finished", sa.Integer(), nullable=False),
        sa.Column("undoes", Id, nullable=True),
        sa.Column("undone", sa.Boolean(), nullable=False),
        sa.Column("made_at", Time, nullable=False),
        sa.Column("ended_at", Time, nullable=True),
        sa.ForeignKeyConstraint(
            ["undoes"], ["home_change.id"], name="fk_home_change_undoes_home_change", ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_home_change"),
    )
    op.create_index("ix_home_change_state", "home_change", ["state"])
    op.create_table(
        "home_change_session",
        sa.Column("change_id", Id, nullable=False),
        sa.Column("session_id", Id, autoincrement=False, nullable=False),
        sa.Column("profile", sa.String(length=64), nullable=False),
        sa.Column("source", sa.String(length=16), nullable=False),
        sa.Column("former_profile", sa.String(length=64), nullable=True),
        sa.Column("former_source", sa.String(length=16), nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.ForeignKeyConstraint(
            ["change_id"], ["home_change.id"], name="fk_home_change_session_change_id_home_change", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["session_id"], ["session.id"], name="fk_home_change_session_session_id_session", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("change_id", "session_id", name="pk_home_change_session"),
    )
    op.create_index("ix_home_change_session_session_id", "home_change_session", ["session_id"])
    op.create_table(
        "home_rule",
        sa.Column("id", Id, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("value", sa.String(length=255), nullable=False),
        sa.Column("profile", sa.String(length=64), nullable=False),
        sa.Column("author", Bytes, nullable=False),
        sa.Column("made_at", Time, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_home_rule"),
        sa.UniqueConstraint("kind", "value", name="uq_home_rule_kind_value"),
    )
