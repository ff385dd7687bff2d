"""Filters: what a URL's parameters ask for, and what is refused in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from webapp.store.labels import label_content
from webapp.store.sessions.filters import JUDGEMENTS, BadFilter, Filters, of_parameters


def test_parameters_and_back() -> None:
    given = {"failed": "1", "verdict": "none", "under": "fencepost", "failures": "3", "sort": "time", "x": "y"}
    filters = of_parameters(given)
    assert filters == Filters(failed=True, verdict="none", under="fencepost", failures=3, sort="time")
    assert {name: str(value) for name, value in filters.active().items()} == {
        k: v for k, v in given.items() if k != "x"
    }


def test_a_day_holds_its_end() -> None:
    since, until = Filters(since="2026-01-02", until="2026-01-02").span()
    assert since == datetime(2026, 1, 2, tzinfo=UTC)
    assert until == since + timedelta(days=1)
    assert Filters(until="2026-01-02T03:04+02:00").span()[1] == datetime(2026, 1, 2, 1, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"verdict": "broken"}, "verdict takes clean, extracted, repaired, failed, none, not 'broken'"),
        ({"label": "maybe"}, "label takes labelled, unlabelled, right, .*, not 'maybe'"),
        ({"sort": "size"}, "sort takes failing, time, failures, length, not 'size'"),
        ({"failures": "-1"}, "failures must be a number, not '-1'"),
        ({"failures": "٣"}, "failures must be a number"),
        ({"failures": "9999999999"}, "failures must be a number from 0 to"),
        ({"since": "yesterday"}, "since must be a date like .*, not 'yesterday'"),
        ({"until": "9999-12-31"}, "until must be a date"),
        ({"since": "0001-01-01T00:00+14:00"}, "since must be a date"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words(given: dict[str, str], says: str) -> None:
    with pytest.raises(BadFilter, match=says):
        of_parameters(given)


def test_judgements_are_those_of_labels() -> None:
    assert tuple(label_content.JUDGEMENTS) == JUDGEMENTS
