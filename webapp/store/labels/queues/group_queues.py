"""Queues of failure groups: one response of each sort of a group, or one of each group; what is alike stands behind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlalchemy import orm

from webapp.store.failures import group_detail, group_facts, groups
from webapp.store.failures.scope import Scope, scope
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
    here = scope(db, Filters())
    facts = group_facts.counts(db, here)
    labelled = group_facts.labelled(db, here)
    keys = sorted(facts, key=lambda key: (key in labelled, -facts[key].count, key))
    return [entry for rank, key in enumerate(keys) for entry in _of_group(db, rank, here.of(key))]


def signature(db: orm.Session, spec: Spec) -> list[int]:
    """What tells that there are other groups, or other responses in them: a label does not change it."""
    if spec.kind == GROUP:
        members = _members(db, spec)
        return [len(members), *members[:1], sum(members)]
    here = scope(db, Filters())
    facts = group_facts.counts(db, here)
    newest = [groups.members(db, here.of(key), 1)[0] for key in facts]
    return [len(facts), sum(of_group.count for of_group in facts.values()), sum(newest)]


def in_order(db: orm.Session, turn_ids: list[int]) -> list[QueueEntry]:
    """These responses, given with the newest first: one of each sort, of the largest sort first, then the others."""
    sorts: dict[bytes, list[QueueEntry]] = {}
    for entry in sorted(of_turns(db, turn_ids), key=lambda entry: entry.rank):
        sorts.setdefault(entry.likeness, []).append(entry)
    ordered = sorted(sorts.values(), key=lambda alike: (-len(alike), alike[0].rank))
    entries = [entry for rank, alike in enumerate(ordered) for entry in _ranked(rank, alike)]
    return sorted(entries, key=lambda entry: (entry.rank, entry.turn_id))


def _members(db: orm.Session, spec: Spec) -> list[int]:
    return group_detail.members(db, spec.group, spec.filters())


def _of_group(db: orm.Session, rank: int, group: Scope) -> list[QueueEntry]:
    unlabelled = groups.members(db, group, LOOKED_AT, unlabelled=True) or groups.members(db, group, 1)
    entries = {entry.turn_id: entry for entry in of_turns(db, unlabelled)}
    first = entries.pop(unlabelled[0], None)
    if first is None:  # deleted a moment ago
        return []
    return _ranked(rank, [first, *(entry for entry in entries.values() if entry.likeness == first.likeness)])


def _ranked(rank: int, alike: Iterable[QueueEntry]) -> list[QueueEntry]:
    """The first of those that are alike in its place, the others far behind."""
    return [replace(entry, rank=rank + _BEHIND if index else rank) for index, entry in enumerate(alike)]
