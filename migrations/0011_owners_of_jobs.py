"""A job names the worker that has it; how far it is and whether it is to stop are read from its row alone."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("job", sa.Column("owner", sa.String(length=128), nullable=True))


def downgrade() -> None:
    op.drop_column("job", "owner")
