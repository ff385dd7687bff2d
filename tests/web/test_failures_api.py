"""Failure groups as JSON."""

from __future__ import annotations

import io
import json
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

KEY = "v1|trailing comma|whole|alone"


@pytest.fixture
def stored(client: FlaskClient) -> None:
    about = {"kind": "response", "model": "m"}
    texts = [('{"a": 1,}', 1), ("{}", 2), ('{"b": 2,}', 3), ("'x': 1}", 4)]
    rows = [
        about | {"session_id": f"s{number % 2}", "text": text, "recorded_at": f"2026-01-0{day}"}
        for number, (text, day) in enumerate(texts)
    ]
    body = "".join(json.dumps(row) + "\n" for row in rows).encode()
    posted = client.post("/api/dumps?home=direct", data=io.BytesIO(body), content_type="application/octet-stream")
    assert posted.status_code == 201, posted.text


@pytest.mark.usefixtures("stored")
def test_list_group_and_turn(client: FlaskClient) -> None:
    answer = client.get("/api/failures?limit=1").get_json()
    assert (answer["total"], answer["next"], answer["responses"]) == (2, "1", {"run": 4, "of": 4, "not_run": 0})
    [group] = answer["failures"]
    assert (group["key"], group["count"], group["share"], group["sessions"]) == (KEY, 2, 0.5, 1)
    assert group["first_seen"] == "2026-01-01T00:00:00+00:00"
    assert client.get("/api/failures?limit=1&after=1").get_json()["next"] is None
    assert client.get("/api/failures?new=1&since=2026-01-02").get_json()["total"] == 1
    detail = client.get(f"/api/failures/{quote(KEY, safe='')}").get_json()
    assert detail["group"]["count"] == 2 and detail["models"][0]["of"] == 4
    nothing = {"tokens_in": None, "tokens_in_said": 0, "tokens_out": None, "tokens_out_said": 0}
    assert {**nothing, "cost": None, "cost_said": 0}.items() <= detail["spent"].items()
    not_run = next(one for one in detail["readers"] if one["profile"] == "json-repair")
    assert (not_run["read"], not_run["run"]) == (None, 0)
    same = client.get("/api/session/s0/turns/0/failure").get_json()["failure"]
    assert (same["key"], same["count"], same["later"]["position"], same["earlier"]) == (KEY, 2, 1, None)
    assert client.get("/api/session/s1/turns/0/failure").get_json() == {"failure": None}


def test_what_cannot_be_asked(client: FlaskClient) -> None:
    assert client.get("/api/failures/v1%7Cnothing").status_code == 404
    for query in ("limit=0", "limit=x", "after=x", "since=x"):
        assert client.get(f"/api/failures?{query}").status_code == 400, query
    assert client.get("/api/failures").get_json()["failures"] == []
