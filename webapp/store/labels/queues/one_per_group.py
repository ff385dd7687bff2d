"""One response of each failure group to label, the largest unlabelled group first, with those that are alike behind."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import orm

from webapp.store.failures import groups
from webapp.store.failures.failure_reader import StoredFailure
from webapp.store.failures.group_sets import newest_first
from webapp.store.labels.queues.queue_spec import Spec
from webapp.store.labels.queues.scanning import QueueEntry, of_turns
from webapp.store.sessions.filters import Filters

LOOKED_AT = 1_000
"""responses of a group, the newest, among which those are looked for that are alike"""
_BEHIND = 2**40
"""the rank from which on those stand that are alike: a label of the one that is shown can go to them"""


def gathered(db: orm.Session, _spec: Spec) -> list[QueueEntry]:
    """The newest unlabelled response of each group under home, and those of the group that are alike."""
    group_lines, _ = groups.lines(db, Filters(), datetime.now(UTC))
    members = [newest_first(places) for places in group_lines.values()]
    ordered = sorted(members, key=lambda failures: (_is_labelled(failures), -len(failures), failures[0].turn_id))
    entries: list[QueueEntry] = []
    for rank, failures in enumerate(ordered):
        entries += _of_group(db, rank, failures)
    return entries


def signature(db: orm.Session, _spec: Spec) -> list[int]:
    """What tells that there are other groups, or other responses in them: a label does not change it."""
    group_lines, _ = groups.lines(db, Filters(), datetime.now(UTC))
    newest = [segment.failures[bits.max()].turn_id for places in group_lines.values() for segment, bits in places]
    return [len(group_lines), sum(len(bits) for places in group_lines.values() for _, bits in places), sum(newest)]


def _is_labelled(failures: list[StoredFailure]) -> bool:
    return any(failure.labelled for failure in failures)


def _of_group(db: orm.Session, rank: int, failures: list[StoredFailure]) -> list[QueueEntry]:
    unlabelled = [failure.turn_id for failure in failures if not failure.labelled] or [failures[0].turn_id]
    entries = {entry.turn_id: entry for entry in of_turns(db, unlabelled[:LOOKED_AT])}
    first = entries.pop(unlabelled[0], None)
    if first is None:  # deleted a moment ago
        return []
    alike = [entry for entry in entries.values() if entry.likeness == first.likeness]
    shown = [QueueEntry(first.turn_id, first.session_id, rank, first.likeness)]
    return shown + [QueueEntry(one.turn_id, one.session_id, _BEHIND + rank, one.likeness) for one in alike]
