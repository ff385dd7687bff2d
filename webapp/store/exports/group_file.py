"""A failure group out of the store, as the pytest file of `webapp.exports.formats.pytest` wants it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.exports.base import LabelledResponse, expected_values
from webapp.exports.formats.pytest import MOST_UNLABELLED, GroupTests, of_group
from webapp.store.db.ids import batched
from webapp.store.exports import exporting
from webapp.store.failures import groups
from webapp.store.labels import alike, settling
from webapp.store.labels.queue_spec import MOST_OF_GROUP
from webapp.store.models import Label, Parse
from webapp.store.sessions.filters import HOME, Filters
from webapp.store.write.parser import OURS, UNKNOWN
from webapp.store.write.tally import READABLE

MOST = MOST_OF_GROUP
"""responses without a known value that a file can have"""


def pieces(
    db: orm.Session, key: str, title: str, filters: Filters, *, most: int = MOST_UNLABELLED, urls: tuple[str, str]
) -> Iterator[bytes]:
    """The file of a group under the filters: all responses whose value is known, and at most `most` others, of each
    sort one first. `urls` are where they are labelled and where a file with more of them is."""
    members = groups.members(db, key, filters)
    decided, undecidable = _said(db, members)
    without = [turn_id for turn_id in members if turn_id not in decided and turn_id not in undecidable]
    readable = _readable(db, without)
    to_read = [turn_id for turn_id in without if turn_id in readable]
    chosen = alike.one_of_each_first(db, to_read[:MOST])[:most]
    labelled, unlabelled = (list(exporting.of_turns(db, ids)) for ids in (sorted(decided), chosen))
    parser = _parser([*labelled, *unlabelled], filters.under)
    unreadable = len(undecidable) + len(without) - len(to_read)
    tests = GroupTests(labelled, unlabelled, len(members), unreadable, parser, *urls)
    return of_group(tests, exporting.about(f"failure group {title}", None))


def _said(db: orm.Session, members: Sequence[int]) -> tuple[set[int], set[int]]:
    """The turns of which people have said what is expected, and those of which they say that nobody can tell."""
    labelled: set[int] = set()
    undecidable: set[int] = set()
    for batch in batched(members):
        ids = db.scalars(sa.select(Label.turn_id).distinct().where(Label.turn_id.in_(batch))).all()
        for row in settling.of_turns(db, ids):
            content = None if row.final is None else row.final.content
            if expected_values(content) is not None:
                labelled.add(row.turn.id)
            elif content is not None and content.expects == "unknown":
                undecidable.add(row.turn.id)
    return labelled, undecidable


def _readable(db: orm.Session, turn_ids: Sequence[int]) -> set[int]:
    """Those from which `fencepost` reads a value."""
    query = sa.select(Parse.turn_id).where(Parse.profile == OURS, Parse.verdict.in_(READABLE))
    return {number for batch in batched(turn_ids) for number in db.scalars(query.where(Parse.turn_id.in_(batch)))}


def _parser(responses: Sequence[LabelledResponse], under: str) -> str:
    """The profile that is looked under, or the home profile that most of them have; ours where it is unknown."""
    if under != HOME:
        return under
    homes = Counter(response.home for response in responses if response.home != UNKNOWN)
    return homes.most_common(1)[0][0] if homes else OURS
