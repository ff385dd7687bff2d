"""Compares two profiles over stored responses: the matrix of what each reads, with labels where there are any."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import parsing
from webapp.parsing import why_absent
from webapp.store.compare import profile_results
from webapp.store.models import TURNS_A_SESSION, FailedResponse, Parse, Session, is_response
from webapp.store.rates import SignTest, sign_test
from webapp.store.sessions import responses, where
from webapp.store.sessions.facets import ProfileCoverage
from webapp.store.sessions.filters import Filters
from webapp.store.sessions.where import View
from webapp.store.write.parser import OURS, READ_AS
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
    is_listed = (turn_id // TURNS_A_SESSION).not_in(where.hidden)
    return select.where(_every.profile == OURS, is_listed)


MOST = 200_000
"""responses that are compared one by one under filters; of more it is said that only these were"""
BySession = dict[int, Counter[str]]
"""by session, how many of its responses stand in each cell"""
OUTCOMES = {
    "right": "right",
    "nothing": "right",
    "missed": "missed",
    "wrong": "silently wrong",
    "spurious": "silently wrong",
}


@dataclass(frozen=True, slots=True)
class LabelMatrix:
    """What became of labelled responses: (under A, under B) → how many, each right, missed or silently wrong.

    `waiting` labels were not compared yet. `signs` tests what B fixed against what it broke.
    """

    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    waiting: int = 0
    signs: SignTest = field(default_factory=lambda: sign_test(()))

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def of(self, was: str, now: str) -> int:
        return self.counts.get((was, now), 0)

    @property
    def fixed(self) -> int:
        """Wrong or missed under A, right under B."""
        return self.of("missed", "right") + self.of("silently wrong", "right")

    @property
    def broken(self) -> int:
        """Right under A, and B says that it reads nothing."""
        return self.of("right", "missed")

    @property
    def silently_wrong(self) -> int:
        """Right or missed under A, and B gives another value than was meant, without a word."""
        return self.of("right", "silently wrong") + self.of("missed", "silently wrong")

    @property
    def right_right(self) -> int:
        return self.of("right", "right")

    @property
    def wrong_wrong(self) -> int:
        return self.of("silently wrong", "silently wrong")

    @property
    def cells(self) -> list[tuple[str, str, int]]:
        return [(*pair, count) for pair, count in sorted(self.counts.items())]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two profiles over the `of` responses in view. `counts` has every cell of `CELLS`; `a_runs` and `b_runs` say how
    far each profile was run and why not further. Both were run in `sessions` sessions. `signs` tests the responses that
    only one of the two reads, not whether it reads them rightly. With `cut` only the first `of` were compared."""

    a: str
    b: str
    of: int
    counts: dict[str, int]
    a_runs: ProfileCoverage
    b_runs: ProfileCoverage
    labels: LabelMatrix
    sessions: int
    signs: SignTest
    cut: bool = False

    @property
    def compared(self) -> int:
        """Responses over which both were run."""
        return sum(self.counts[cell] for cell in READ)

    @property
    def labels_told(self) -> LabelMatrix | None:
        """None where nothing is labelled."""
        return self.labels if self.labels.total or self.labels.waiting else None


def compare(db: orm.Session, first: str, second: str, filters: Filters) -> Comparison:
    """Compare the profiles `first` (A) and `second` (B) over the responses that `filters` leave.

    By stored parses alone: what was not run is counted as not run. Raises `UnknownProfile`, `BadFilter`.
    """
    parsing.profile(first), parsing.profile(second)
    cut, turn_ids = False, None
    if is_everything(filters):
        by_session = _by_session(db, first, second)
    else:
        by_session, cut, turn_ids = _of_some(db, responses.view_of(db, filters), first, second)
    counts = sum(by_session.values(), Counter[str]())
    by_cell = {cell: counts[cell] for cell in CELLS}
    a_runs, b_runs = (_coverage(name, side, by_cell) for name, side in ((first, "a"), (second, "b")))
    labels = _labels(db, first, second, turn_ids)
    sessions = sum(any(made[cell] for cell in READ) for made in by_session.values())
    signs = sign_test((made["only_a"], made["only_b"]) for made in by_session.values())
    return Comparison(first, second, sum(by_cell.values()), by_cell, a_runs, b_runs, labels, sessions, signs, cut)


def newest_parser(db: orm.Session) -> str:
    """The parser of the newest session's program; what an unknown one is read as, where it is not here, or ours."""
    newest = sa.select(Session.home_profile).where(Session.deleted_at.is_(None)).order_by(Session.happened_at.desc())
    home = db.scalar(newest.limit(1))
    return str(home) if home != OURS and home in parsing.profiles() else READ_AS


def is_everything(filters: Filters) -> bool:
    """Whether filters leave all responses in view; `under` and `sort` narrow nothing by themselves."""
    return not set(filters.active()) - {"under", "sort"}


def _by_session(db: orm.Session, first: str, second: str, ids: Sequence[int] | None = None) -> BySession:
    """How many responses stand in each cell, of those turns or of all, by session."""
    session = (turn_id // TURNS_A_SESSION).label("session")
    query = parsed(first, second, session, cell.label("cell"), sa.func.count())
    query = query if ids is None else query.where(turn_id.in_(ids))
    counts: BySession = defaultdict(Counter)
    for number, name, count in db.execute(query.group_by(sa.literal_column("1"), sa.literal_column("2"))):
        counts[number][name] += count
    return counts


def _of_some(db: orm.Session, view: View, first: str, second: str) -> tuple[BySession, bool, set[int]]:
    """The cells of the responses under filters, a block at a time, and their turns."""
    counts: BySession = defaultdict(Counter)
    counted_ids: set[int] = set()
    for ids in responses.turn_ids(db, view, is_response):
        if len(counted_ids) + len(ids) > MOST:
            return counts, True, counted_ids
        for number, in_block in _by_session(db, first, second, ids).items():
            counts[number].update(in_block)
        counted_ids.update(ids)
    return counts, False, counted_ids


def parses_of(db: orm.Session, ids: Sequence[int], *profiles: str) -> dict[tuple[int, str], tuple[str, str | None]]:
    """By turn and profile verdict and failure group of what is stored."""
    select = sa.select(Parse.turn_id, Parse.profile, Parse.verdict, FailedResponse.group_key)
    here = FailedResponse.turn_id == Parse.turn_id, FailedResponse.session_id == Parse.turn_id // TURNS_A_SESSION
    select = select.outerjoin(FailedResponse, sa.and_(*here, FailedResponse.under == Parse.profile))
    rows = db.execute(select.where(Parse.turn_id.in_(ids), Parse.profile.in_(profiles))) if ids else ()
    return {(row.turn_id, row.profile): (row.verdict, row.group_key) for row in rows}


def _coverage(profile: str, side: str, counts: dict[str, int]) -> ProfileCoverage:
    """How far a profile was run over the responses that were compared."""
    of = sum(counts.values())
    run = of - counts[f"not_run_{side}"] - counts["not_run_both"]
    return ProfileCoverage(profile, run, of, why_absent(parsing.profile(profile)))


def _labels(db: orm.Session, first: str, second: str, only: set[int] | None) -> LabelMatrix:
    if any(why_absent(parsing.profile(name)) for name in (first, second)):
        return LabelMatrix()
    found = profile_results.of_labels(db)
    counts: Counter[tuple[str, str]] = Counter()
    signs: dict[int, Counter[str]] = defaultdict(Counter)
    for response in found.known:
        results = response.results
        if first in results and second in results and (only is None or response.turn_id in only):
            was, now = OUTCOMES[results[first].outcome], OUTCOMES[results[second].outcome]
            counts[was, now] += 1
            side = "" if "right" not in (was, now) or was == now else "broken" if was == "right" else "fixed"
            signs[response.turn_id // TURNS_A_SESSION][side] += 1
    pairs = ((made["fixed"], made["broken"]) for made in signs.values())
    return LabelMatrix(dict(counts), found.waiting, sign_test(pairs))
