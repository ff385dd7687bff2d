"""Health, request numbers and metrics: what a load balancer, a log and Prometheus see."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient
from prometheus_client.parser import text_string_to_metric_families

from tests.browser.conftest import serve, stop
from tests.web import pages
from webapp.extensions import db
from webapp.web import metrics

TOKEN = "a-token-of-sixteen"


def figures(text: str) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_both_answer_by_any_name_and_without_the_token(make: Callable[..., Flask]) -> None:
    client = make(token=TOKEN).test_client()
    for path in ("/healthz", "/readyz"):
        answer = client.get(path, headers={"Host": "10.0.0.7:5001"})
        assert (answer.status_code, answer.json["status"]) == (200, "ok")
    assert client.get("/", headers={"Host": "10.0.0.7:5001"}).status_code == 400
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_a_database_at_another_revision_is_not_ready(app: Flask, client: FlaskClient) -> None:
    with app.app_context(), db.engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '0000'"))
    answer = client.get("/readyz")
    assert answer.status_code == 503 and "revision 0000" in answer.json["checks"]["database"]
    assert answer.json["checks"]["data_folder"] == "ok"
    assert client.get("/healthz").status_code == 200


def test_a_full_disk_and_a_missing_folder_are_not_ready(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "LEAST_FREE", 1 << 80)
    assert "MB left" in client.get("/readyz").json["checks"]["data_folder"]

    def gone(_: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(metrics.shutil, "disk_usage", gone)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json["checks"]["data_folder"]) == (503, "it is not there")


def test_a_plain_number_of_the_proxy_stays_and_any_other_is_replaced(client: FlaskClient) -> None:
    for sent in ["abc-1.2_3", "x" * 64]:
        assert client.get("/", headers={"X-Request-Id": sent}).headers["X-Request-Id"] == sent
    for sent in ["", "a b", "x" * 65, '"}{', "ä"]:
        number = client.get("/nowhere", headers={"X-Request-Id": sent}).headers["X-Request-Id"]
        assert number != sent and len(number) == 16


def test_metrics_count_what_was_asked_and_what_is_stored(client: FlaskClient, post: Callable[..., Any]) -> None:
    assert post(pages.SESSION).status_code == 201
    client.get("/sessions/s")
    client.get("/sessions/nobody")
    client.open("/nowhere", method="BREW")
    seen = figures(client.get("/metrics").text)
    assert seen[("fencepost_sessions",)] == 1 and seen[("fencepost_dumps", "done")] == 1
    routes = {key[2] for key in seen if key[0] == "fencepost_request_seconds_count"}
    assert routes == {"/api/dumps", "/sessions/<session_id:ident>", "none"}


def test_a_server_logs_each_request_as_json(tmp_path: Path) -> None:
    server, url = serve(tmp_path, "--no-examples", FENCEPOST_LOG="json")
    with urllib.request.urlopen(f"{url}/readyz?q=secret") as answer:
        number = answer.headers["X-Request-Id"]
    server.terminate()
    log, _ = server.communicate()
    stop(server)
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    (line,) = [line for line in lines if line.get("request_id") == number]
    assert line["path"] == "/readyz" and line["status"] == 200 and line["time"].endswith("Z")
    assert "secret" not in log
