"""Finding: each kind of text, newest session first, page by page, and the same as going through all texts."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, entry, windlass
from tests.store.searching import found_in_all
from webapp.store import search
from webapp.store.db import database
from webapp.store.db.ids import session_notes
from webapp.store.labels import labels
from webapp.store.models import TURNS_A_SESSION, Dump, Session, Turn
from webapp.store.search import index
from webapp.store.search.index import index_turns
from webapp.store.search.query import Query, parse, words
from webapp.store.sessions import sessions, turns


@pytest.fixture
def connection(db: orm.Session) -> sa.Connection:
    return db.connection()


def bring_texts(bring: Bring, *texts: str, name: str = "s") -> None:
    for number, text in enumerate(texts):
        bring(windlass(f"{name}{number}", [entry(text, "turn_input")]))


def raw_hits(matches: Iterable[search.Match]) -> list[str]:
    return ["".join(text for text, _ in match.fragments) for match in matches if match.where == "raw"]


def test_words_phrases_prefixes_and_exclusions(bring: Bring, connection: sa.Connection) -> None:
    bring_texts(bring, "the run_code tool", "a tool for code")
    for query, found in [
        ("run_code", ["the run_code tool"]),
        ("run", []),
        ("tool", ["a tool for code", "the run_code tool"]),
        ("TOOL", ["a tool for code", "the run_code tool"]),
        ('"a tool"', ["a tool for code"]),
        ("tool -code", ["the run_code tool"]),
        ('tool -"for code"', ["the run_code tool"]),
        ("cod*", ["a tool for code"]),
        ('"for cod"*', ["a tool for code"]),
        ("ru*", ["the run_code tool"]),
        ("tool -run*", ["a tool for code"]),
        ("absent", []),
        ("-tool", []),
        ('"', []),
        ("tool AND", []),
        ("\ud800 tool", ["a tool for code", "the run_code tool"]),
    ]:
        assert raw_hits(found_in_all(connection, query)) == found


def test_each_kind_of_text_is_found(bring: Bring, db: orm.Session) -> None:
    entries = [
        entry("a question", "turn_input"),
        entry(BROKEN),
        entry("The tool call was refused: mangled", "validation_error"),
        entry(CALL),
    ]
    bring(windlass("the-odd_id", entries), home="direct")
    session = sessions.find(db, "the-odd_id")
    turn = turns.find(db, session, 1).turn
    labels.put(db, turn, author="ann", judgement="missed", note="zebra stripes")

    def where(query: str) -> list[tuple[str, int | None]]:
        found = found_in_all(db.connection(), query)
        return [(match.where, match.turn_id and match.turn_id % TURNS_A_SESSION) for match in found]

    assert where("odd_id") == [("id", None)]
    assert ("failure", 1) in where("mangled") and ("raw", 2) in where("mangled")
    assert ("error", 1) in where("JSONDecodeError")
    assert where("zebra") == [("note", 1)]
    labels.remove(db, turn, author="ann")
    assert where("zebra") == []


def test_the_newest_session_first_and_page_by_page(bring: Bring, connection: sa.Connection) -> None:
    bring_texts(bring, *(f"common number {number}" for number in range(7)))
    ids = sorted(connection.scalars(sa.select(Session.id)), reverse=True)
    first = search.sessions(connection, "common", [], most=3)
    assert first == (ids[:3], True)
    rest = search.sessions(connection, "common", [], below=ids[2], most=4)
    assert rest == (ids[3:], False)
    some = search.sessions(connection, "common", [Session.id.in_(ids[::3])], most=9)
    assert some == (ids[::3], False)


def test_pages_of_a_word_in_many_turns(
    bring: Bring, connection: sa.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_AT_ONCE", 2)
    for number in range(5):
        bring(windlass(f"s{number}", [entry(f"needle {at}", "turn_input") for at in range(4)]))
    ids = sorted(connection.scalars(sa.select(Session.id)), reverse=True)
    assert search.sessions(connection, "needle", [], most=9)[0] == ids


def test_a_search_ends_with_its_time(bring: Bring, connection: sa.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    bring_texts(bring, *(f"common number {number}" for number in range(3)))
    monkeypatch.setattr(search, "LIMIT", -1.0)
    assert search.sessions(connection, "common", [], most=3)[1]
    assert connection.scalar(sa.select(sa.func.count()).select_from(Session)) == 3


def test_a_session_shows_some_of_its_matches(bring: Bring, db: orm.Session, connection: sa.Connection) -> None:
    bring(windlass("many", [entry(f"needle {number}", "turn_input") for number in range(9)]))
    number = sessions.find(db, "many").id
    assert raw_hits(found_in_all(connection, "needle")) == ["needle 0", "needle 1", "needle 2"]
    inside = search.find(connection, "needle", session_id=number, limit=5)
    assert raw_hits(inside.matches) == [f"needle {at}" for at in range(5)]
    rest = search.find(connection, "needle", session_id=number, limit=5, after=inside.next)
    assert raw_hits(rest.matches) == [f"needle {at}" for at in range(5, 9)]
    assert rest.next is None


def test_what_is_removed_is_not_in_the_index(bring: Bring, db: orm.Session, connection: sa.Connection) -> None:
    bring(windlass("gone", [entry("needle", "turn_input"), entry(BROKEN)]))
    bring_texts(bring, "needle stays")
    number = sessions.find(db, "gone").id
    index.remove(connection, number)
    assert raw_hits(found_in_all(connection, "needle")) == ["needle stays"]
    assert found_in_all(connection, "gone") == []
    assert found_in_all(connection, "JSONDecodeError") == []
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("CREATE VIRTUAL TABLE temp.term USING fts5vocab(main, search_raw, row)")
        terms = connection.exec_driver_sql("SELECT term FROM temp.term").scalars().all()
        assert set(terms) == {"needle", "stays"}


def test_growth_is_found(bring: Bring, connection: sa.Connection) -> None:
    bring(windlass("s", [entry("first", "turn_input")]))
    bring(windlass("s", [entry("first", "turn_input"), entry("second thing", "turn_input")]))
    assert raw_hits(found_in_all(connection, "second")) == ["second thing"]
    assert raw_hits(found_in_all(connection, "first")) == ["first"]


def test_what_stands_around_the_first_hit(bring: Bring, connection: sa.Connection) -> None:
    text = "x" * 500 + " needle_one and needle_two " + "y" * 500
    bring_texts(bring, text)
    (match,) = found_in_all(connection, "needle_two needle_one")
    shown = "".join(fragment for fragment, _ in match.fragments)
    assert len(shown) == 120 and shown in text
    assert [fragment for fragment, hit in match.fragments if hit] == ["needle_one", "needle_two"]
    assert match.hit is not None and text[slice(*match.hit)] in ("needle_one", "needle_two")
    assert (match.starts, match.ends) == (False, False)


def test_a_hit_far_into_a_long_text_is_shown(bring: Bring, connection: sa.Connection) -> None:
    bring_texts(bring, "é" * 400_000 + " needle")
    (match,) = found_in_all(connection, "needle")
    assert match.hit == (400_001, 400_007)
    assert match.fragments[-1] == ("needle", True)


def test_words_of_more_bytes_than_an_index_takes_are_found(bring: Bring, connection: sa.Connection) -> None:
    words = [letter * length for letter, length in zip("長短高低", (682, 683, 1001, 3000), strict=True)]
    bring_texts(bring, *(f"before {word} after" for word in words), "another text")
    assert [len(raw_hits(found_in_all(connection, word))) for word in words] == [1, 1, 1, 1]


VOCABULARY = ["a", "ab", "abc", "b", "B", "run_code", "é", "x1", "_"]
TEXTS = st.lists(st.lists(st.sampled_from([*VOCABULARY, "-", ".", '"', "\0", "\ud800"]), max_size=8), max_size=6)
ODD = ["a*", "run*", "-a", "-b", '"', '"a b"', '-"b a"', '"a a"*', "a-b", "a.b*", "(", "^"]
PARTS = st.sampled_from([*VOCABULARY, *ODD])
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sa.Engine]:
    engine = database.connect(f"sqlite:///{Path(tmp_path_factory.mktemp('search')) / 'store.sqlite3'}")
    database.migrate(engine)
    with orm.Session(engine) as db:
        now = datetime.now(UTC)
        db.add(Dump(id=1, sha256="0" * 64, filename="x", bytes=1, state="done", problems=[], received_at=now))
        db.commit()
    yield engine
    engine.dispose()


def store(connection: sa.Connection, texts: list[str]) -> int:
    number = next(_numbers)
    now = datetime.now(UTC)
    values = {"id": number, "dump_id": 1, "external_id": "", "key": f"k{number}", "revision": number, "models": []}
    values |= {"source_format": "x", "home_profile": "x", "ingested_at": now, "happened_at": now}
    connection.execute(sa.insert(Session).values(values))
    index.index_notes(connection, session_notes(number, "", None))
    for at, text in enumerate(texts):
        place = {"ordinal": at, "position": at, "entry": at, "kind": "prompt"}
        turn_id = number * TURNS_A_SESSION + at
        connection.execute(sa.insert(Turn).values(id=turn_id, session_id=number, raw=text, **place))
        index_turns(connection, [(turn_id, text.encode("utf-8", "surrogatepass"))])
    return number


def naive(text: str, query: Query) -> bool:
    """Whether `text` matches, told by its words."""
    found = f" {' '.join(words(text))} "

    def holds(tokens: tuple[str, ...], prefix: bool) -> bool:
        return re.search(" " + re.escape(" ".join(tokens)) + ("" if prefix else " "), found) is not None

    wanted = [holds(term.tokens, term.prefix) for term in query.required]
    return bool(wanted) and all(wanted) and not any(holds(term.tokens, term.prefix) for term in query.excluded)


@given(TEXTS, st.lists(PARTS, max_size=4))
def test_the_same_as_going_through_all_texts(scratch: sa.Engine, texts: list[list[str]], parts: list[str]) -> None:
    joined, query = [" ".join(text) for text in texts], " ".join(parts)
    with scratch.begin() as connection:
        number = store(connection, joined)
        found = search.find(connection, query, session_id=number).matches
        over_all = search.matches(connection, query, [number], each=100)
        index.remove(connection, number)
        assert search.find(connection, query, session_id=number).matches == ()
    expected = [at for at, text in enumerate(joined) if naive(text, parse(query))]
    assert [(match.turn_id or 0) % TURNS_A_SESSION for match in found] == expected
    assert over_all == list(found)


@given(st.text())
def test_no_text_raises(scratch: sa.Engine, query: str) -> None:
    with scratch.connect() as connection:
        found_in_all(connection, query)
        found_in_all(connection, f'x {query} "')


@pytest.mark.postgres
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_postgresql_plans_a_query_for_its_words_however_often_it_is_asked(connection: sa.Connection) -> None:
    for _ in range(15):
        found_in_all(connection, "the tool")
    plans = "SELECT sum(custom_plans), sum(generic_plans) FROM pg_prepared_statements WHERE statement LIKE :start"
    custom, generic = connection.execute(sa.text(plans), {"start": "SELECT search_%"}).one()
    assert custom >= 20
    assert generic == 0
