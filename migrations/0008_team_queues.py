"""Labels say where their expected value came from; queues are split among people, who hold what they look at."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("label", sa.Column("source", sa.String(length=128), nullable=True))
    op.add_column("label_queue_item", sa.Column("assignee", sa.LargeBinary(), nullable=True))
    op.create_table(
        "label_hold",
        sa.Column("queue_id", Id, sa.ForeignKey("label_queue.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("author", sa.LargeBinary(), primary_key=True),
        sa.Column("turn_id", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("label_hold")
    op.drop_column("label_queue_item", "assignee")
    op.drop_column("label", "source")
