"""PostgreSQL's search vectors stay in their rows as they are where they fit: to compress them costs too much."""

from __future__ import annotations

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

LARGEST = 8160
"""bytes of a row, the most that PostgreSQL takes here; by default it compresses what makes a row longer than 2 KB"""


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"ALTER TABLE search_raw SET (toast_tuple_target = {LARGEST})")


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE search_raw RESET (toast_tuple_target)")
