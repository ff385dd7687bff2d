"""One failure group to label: one response of each sort that is alike, the largest sort first, then the others."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import orm

from webapp.store.failures import group_detail
from webapp.store.labels.queues.queue_spec import Spec
from webapp.store.labels.queues.scanning import QueueEntry, of_turns

MOST_QUEUED = 1_000
"""responses of a group, the newest, that are queued; how many there are in all stands in the queue's state"""
_BEHIND = 2**40
"""the rank from which on those stand that are like one before them: its label can go to them"""


def gathered(db: orm.Session, spec: Spec) -> list[QueueEntry]:
    """The group's responses that the spec's filters leave, in the order in which they are to be labelled."""
    members = group_detail.members(db, spec.group, spec.filters(), datetime.now(UTC))
    return in_order(db, members[:MOST_QUEUED])


def in_order(db: orm.Session, turn_ids: list[int]) -> list[QueueEntry]:
    """These responses, given with the newest first: one of each sort, of the largest sort first, then the others."""
    sorts: dict[bytes, list[QueueEntry]] = {}
    for entry in sorted(of_turns(db, turn_ids), key=lambda entry: entry.rank):
        sorts.setdefault(entry.likeness, []).append(entry)
    entries: list[QueueEntry] = []
    for rank, alike in enumerate(sorted(sorts.values(), key=lambda alike: (-len(alike), alike[0].rank))):
        for entry in alike:
            place = rank if entry is alike[0] else _BEHIND + rank
            entries.append(QueueEntry(entry.turn_id, entry.session_id, place, entry.likeness))
    return sorted(entries, key=lambda entry: (entry.rank, entry.turn_id))


def signature(db: orm.Session, spec: Spec) -> list[int]:
    """What tells that there are other responses in the group, how many of them first: a label does not change it."""
    members = group_detail.members(db, spec.group, spec.filters(), datetime.now(UTC))
    return [len(members), *members[:1], sum(members)]
