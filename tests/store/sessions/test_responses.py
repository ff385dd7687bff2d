"""The list of responses: each filter holds for the one response, counts agree with the rows, pages join."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, entry, on_sqlite, windlass
from webapp.store.failures import scope
from webapp.store.labels import labels
from webapp.store.sessions import responses, session_list, sessions, turns
from webapp.store.sessions.filters import Filters, cursor
from webapp.store.statistics import incident, shares

CASES = [
    (Filters(), [("mixed", 0), ("mixed", 1), ("mixed", 2), ("mixed", 4), ("plain", 0)]),
    (Filters(sort="time"), [("plain", 0), ("mixed", 0), ("mixed", 1), ("mixed", 2), ("mixed", 4)]),
    (Filters(failed=True), [("mixed", 1), ("mixed", 2)]),
    (Filters(rescued=True), [("mixed", 1)]),
    (Filters(verdict="failed"), [("mixed", 1)]),
    (Filters(verdict="repaired", under="fencepost"), [("mixed", 1)]),
    (Filters(verdict="failed", under="fencepost"), []),
    (Filters(verdict="extracted", model="m2"), [("mixed", 4)]),
    (Filters(verdict="failed", model="m2"), []),
    (Filters(repair="extra_closer", under="fencepost"), [("mixed", 1)]),
    (Filters(model="m2"), [("mixed", 2), ("mixed", 4)]),
    (Filters(model="m\0"), []),
    (Filters(phase="plan"), [("mixed", 0)]),
    (Filters(tool="lookup"), [("mixed", 4)]),
    (Filters(label="labelled"), [("mixed", 2)]),
    (Filters(label="right"), [("mixed", 2)]),
    (Filters(label="wrong"), []),
    (Filters(label="unlabelled", model="m2"), [("mixed", 4)]),
    (Filters(q="nothing"), [("mixed", 2)]),
    (Filters(q="plain"), [("plain", 0)]),
    (Filters(since="1970-01-01T00:06"), [("plain", 0)]),
    (Filters(home="nobody"), []),
]


@pytest.fixture
def stored(bring: Bring, db: orm.Session) -> orm.Session:
    """Two sessions: "mixed" with responses at 0 to 3, of which 1 failed, and "plain" with one."""
    tool = [{"function": {"name": "lookup"}}]
    bring(
        windlass(
            "mixed",
            [
                entry(CALL, model="m1", timestamp=300.0, phase_name="plan"),
                entry(BROKEN, model="m1", timestamp=301.0),
                entry("said nothing", model="m2", timestamp=302.0),
                entry("no JSON was there", "validation_error", timestamp=303.0),
                entry(CALL, model="m2", timestamp=304.0, tool_calls=tool),
            ],
        )
    )
    bring(windlass("plain", [entry(CALL, model="m1", timestamp=400.0)]))
    turn = turns.find(db, sessions.find(db, "mixed"), 2).turn
    labels.put(db, turn, author="Ada", judgement="right", expects="none")
    return db


def places(db: orm.Session, filters: Filters, **more: Any) -> list[tuple[str, int]]:
    return [(line.external_id, line.position) for line in responses.page(db, filters, **more).responses]


def test_each_filter_holds_for_the_one_response(stored: orm.Session) -> None:
    for filters, expected in CASES:
        assert places(stored, filters) == expected, filters.active()
        page = responses.page(stored, filters)
        assert (page.total, page.at_least, page.of) == (len(expected), False, 5), filters.active()


def test_errors_and_findings_lead_to_the_responses_that_have_them(stored: orm.Session) -> None:
    facets = session_list.page(stored, Filters()).facets
    for kind, _ in facets["error"].values:
        (place,) = places(stored, Filters(error=kind))
        assert place in (("mixed", 1), ("mixed", 2)), kind
        assert responses.page(stored, Filters(error=kind)).total == 1
    for rule, _ in facets["finding"].values:
        assert places(stored, Filters(finding=rule)), rule
    assert places(stored, Filters(error="nothing of that kind")) == []


def test_a_line_says_what_came_of_a_response(stored: orm.Session) -> None:
    broken = responses.page(stored, Filters(failed=True, under="langchain")).responses[0]
    assert (broken.home_profile, broken.home, broken.fencepost, broken.under) == (
        *("windlass-strict", "failed", "repaired"),
        None,
    )
    assert broken.failed and broken.rescued and broken.preview == BROKEN and broken.length == len(BROKEN)


def walk(db: orm.Session, filters: Filters, limit: int) -> list[tuple[str, int]]:
    walked, after = [], None
    while True:
        page = responses.page(db, filters, after=after, limit=limit)
        walked += [(line.external_id, line.position) for line in page.responses]
        if (after := page.next) is None:
            return walked


def test_pages_join_without_a_gap_or_a_repeat(stored: orm.Session) -> None:
    for sort in ("failing", "time", "failures", "length"):
        for size in (1, 2, 3, 5):
            assert walk(stored, Filters(sort=sort), size) == places(stored, Filters(sort=sort)), (sort, size)


def test_a_budget_ends_a_page_and_says_so(stored: orm.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_A_BLOCK", "LOOKED_AT", "COUNTED"):
        monkeypatch.setattr(responses, name, 2)
    filters = Filters(model="m1", verdict="extracted", label="unlabelled", sort="time")
    walked, after, cut = [], None, 0
    while True:
        page = responses.page(stored, filters, after=after)
        walked += [(line.external_id, line.position) for line in page.responses]
        cut += page.is_cut
        assert page.at_least
        if (after := page.next) is None:
            break
    assert walked == [("plain", 0), ("mixed", 0)] and cut


@on_sqlite
def test_a_cursor_of_something_else_is_refused(stored: orm.Session) -> None:
    for after in (
        "",
        "x",
        "é",
        "W10",
        cursor("time", [1]),
        cursor("time", [1, 2, 3, 4]),
    ):
        with pytest.raises(sessions.BadCursor):
            responses.page(stored, Filters(sort="time"), after=after)


def test_what_was_not_run_is_neither_read_nor_failed_unless_the_log_says_so(
    bring: Bring, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FENCEPOST_PROFILES", "mine=cmd:no-such-program")
    error = entry("no JSON was there", "validation_error", model="m1")
    bring(windlass("unrun", [entry(CALL, model="m1"), entry(BROKEN, model="m1"), error]), home="mine")
    assert places(db, Filters(verdict="not_run")) == [("unrun", 0)]
    assert places(db, Filters(failed=True)) == [("unrun", 1)]
    (group,) = shares.groups(db, Filters(), "model")
    assert (group["responses"], group["not_run"], group["failed"].count, group["failed"].of) == (2, 1, 1, 1)
    assert scope.coverage(db, scope.scope(db, Filters())).not_run == 1
    assert [series.points for series in incident.incident(db, Filters()).series] == [[(1, 1)]]
