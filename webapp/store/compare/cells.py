"""The cells of a comparison in SQL: what two profiles made of a response, by the stored digests of their values."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.models import TURNS_A_SESSION, Parse
from webapp.store.sessions import example_sessions
from webapp.store.write.parser import OURS
from webapp.store.write.tally import READABLE

READ = {
    "both_same": "both read the same",
    "both_different": "both read, different values",
    "only_a": "only A reads it",
    "only_b": "only B reads it",
    "neither": "neither reads it",
    "undecided": "both read, and a value is nested too deep to be compared",
}
NOT_RUN = {
    "not_run_a": "A was not run over it",
    "not_run_b": "B was not run over it",
    "not_run_both": "neither was run over it",
}
CELLS = READ | NOT_RUN
a, b, every = orm.aliased(Parse), orm.aliased(Parse), orm.aliased(Parse)
INDEX = "INDEXED BY ix_parse_value_digest"


def reads(parse: Any) -> sa.ColumnElement[bool]:
    """Whether a parse gave a value."""
    return sa.or_(parse.value_digest.is_not(None), parse.verdict.in_(READABLE))


def holds(cell: str) -> sa.ColumnElement[bool]:
    """Whether a response over which both were run stands in a cell of `READ`."""
    digests = sa.and_(a.value_digest.is_not(None), b.value_digest.is_not(None))
    by_cell: dict[str, sa.ColumnElement[bool]] = {
        "both_same": sa.and_(a.value_digest == b.value_digest),
        "both_different": sa.and_(a.value_digest != b.value_digest),
        "only_a": sa.and_(reads(a), ~reads(b)),
        "only_b": sa.and_(~reads(a), reads(b)),
        "neither": sa.and_(~reads(a), ~reads(b)),
        "undecided": sa.and_(reads(a), reads(b), ~digests),
    }
    return by_cell[cell]


def visible(turn_id: Any) -> sa.ColumnElement[bool]:
    """Whether the session of a turn is not deleted, and no example beside others."""
    is_visible: sa.ColumnElement[bool] = (turn_id // TURNS_A_SESSION).not_in(example_sessions.hidden)
    return is_visible


def both_run(select: Any, first: str, second: str) -> Any:
    """A select over the responses that both profiles were run over, by the index of digests alone where it can be."""
    select = select.select_from(a).join(b, sa.and_(b.turn_id == a.turn_id, b.profile == second))
    select = select.with_hint(a, INDEX, "sqlite").with_hint(b, INDEX, "sqlite")
    return select.where(a.profile == first, visible(a.turn_id))


def not_run(cell: str, first: str, second: str) -> Any:
    """The turns of a cell of `NOT_RUN`, out of all that `fencepost` parsed, which is every response."""
    by_a = _parsed(first) if cell == "not_run_b" else ~_parsed(first)
    by_b = _parsed(second) if cell == "not_run_a" else ~_parsed(second)
    return sa.select(every.turn_id).where(every.profile == OURS, visible(every.turn_id), by_a, by_b)


def _parsed(profile: str) -> sa.ColumnElement[bool]:
    other_parse = orm.aliased(Parse)
    return sa.exists().where(other_parse.turn_id == every.turn_id, other_parse.profile == profile)


def classified(first: tuple[str, int | None] | None, second: tuple[str, int | None] | None) -> str:
    """The cell of one response, of the (verdict, digest) of each profile, None where that was not run."""
    if first is None or second is None:
        return "not_run_both" if first is second else "not_run_a" if first is None else "not_run_b"
    here, there = (verdict in READABLE for verdict, _ in (first, second))
    if here and there:
        if first[1] is None or second[1] is None:
            return "undecided"
        return "both_same" if first[1] == second[1] else "both_different"
    return "only_a" if here else "only_b" if there else "neither"
