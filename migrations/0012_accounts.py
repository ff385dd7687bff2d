"""Accounts, their API tokens, and the audit log."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "account",
        sa.Column("id", BIG_ID, primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("name_key", sa.String(600), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("password", sa.String(255)),
        sa.Column("subject", sa.String(600)),
        sa.Column("stamp", sa.String(32), nullable=False),
        sa.Column("made_at", TIME, nullable=False),
        sa.Column("signed_in_at", TIME),
        sa.UniqueConstraint("name_key", name="uq_account_name_key"),
        sa.UniqueConstraint("subject", name="uq_account_subject"),
    )
    op.create_table(
        "api_token",
        sa.Column("id", BIG_ID, primary_key=True),
        sa.Column("account_id", BIG_ID, sa.ForeignKey("account.id", ondelete="CASCADE"), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("scopes", sa.String(64), nullable=False),
        sa.Column("made_at", TIME, nullable=False),
        sa.Column("used_at", TIME),
        sa.UniqueConstraint("digest", name="uq_api_token_digest"),
    )
    op.create_index("ix_api_token_account_id", "api_token", ["account_id"])
    op.create_table(
        "audit_entry",
        sa.Column("id", BIG_ID, primary_key=True),
        sa.Column("at", TIME, nullable=False),
        sa.Column("author", sa.LargeBinary(), nullable=False),
        sa.Column("via", sa.String(255), nullable=False),
        sa.Column("peer", sa.String(64), nullable=False),
        sa.Column("act", sa.String(100), nullable=False),
        sa.Column("object", sa.LargeBinary(), nullable=False),
        sa.Column("detail", sa.LargeBinary()),
        sa.Column("status", sa.Integer()),
    )
    op.create_index("ix_audit_entry_at", "audit_entry", ["at"])


def downgrade() -> None:
    for table in ("audit_entry", "api_token", "account"):
        op.drop_table(table)
