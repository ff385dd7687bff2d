"""The comparison of two profiles: the matrix, what was not run, filters, labels, the sign test and the cells' pages."""

from __future__ import annotations

from math import comb
from typing import Any

import pytest
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, entry, on_sqlite, windlass
from webapp.config import Settings
from webapp.parsing import UnknownProfile
from webapp.store import rates
from webapp.store.compare import comparing, listing
from webapp.store.jobs import replays
from webapp.store.labels import labels
from webapp.store.sessions import deletion, sessions, turns
from webapp.store.sessions.filters import BadFilter, Filters
from webapp.web.api.shapes import filled

DEEP = "[" * 2_000 + "]" * 2_000
TEXTS = (CALL, BROKEN, "Nothing.", '{"a": 1, "a": 2,}', '{"a": 1}')


def compare(db: orm.Session, a: str, b: str, filters: Filters | None = None) -> comparing.Comparison:
    return comparing.compare(db, a, b, filters or Filters())


@pytest.fixture
def stored(bring: Bring, db: orm.Session, settings: Settings) -> orm.Session:
    """Five responses, over which `direct` was run, and a later one, over which it was not."""
    bring(windlass("s", [entry(text, model="m1" if at < 3 else "m2") for at, text in enumerate(TEXTS)]))
    replays.replay(db.get_bind(), settings, "direct")  # type: ignore[arg-type]
    bring(windlass("later", [entry("{}", model="m1")]))
    return db


def counts(db: orm.Session, a: str, b: str, filters: Filters | None = None) -> dict[str, int]:
    comparison = compare(db, a, b, filters)
    assert comparison.of == sum(comparison.counts.values())
    return {cell: count for cell, count in comparison.counts.items() if count}


@on_sqlite
def test_each_response_stands_in_one_cell(stored: orm.Session) -> None:
    expected = {"both_same": 1, "only_b": 3, "neither": 1, "not_run_a": 1}
    assert counts(stored, "direct", "fencepost") == expected
    assert counts(stored, "direct", "fencepost", Filters(format="windlass")) == expected
    swapped = {"both_same": 1, "only_a": 3, "neither": 1, "not_run_b": 1}
    assert counts(stored, "fencepost", "direct") == swapped
    assert counts(stored, "langchain", "json-repair") == {"not_run_both": 6}
    comparison = compare(stored, "direct", "fencepost")
    assert (comparison.a_runs.reason, comparison.b_runs.reason) == ("run over 5 of 6 responses", None)
    assert (comparison.compared, comparison.signs.first, comparison.signs.second) == (5, 0, 3)
    assert (comparison.sessions, comparison.signs.sessions, comparison.signs.p) == (1, 1, 1.0)
    with pytest.raises(UnknownProfile):
        compare(stored, "nobody", "fencepost")


@on_sqlite
def test_different_values_and_values_too_deep_to_compare_are_cells_of_their_own(
    stored: orm.Session, bring: Bring, settings: Settings
) -> None:
    two = 'First {"a": 1} and then {"b": 2}.'
    bring(windlass("more", [entry(two), entry(DEEP)]), filename="more.json")
    for name in ("first-to-last-brace", "direct", "master-before"):
        replays.replay(stored.get_bind(), settings, name)  # type: ignore[arg-type]
    for filters in (None, Filters(format="windlass")):
        assert counts(stored, "master-before", "fencepost", filters).get("both_different") == 1, filters
        deep = counts(stored, "direct", "fencepost", filters)
        assert sum(deep.values()) == 8 and not any(cell.startswith("not_run") for cell in deep), filters
    assert counts(stored, "direct", "fencepost") == counts(stored, "direct", "fencepost", Filters(format="windlass"))


@on_sqlite
def test_deleted_sessions_are_in_no_cell(stored: orm.Session) -> None:
    deletion.delete(stored, [sessions.find(stored, "s").key])
    assert counts(stored, "direct", "fencepost") == {"not_run_a": 1}
    assert not listing.page(stored, "direct", "fencepost", "only_b", Filters())["lines"]


def test_the_pages_of_the_cells_hold_what_the_matrix_counts(stored: orm.Session) -> None:
    for filters in (Filters(), Filters(format="windlass")):
        comparison = compare(stored, "direct", "fencepost", filters)
        for cell in comparing.CELLS:
            for by in listing.BY:
                page = listing.page(stored, "direct", "fencepost", cell, filters, by=by)
                assert len(page["lines"]) == comparison.counts[cell] == page["grouped"], (cell, by, filters)
                assert sum(count for _, count in page["groups"]) == page["grouped"]
                for value, count in page["groups"]:
                    one = listing.page(stored, "direct", "fencepost", cell, filters, by=by, value=value)
                    assert [shown for *_, shown in one["lines"]] == [value] * count
    with pytest.raises(BadFilter, match="cell takes both_same"):
        listing.page(stored, "direct", "fencepost", "nothing", Filters())


@on_sqlite
def test_pages_follow_each_other_and_say_where_grouping_ended(
    stored: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = listing.page(stored, "direct", "fencepost", "only_b", Filters(), limit=2)
    rest = listing.page(stored, "direct", "fencepost", "only_b", Filters(), limit=2, after=first["next"] or 0)
    positions = [response.position for response, *_ in (*first["lines"], *rest["lines"])]
    assert positions == [0, 1, 3] and rest["next"] is None and not first["cut"]
    assert [(of_a, of_b) for _, of_a, of_b, _ in first["lines"]] == [("failed", "extracted"), ("failed", "repaired")]
    monkeypatch.setattr(listing, "GROUPED", 1)
    cut = listing.page(stored, "direct", "fencepost", "only_b", Filters())
    assert cut["cut"] and cut["grouped"] == 1 and len(cut["lines"]) == 3


@on_sqlite
def test_labels_say_what_was_fixed_broken_and_silently_broken(stored: orm.Session) -> None:
    meant: list[Any] = [{"tool": "run_code", "arguments": {"code": "1"}}] * 2
    meant += [None, {"a": 2}, {"a": 3}]
    for position, value in enumerate(meant):
        expects = "none" if value is None else "one"
        turn = turns.find(stored, sessions.find(stored, "s"), position).turn
        labels.put(stored, turn, author="Ada", judgement="right", expected=value, expects=expects)
    matrix = compare(stored, "direct", "fencepost").labels
    assert (matrix.total, matrix.fixed, matrix.broken, matrix.silently_wrong) == (5, 3, 0, 0)
    assert matrix.of("right", "right") == 1 and matrix.of("silently wrong", "silently wrong") == 1
    back = compare(stored, "fencepost", "direct").labels
    assert (back.fixed, back.broken) == (0, 3) and back.signs.p == 1.0, "one session says nothing of others"
    assert compare(stored, "direct", "fencepost", Filters(model="m2")).labels.total == 2
    assert filled("Comparison", compare(stored, "direct", "fencepost"))["labels"]["wrong_right"] == 3


@pytest.mark.parametrize(("fewer", "of"), [(0, 1), (0, 5), (1, 6), (3, 20), (40, 100), (5, 10)])
def test_of_a_response_a_session_the_test_is_the_sign_test(fewer: int, of: int) -> None:
    exact = min(1.0, 2 * sum(comb(of, heads) for heads in range(fewer + 1)) / 2**of)
    test = rates.sign_test([(1, 0)] * fewer + [(0, 1)] * (of - fewer))
    assert (test.first, test.second, test.sessions, test.p) == (fewer, of - fewer, of, pytest.approx(exact, rel=1e-9))


def test_failures_that_repeat_in_one_session_are_one_trial() -> None:
    assert rates.sign_test([(0, 10)]).p == 1.0 and rates.sign_test(()).p is None
    assert rates.sign_test([(0, 10), (1, 0), (0, 1)]).p == 0.75, "of 8 signs 6 leave ten or more"
    assert rates.sign_test([(3, 0)] * 6).p == pytest.approx(2 / 2**6)
    assert rates.sign_test([(5, 5)]).p == 1.0 and rates.sign_test([(1, 0)] * 9_000).p < 1e-300  # type: ignore[operator]
