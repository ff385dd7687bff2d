"""The first tables: dumps, sessions, turns, parses, findings, labels, runs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Bytes = sa.LargeBinary()
Time = sa.DateTime(timezone=True)

TABLES = (
    "dump",
    "run",
    "session",
    "dump_session",
    "finding",
    "session_model",
    "turn",
    "label",
    "parse",
    "parse_repair",
)


def upgrade() -> None:
    for create in CREATE:
        create()


def downgrade() -> None:
    for name in reversed(TABLES):
        op.drop_table(name)


def _dump() -> None:
    op.create_table(
        "dump",
        sa.Column("id", Id, nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("filename", Bytes, nullable=False),
        sa.Column("format", sa.String(length=64), nullable=True),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("error", Bytes, nullable=True),
        sa.Column("problems", Bytes, nullable=False),
        sa.Column("problem_count", sa.Integer(), nullable=False),
        sa.Column("session_count", sa.Integer(), nullable=False),
        sa.Column("turn_count", sa.Integer(), nullable=False),
        sa.Column("received_at", Time, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_dump"),
        sa.UniqueConstraint("sha256", name="uq_dump_sha256"),
    )


def _run() -> None:
    op.create_table(
        "run",
        sa.Column("id", Id, nullable=False),
        sa.Column("profile", sa.String(length=64), nullable=False),
        sa.Column("scope", Bytes, nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("progress", sa.Double(), nullable=False),
        sa.Column("counts", Bytes, nullable=True),
        sa.Column("started_at", Time, nullable=True),
        sa.Column("finished_at", Time, nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_run"),
    )


def _session() -> None:
    op.create_table(
        "session",
        sa.Column("id", Id, nullable=False),
        sa.Column("dump_id", Id, nullable=False),
        sa.Column("external_id", Bytes, nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=16), nullable=False),
        sa.Column("title", Bytes, nullable=True),
        sa.Column("source_format", sa.String(length=64), nullable=False),
        sa.Column("home_profile", sa.String(length=64), nullable=False),
        sa.Column("models", Bytes, nullable=False),
        sa.Column("started_at", Time, nullable=True),
        sa.Column("ended_at", Time, nullable=True),
        sa.Column("ingested_at", Time, nullable=False),
        sa.Column("entry_count", sa.Integer(), nullable=False),
        sa.Column("turn_count", sa.Integer(), nullable=False),
        sa.Column("response_count", sa.Integer(), nullable=False),
        sa.Column("failed_count", sa.Integer(), nullable=False),
        sa.Column("rescued_count", sa.Integer(), nullable=False),
        sa.Column("clean_count", sa.Integer(), nullable=False),
        sa.Column("extracted_count", sa.Integer(), nullable=False),
        sa.Column("repaired_count", sa.Integer(), nullable=False),
        sa.Column("unparsed_count", sa.Integer(), nullable=False),
        sa.Column("none_count", sa.Integer(), nullable=False),
        sa.Column("label_count", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Boolean(), nullable=False),
        sa.Column("happened_at", Time, nullable=False),
        sa.Column("strip", sa.Text(), nullable=False),
        sa.Column("extra", Bytes, nullable=True),
        sa.ForeignKeyConstraint(["dump_id"], ["dump.id"], name="fk_session_dump_id_dump"),
        sa.PrimaryKeyConstraint("id", name="pk_session"),
        sa.UniqueConstraint("external_id", "revision", name="uq_session_external_id_revision"),
        sa.UniqueConstraint("key", name="uq_session_key"),
    )
    op.create_index("ix_session_dump_id", "session", ["dump_id"])
    op.create_index("ix_session_failed_happened", "session", ["failed", "happened_at", "id"])


def _dump_session() -> None:
    op.create_table(
        "dump_session",
        sa.Column("dump_id", Id, nullable=False),
        sa.Column("session_id", Id, nullable=False),
        sa.Column("new_turns", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["dump_id"], ["dump.id"], name="fk_dump_session_dump_id_dump", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["session_id"], ["session.id"], name="fk_dump_session_session_id_session", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dump_id", "session_id", name="pk_dump_session"),
    )
    op.create_index("ix_dump_session_session_id", "dump_session", ["session_id"])


def _finding() -> None:
    op.create_table(
        "finding",
        sa.Column("id", Id, nullable=False),
        sa.Column("session_id", Id, nullable=False),
        sa.Column("rule", sa.String(length=64), nullable=False),
        sa.Column("severity", sa.String(length=16), nullable=False),
        sa.Column("turns", Bytes, nullable=False),
        sa.Column("detail", Bytes, nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"], ["session.id"], name="fk_finding_session_id_session", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_finding"),
    )
    op.create_index("ix_finding_session_id", "finding", ["session_id"])


def _session_model() -> None:
    op.create_table(
        "session_model",
        sa.Column("model", sa.String(length=255), nullable=False),
        sa.Column("session_id", Id, nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"], ["session.id"], name="fk_session_model_session_id_session", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("model", "session_id", name="pk_session_model"),
    )
    op.create_index("ix_session_model_session_id", "session_model", ["session_id"])


def _turn() -> None:
    op.create_table(
        "turn",
        sa.Column("id", Id, autoincrement=False, nullable=False),
        sa.Column("session_id", Id, nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("entry", sa.Integer(), nullable=False),
        sa.Column("duplicate_of", Id, nullable=True),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("role", sa.String(length=255), nullable=True),
        sa.Column("agent", sa.String(length=255), nullable=True),
        sa.Column("model", sa.String(length=255), nullable=True),
        sa.Column("phase", sa.String(length=255), nullable=True),
        sa.Column("sounding", sa.BigInteger(), nullable=True),
        sa.Column("round", sa.BigInteger(), nullable=True),
        sa.Column("attempt", sa.BigInteger(), nullable=True),
        sa.Column("parent", Bytes, nullable=True),
        sa.Column("raw_sha256", sa.LargeBinary(length=32), nullable=True),
        sa.Column("sent_at", Time, nullable=True),
        sa.Column("tokens_in", sa.BigInteger(), nullable=True),
        sa.Column("tokens_out", sa.BigInteger(), nullable=True),
        sa.Column("cost", sa.Double(), nullable=True),
        sa.Column("raw_at", Bytes, nullable=True),
        sa.Column("entry_sha256", sa.LargeBinary(length=32), nullable=True),
        sa.Column("recorded_failure", Bytes, nullable=True),
        sa.Column("tool_calls", Bytes, nullable=True),
        sa.Column("source", Bytes, nullable=True),
        sa.Column("raw", Bytes, nullable=True),
        sa.ForeignKeyConstraint(["duplicate_of"], ["turn.id"], name="fk_turn_duplicate_of_turn", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name="fk_turn_session_id_session", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_turn"),
    )
    op.create_index("ix_turn_session_ordinal", "turn", ["session_id", "ordinal"], unique=True)
    op.create_index("ix_turn_session_position", "turn", ["session_id", "position"])
    op.create_index(
        "ix_turn_duplicate_of",
        "turn",
        ["duplicate_of"],
        sqlite_where=sa.text("duplicate_of IS NOT NULL"),
        postgresql_where=sa.text("duplicate_of IS NOT NULL"),
    )


def _label() -> None:
    op.create_table(
        "label",
        sa.Column("id", Id, nullable=False),
        sa.Column("turn_id", Id, nullable=False),
        sa.Column("author", Bytes, nullable=False),
        sa.Column("judgement", sa.String(length=16), nullable=False),
        sa.Column("cause", sa.String(length=128), nullable=True),
        sa.Column("expected", Bytes, nullable=True),
        sa.Column("has_expected", sa.Boolean(), nullable=False),
        sa.Column("note", Bytes, nullable=True),
        sa.Column("made_at", Time, nullable=False),
        sa.ForeignKeyConstraint(["turn_id"], ["turn.id"], name="fk_label_turn_id_turn", ondelete="RESTRICT"),
        sa.PrimaryKeyConstraint("id", name="pk_label"),
        sa.UniqueConstraint("turn_id", "author", name="uq_label_turn_id_author"),
    )
    op.create_index("ix_label_cause", "label", ["cause"])


def _parse() -> None:
    op.create_table(
        "parse",
        sa.Column("id", Id, nullable=False),
        sa.Column("turn_id", Id, nullable=False),
        sa.Column("profile", sa.String(length=64), nullable=False),
        sa.Column("version", sa.String(length=16), nullable=False),
        sa.Column("verdict", sa.String(length=16), nullable=False),
        sa.Column("strategy", sa.String(length=64), nullable=True),
        sa.Column("truncated", sa.Boolean(), nullable=False),
        sa.Column("ambiguous", sa.Boolean(), nullable=False),
        sa.Column("exhausted", sa.Boolean(), nullable=False),
        sa.Column("microseconds", sa.BigInteger(), nullable=False),
        sa.Column("trace", Bytes, nullable=False),
        sa.ForeignKeyConstraint(["turn_id"], ["turn.id"], name="fk_parse_turn_id_turn", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_parse"),
        sa.UniqueConstraint("turn_id", "profile", name="uq_parse_turn_id_profile"),
    )


def _parse_repair() -> None:
    op.create_table(
        "parse_repair",
        sa.Column("turn_id", Id, nullable=False),
        sa.Column("profile", sa.String(length=64), nullable=False),
        sa.Column("repair", sa.String(length=64), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["turn_id"], ["turn.id"], name="fk_parse_repair_turn_id_turn", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("turn_id", "profile", "repair", name="pk_parse_repair"),
    )


CREATE = (_dump, _run, _session, _dump_session, _finding, _session_model, _turn, _label, _parse, _parse_repair)
