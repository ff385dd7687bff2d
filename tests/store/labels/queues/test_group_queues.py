"""The queues of failure groups: of one, and of one response of each."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import orm

from tests.store.made import Bring, complete
from webapp.store.failures import groups, overlay
from webapp.store.labels import labels
from webapp.store.labels.queues import group_queues, queue, queue_progress
from webapp.store.labels.queues.queue_spec import Spec, spec_of
from webapp.store.models import Turn
from webapp.store.sessions.filters import BadFilter, Filters

TEXTS = ['{"b": ["x"],}', '{"a": 1,}', "{'a': 1}", '{"a": 22,}', "{}", '{"b": ["y"],}', '{"a": 333,}']
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


def group_of(db: orm.Session, words: str) -> str:
    return next(line.key for line in groups.page(db, Filters()).groups if words in line.title)


def order(db: orm.Session, spec: Spec) -> list[str | None]:
    made = complete(db, spec)
    turn = queue_progress.following(db, made, "ada")
    raws = []
    while turn is not None:
        raws.append(turn.raw)
        turn = queue_progress.after(db, made, turn.id)
    return raws


def test_one_of_each_sort_comes_first_the_largest_sort_before(bring: Bring, db: orm.Session) -> None:
    bring(lines(*TEXTS))
    spec = Spec("group", group=group_of(db, "trailing comma"))
    raws = order(db, spec)
    assert raws[0] == '{"a": 333,}' and len(raws) == 5  # the newest of three that are alike
    assert raws[1] in TEXTS and raws[1] is not None and raws[1].startswith('{"b"')
    first = queue_progress.following(db, complete(db, spec), "ada")
    assert first is not None
    alike = queue_progress.alike(db, complete(db, spec), first, "ada")
    assert sorted(one.turn.raw or "" for one in alike) == ['{"a": 1,}', '{"a": 22,}']


def test_a_label_changes_no_queue_and_growth_does(bring: Bring, db: orm.Session) -> None:
    bring(lines(*TEXTS))
    spec = Spec("group", group=group_of(db, "trailing comma"))
    made = complete(db, spec)
    turn = queue_progress.following(db, made, "ada")
    assert turn is not None and made.state["groups"][0] == 5
    labels.put(db, turn, author="ada", judgement="missed")
    db.commit()
    assert queue.is_current(db, queue.opened(db, spec), spec)
    assert queue_progress.progress(db, made, "ada").labelled == 1
    bring(lines(*TEXTS, '{"c": 4,}'))
    assert not queue.is_current(db, queue.opened(db, spec), spec)
    assert len(order(db, spec)) == 5  # six, one of them labelled
    assert queue_progress.progress(db, complete(db, spec), "ada").total == 6


def test_filters_and_merges_hold_and_only_the_newest_are_queued(
    bring: Bring, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(lines(*TEXTS))
    comma, quotes = group_of(db, "trailing comma"), group_of(db, "single quotes")
    late = Spec("group", group=comma, view="since=2026-01-01T00%3A03%3A00%2B00%3A00")
    assert len(order(db, late)) == 3
    overlay.merge(db, [quotes], comma, author="ada", reason="the same prompt")
    db.commit()
    assert sorted(filter(None, order(db, Spec("group", group=quotes)))) == sorted(set(TEXTS) - {"{}"})
    monkeypatch.setattr(group_queues, "MOST_QUEUED", 2)
    queue_of_two = Spec("group", group=comma)
    assert sorted(filter(None, order(db, queue_of_two))) == ['{"a": 333,}', '{"b": ["y"],}']
    assert complete(db, queue_of_two).state["groups"][0] == 6
    looked = queue_progress.looked_at(db, Spec("group", group="v1|no such group"))
    assert looked.complete and queue_progress.progress(db, looked, "ada").total == 0


def test_an_address_names_the_group_and_the_filters() -> None:
    given = {"queue": "group", "group": "v1|a|b", "view": "model=m&since=2026-01-02"}
    spec = spec_of(given)
    assert spec.query() == given and spec_of(spec.query()) == spec
    assert spec.words == "a failure group (a — b, model=m&since=2026-01-02)"
    assert spec_of({"queue": "group", "group": "v1|a"}).query() == {"queue": "group", "group": "v1|a"}
    for bad in ({}, {"group": ""}, {"group": "x" * 600}, {"group": "v1|a", "view": "since=nonsense"}):
        with pytest.raises(BadFilter):
            spec_of({"queue": "group", **bad})
