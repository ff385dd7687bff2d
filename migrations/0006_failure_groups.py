"""Each parse says which failure group it is of, and what it read as a number that can be compared."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from webapp.parsing import Trace
from webapp.store.db.backfill import Backfill, whole
from webapp.store.models import Parse, Turn
from webapp.store.write import regrouping, row_values, rows
from webapp.store.write.value_digest import value_digest

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Bytes = sa.LargeBinary()
Time = sa.DateTime(timezone=True)
TABLES = ("former_failure_group", "failure_event", "failure_overlay")
COLUMNS = ("failure_group", "failure_path", "failure_tokens", "value_digest")
IS_FAILURE = sa.text("failure_group IS NOT NULL")
IS_RECORDED = sa.text("recorded_failure IS NOT NULL")


def upgrade() -> None:
    op.add_column("parse", sa.Column("failure_group", sa.String(length=255), nullable=True))
    op.add_column("parse", sa.Column("failure_path", sa.String(length=160), nullable=True))
    op.add_column("parse", sa.Column("failure_tokens", sa.String(length=64), nullable=True))
    op.add_column("parse", sa.Column("value_digest", sa.BigInteger(), nullable=True))
    op.create_index("ix_turn_recorded_failure", "turn", ["id"], sqlite_where=IS_RECORDED, postgresql_where=IS_RECORDED)
    op.create_index("ix_session_ended_at", "session", ["ended_at", "happened_at", "id"])
    _tables()
    whole(backfill)


def downgrade() -> None:
    for name in TABLES:
        op.drop_table(name)
    op.drop_index("ix_session_ended_at", "session")
    op.drop_index("ix_turn_recorded_failure", "turn")
    op.drop_index("ix_parse_value_digest", "parse")
    op.drop_index("ix_parse_failure_group", "parse")
    for name in COLUMNS:
        op.drop_column("parse", name)


def _fill_in(connection: sa.Connection, ids: Sequence[int]) -> None:
    """Compute the columns of parses."""
    query = sa.select(Parse.id, Parse.turn_id, Parse.trace, Turn.raw).join(Turn, Turn.id == Parse.turn_id)
    update = (
        sa.update(rows.parses)
        .where(rows.parses.c.id == sa.bindparam("parse"))
        .values({name: sa.bindparam(name) for name in COLUMNS})
    )
    batch = connection.execute(query.where(Parse.id.in_(ids)).order_by(Parse.id)).all()
    traces = [(row.turn_id, row.raw, Trace.from_dict(row.trace)) for row in batch]
    complete = regrouping.with_ours(connection, traces)
    connection.execute(
        update,
        [
            {"parse": row.id, **_columns(raw, trace, ours)}
            for row, (_, trace, raw, ours) in zip(batch, complete, strict=True)
        ],
    )


def _indexes() -> None:
    op.create_index(
        "ix_parse_failure_group",
        "parse",
        ["profile", "failure_group", "turn_id"],
        sqlite_where=IS_FAILURE,
        postgresql_where=IS_FAILURE,
    )
    op.create_index("ix_parse_value_digest", "parse", ["profile", "turn_id", "value_digest", "version"])


backfill = Backfill("parse", _fill_in, at_once=200, finish=_indexes)


def _columns(raw: str, trace: Trace, ours: Trace) -> row_values.Row:
    # values that were nested too deeply to be stored cannot be compared either
    is_bare = trace.exhausted and not any(value is not None for value in trace.values)
    return {
        "value_digest": value_digest(trace.values) if trace.chosen and not is_bare else None,
        **row_values.group_columns(raw, trace, ours),
    }


def _tables() -> None:
    op.create_table(
        "failure_overlay",
        sa.Column("id", Id, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("group_key", sa.String(length=255), nullable=False),
        sa.Column("target", sa.String(length=255), nullable=False),
        sa.Column("field", sa.String(length=16), nullable=True),
        sa.Column("value", sa.String(length=255), nullable=True),
        sa.Column("author", Bytes, nullable=False),
        sa.Column("reason", Bytes, nullable=False),
        sa.Column("made_at", Time, nullable=False),
        sa.Column("undone_by", Bytes, nullable=True),
        sa.Column("undone_reason", Bytes, nullable=True),
        sa.Column("undone_at", Time, nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_failure_overlay"),
    )
    op.create_table(
        "failure_event",
        sa.Column("id", Id, nullable=False),
        sa.Column("group_key", sa.String(length=255), nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=True),
        sa.Column("profile", sa.String(length=255), nullable=True),
        sa.Column("version", sa.String(length=16), nullable=True),
        sa.Column("until", Time, nullable=True),
        sa.Column("grows", sa.Double(), nullable=True),
        sa.Column("count", sa.BigInteger(), nullable=True),
        sa.Column("assignee", Bytes, nullable=True),
        sa.Column("author", Bytes, nullable=False),
        sa.Column("reason", Bytes, nullable=False),
        sa.Column("made_at", Time, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_failure_event"),
    )
    op.create_index("ix_failure_event_group_key", "failure_event", ["group_key", "id"])
    op.create_table(
        "former_failure_group",
        sa.Column("turn_id", Id, autoincrement=False, nullable=False),
        sa.Column("profile", sa.String(length=255), nullable=False),
        sa.Column("group_key", sa.String(length=255), nullable=False),
        sa.ForeignKeyConstraint(
            ["turn_id"], ["turn.id"], name="fk_former_failure_group_turn_id_turn", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("turn_id", "profile", "group_key", name="pk_former_failure_group"),
    )
    op.create_index("ix_former_failure_group_group_key", "former_failure_group", ["group_key", "turn_id"])
