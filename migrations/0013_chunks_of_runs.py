"""A run is cut into chunks that workers claim, each a row with a range of turn ids, which goes when the run ends."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_run = sa.table("run", sa.column("id"), sa.column("state"), sa.column("scope", sa.LargeBinary))


def upgrade() -> None:
    op.add_column("run", sa.Column("total", sa.BigInteger(), nullable=True))
    op.add_column("run", sa.Column("owner", sa.String(length=128), nullable=True))
    op.add_column("run", sa.Column("beat_at", sa.DateTime(timezone=True), nullable=True))
    op.create_table(
        "run_chunk",
        sa.Column(
            "run_id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            sa.ForeignKey("run.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("low", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("high", sa.BigInteger(), nullable=False),
        sa.Column("session_ids", sa.LargeBinary(), nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("owner", sa.String(length=128), nullable=True),
        sa.Column("beat_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("uncounted", sa.Boolean(), nullable=False),
    )
    op.create_index("ix_run_chunk_state", "run_chunk", ["run_id", "state", "low"])
    _begin_anew()


def _begin_anew() -> None:
    """Runs that were going on have no chunks: what a page asked for is queued, so that it is cut into some."""
    connection = op.get_bind()
    rows = connection.execute(sa.select(_run.c.id, _run.c.scope).where(_run.c.state == "running")).all()
    for row in rows:
        state = "queued" if json.loads(bytes(row.scope)).get("queued") else "interrupted"
        connection.execute(sa.update(_run).where(_run.c.id == row.id).values(state=state))


def downgrade() -> None:
    op.drop_table("run_chunk")
    for name in ("beat_at", "owner", "total"):
        op.drop_column("run", name)
