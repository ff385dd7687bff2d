"""Responses grouped by one thing: counts add up to the list's, and a link leads to just those."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import orm

from tests.store.made import Bring
from webapp.store.sessions import responses
from webapp.store.sessions.filters import Filters
from webapp.store.statistics.shares import BY, NotGrouped, groups

TEXTS = {"m1": ['{"a": 1}', '{"a": 1,}', "{'a': 1}"], "m2": ['{"b": 2}', "Sure:\n```json\n{}\n```"]}


@pytest.fixture
def stored(bring: Bring) -> None:
    rows = [
        {"session_id": f"s-{model}", "recorded_at": f"2026-11-0{at + 1}T10:00:00Z", "kind": "response", "model": model}
        | {"text": text}
        | ({"tokens_out": 10 + at} if model == "m1" else {})
        for model, texts in TEXTS.items()
        for at, text in enumerate(texts)
    ]
    bring("\n".join(map(json.dumps, rows)).encode(), filename="g.jsonl", home="direct")


@pytest.mark.usefixtures("stored")
def test_groups_are_all_responses_and_their_links_lead_to_them(db: orm.Session) -> None:
    for by in BY:
        found = groups(db, Filters(), by)
        assert sum(one.failed.of or 0 for one in found) == 5 and sum(one.failed.count for one in found) == 3
        for one in found:
            assert one.microseconds is not None and one.microseconds > 0
            if one.filters is not None and by != "day":  # a day of the list is that of the session
                assert responses.page(db, one.filters).total == one.failed.of, one.value


@pytest.mark.usefixtures("stored")
def test_models_have_rates_and_days_come_newest_first(db: orm.Session) -> None:
    models = {one.value: (one.failed.count, one.failed.of) for one in groups(db, Filters(), "model")}
    assert models == {"m1": (2, 3), "m2": (1, 2)}
    spent = {
        one.value: (one.spent["tokens_out"], one.spent["tokens_out_said"], one.spent["cost"])
        for one in groups(db, Filters(), "model")
    }
    assert spent == {"m1": (11 + 12, 2, None), "m2": (None, 0, None)}, "of the failed ones alone; unknown is no zero"
    assert [one.value for one in groups(db, Filters(), "day")] == ["2026-11-03", "2026-11-02", "2026-11-01"]
    assert [one.value for one in groups(db, Filters(model="m2"), "model")] == ["m2"]
    assert [one.value for one in groups(db, Filters(model="m2"), "strategy")] == ["whole", None], "as many: by name"
    with pytest.raises(NotGrouped):
        groups(db, Filters(tool="x"), "model")
