"""Names of profiles may be long: a parser of somebody's own is called by its module and function, or its command."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

COLUMNS = (
    ("dump", "home"),
    ("job", "home"),
    ("home_rule", "profile"),
    ("home_change", "profile"),
    ("home_change_session", "profile"),
    ("home_change_session", "former_profile"),
    ("session", "home_profile"),
    ("parse", "profile"),
    ("parse_repair", "profile"),
    ("run", "profile"),
)


def upgrade() -> None:
    """PostgreSQL alone holds texts to their length; on SQLite there is nothing to do."""
    _resize(255, "")


def downgrade() -> None:
    _resize(64, "left({}, 64)")


def _resize(length: int, using: str) -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    for table, column in COLUMNS:
        op.alter_column(table, column, type_=sa.String(length), postgresql_using=using.format(column) or None)
