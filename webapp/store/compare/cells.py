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
_a, _b, _every = orm.aliased(Parse), orm.aliased(Parse), orm.aliased(Parse)
_INDEX = "INDEXED BY ix_parse_value_digest"
turn_id = _every.turn_id
_reads_a, _reads_b = _a.verdict.in_(READABLE), _b.verdict.in_(READABLE)
cell: sa.ColumnElement[str] = sa.case(
    (sa.and_(_a.verdict.is_(None), _b.verdict.is_(None)), "not_run_both"),
    (_a.verdict.is_(None), "not_run_a"),
    (_b.verdict.is_(None), "not_run_b"),
    (_a.value_digest == _b.value_digest, "both_same"),
    (_a.value_digest != _b.value_digest, "both_different"),
    (sa.and_(_reads_a, _reads_b), "undecided"),
    (_reads_a, "only_a"),
    (_reads_b, "only_b"),
    else_="neither",
)
"""where a response of `parsed` stands"""


def parsed(first: str, second: str, *columns: Any) -> Any:
    """A select from all responses (`turn_id`, `cell`), which `fencepost` parses as they come, with what both profiles
    made of each; by the index of digests alone where it can be."""
    select = sa.select(*columns).select_from(_every)
    for parse, profile in ((_a, first), (_b, second)):
        select = select.outerjoin(parse, sa.and_(parse.turn_id == turn_id, parse.profile == profile))
    for parse in (_every, _a, _b):
        select = select.with_hint(parse, _INDEX, "sqlite")
    is_listed = (turn_id // TURNS_A_SESSION).not_in(example_sessions.hidden)
    return select.where(_every.profile == OURS, is_listed)
