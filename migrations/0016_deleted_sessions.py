"""Sessions that are deleted and not yet gone are found by an index, which a start counts by."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    where = sa.text("deleted_at IS NOT NULL")
    op.create_index(
        "ix_session_deleted_at", "session", ["deleted_at", "changed"], sqlite_where=where, postgresql_where=where
    )


def downgrade() -> None:
    op.drop_index("ix_session_deleted_at", "session")
