"""The queue that has one response of each failure group."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import orm

from tests.store.made import Bring, complete
from webapp.store.labels import labels
from webapp.store.labels.queues import queue, queue_progress
from webapp.store.labels.queues.queue_spec import Spec
from webapp.store.models import Turn

SPEC = Spec("one-per-group")


def lines(*texts: str) -> bytes:
    rows: list[dict[str, Any]] = [
        {"session_id": "s", "kind": "response", "text": text, "recorded_at": f"2026-01-01T00:{minute:02}:00Z"}
        for minute, text in enumerate(texts)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def test_the_largest_unlabelled_group_comes_first_and_a_label_serves_its_alike(bring: Bring, db: orm.Session) -> None:
    texts = ['{"a": 1,}', '{"a": 22,}', '{"another": ["x"],}', "{'a': 1}", "{}"]
    bring(lines(*texts))
    made = complete(db, SPEC)
    first = queue_progress.following(db, made, "ada")
    assert first is not None and first.raw == '{"another": ["x"],}'  # the newest of three
    second = queue_progress.following(db, made, "ada", first.id)
    assert second is not None and second.raw == "{'a': 1}"
    assert queue_progress.alike(db, made, first, "ada") == []
    labels.put(db, first, author="ada", judgement="missed")
    db.commit()
    again = complete(db, SPEC)
    assert queue.is_current(db, again, SPEC)  # a label changes no group
    ours = queue_progress.following(db, again, "ada")
    assert ours is not None and ours.raw == "{'a': 1}"

    bring(lines(*texts, '{"a": 333,}', "{'a': 2}"))
    assert not queue.is_current(db, queue.opened(db, SPEC), SPEC)
    grown = complete(db, SPEC)
    shown = queue_progress.following(db, grown, "ada")
    assert shown is not None and shown.raw == "{'a': 2}"  # the other group has a label
    assert [one.turn.raw for one in queue_progress.alike(db, grown, shown, "ada")] == ["{'a': 1}"]
    behind = queue_progress.after(db, grown, shown.id)
    assert isinstance(behind, Turn) and behind.raw == '{"a": 333,}'
    assert sorted(one.turn.raw or "" for one in queue_progress.alike(db, grown, behind, "ada")) == texts[:2]
