"""Queues: what is in them, in which order, who takes what, and that they follow what comes later."""

from __future__ import annotations

import json

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import Bring, complete, entry, windlass
from webapp import parsing
from webapp.store.labels import label_content, labels
from webapp.store.labels.queues import queue, queue_progress, scanning
from webapp.store.labels.queues.queue_spec import Spec, spec_of
from webapp.store.labels.values import same_as
from webapp.store.models import LabelQueue, LabelQueueItem, Session, Turn

FOUR = '```json\n{{"tool": "t{0}", "arguments": {{"code": "print({1})"}}}}}}}}\n```'
CLEAN = '```json\n{"tool": "ok", "arguments": {}}\n```'


def raws(db: orm.Session, spec: Spec) -> list[str]:
    made = complete(db, spec)
    items = sa.select(Turn.raw).join(LabelQueueItem, LabelQueueItem.turn_id == Turn.id)
    items = items.where(LabelQueueItem.queue_id == made.id)
    return [raw or "" for raw in db.scalars(items.order_by(LabelQueueItem.rank, LabelQueueItem.turn_id))]


@pytest.fixture
def stored(bring: Bring) -> None:
    bring(windlass("old", [entry("go", "turn_input"), entry(FOUR.format("a", 1)), entry(CLEAN), entry("prose")]))
    bring(windlass("new", [entry(FOUR.format("a", 22)), entry(FOUR.format("b", 1))]))


def test_the_failed_are_queued_session_by_session(stored: None, db: orm.Session) -> None:
    found = raws(db, Spec("failed"))
    assert found == [FOUR.format("a", 22), FOUR.format("b", 1), FOUR.format("a", 1)]


def test_where_profiles_disagree_most_comes_first(bring: Bring, db: orm.Session) -> None:
    bring(windlass("s", [entry('{"a": 1}'), entry("prose"), entry(CLEAN), entry(FOUR.format("a", 1)), entry("{")]))
    found = raws(db, Spec("disagree"))
    results = [len({values(raw, name) for name in parsing.profiles()}) for raw in found]
    assert results == sorted(results, reverse=True) and results[-1] > 1
    assert CLEAN in found and len(found) > 2


def values(raw: str, profile: str) -> str:
    trace = parsing.parse(raw, profile)
    return same_as(trace.values) if trace.chosen else ""


def test_possibly_silently_wrong_is_what_production_took_and_fencepost_reads_otherwise(
    bring: Bring, db: orm.Session
) -> None:
    two = '{"a": 1}\n{"agents": [1]}'
    bring(windlass("w", [entry(CLEAN)]))
    bring((json.dumps({"id": "m", "text": two}) + "\n").encode(), filename="m.jsonl", home="master-before")
    found = raws(db, Spec("silent"))
    assert found == [two]


def test_a_sample_is_the_same_for_the_same_seed(stored: None, bring: Bring, db: orm.Session) -> None:
    first = raws(db, Spec("sample", 3, 7))
    assert len(first) == 3
    bring(windlass("later", [entry(CLEAN)]))
    assert raws(db, Spec("sample", 3, 7)) == first
    drawn = {tuple(raws(db, Spec("sample", 3, seed))) for seed in range(5)}
    assert len(drawn) > 1
    assert len(raws(db, Spec("sample", 1000, 1))) == 6


def test_a_large_store_is_sampled_by_places(bring: Bring, db: orm.Session) -> None:
    for number in range(6):
        bring(windlass(f"s{number}", [entry("go", "turn_input")] * 3 + [entry(f"r{number}-{n}") for n in range(10)]))
    found = raws(db, Spec("sample", 12, 3))
    assert len(set(found)) == 12 and all(raw.startswith("r") for raw in found)


def test_a_filter_of_the_list_is_a_queue(stored: None, db: orm.Session) -> None:
    assert raws(db, spec_of({"queue": "view", "view": "format=windlass"})) != []
    assert len(raws(db, spec_of({"queue": "view", "view": "failed=1"}))) == 3
    assert raws(db, spec_of({"queue": "view", "view": "format=nothing"})) == []


def test_each_person_takes_what_they_have_not_labelled(stored: None, db: orm.Session) -> None:
    made = complete(db, Spec("failed"))
    first = queue_progress.following(db, made, "ann")
    assert first is not None
    labels.put(db, first, author="ann", judgement="missed", seconds=4)
    second = queue_progress.following(db, made, "ann", first.id)
    assert second is not None and second.id != first.id
    bobs = queue_progress.following(db, made, "bob")
    assert bobs is not None and bobs.id == first.id
    back = queue_progress.before(db, made, second.id)
    assert back is not None and back.id == first.id
    progress = queue_progress.progress(db, made, "ann")
    assert (progress.total, progress.labelled, progress.people, progress.seconds) == (3, 1, {"ann": 1}, 4)


def test_what_was_skipped_comes_again_at_the_end(stored: None, db: orm.Session) -> None:
    made = complete(db, Spec("failed"))
    order = [
        db.get(Turn, i)
        for i in db.scalars(sa.select(LabelQueueItem.turn_id).order_by(LabelQueueItem.rank, LabelQueueItem.turn_id))
    ]
    skipped, second, third = (turn for turn in order if turn is not None)
    for turn in (second, third):
        labels.put(db, turn, author="ann", judgement="missed")
    last = queue_progress.following(db, made, "ann", third.id)
    assert last is not None and last.id == skipped.id
    labels.put(db, skipped, author="ann", judgement="missed")
    assert queue_progress.following(db, made, "ann", skipped.id) is None


def test_a_queue_follows_what_comes_later(stored: None, bring: Bring, db: orm.Session) -> None:
    assert len(raws(db, Spec("failed"))) == 3
    bring(windlass("third", [entry(FOUR.format("c", 1))]))
    made = queue.opened(db, Spec("failed"))
    queue.extend(db, made, Spec("failed"))
    assert len(raws(db, Spec("failed"))) == 4


def test_a_deleted_session_is_not_queued(stored: None, db: orm.Session) -> None:
    made = complete(db, Spec("failed"))
    db.execute(sa.update(Session).values(deleted_at=sa.func.now()))
    db.commit()
    assert queue_progress.following(db, made, "ann") is None


def test_a_session_of_many_failures_is_gone_through_in_stretches(
    bring: Bring, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(queue._TURNS_AT_ONCE, "failed", 5)
    bring(windlass("long", [entry(FOUR.format(n, n)) for n in range(12)]))
    assert len(raws(db, Spec("failed"))) == 12


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('{"n": 1}}', '{ "n":  22}}', False),
        ('{"n": 1}}', '{"n": 22}}', True),
        ("call call_8f3a9b01c2d3", "call call_11aa9b01c2ff", True),
        ('{"code": "' + "x" * 40 + '"}}', '{"code": "' + "y" * 50 + '"}}', True),
        ('{"tool": "a"}}', '{"tool": "b"}}', False),
        ("a\n\n b", "a b", True),
        ('{"a": 1}}', '{"a": 1}}}', False),
    ],
)
def test_alike_is_the_same_but_for_numbers_ids_space_and_long_strings(one: str, other: str, same: bool) -> None:
    assert (scanning.likeness(one) == scanning.likeness(other)) is same
    assert scanning.likeness(one, "failed") != scanning.likeness(one, "clean")


def test_one_label_serves_its_group_with_the_value_that_is_read_in_each(stored: None, db: orm.Session) -> None:
    made = complete(db, Spec("failed"))
    first = queue_progress.following(db, made, "ann")
    assert first is not None
    (other,) = [one.turn for one in queue_progress.alike(db, made, first, "ann")]
    value = {"tool": "ta", "arguments": {"code": "print(22)"}}
    said = label_content.LabelContent("missed", "extra-closing", None, "one", value)
    labels.put_all(db, [(first, said), *queue_progress.served(db, first, said, [other])], author="ann", like="new 0")
    label = labels.of_author(db, other, "ann")
    assert label is not None
    assert (label.judgement, label.expected["arguments"]) == ("missed", {"code": "print(1)"})
    assert queue_progress.alike(db, made, first, "ann") == []


def test_a_typed_value_is_not_given_to_responses_that_say_something_else(stored: None, db: orm.Session) -> None:
    made = complete(db, Spec("failed"))
    first = queue_progress.following(db, made, "ann")
    assert first is not None
    others = [one.turn for one in queue_progress.alike(db, made, first, "ann")]
    said = label_content.LabelContent("missed", None, None, "one", {"typed": 1})
    (served,) = [given for _, given in queue_progress.served(db, first, said, others)]
    assert (served.judgement, served.expects, served.expected) == ("missed", None, None)


def test_of_many_samples_the_oldest_are_forgotten(stored: None, db: orm.Session) -> None:
    """Whoever opens a link makes a sample: every seed is another."""
    for seed in range(queue.MOST_OF_A_KIND + 5):
        complete(db, Spec("sample", size=2, seed=seed))
    complete(db, Spec("failed"))
    specs = db.scalars(sa.select(LabelQueue.spec).order_by(LabelQueue.id)).all()
    assert len(specs) == queue.MOST_OF_A_KIND + 1 and not any(spec[-6:] == "seed=4" for spec in specs)
    queues = sa.select(LabelQueue.id)
    assert not db.scalar(sa.select(sa.func.count()).where(LabelQueueItem.queue_id.not_in(queues)))
