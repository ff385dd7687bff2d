"""What every profile made of each labelled response is kept, so that the scoreboard is one query."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "compared",
        sa.Column("turn_id", Id, autoincrement=False, nullable=False),
        sa.Column("session_id", Id, nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("model", sa.LargeBinary(), nullable=False),
        sa.Column("cause", sa.String(length=128), nullable=False),
        sa.Column("meant", sa.String(length=32), nullable=True),
        sa.Column("events", sa.Integer(), nullable=False),
        sa.Column("profiles", sa.String(length=32), nullable=False),
        sa.Column("results", sa.Text(), nullable=False),
        sa.Column("parses", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["turn_id"], ["turn.id"], name="fk_compared_turn_id_turn", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["session_id"], ["session.id"], name="fk_compared_session_id_session", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("turn_id", name="pk_compared"),
    )
    op.create_index("ix_compared_session_id", "compared", ["session_id"])


def downgrade() -> None:
    op.drop_table("compared")
