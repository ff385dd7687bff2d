"""Health: whether this process answers, and whether it can serve, for load balancers and service managers.

Both are open to everybody, whatever the host name and without the token: they tell nothing of what is stored.
"""

from __future__ import annotations

import os
import shutil

from flask import Blueprint, Response, current_app, jsonify
from sqlalchemy.exc import SQLAlchemyError

from webapp.config import MEGABYTE, Settings
from webapp.extensions import db
from webapp.store.db import database
from webapp.store.files import file_store

blueprint = Blueprint("health", __name__)
OPEN_ENDPOINTS = frozenset({"health.alive", "health.ready"})
LEAST_FREE = 100 * MEGABYTE
"""bytes that the data folder's disk must have left"""


@blueprint.get("/healthz")
def alive() -> Response:
    """200 as long as this process answers: restart it where it does not."""
    return jsonify(status="ok")


@blueprint.get("/readyz")
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
