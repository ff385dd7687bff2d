"""Where the reading of a file of lines ended is stored, so that another process goes on from there."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "growing_file",
        sa.Column("dump_id", _id, sa.ForeignKey("dump.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("made_by", sa.String(length=64), nullable=False),
        sa.Column("state", sa.LargeBinary(), nullable=False),
    )
    op.create_index("ix_growing_file_name", "growing_file", ["name"])
    op.create_table(
        "growing_session",
        sa.Column("dump_id", _id, sa.ForeignKey("dump.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("session_id", _id, sa.ForeignKey("session.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("made_by", sa.String(length=64), nullable=False),
        sa.Column("changed", sa.BigInteger(), nullable=False),
        sa.Column("entry_count", sa.Integer(), nullable=False),
        sa.Column("turn_count", sa.Integer(), nullable=False),
        sa.Column("reader", sa.LargeBinary(), nullable=False),
        sa.Column("fold", sa.LargeBinary(), nullable=True),
    )
    op.create_index("ix_growing_session_session_id", "growing_session", ["session_id"])


def downgrade() -> None:
    op.drop_table("growing_session")
    op.drop_table("growing_file")
