"""Queues of failure groups: one response of each sort of a group, or one of each group; what is alike stands behind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from sqlalchemy import orm

from webapp.store.failures import group_detail, groups
from webapp.store.failures.failure_reader import StoredFailure
from webapp.store.failures.group_sets import newest_first
from webapp.store.labels.queues.queue_spec import GROUP, GROUPS, Spec
from webapp.store.labels.queues.scanning import QueueEntry, of_turns
from webapp.store.sessions.filters import Filters

KINDS = (GROUPS, GROUP)
"""queues that are gathered at once, and anew when their groups are others"""
MOST_QUEUED = 1_000
"""responses of a group, the newest, that are queued; how many there are in all stands in the queue's state"""
LOOKED_AT = 1_000
"""responses of a group, the newest, among which those are looked for that are alike"""
_BEHIND = 2**40
"""the rank from which on those stand that are like one before them: its label can go to them"""


def gathered(db: orm.Session, spec: Spec) -> list[QueueEntry]:
    """The group's responses that the spec's filters leave, in the order in which they are to be labelled; or the newest
    unlabelled response of each group under home, the largest unlabelled group first."""
    if spec.kind == GROUP:
        return in_order(db, _members(db, spec)[:MOST_QUEUED])
    group_lines, _ = groups.lines(db, Filters(), datetime.now(UTC))
    members = [newest_first(places) for places in group_lines.values()]
    members.sort(key=lambda failures: (_is_labelled(failures), -len(failures), failures[0].turn_id))
    return [entry for rank, failures in enumerate(members) for entry in _of_group(db, rank, failures)]


def signature(db: orm.Session, spec: Spec) -> list[int]:
    """What tells that there are other groups, or other responses in them: a label does not change it."""
    if spec.kind == GROUP:
        members = _members(db, spec)
        return [len(members), *members[:1], sum(members)]
    group_lines, _ = groups.lines(db, Filters(), datetime.now(UTC))
    newest = [segment.failures[bits.max()].turn_id for places in group_lines.values() for segment, bits in places]
    return [len(group_lines), sum(len(bits) for places in group_lines.values() for _, bits in places), sum(newest)]


def in_order(db: orm.Session, turn_ids: list[int]) -> list[QueueEntry]:
    """These responses, given with the newest first: one of each sort, of the largest sort first, then the others."""
    sorts: dict[bytes, list[QueueEntry]] = {}
    for entry in sorted(of_turns(db, turn_ids), key=lambda entry: entry.rank):
        sorts.setdefault(entry.likeness, []).append(entry)
    ordered = sorted(sorts.values(), key=lambda alike: (-len(alike), alike[0].rank))
    entries = [entry for rank, alike in enumerate(ordered) for entry in _ranked(rank, alike)]
    return sorted(entries, key=lambda entry: (entry.rank, entry.turn_id))


def _members(db: orm.Session, spec: Spec) -> list[int]:
    return group_detail.members(db, spec.group, spec.filters(), datetime.now(UTC))


def _is_labelled(failures: list[StoredFailure]) -> bool:
    return any(failure.labelled for failure in failures)


def _of_group(db: orm.Session, rank: int, failures: list[StoredFailure]) -> list[QueueEntry]:
    unlabelled = [failure.turn_id for failure in failures if not failure.labelled] or [failures[0].turn_id]
    entries = {entry.turn_id: entry for entry in of_turns(db, unlabelled[:LOOKED_AT])}
    first = entries.pop(unlabelled[0], None)
    if first is None:  # deleted a moment ago
        return []
    return _ranked(rank, [first, *(entry for entry in entries.values() if entry.likeness == first.likeness)])


def _ranked(rank: int, alike: Iterable[QueueEntry]) -> list[QueueEntry]:
    """The first of those that are alike in its place, the others far behind."""
    return [replace(entry, rank=rank + _BEHIND if index else rank) for index, entry in enumerate(alike)]
