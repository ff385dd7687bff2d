"""Queues: responses to label in one order. They are asked of the database whenever somebody looks at one; nothing is
gathered or kept but the samples that were drawn."""

from __future__ import annotations

import random
import time
from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store import saved
from webapp.store.db.dialect import TookTooLong, within
from webapp.store.db.ids import batched
from webapp.store.failures import groups, neighbours
from webapp.store.failures.scope import scope
from webapp.store.labels import alike
from webapp.store.labels.queue_spec import CHOSEN, FAILED, GROUP, GROUPS, MOST_OF_GROUP, SAMPLE, VIEW, Spec
from webapp.store.models import FailedResponse, Label, Parse, Session, Turn, is_response, turns_of
from webapp.store.sessions import sessions
from webapp.store.sessions.facets import top
from webapp.store.sessions.filters import HOME, Filters
from webapp.store.sessions.where import Condition, listed
from webapp.store.write.parser import UNKNOWN
from webapp.store.write.stored_turns import home_parse, join_parses, our_parse
from webapp.store.write.tally import READABLE

MOST = 10_000
"""responses of a queue; of more, the first"""
MOST_FOUND = 1_000
"""sessions with what is searched for, the newest"""
MOST_SAMPLES = 20
"""that are kept; of more, the oldest is forgotten, its labels stay"""
LIMIT = 1.0
"""seconds that looking through all that is stored may take"""
_AT_ONCE = 5_000
_another = orm.aliased(Parse)
_DOUBTS: dict[str, sa.ColumnElement[bool]] = {
    "silent": sa.and_(
        Turn.recorded_failure.is_(None),
        home_parse.verdict.in_(READABLE),
        sa.or_(
            home_parse.value_digest.is_distinct_from(our_parse.value_digest),
            our_parse.ambiguous,
            our_parse.truncated,
        ),
    ),
    "disagree": sa.exists().where(
        _another.turn_id == Turn.id, _another.value_digest.is_distinct_from(our_parse.value_digest)
    ),
}
"""Of which responses it is doubtful what was meant: production took a value, and `fencepost` reads another or nothing,
cannot choose between several, or sees that it was cut off; or those that were run over it read different values."""


@dataclass(frozen=True, slots=True)
class Queue:
    """The turns of a queue in order, and `of` how many: None where there are more than were counted, and where with
    `cut` the time was up before all that is stored was looked through."""

    turn_ids: list[int]
    of: int | None
    cut: bool = False

    def beside(self, turn_id: int, step: int) -> int | None:
        """The turn that stands so many places behind (or before) another; None where there is none."""
        at = self.turn_ids.index(turn_id) + step if turn_id in self.turn_ids else -1
        return self.turn_ids[at] if 0 <= at < len(self.turn_ids) else None

    def others(self, turn_id: int | None) -> list[int]:
        """All but this turn, those behind it first: what was skipped comes again at the end."""
        if turn_id not in self.turn_ids:
            return self.turn_ids
        at = self.turn_ids.index(turn_id)
        return [*self.turn_ids[at + 1 :], *self.turn_ids[:at]]


def of(db: orm.Session, spec: Spec, author: str = "") -> Queue:
    """The queue as it is now, for that person: of each failure group they are given one response."""
    if spec.kind == GROUP:
        members = groups.members(db, spec.group, spec.filters())
        return Queue(alike.one_of_each_first(db, members[:MOST_OF_GROUP]), len(members))
    if spec.kind in (GROUPS, SAMPLE):
        turn_ids = _of_groups(db, author) if spec.kind == GROUPS else _of_sample(db, spec)
        return Queue(turn_ids, len(turn_ids))
    turn_ids, query = [], _selected(db, spec, author).limit(MOST + 1).execution_options(yield_per=100)
    ends = time.monotonic() + LIMIT
    try:
        with within(db.connection(), LIMIT), db.scalars(query) as numbers:
            for number in numbers:
                turn_ids.append(number)
                if time.monotonic() > ends:  # PostgreSQL's own limit holds for each hundred that are fetched
                    raise TookTooLong
    except TookTooLong:
        return Queue(turn_ids[:MOST], None, cut=True)
    return Queue(turn_ids[:MOST], len(turn_ids) if len(turn_ids) <= MOST else None)


def following(db: orm.Session, queue: Queue, author: str, turn_id: int | None = None) -> int | None:
    """The next response that `author` has not labelled, behind `turn_id`, else from the beginning."""
    mine = _labelled_by(db, author)
    return next((number for number in queue.others(turn_id) if number not in mine), None)


def progress(db: orm.Session, queue: Queue, author: str) -> dict[str, Any]:
    """How far a queue is labelled: `people` by how many of its responses each has labelled, most first; `seconds` is
    what the person took for one lately, the median."""
    people: Counter[str] = Counter()
    for batch in batched(queue.turn_ids, _AT_ONCE):
        people.update(db.scalars(sa.select(Label.author).where(Label.turn_id.in_(batch))))
    times = sa.select(Label.seconds).where(Label.author == author, Label.seconds.is_not(None))
    lately = sorted(seconds or 0.0 for seconds in db.scalars(times.order_by(Label.made_at.desc()).limit(25)))
    median = lately[len(lately) // 2] if lately else None
    most_first = dict(top(people, None, len(people))[0])
    return {"total": len(queue.turn_ids), "labelled": people[author], "people": most_first, "seconds": median}


def similar(db: orm.Session, spec: Spec, queue: Queue, turn: Turn, author: str) -> list[sa.Row[Turn, Session]]:
    """The responses like this one that `author` has not labelled: of the next ones in the queue, or of its group."""
    waiting = queue.others(turn.id)
    if spec.kind == GROUPS:
        same = neighbours.of_turn(db, turn.id)
        waiting = [] if same is None else groups.members(db, same.key, Filters())
    mine = _labelled_by(db, author)
    return alike.to(db, turn, [number for number in waiting if number not in mine and number != turn.id])


def labelled(db: orm.Session, spec: Spec) -> list[int]:
    """The turns of the whole queue that have a label."""
    labels = sa.select(Label.turn_id).distinct()
    if spec.kind == GROUPS:
        people = db.scalars(sa.select(Label.author).distinct()).all()  # each has a queue of their own
        return sorted({number for one in people for number in _labelled_by(db, one) & {*_of_groups(db, one)}})
    if spec.kind in (GROUP, SAMPLE):
        return sorted(set(of(db, spec).turn_ids).intersection(db.scalars(labels)))
    return list(db.scalars(labels.where(Label.turn_id.in_(_selected(db, spec).order_by(None)))))


def to_export(db: orm.Session, spec: Spec) -> tuple[str, dict[str, Any]]:
    """The labels of a queue, in words and as `exporting.labels` takes them; ends the transaction."""
    turn_ids = labelled(db, spec)
    db.rollback()
    return f"labels of the queue: {spec.words}", {"turn_ids": turn_ids}


def is_drawn(db: orm.Session, spec: Spec) -> bool:
    """Whether it is no sample, or one that is stored: each seed is another, so only a POST makes one."""
    return spec.kind != SAMPLE or saved.find(db, SAMPLE, spec.name) is not None


def draw(db: orm.Session, spec: Spec) -> None:
    """Draw a sample and keep it, where it is not, and commit: so it stays what it was, and its rates stay honest."""
    if is_drawn(db, spec):
        return
    oldest_last = sorted(saved.every(db, SAMPLE), key=lambda sample: sample.id, reverse=True)
    for sample in oldest_last[MOST_SAMPLES - 1 :]:
        saved.remove(db, sample.id, SAMPLE)
    saved.put(db, SAMPLE, spec.name, {"turns": _sample(db, spec)})
    db.commit()


def _labelled_by(db: orm.Session, author: str) -> set[int]:
    return set(db.scalars(sa.select(Label.turn_id).where(Label.author == author)))


def _sessions(db: orm.Session, spec: Spec, author: str) -> list[Condition]:
    """Those that the spec leaves. One stays unlabelled to `author` until another person labels it: else what they have
    just labelled would go, with all that is left to label of its session."""
    if spec.kind == CHOSEN:
        return [Session.deleted_at.is_(None), Session.key.in_(spec.ids)]
    filters = spec.filters()
    if filters.label != "unlabelled":
        return sessions.view(db, filters, MOST_FOUND).where()
    others = sa.exists().where(turns_of(Label.turn_id, Session.id), Label.author != author)
    return [~others, *sessions.view(db, replace(filters, label=None), MOST_FOUND).where()]


def _selected(db: orm.Session, spec: Spec, author: str = "") -> sa.Select[Any]:
    """The responses of the sessions that the spec leaves, the newest session first."""
    where = _sessions(db, spec, author)
    query: sa.Select[Any] = sa.select(Turn.id).join(Session, Session.id == Turn.session_id).where(is_response, *where)
    if spec.kind == FAILED or (spec.kind == VIEW and spec.filters().failed):
        at_home = (FailedResponse.under == HOME, FailedResponse.session_id == Session.id)
        query = query.join(FailedResponse, sa.and_(FailedResponse.turn_id == Turn.id, *at_home))
        is_assumed = sa.and_(Session.home_profile == UNKNOWN, FailedResponse.profile != "")
        query = query.where(sa.or_(~is_assumed, Turn.recorded_failure.is_not(None)))
    if spec.kind in _DOUBTS:
        query = join_parses(query, Session.home_profile).where(_DOUBTS[spec.kind])
    return query.order_by(Session.happened_at.desc(), Turn.id)


def _of_groups(db: orm.Session, author: str) -> list[int]:
    """One response of each failure group under home, the largest group first, those behind that others have labelled.

    That is the one that `author` has labelled, else the newest that nobody has.
    """
    here, has_label = scope(db, Filters()), sa.exists().where(Label.turn_id == FailedResponse.turn_id)
    is_mine, is_others = has_label.where(Label.author == author), has_label.where(Label.author != author)
    best = (is_mine.desc(), has_label, FailedResponse.at.desc(), FailedResponse.turn_id.desc())
    ranked = (
        sa.select(
            *(FailedResponse.turn_id, here.key.label("key")),
            sa.func.row_number().over(partition_by=here.key, order_by=best).label("place"),
            sa.func.count().over(partition_by=here.key).label("count"),
            sa.func.max(sa.case((is_others, 1), else_=0)).over(partition_by=here.key).label("others"),
        )
        .where(*here.where)
        .subquery()
    )
    order = (ranked.c.others, ranked.c.count.desc(), ranked.c.key)
    return list(db.scalars(sa.select(ranked.c.turn_id).where(ranked.c.place == 1).order_by(*order).limit(MOST)))


def _of_sample(db: orm.Session, spec: Spec) -> list[int]:
    """The sample that was drawn, else one as it would be now, but for what was deleted since."""
    sample = saved.find(db, SAMPLE, spec.name)
    drawn = _sample(db, spec) if sample is None else sample.content["turns"]
    here = sa.select(Turn.id).join(Session, Session.id == Turn.session_id).where(Session.deleted_at.is_(None))
    if sample is not None:  # SQLite gives the number of a session that is gone to one that comes in later
        here = here.where(Session.ingested_at <= sample.made_at)
    present = {number for batch in batched(drawn, _AT_ONCE) for number in db.scalars(here.where(Turn.id.in_(batch)))}
    return [number for number in drawn if number in present]


def _sample(db: orm.Session, spec: Spec) -> list[int]:
    """Turns drawn at random, each response as likely as any other: the same data and seed give the same sample.

    One that failed without a text counts as a response: others are drawn in its place, of ten times as many at most.
    """
    query = sa.select(Session.id, Session.response_count).where(listed, Session.response_count > 0)
    rows = db.execute(query.order_by(Session.key)).all()
    ends = [0, *accumulate(row.response_count for row in rows)]
    chance = random.Random(spec.seed)  # noqa: S311 a sample to be drawn again, no secret
    sample: list[int] = []
    for drawn in batched(chance.sample(range(ends[-1]), min(10 * spec.size, ends[-1])), spec.size):
        if len(sample) < spec.size:
            at = ((number, bisect_right(ends, number) - 1) for number in drawn)
            sample += _responses(db, [(rows[index].id, number - ends[index]) for number, index in at])
    return sample[: spec.size]


def _responses(db: orm.Session, places: list[tuple[int, int]]) -> list[int]:
    """The turns of responses by their session and their place among those with a text in it, where there is one."""
    turns: dict[int, list[int]] = defaultdict(list)
    responses = sa.select(Turn.session_id, Turn.id).where(is_response).order_by(Turn.session_id, Turn.position)
    for batch in batched(dict.fromkeys(session_id for session_id, _ in places)):
        for session_id, turn_id in db.execute(responses.where(Turn.session_id.in_(batch))):
            turns[session_id].append(turn_id)
    return [turns[session_id][at] for session_id, at in places if at < len(turns[session_id])]
