"""Queues: what is in them, in which order, who takes what, and that they follow what comes later."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.contracts.dialects import chat
from tests.store.made import Bring, entry, on_sqlite, windlass
from webapp import parsing
from webapp.config import Settings
from webapp.store import saved
from webapp.store.failures import events, groups
from webapp.store.jobs import replays
from webapp.store.labels import alike, label_content, labels, queue
from webapp.store.labels.label_content import same_as
from webapp.store.labels.queue_spec import Spec, spec_of
from webapp.store.models import Session, Turn
from webapp.store.sessions import deletion
from webapp.store.sessions.filters import BadFilter, Filters

FOUR = '```json\n{{"tool": "t{0}", "arguments": {{"code": "print({1})"}}}}}}}}\n```'
CLEAN = '```json\n{"tool": "ok", "arguments": {}}\n```'


def raws(db: orm.Session, spec: Spec) -> list[str]:
    return [raw(db, number) for number in queue.of(db, spec).turn_ids]


def raw(db: orm.Session, number: int | None) -> str:
    return db.get_one(Turn, number).raw or ""


@pytest.fixture
def stored(bring: Bring) -> None:
    bring(windlass("old", [entry("go", "turn_input"), entry(FOUR.format("a", 1)), entry(CLEAN), entry("prose")]))
    bring(windlass("new", [entry(FOUR.format("a", 22)), entry(FOUR.format("b", 1))]))


@on_sqlite
def test_the_failed_are_queued_session_by_session(stored: None, db: orm.Session) -> None:
    found = raws(db, Spec("failed"))
    assert found == [FOUR.format("a", 22), FOUR.format("b", 1), FOUR.format("a", 1)]


@on_sqlite
def test_what_breaks_its_contract_has_failed_whatever_its_parser_reads(bring: Bring, db: orm.Session) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    calls = [chat([("count", schema)], "count", {"n": value}) for value in ("two", 2)]
    for home in ("direct", None):
        bring(
            "".join(f"{json.dumps(call | {'by': home})}\n" for call in calls).encode(), filename="log.jsonl", home=home
        )
    for spec in (Spec("failed"), spec_of({"queue": "view", "view": "failed=1"})):
        assert [json.loads(text) for text in raws(db, spec)] == [{"n": "two"}] * 2


def test_profiles_disagree_where_those_that_were_run_read_otherwise(
    bring: Bring, db: orm.Session, engine: sa.Engine, tmp_path: Path
) -> None:
    texts = ['{"a": 1}', "prose", CLEAN, FOUR.format("a", 1), "{"]
    bring(windlass("s", [entry(text) for text in texts]))
    run = ["windlass-strict", "fencepost"]
    for more in ([], ["direct"]):
        for profile in more:
            replays.replay(engine, Settings(data=tmp_path, database=""), profile)
        run += more
        expected = [text for text in texts if len({values(text, profile) for profile in run}) > 1]
        assert raws(db, Spec("disagree")) == expected and (CLEAN in expected) is bool(more)


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


def test_a_sample_that_was_drawn_stays_and_each_seed_gives_another(stored: None, bring: Bring, db: orm.Session) -> None:
    spec = Spec("sample", 3, 7)
    queue.draw(db, spec)
    first = raws(db, spec)
    assert len(first) == 3
    bring(windlass("later", [entry(CLEAN)]))
    assert raws(db, spec) == first
    assert len({tuple(raws(db, Spec("sample", 3, seed))) for seed in range(5)}) > 1
    assert len(raws(db, Spec("sample", 1000, 1))) == 6


@on_sqlite
def test_what_no_model_wrote_is_in_no_sample(bring: Bring, db: orm.Session) -> None:
    for number in range(6):
        bring(windlass(f"s{number}", [entry("go", "turn_input")] * 3 + [entry(f"r{number}-{n}") for n in range(10)]))
    found = raws(db, Spec("sample", 12, 3))
    assert len(set(found)) == 12 and all(raw.startswith("r") for raw in found)


def test_a_sample_is_whole_where_responses_failed_without_a_text(bring: Bring, db: orm.Session) -> None:
    unread = {"type": "ai", "content": "", "invalid_tool_calls": [{"name": "t", "args": None, "id": "1", "error": "x"}]}
    for number in range(6):
        messages = [unread, {"type": "ai", "content": f'{{"n": {number}}}'}]
        bring(json.dumps({"id": f"s{number}", "messages": messages}).encode(), filename=f"s{number}.json")
    assert db.scalar(sa.select(sa.func.sum(Session.response_count))) == 12
    assert [len(set(raws(db, Spec("sample", size, 3)))) for size in (3, 6, 12)] == [3, 6, 6]


def test_what_one_labels_stays_in_a_queue_of_unlabelled_sessions(stored: None, db: orm.Session) -> None:
    spec = spec_of({"queue": "view", "view": "label=unlabelled&failed=1"})
    before = queue.of(db, spec, "ann")
    assert len(before.turn_ids) == 3
    labels.put(db, db.get_one(Turn, before.turn_ids[0]), author="ann", judgement="missed")
    assert queue.of(db, spec, "ann") == before
    assert queue.of(db, spec, "bo").turn_ids == before.turn_ids[2:], "of another session"


def test_each_person_takes_what_they_have_not_labelled(stored: None, db: orm.Session) -> None:
    failed = queue.of(db, Spec("failed"))
    first = queue.following(db, failed, "ann")
    assert first is not None
    labels.put(db, db.get_one(Turn, first), author="ann", judgement="missed", seconds=4)
    second = queue.following(db, failed, "ann", first)
    assert second is not None and second != first
    assert queue.following(db, failed, "bob") == first
    assert (failed.beside(second, -1), failed.beside(first, -1), failed.beside(first, 1)) == (first, None, second)
    progress = queue.progress(db, failed, "ann")
    assert progress == {"total": 3, "labelled": 1, "people": {"ann": 1}, "seconds": 4}


@on_sqlite
def test_what_was_skipped_comes_again_at_the_end(stored: None, db: orm.Session) -> None:
    failed = queue.of(db, Spec("failed"))
    skipped, second, third = failed.turn_ids
    for number in (second, third):
        labels.put(db, db.get_one(Turn, number), author="ann", judgement="missed")
    assert queue.following(db, failed, "ann", third) == skipped
    labels.put(db, db.get_one(Turn, skipped), author="ann", judgement="missed")
    assert queue.following(db, failed, "ann", skipped) is None


@on_sqlite
def test_a_deleted_session_is_not_queued(stored: None, db: orm.Session) -> None:
    queue.draw(db, Spec("sample", 3, 7))
    db.execute(sa.update(Session).values(deleted_at=sa.func.now()))
    db.commit()
    assert raws(db, Spec("failed")) == raws(db, Spec("sample", 3, 7)) == []


def test_a_drawn_sample_has_nothing_of_what_came_in_the_place_of_what_is_gone(
    stored: None, bring: Bring, db: orm.Session, engine: sa.Engine
) -> None:
    """SQLite gives the number of the newest session to the next one, once it is gone."""
    bring(windlass("gone", [entry("gone 1"), entry("gone 2")]))
    spec = Spec("sample", 9, 1)
    queue.draw(db, spec)
    before = raws(db, spec)
    last = db.scalars(sa.select(Session).order_by(Session.id.desc())).first()
    assert last is not None
    deletion.delete(db, [last.key])
    assert deletion.purge_just_hidden(engine, [last.id]) == 1
    bring(windlass("later", [entry("later 1"), entry("later 2")]))
    assert raws(db, spec) == [text for text in before if not text.startswith("gone")] != before


def test_of_many_the_first_are_queued_and_what_took_too_long_says_so(
    stored: None, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert queue.of(db, Spec("failed")).of == 3
    monkeypatch.setattr(queue, "MOST", 2)
    some = queue.of(db, Spec("failed"))
    assert (len(some.turn_ids), some.of, some.cut) == (2, None, False)
    monkeypatch.setattr(queue, "LIMIT", -1.0)
    monkeypatch.setattr("webapp.store.db.dialect._STEPS", 1)
    cut = queue.of(db, Spec("failed"))
    assert (cut.of, cut.cut) == (None, True)


def test_the_time_holds_for_all_rows_together(db: orm.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL's own limit holds for each hundred that are fetched."""
    if db.get_bind().dialect.name != "postgresql":
        pytest.skip("SQLite gives rows one at a time, and the limit holds for all")
    many, clock = sa.text("generate_series(1, 2000) AS number"), itertools.count()
    monkeypatch.setattr(queue, "_selected", lambda *_: sa.select(sa.column("number")).select_from(many))
    monkeypatch.setattr(queue, "LIMIT", 300)
    monkeypatch.setattr(queue.time, "monotonic", lambda: next(clock))  # a second for each row
    found = queue.of(db, Spec("failed"))
    assert found.cut and 250 < len(found.turn_ids) <= 301
    assert queue.of(db, Spec("one-per-group")).turn_ids == [], "the transaction goes on"


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
    assert (alike.likeness(one) == alike.likeness(other)) is same
    assert alike.likeness(one, "failed") != alike.likeness(one, "clean")


@on_sqlite
def test_a_typed_value_is_not_given_to_responses_that_say_something_else(stored: None, db: orm.Session) -> None:
    failed = queue.of(db, Spec("failed"))
    first = db.get_one(Turn, failed.turn_ids[0])
    others = [one.Turn for one in queue.similar(db, Spec("failed"), failed, first, "ann")]
    said = label_content.LabelContent("missed", None, None, "one", {"typed": 1})
    (served,) = [given for _, given in alike.served(db, first, said, others)]
    assert (served.judgement, served.expects, served.expected) == ("missed", None, None)


@on_sqlite
def test_of_many_samples_the_oldest_are_forgotten(stored: None, db: orm.Session) -> None:
    """Whoever opens a link makes a sample: every seed is another."""
    for seed in range(queue.MOST_SAMPLES + 5):
        queue.draw(db, Spec("sample", size=2, seed=seed))
    assert len(saved.every(db, "sample")) == queue.MOST_SAMPLES
    assert not queue.is_drawn(db, Spec("sample", size=2, seed=4))
    assert queue.is_drawn(db, Spec("sample", size=2, seed=5))


FAILED = ['{"b": ["x"],}', '{"a": 1,}', "{'a': 1}", '{"a": 22,}', "{}", '{"b": ["y"],}', '{"a": 333,}']


def lines(*texts: str) -> bytes:
    rows: list[dict[str, Any]] = [
        {"session_id": "s", "kind": "response", "text": text, "recorded_at": f"2026-01-01T00:{minute:02}:00Z"}
        for minute, text in enumerate(texts)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def group_of(db: orm.Session, words: str) -> str:
    return next(line.key for line in groups.page(db, Filters()).groups if words in line.title)


def test_of_each_group_one_comes_the_largest_first_and_a_label_serves_its_alike(bring: Bring, db: orm.Session) -> None:
    texts = ['{"a": 1,}', '{"a": 22,}', '{"another": ["x"],}', "{'a': 1}", "{}"]
    bring(lines(*texts))
    spec = Spec("one-per-group")
    assert raws(db, spec) == ['{"another": ["x"],}', "{'a': 1}"]  # the newest of three
    before = queue.of(db, spec, "ada")
    first, second = (db.get_one(Turn, number) for number in before.turn_ids)
    assert queue.similar(db, spec, before, first, "ada") == []
    labels.put(db, first, author="ada", judgement="missed")
    assert queue.of(db, spec, "ada") == before  # to her a label changes nothing
    assert queue.following(db, before, "ada", first.id) == second.id

    bring(lines(*texts, '{"a": 333,}', "{'a': 2}"))
    assert queue.of(db, spec, "ada").turn_ids[0] == first.id
    shown = queue.following(db, queue.of(db, spec, "ada"), "ada")
    assert raw(db, shown) == "{'a': 2}"
    same = queue.similar(db, spec, queue.of(db, spec, "ada"), db.get_one(Turn, shown), "ada")
    assert [one.Turn.raw for one in same] == ["{'a': 1}"]
    assert [raw(db, number) for number in queue.of(db, spec, "bo").turn_ids] == ["{'a': 2}", '{"a": 333,}']


def test_of_each_group_that_is_exported_which_somebody_has_labelled(bring: Bring, db: orm.Session) -> None:
    bring(lines('{"a": 1,}', '{"a": 22,}', '{"a": 333,}', "{'a': 1}"))
    spec = Spec("one-per-group")
    newest, quotes = queue.of(db, spec).turn_ids
    labels.put(db, db.get_one(Turn, newest), author="ada", judgement="missed")
    assert queue.labelled(db, spec) == [newest]
    for number in (queue.of(db, spec, "bo").turn_ids[1], quotes):
        labels.put(db, db.get_one(Turn, number), author="bo", judgement="missed")
    expected = {newest, *queue.of(db, spec, "bo").turn_ids}
    assert queue.labelled(db, spec) == sorted(expected) and len(expected) == 3


@on_sqlite
def test_of_a_group_one_of_each_sort_comes_first_the_largest_sort_before(bring: Bring, db: orm.Session) -> None:
    bring(lines(*FAILED))
    spec = Spec("group", group=group_of(db, "trailing comma"))
    found = raws(db, spec)
    assert found == ['{"a": 333,}', '{"b": ["y"],}', '{"b": ["x"],}', '{"a": 1,}', '{"a": 22,}']
    first = db.get_one(Turn, queue.of(db, spec).turn_ids[0])
    same = queue.similar(db, spec, queue.of(db, spec), first, "ada")
    assert sorted(one.Turn.raw or "" for one in same) == ['{"a": 1,}', '{"a": 22,}']
    bring(lines(*FAILED, '{"c": 4,}'))
    assert queue.of(db, spec).of == 6


def test_filters_and_merges_hold_and_only_the_newest_of_a_group_are_queued(
    bring: Bring, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(lines(*FAILED))
    comma, quotes = group_of(db, "trailing comma"), group_of(db, "single quotes")
    assert len(raws(db, Spec("group", group=comma, view="since=2026-01-01T00%3A03%3A00%2B00%3A00"))) == 3
    events.merge(db, quotes, comma, author="ada", reason="the same prompt")
    db.commit()
    assert sorted(raws(db, Spec("group", group=quotes))) == sorted(set(FAILED) - {"{}"})
    monkeypatch.setattr(queue, "MOST_OF_GROUP", 2)
    assert sorted(raws(db, Spec("group", group=comma))) == ['{"a": 333,}', '{"b": ["y"],}']
    assert queue.of(db, Spec("group", group=comma)).of == 6
    assert raws(db, Spec("group", group="v1|no such group")) == []


def test_an_address_names_the_group_and_the_filters() -> None:
    given = {"queue": "group", "group": "v1|a|b", "view": "model=m&since=2026-01-02"}
    spec = spec_of(given)
    assert spec.query() == given and spec_of(spec.query()) == spec
    assert spec.words == "a failure group (a — b, model=m&since=2026-01-02)"
    assert spec_of({"queue": "group", "group": "v1|a"}).query() == {"queue": "group", "group": "v1|a"}
    for bad in ({}, {"group": ""}, {"group": "x" * 600}, {"group": "v1|a", "view": "since=nonsense"}):
        with pytest.raises(BadFilter):
            spec_of({"queue": "group", **bad})
