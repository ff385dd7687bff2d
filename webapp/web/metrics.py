"""Metrics for Prometheus at `/metrics`: requests, and what waits or failed. Behind the token as every page is.

They are this process's: behind several, scrape each (`docs/deploy.md`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import sqlalchemy as sa
from flask import Blueprint, Flask, Response, current_app, g, request
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.process_collector import ProcessCollector

from webapp import __version__
from webapp.extensions import db
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

    def observe(response: Response) -> Response:
        route = request.url_rule.rule if request.url_rule else "none"
        method = request.method if request.url_rule else "any"
        seconds.labels(method, route, response.status_code).observe(time.perf_counter() - g.request_began)
        return response

    app.after_request(observe)


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
