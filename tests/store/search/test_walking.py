"""Going through the sessions: the same as looking at every text, however little is read at once, and read once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store.conftest import connected, copied
from webapp.store import search
from webapp.store.db import database
from webapp.store.models import TURNS_A_SESSION, Dump, Session
from webapp.store.search import hits, walking
from webapp.store.search.index import index_notes, index_turns
from webapp.store.search.pending import SLOTS, Note
from webapp.store.search.query import parse
from webapp.store.search.walking import Walk

SESSIONS, TURNS = 40, 3
WORDS = ("ab", "cd", "ef")
Texts = dict[int, str]
"""texts by their key"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[sa.Engine, Texts]]:
    """Sessions of three turns and notes, each text two words that follow from its place; the word `gh` is nowhere else
    than in the oldest session."""
    with connected(f"sqlite:///{tmp_path_factory.mktemp('walk') / 'db.sqlite3'}") as engine:
        database.migrate(engine)
        yield engine, filled(engine)


@pytest.fixture(scope="module")
def made_there(request: pytest.FixtureRequest) -> Iterator[tuple[sa.Engine, Texts]]:
    """The same on PostgreSQL."""
    with copied(request.getfixturevalue("postgres"), request.getfixturevalue("template")) as engine:
        yield engine, filled(engine)


def filled(engine: sa.Engine) -> Texts:
    texts: Texts = {}
    with engine.begin() as connection:
        now = datetime(2026, 1, 1, tzinfo=UTC)
        dump = {"id": 1, "sha256": "0" * 64, "filename": "f", "bytes": 1, "state": "done", "received_at": now}
        connection.execute(sa.insert(Dump), dump | {"problems": []})
        for number in range(1, SESSIONS + 1):
            about = {"id": number, "dump_id": 1, "external_id": f"s{number}", "key": f"k{number}", "models": []}
            about |= {"source_format": "x", "home_profile": "x", "ingested_at": now, "happened_at": now}
            connection.execute(sa.insert(Session).values(about))
            for ordinal in range(TURNS):
                turn = number * TURNS_A_SESSION + ordinal
                texts[turn * SLOTS + 5] = _words(number * 7 + ordinal * 5)
                texts[turn * SLOTS + 4] = _words(number * 3 + ordinal)
        texts[TURNS_A_SESSION * SLOTS + 5] = "gh"
        index_turns(connection, [(key // SLOTS, text.encode()) for key, text in texts.items() if key % SLOTS == 5])
        index_notes(connection, [Note("note", key // SLOTS, text) for key, text in texts.items() if key % SLOTS == 4])
    return texts


def _words(number: int) -> str:
    return f"{WORDS[number % 3]} {WORDS[number // 3 % 3]}" if number % 4 else ""


def looked_through(texts: Texts, query: str, allowed: Sequence[int]) -> dict[int, list[int]]:
    """The keys of the texts that hold every word and phrase of `query`, by session, the newest session first."""
    terms = [" ".join(term.tokens) for term in parse(query).required]
    matching: dict[int, list[int]] = {}
    for key in sorted(key for key, text in texts.items() if all(f" {term} " in f" {text} " for term in terms)):
        matching.setdefault(key // (TURNS_A_SESSION * SLOTS), []).append(key)
    return {number: matching[number] for number in sorted(matching, reverse=True) if number in allowed}


as_asked = given(
    query=st.sampled_from(["ab", '"ab cd"', '"cd ef"', "ab ef", "gh", '"ef gh"', '"ab ab"', "nowhere"]),
    allowed=st.sets(st.integers(1, SESSIONS)).map(sorted),
    form=st.sampled_from(["sequence", "function", "any"]),
    at_once=st.integers(1, 12),
    width=st.integers(1, 20),
    limit=st.integers(1, 50),
    below=st.one_of(st.none(), st.integers(1, SESSIONS + 2)),
)


def check(
    made: tuple[sa.Engine, Texts],
    query: str,
    allowed: list[int],
    form: str,
    at_once: int,
    width: int,
    limit: int,
    below: int | None,
) -> None:
    engine, texts = made
    chosen: Any = {"sequence": allowed, "function": allowed.__contains__, "any": None}[form]
    all_matching = looked_through(texts, query, allowed if form != "any" else range(SESSIONS + 1))
    expected = {number: keys for number, keys in all_matching.items() if below is None or number < below}
    with pytest.MonkeyPatch.context() as patch, engine.connect() as connection:
        patch.setattr(walking, "_WIDTH", width)
        walk = Walk(connection, hits.expression(connection, parse(query)), chosen, notes_at_once=at_once)
        walk.at_once = at_once
        found, following = walk.sessions(below, limit)
    assert list(found) == list(expected)[:limit]
    assert all(keys is None or keys == expected[number] for number, keys in found.items())
    assert following == (list(expected)[limit - 1] if len(expected) > limit else None)


@as_asked
def test_the_same_as_looking_through_all_texts(made: tuple[sa.Engine, Texts], **asked: Any) -> None:
    check(made, **asked)


@pytest.mark.postgres
@settings(max_examples=40)
@as_asked
def test_the_same_on_postgresql(made_there: tuple[sa.Engine, Texts], **asked: Any) -> None:
    check(made_there, **asked)


@pytest.mark.parametrize("query", ['"ef gh"', "nowhere", "gh"])
def test_what_hardly_anything_matches_is_asked_for_once(
    made: tuple[sa.Engine, Texts], query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each question goes through all that the index has of a phrase's words, however few sessions it is about."""
    asked: list[str] = []
    keys = walking.keys

    def counted(connection: sa.Connection, table: hits.Table, *about: Any, **more: Any) -> list[int]:
        asked.append(table)
        return keys(connection, table, *about, **more)

    monkeypatch.setattr(walking, "keys", counted)
    monkeypatch.setattr(walking, "_WIDTH", 2)
    with made[0].connect() as connection:
        search.walk(connection, query)
    assert asked.count("search_raw") == 1


def test_all_that_was_read_is_answered_though_the_time_is_up(
    made: tuple[sa.Engine, Texts], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walking, "BUDGET", -1.0)
    monkeypatch.setattr(walking, "_WIDTH", 2)
    with made[0].connect() as connection:
        assert search.walk(connection, "gh") == ({1: [TURNS_A_SESSION * SLOTS + 5]}, None)
        assert search.walk(connection, "nowhere") == ({}, None)
