"""Responses are assigned to people whatever queue they stand in, and labels are reviewed or returned."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

REVIEW = (
    ("review", sa.String(length=16)),
    ("reviewer", sa.LargeBinary()),
    ("review_note", sa.LargeBinary()),
    ("reviewed_at", sa.DateTime(timezone=True)),
)
PARTS = (
    "INSERT INTO assignment (turn_id, assignee, author, made_at) "
    "SELECT DISTINCT item.turn_id, item.assignee, CAST(NULL AS {bytes}), CURRENT_TIMESTAMP "
    "FROM label_queue_item AS item JOIN turn ON turn.id = item.turn_id WHERE item.assignee IS NOT NULL"
)
"""the parts of queues that were split; by whom is not known"""


def upgrade() -> None:
    for name, kind in REVIEW:
        op.add_column("label", sa.Column(name, kind, nullable=True))
    op.create_table(
        "assignment",
        sa.Column(
            "turn_id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            sa.ForeignKey("turn.id", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("assignee", sa.LargeBinary(), primary_key=True),
        sa.Column("author", sa.LargeBinary(), nullable=True),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_assignment_assignee", "assignment", ["assignee", "turn_id"])
    op.execute(PARTS.format(bytes="BYTEA" if op.get_bind().dialect.name == "postgresql" else "BLOB"))
    op.drop_column("label_queue_item", "assignee")


def downgrade() -> None:
    op.add_column("label_queue_item", sa.Column("assignee", sa.LargeBinary(), nullable=True))
    op.drop_table("assignment")
    for name, _ in REVIEW:
        op.drop_column("label", name)
