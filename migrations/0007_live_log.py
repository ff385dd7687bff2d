"""Log records that came before their span have a table."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "live_log",
        sa.Column("trace", sa.LargeBinary(length=16), nullable=False),
        sa.Column("span", sa.LargeBinary(length=8), nullable=False),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("entry", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("trace", "span", "digest", name="pk_live_log"),
    )
    op.create_index("ix_live_log_received_at", "live_log", ["received_at"])


def downgrade() -> None:
    op.drop_table("live_log")
