"""The app factory: settings, extensions, blueprints, guards."""

from __future__ import annotations

from inspect import iscoroutinefunction

from flask import Flask

from webapp import paths
from webapp.config import Settings
from webapp.extensions import db
from webapp.store.db import database
from webapp.web import (
    answers,
    errors,
    export_jobs,
    exports,
    filters,
    guards,
    guide,
    health,
    help_pages,
    helpers,
    login,
    machine_logs,
    metrics,
    palette,
    playground,
    prefix,
    profiles,
    request_log,
    responses,
    runs,
    tasks,
    templating,
    traces,
    transfer,
)
from webapp.web.accounts import account_pages, admin_pages, audit_pages, audit_trail, oidc_login
from webapp.web.api import reference_pages
from webapp.web.comparing import compare_pages
from webapp.web.dumps import dump_pages, job_pages, mapping_api, mapping_pages, uploads, worker_process
from webapp.web.failures import failure_actions, failure_pages, failures_api
from webapp.web.homes import home_pages
from webapp.web.ids import Int64Converter, SessionIdConverter, SessionIds
from webapp.web.labels import queue_pages
from webapp.web.secret_key import secret_key
from webapp.web.sessions import growth, saved_views, selection, session_pages
from webapp.web.turns import turn_diff, turn_pages

BLUEPRINTS = (
    *(session_pages, growth, turn_pages, turn_diff, responses, selection, saved_views),
    *(dump_pages, job_pages, mapping_api, mapping_pages, exports, export_jobs, home_pages, traces),
    *(failure_pages, failure_actions, failures_api, queue_pages),
    *(profiles, compare_pages, runs, tasks, palette, playground),
    *(login, account_pages, admin_pages, audit_pages, oidc_login),
    *(guide, machine_logs, reference_pages, help_pages, health, metrics),
)


def create_app(settings: Settings | None = None) -> Flask:
    """The app over a migrated database. Raises `BadSetting`, and `NewerDatabase` for one that newer code made."""
    settings = settings or Settings.from_environment()
    templates, static = paths.resource("templates"), paths.resource("static")
    app = answers.LinkingApp("webapp", template_folder=templates, static_folder=static)
    app.response_class = answers.Printable
    app.json = answers.PortableJson(app)
    app.request_class = uploads.SpoolingRequest
    configure(app, settings)
    db.init_app(app)
    # It closes asynchronous sessions after each request, in a thread and an event loop of their own; there are none.
    app.teardown_appcontext_funcs = [end for end in app.teardown_appcontext_funcs if not iscoroutinefunction(end)]
    with app.app_context():
        database.prepare(db.engine, durable=settings.durable)
        database.migrate(db.engine)
        app.config["SECRET_KEY"] = secret_key(settings, db.engine)
    app.url_map.converters |= {"session_id": SessionIdConverter, "int": Int64Converter}
    for module in BLUEPRINTS:
        app.register_blueprint(module.blueprint)
    template_parts = (filters, helpers, templating)
    for part in (transfer, guards, audit_trail, errors, *template_parts, worker_process, metrics, request_log):
        part.init_app(app)
    app.wsgi_app = SessionIds(app.wsgi_app)  # type: ignore[method-assign]
    prefix.init_app(app)
    return app


def configure(app: Flask, settings: Settings) -> None:
    settings.data.mkdir(parents=True, exist_ok=True)
    app.config.update(
        SETTINGS=settings,
        SQLALCHEMY_ENGINES={"default": database.options(settings.database, settings.pool)},
        MAX_CONTENT_LENGTH=settings.max_upload,
        SESSION_COOKIE_NAME="fencepost",
        SESSION_COOKIE_SAMESITE="Lax",
        SESSION_COOKIE_PATH=settings.prefix or "/",
        SESSION_COOKIE_SECURE=settings.secure,
        SEND_FILE_MAX_AGE_DEFAULT=31536000,
    )
    app.jinja_options = templating.OPTIONS
