"""An index of the few parses whose values were read and cannot be compared, so that counting needs no verdicts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

UNDIGESTED = sa.text("value_digest IS NULL AND verdict IN ('clean', 'extracted', 'repaired')")


def upgrade() -> None:
    op.create_index(
        "ix_parse_undigested",
        "parse",
        ["profile", "turn_id"],
        sqlite_where=UNDIGESTED,
        postgresql_where=UNDIGESTED,
    )


def downgrade() -> None:
    op.drop_index("ix_parse_undigested", "parse")
