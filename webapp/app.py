"""The app factory: settings, extensions, blueprints, guards."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from inspect import iscoroutinefunction
from pathlib import Path

from flask import Flask

from webapp import paths
from webapp.config import Settings
from webapp.extensions import db, htmx
from webapp.store import database
from webapp.web import (
    background,
    dumps,
    errors,
    exports,
    filters,
    growing,
    guards,
    helpers,
    jobs,
    labels,
    login,
    mappings,
    patterns,
    playground,
    profiles,
    selection,
    sessions,
    statistics,
    taking,
    templating,
    traces,
    turns,
    views,
)
from webapp.web.ids import SessionIdConverter, SessionIds

BLUEPRINTS = (
    sessions,
    growing,
    turns,
    dumps,
    jobs,
    mappings,
    labels,
    exports,
    profiles,
    selection,
    statistics,
    views,
    patterns,
    playground,
    traces,
    login,
)


def create_app(settings: Settings | None = None) -> Flask:
    """The app over a migrated database. Raises `BadSetting`, and `NewerDatabase` for one that newer code made."""
    settings = settings or Settings.from_environment()
    app = Flask("webapp", template_folder=paths.resource("templates"), static_folder=paths.resource("static"))
    app.request_class = taking.Request
    configure(app, settings)
    db.init_app(app)
    # It closes asynchronous sessions after each request, in a thread and an event loop of their own; there are none.
    app.teardown_appcontext_funcs = [end for end in app.teardown_appcontext_funcs if not iscoroutinefunction(end)]
    htmx.init_app(app)
    with app.app_context():
        database.prepare(db.engine)
        database.migrate(db.engine)
    app.url_map.converters["session_id"] = SessionIdConverter
    for module in BLUEPRINTS:
        app.register_blueprint(module.blueprint)
    for part in (guards, errors, filters, helpers, templating, background):
        part.init_app(app)
    app.wsgi_app = SessionIds(app.wsgi_app)  # type: ignore[method-assign]
    return app


def configure(app: Flask, settings: Settings) -> None:
    settings.data.mkdir(parents=True, exist_ok=True)
    app.config.update(
        SETTINGS=settings,
        SECRET_KEY=secret_key(settings.data / "secret_key"),
        SQLALCHEMY_ENGINES={"default": database.options(settings.database)},
        MAX_CONTENT_LENGTH=settings.max_upload,
        MAX_FORM_MEMORY_SIZE=2 * 1024 * 1024,
        SESSION_COOKIE_SAMESITE="Lax",
        SEND_FILE_MAX_AGE_DEFAULT=31536000,
    )
    app.jinja_options = {"trim_blocks": True, "lstrip_blocks": True}


def secret_key(path: Path) -> bytes:
    """The key kept in `path`, made at random on the first run and readable by its owner alone.

    It is linked into place whole, so that of two servers that start at once both read the same key.
    """
    if not path.exists():
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(32))
        with suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    return path.read_bytes()
