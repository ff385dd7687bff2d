"""A job may be an export: what kind it is, and which sessions it was asked for."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("job", sa.Column("kind", sa.String(length=16), nullable=False, server_default="import"))
    op.add_column("job", sa.Column("selection", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    op.drop_column("job", "selection")
    op.drop_column("job", "kind")
