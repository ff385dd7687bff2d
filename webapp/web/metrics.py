"""What operators see: /metrics, /healthz and /readyz, and a line of the log a request."""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from functools import partial

import sqlalchemy as sa
from flask import Blueprint, Flask, Response, current_app, g, jsonify, request
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.process_collector import ProcessCollector
from sqlalchemy.exc import SQLAlchemyError

from webapp import __version__
from webapp.config import MEGABYTE, Settings
from webapp.extensions import db
from webapp.store.db import database
from webapp.store.files import file_store
from webapp.store.models import Dump, Session, Task
from webapp.store.tasks import EXPORT, IMPORT, REPLAY

blueprint = Blueprint("metrics", __name__)
_KEY = "fencepost_metrics"
_sessions = sa.select(sa.func.count()).select_from(Session).where(Session.deleted_at.is_(None))


def init_app(app: Flask) -> None:
    registry = CollectorRegistry()
    registry.register(StoredFigures())
    ProcessCollector(registry=registry)
    labels = ("method", "route", "status")
    seconds = Histogram("fencepost_request_seconds", "Time to answer a request", labels, registry=registry)
    app.extensions[_KEY] = registry
    app.before_request_funcs.setdefault(None, []).insert(0, begin_request)
    app.after_request(partial(end_request, seconds))


@blueprint.get("/metrics")
def show() -> Response:
    """The figures in Prometheus' text format."""
    registry: CollectorRegistry = current_app.extensions[_KEY]
    return Response(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class StoredFigures:
    """Figures of the database, read when they are asked for."""

    def describe(self) -> list[GaugeMetricFamily]:
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield _gauge("build", "The version that runs", ["version"], {(__version__,): 1})
        yield _gauge("sessions", "Sessions that the list shows", [], {(): db.session.scalar(_sessions) or 0})
        dumps = db.session.execute(sa.select(Dump.state, sa.func.count()).group_by(Dump.state))
        yield _gauge("dumps", "Dumps by state", ["state"], {(state,): count for state, count in dumps})
        for name, kinds in (("jobs", (IMPORT, EXPORT)), ("runs", (REPLAY,))):
            query = sa.select(Task.state, sa.func.count()).where(Task.kind.in_(kinds)).group_by(Task.state)
            counts: dict[tuple[str, ...], int] = {(state,): count for state, count in db.session.execute(query)}
            yield _gauge(name, f"{name.capitalize()} by state", ["state"], counts)


def _gauge(name: str, words: str, labels: list[str], values: dict[tuple[str, ...], int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"fencepost_{name}", words, labels=labels)
    for key, value in values.items():
        family.add_metric(list(key), value)
    return family


HEADER = "X-Request-Id"
_PLAIN = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_log = logging.getLogger("fencepost.requests")


def begin_request() -> None:
    sent = request.headers.get(HEADER, "")
    g.request_id = sent if _PLAIN.fullmatch(sent) else secrets.token_hex(8)
    g.request_began = time.perf_counter()


def end_request(seconds: Histogram, response: Response) -> Response:
    """Name the request in its answer, and note how long it took."""
    took = time.perf_counter() - g.request_began
    method, route = (request.method, request.url_rule.rule) if request.url_rule else ("any", "none")
    seconds.labels(method, route, response.status_code).observe(took)
    response.headers[HEADER] = g.request_id
    if current_app.config["SETTINGS"].log == "json":
        facts = {
            "request_id": g.request_id,
            "method": request.method,
            "path": request.path,
            "status": response.status_code,
            "milliseconds": round(took * 1000, 1),
            "bytes": response.content_length,
            "peer": request.remote_addr,
        }
        _log.info("%s %s", request.method, response.status_code, extra=facts)
    return response


health_blueprint = Blueprint("health", __name__)
OPEN_ENDPOINTS = frozenset({"health.alive", "health.ready"})
LEAST_FREE = 100 * MEGABYTE
"""bytes that the data folder's disk must have left"""


@health_blueprint.get("/healthz")
def alive() -> Response:
    """200 as long as this process answers: restart it where it does not."""
    return jsonify(status="ok")


@health_blueprint.get("/readyz")
def ready() -> tuple[Response, int]:
    """200 where pages can be served and dumps be taken, else 503: send requests elsewhere. Each check says why."""
    checks = {"database": _database(), "data_folder": _data_folder(current_app.config["SETTINGS"])}
    if current_app.config["SETTINGS"].store:
        checks["store"] = _store(current_app.config["SETTINGS"])
    is_ready = all(words == "ok" for words in checks.values())
    return jsonify(status="ok" if is_ready else "not ready", checks=checks), 200 if is_ready else 503


def _database() -> str:
    try:
        revision = database.revision(db.engine)
    except SQLAlchemyError:
        return "it cannot be reached; the server's log says more once a page is asked for"
    if revision != database.HEAD:
        return f"it is at revision {revision or 'none'}, this program needs {database.HEAD}: fencepost db migrate"
    return "ok"


def _data_folder(settings: Settings) -> str:
    try:
        free = shutil.disk_usage(settings.data).free
    except OSError:
        return "it is not there"
    if not os.access(settings.data, os.W_OK | os.X_OK):
        return "it cannot be written"
    if free < LEAST_FREE:
        return f"its disk has {free // MEGABYTE} MB left; {LEAST_FREE // MEGABYTE} are needed"
    return "ok"


def _store(settings: Settings) -> str:
    try:
        file_store(settings).find("dumps")
    except OSError:
        return "it cannot be reached; the server's log says more once a file is asked for"
    return "ok"
