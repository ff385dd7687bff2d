"""The app: settings, extensions, blueprints, guards, and what is seen to while it runs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from inspect import iscoroutinefunction

import sqlalchemy as sa
from flask import Blueprint, Flask

from webapp import installation
from webapp.config import Settings
from webapp.extensions import db
from webapp.store import derive
from webapp.store.db import database
from webapp.store.ingest.start import ingest_examples
from webapp.store.jobs import export_jobs, failure_webhook, imports
from webapp.store.live.growth import show_overdue
from webapp.store.sessions import deletion
from webapp.store.sessions.dumps import count
from webapp.web import (
    account_pages,
    answers,
    audit_trail,
    compare_pages,
    exports,
    guards,
    help_pages,
    home_pages,
    links,
    login,
    metrics,
    palette,
    playground,
    profiles,
    responses,
    task_pages,
    templating,
    traces,
    worker_process,
)
from webapp.web.api import openapi
from webapp.web.dumps import dump_pages, machine_logs, mapping_pages, uploads
from webapp.web.failures import failure_pages, failures_api
from webapp.web.identity import ServerSessions, secret_key
from webapp.web.labels import queue_pages
from webapp.web.links import Int64Converter, SessionIdConverter
from webapp.web.sessions import list_filters, selection, session_pages
from webapp.web.turns import turn_pages

MODULES = (
    *(session_pages, turn_pages, responses, selection, list_filters),
    *(dump_pages, machine_logs, mapping_pages, exports, home_pages, traces),
    *(failure_pages, failures_api, queue_pages),
    *(profiles, compare_pages, task_pages, palette, playground),
    *(login, account_pages, audit_trail, openapi, help_pages, metrics),
)
_EVERY, _OVERDUE, _ALERTS, _LEFT, _GROWN = 600.0, 20.0, 60.0, 5.0, 1.0
"""seconds"""
_log = logging.getLogger(__name__)


def blueprints() -> Iterator[Blueprint]:
    """What the modules of the web answer for: most have one blueprint, some also one of a second name."""
    for module in MODULES:
        yield from (value for name, value in vars(module).items() if name.endswith("blueprint"))


def create_app(settings: Settings | None = None) -> Flask:
    """The app over a migrated database. Raises `BadSetting`, and `NewerDatabase` for one that newer code made."""
    settings = settings or Settings.from_environment()
    templates, static = installation.resource("templates"), installation.resource("static")
    app = answers.LinkingApp("webapp", template_folder=templates, static_folder=static)
    app.response_class = answers.Printable
    app.json = answers.PortableJson(app)
    app.request_class = uploads.SpoolingRequest
    app.session_interface = ServerSessions()
    configure(app, settings)
    db.init_app(app)
    # It closes asynchronous sessions after each request, in a thread and an event loop of their own; there are none.
    app.teardown_appcontext_funcs = [end for end in app.teardown_appcontext_funcs if not iscoroutinefunction(end)]
    with app.app_context():
        database.prepare(db.engine, durable=settings.durable)
        database.migrate(db.engine)
        app.config["SECRET_KEY"] = secret_key(settings, db.engine)
    app.url_map.merge_slashes = False
    app.url_map.converters |= {"session_id": SessionIdConverter, "int": Int64Converter}
    for blueprint in blueprints():
        app.register_blueprint(blueprint)
    for part in (answers, guards, audit_trail, templating, worker_process, metrics):
        part.init_app(app)
    links.init_app(app)
    return app


def configure(app: Flask, settings: Settings) -> None:
    settings.data.mkdir(parents=True, exist_ok=True)
    app.config.update(
        SETTINGS=settings,
        SQLALCHEMY_ENGINES={"default": database.options(settings.database, settings.pool)},
        MAX_CONTENT_LENGTH=settings.max_upload,
        SESSION_COOKIE_SAMESITE="Lax",
        SESSION_COOKIE_PATH=settings.prefix or "/",
        SESSION_COOKIE_SECURE=settings.secure,
        SESSION_REFRESH_EACH_REQUEST=False,  # an answer that is late would bring a login back behind signing out
        # of the name that labels have; a login says itself when it ends
        PERMANENT_SESSION_LIFETIME=timedelta(days=365),
        SEND_FILE_MAX_AGE_DEFAULT=31536000,
    )
    app.jinja_options = templating.OPTIONS


def running_app(settings: Settings, *, examples: bool = False) -> Flask:
    """As `create_app`, with its upkeep begun, and `examples` in a database into which nothing was ever ingested."""
    app = create_app(settings)
    with app.app_context():
        if examples and not count(db.session):
            ingest_examples(db.engine, settings)
        start_upkeep(db.engine, settings, worker_process.of(app).wake)
    return app


def start_upkeep(engine: sa.Engine, settings: Settings, wake: Callable[[], object]) -> None:
    """Begin a thread for each task, so that none ends another; they end with the process.

    `wake` sees to it that a worker does what nobody is at.
    """
    _begin(deletion.purge, engine)
    _begin(imports.tidy, engine, settings)
    _begin(export_jobs.purge, engine, settings)
    _begin(failure_webhook.deliver, engine, settings, every=_ALERTS)
    _begin(show_overdue, engine, settings, every=_OVERDUE)
    _begin(derive.catch_up, engine, every=_GROWN)
    _begin(wake, every=_LEFT)


def _begin(task: Callable[..., object], *about: object, every: float | None = None) -> None:
    threading.Thread(target=_repeat, args=(every, task, *about), name="upkeep", daemon=True).start()


def _repeat(every: float | None, task: Callable[..., object], *about: object) -> None:
    while True:
        try:
            task(*about)
        except (sa.exc.SQLAlchemyError, OSError) as error:  # a long write, no room, no file store, a restart
            _log.warning("%s is tried again in %d seconds: %s", task.__name__, every or _EVERY, error)
        time.sleep(every or _EVERY)
