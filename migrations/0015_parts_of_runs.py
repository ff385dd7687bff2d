"""Runs may write what they make of responses into Parquet files, of which each has a row here."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "run_part",
        sa.Column("id", _id, primary_key=True),
        sa.Column("run_id", _id, sa.ForeignKey("run.id", ondelete="CASCADE"), nullable=False),
        sa.Column("profile", sa.String(64).with_variant(sa.String(255), "postgresql"), nullable=False),
        sa.Column("version", sa.String(length=16), nullable=False),
        sa.Column("low", sa.BigInteger(), nullable=False),
        sa.Column("high", sa.BigInteger(), nullable=False),
        sa.Column("responses", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
    )
    op.create_index("ix_run_part_profile_low", "run_part", ["profile", "low"])
    op.create_index("ix_run_part_run_id", "run_part", ["run_id"])
    op.create_table(
        "run_part_removal",
        sa.Column("id", _id, primary_key=True),
        sa.Column("part_id", _id, sa.ForeignKey("run_part.id", ondelete="CASCADE"), nullable=False),
        sa.Column("low", sa.BigInteger(), nullable=False),
        sa.Column("high", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_run_part_removal_part_id", "run_part_removal", ["part_id"])


def downgrade() -> None:
    op.drop_table("run_part_removal")
    op.drop_table("run_part")
