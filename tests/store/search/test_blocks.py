"""Turns that PostgreSQL's index knows together: found as if each text were looked through, in whatever blocks."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest
import sqlalchemy as sa

from tests.store.search.test_folding import PIECES, TEXTS, as_utf8
from webapp.store.models import TURNS_A_SESSION
from webapp.store.search import blocks, folding
from webapp.store.search.folding import in_blocks
from webapp.store.search.index import index_turns, remove
from webapp.store.search.pending import Pending
from webapp.store.search.query import Query, Term, parse
from webapp.store.search.words import words

pytestmark = [pytest.mark.postgres, pytest.mark.parametrize("url", ["postgres"], indirect=True)]
FIRST = 10**6
"""a session that no other test has"""
WORDS = ("ab", "cd", "ef", "abc", "gh")
QUERIES = (
    *("ab", "ab*", '"ab cd"', '"cd ab"*', "ab cd", "ab -cd", 'ab -"cd ef"', "abc -ab*", "nowhere", "ab nowhere"),
    *('"ab ab ab"', "ab -nowhere", "-ab", "gh"),
)


@pytest.fixture
def connection(engine: sa.Engine) -> Iterator[sa.Connection]:
    with engine.connect() as connection:
        yield connection


def made(seed: int, sessions: int = 12, turns: int = 9) -> dict[int, str]:
    """Texts of up to six words by the ids of their turns, some of which have none."""
    chance = random.Random(seed)
    return {
        (FIRST + session) * TURNS_A_SESSION + ordinal: " ".join(chance.choices(WORDS[:4], k=chance.randrange(7)))
        for session in range(sessions)
        for ordinal in range(turns)
        if chance.random() < 0.8
    }


def put(connection: sa.Connection, texts: dict[int, str]) -> None:
    index_turns(connection, [(turn_id, as_utf8(text)) for turn_id, text in texts.items()])


def holds(text: str, term: Term) -> bool:
    """Whether the words of `text` have those of `term` one after the other."""
    in_order, tokens = list(words(text)), list(term.tokens)
    stretches = [in_order[at : at + len(tokens)] for at in range(len(in_order) - len(tokens) + 1)]
    if term.prefix:
        return any(each[:-1] == tokens[:-1] and each[-1].startswith(tokens[-1]) for each in stretches)
    return tokens in stretches


def looked_through(texts: dict[int, str], query: Query) -> list[int]:
    return [
        turn_id
        for turn_id, text in sorted(texts.items())
        if all(holds(text, term) for term in query.required) and not any(holds(text, term) for term in query.excluded)
    ]


def found(connection: sa.Connection, query: Query, low: int, high: int, **how: int | bool) -> list[int]:
    limit, newest = int(how.get("limit", 10**6)), bool(how.get("newest", False))
    return blocks.turns(connection, blocks.block_query(query), (low, high), newest=newest, limit=limit)


def check(connection: sa.Connection, texts: dict[int, str], queries: Sequence[str] = QUERIES) -> None:
    """Over all, from either end, of some sessions, from within one, and only some."""
    start, end = FIRST * TURNS_A_SESSION, (FIRST + 100) * TURNS_A_SESSION
    ranges = [(start, end), (start + 3 * TURNS_A_SESSION, start + 7 * TURNS_A_SESSION)]
    ranges += [
        (start + 4 * TURNS_A_SESSION + 3, start + 5 * TURNS_A_SESSION),
        (start + 5, start + 2 * TURNS_A_SESSION + 4),
    ]
    for query in filter(lambda query: query.required, map(parse, queries)):
        matching = looked_through(texts, query)
        for low, high in ranges:
            expected = [turn_id for turn_id in matching if low <= turn_id < high]
            assert found(connection, query, low, high) == expected, query
            assert found(connection, query, low, high, newest=True) == expected[::-1], query
            assert found(connection, query, low, high, limit=3) == expected[:3], query
            assert found(connection, query, low, high, newest=True, limit=3) == expected[::-1][:3], query


@pytest.mark.parametrize("planned", ["as it likes", "by the words"])
@pytest.mark.parametrize(("most", "at_once"), [(1, 1), (2, 3), (4, 2), (32, 32)])
def test_the_same_as_looking_through_all_texts(
    connection: sa.Connection, monkeypatch: pytest.MonkeyPatch, most: int, at_once: int, planned: str
) -> None:
    if planned == "by the words":
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off")
    monkeypatch.setattr(folding, "_MOST_TURNS", most)
    monkeypatch.setattr(blocks, "_AT_ONCE", at_once)
    monkeypatch.setattr(blocks, "_MOST_AT_ONCE", 2 * at_once)
    texts = made(most)
    put(connection, texts)
    check(connection, texts)
    if planned == "by the words":
        plan = connection.exec_driver_sql("EXPLAIN SELECT id FROM search_block WHERE words @@ 'ab & cd'").scalars()
        assert "Bitmap Index Scan on ix_search_block_words" in "".join(plan)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_removed_and_comes_again_is_found_as_it_is(
    connection: sa.Connection, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """A session is removed, or its turns from some ordinal on, within a block or between two; then others come."""
    monkeypatch.setattr(folding, "_MOST_TURNS", 4)
    chance, texts = random.Random(seed), made(seed)
    put(connection, texts)
    for session in chance.sample(range(12), 6):
        number, first = FIRST + session, chance.choice([0, 1, 3, 4, 5, 8, 9])
        low, high = number * TURNS_A_SESSION + first, (number + 1) * TURNS_A_SESSION
        remove(connection, number, first)
        texts = {turn_id: text for turn_id, text in texts.items() if not low <= turn_id < high}
        check(connection, texts, ["ab", '"ab cd"'])
        if chance.random() < 0.7:
            new = {low + ordinal: chance.choice(["ab cd", "gh", "ef ab"]) for ordinal in range(chance.randrange(1, 9))}
            put(connection, new)
            texts |= new
    check(connection, texts)


def test_texts_of_any_characters_and_lengths(connection: sa.Connection) -> None:
    long = " ".join(f"word{number}" for number in range(30_000))
    texts = {
        FIRST * TURNS_A_SESSION + number: text for number, text in enumerate([*TEXTS, long, "長" * 700, "b" * 5000])
    }
    put(connection, texts)
    pieces = [piece for piece in PIECES if any(words(piece))]
    queries = [*pieces, *(f'"{first} {second}"' for first in pieces for second in pieces), "word29999", "word2999*"]
    check(connection, texts, [*queries, '"word2 word3"', "長" * 700, "b" * 5000, "b" * 4999, f"{'b' * 3000}*"])


def test_of_a_text_with_too_many_words_the_first_are_found(connection: sa.Connection) -> None:
    put(connection, {FIRST * TURNS_A_SESSION: " ".join(f"word{number}" for number in range(60_000))})
    low, high = FIRST * TURNS_A_SESSION, (FIRST + 1) * TURNS_A_SESSION
    assert found(connection, parse("word29999"), low, high) == [low]
    assert found(connection, parse("word59999"), low, high) == []


def test_in_blocks_before_or_as_it_is_written_it_is_the_same(connection: sa.Connection) -> None:
    base = FIRST * TURNS_A_SESSION
    texts = [(number, as_utf8(text)) for number, text in enumerate(TEXTS)]
    pending = Pending()
    pending.add([(turn_id + base, text) for turn_id, text in texts], [])
    pending.add([], [block.moved(base + TURNS_A_SESSION) for block in in_blocks(texts)])
    pending.flush(connection)
    for table, columns, count in (("search_raw", "words", len(TEXTS)), ("search_block", "last % :size, words", 1)):
        rows = connection.execute(
            sa.text(f"SELECT id % :size, {columns} FROM {table} WHERE id >= :first ORDER BY 1"),
            {"size": TURNS_A_SESSION, "first": base},
        ).all()
        assert len(rows) >= 2 * count and rows[::2] == rows[1::2]


def test_what_is_taken_back_is_not_written(connection: sa.Connection) -> None:
    pending = Pending()
    pending.add([(FIRST * TURNS_A_SESSION, b"one")], list(in_blocks([((FIRST + 1) * TURNS_A_SESSION, b"two")])))
    mark = pending.mark()
    pending.add([((FIRST + 2) * TURNS_A_SESSION, b"one")], list(in_blocks([((FIRST + 3) * TURNS_A_SESSION, b"two")])))
    pending.cut(mark)
    assert pending.size == mark.size == len(b"one") + len(b" two ")
    pending.flush(connection)
    low, high = FIRST * TURNS_A_SESSION, (FIRST + 4) * TURNS_A_SESSION
    assert [found(connection, parse(word), low, high) for word in ("one", "two")] == [[low], [low + TURNS_A_SESSION]]


def test_a_block_is_of_one_session_and_not_long(connection: sa.Connection) -> None:
    put(connection, {FIRST * TURNS_A_SESSION + number: "ab " * 20_000 for number in range(3)})
    put(connection, {(FIRST + 1 + number) * TURNS_A_SESSION: "ab" for number in range(3)})
    put(connection, {(FIRST + 4) * TURNS_A_SESSION + number: "ab" for number in range(40)})
    rows = connection.execute(
        sa.text("SELECT id, last FROM search_block WHERE id >= :first ORDER BY id"), {"first": FIRST}
    )
    at = [(*divmod(row.id - FIRST * TURNS_A_SESSION, TURNS_A_SESSION), row.last - row.id) for row in rows]
    assert at == [(0, 0, 0), (0, 1, 0), (0, 2, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0), (4, 0, 31), (4, 32, 7)]


def test_what_copy_refuses_is_an_error_like_any_other(engine: sa.Engine) -> None:
    first = FIRST * TURNS_A_SESSION
    with engine.begin() as connection:
        index_turns(connection, [(first, b"one")])
    with pytest.raises(sa.exc.IntegrityError, match="search_raw"), engine.begin() as connection:
        index_turns(connection, [(first + 1, b"two"), (first, b"again")])
    with engine.connect() as connection:
        for table in ("search_raw", "search_block"):
            count = sa.text(f"SELECT count(*) FROM {table} WHERE id >= :first")
            assert connection.scalar(count, {"first": first}) == 1
