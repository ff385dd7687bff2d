"""Errors: one page and one JSON shape for everything that is refused or not found."""

from __future__ import annotations

from flask import Flask, Response, current_app, jsonify, make_response, render_template, request
from sqlalchemy.exc import OperationalError
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response as AnyResponse

from webapp.exports.base import MissingLibrary, UnknownExport
from webapp.exports.redaction import BadPattern
from webapp.parsing import UnknownProfile
from webapp.store import full
from webapp.store.dumps import NoSuchDump
from webapp.store.filtering import BadFilter
from webapp.store.jobs import NoSuchJob
from webapp.store.kept import NotKept
from webapp.store.mappings import NoSuchMapping
from webapp.store.sessions import BadCursor, NoSuchSession
from webapp.store.turns import NoSuchTurn
from webapp.web import traces
from webapp.web.render import wants_partial

Answer = tuple[str | Response, int]


def init_app(app: Flask) -> None:
    app.register_error_handler(HTTPException, on_http)
    app.register_error_handler(NoSuchSession, on_missing)
    app.register_error_handler(NoSuchTurn, on_missing)
    app.register_error_handler(UnknownProfile, on_missing)
    app.register_error_handler(NoSuchDump, on_missing)
    app.register_error_handler(NotKept, on_missing)
    app.register_error_handler(NoSuchJob, on_missing)
    app.register_error_handler(NoSuchMapping, on_missing)
    app.register_error_handler(full.DiskFull, on_full)
    app.register_error_handler(BadCursor, on_bad_request)
    app.register_error_handler(BadFilter, on_bad_request)
    for unmet in (UnknownExport, BadPattern, MissingLibrary):
        app.register_error_handler(unmet, on_bad_request)
    app.register_error_handler(OperationalError, on_busy)
    app.register_error_handler(Exception, on_bug)


def answer(status: int, code: str, message: str, at: str | None = None) -> Answer:
    """The JSON error under `/api/`, the error page elsewhere."""
    if request.path.startswith("/api/"):
        return jsonify(error={"code": code, "message": message, "at": at}), status
    if request.path.startswith("/v1/"):
        return traces.refusal(status, message), status
    if wants_partial():
        return refused(status, message)
    return render_template("error.html", status=status, message=message), status


def refused(status: int, message: str) -> Answer:
    """For htmx: a line where messages stand, whatever part of the page was asked for; the address stays."""
    response = make_response(render_template("_partials/refused.html", message=message), status)
    response.headers.update({"HX-Retarget": "#messages", "HX-Reswap": "innerHTML", "HX-Push-Url": "false"})
    return response, status


def on_http(error: HTTPException) -> Answer | AnyResponse:
    status = error.code or 500
    if error.response is not None or status < 400:
        return error.get_response()
    name = error.name.lower().replace(" ", "_")
    return answer(status, name, error.description or error.name)


def on_missing(error: Exception) -> Answer:
    return answer(404, "not_found", str(error.args[0] if error.args else error))


def on_bad_request(error: Exception) -> Answer:
    return answer(400, "bad_request", str(error))


def on_full(error: full.DiskFull) -> Answer:
    return answer(507, full.CODE, str(error))


def on_busy(error: OperationalError) -> Answer:
    """The database did not answer in time: SQLite has one writer at a time, and a large dump takes long."""
    if full.is_full(error):
        return on_full(full.DiskFull())
    current_app.logger.warning("database: %s", error.orig)
    return answer(503, "busy", "The database is busy, perhaps with a large dump. Nothing was changed; try again soon.")


def on_bug(error: Exception) -> Answer:
    """A bug of ours: the log gets the traceback, the reader gets words."""
    current_app.logger.exception("unhandled: %s %s", request.method, request.path, exc_info=error)
    return answer(500, "internal_error", "Something broke on our side. The server's log says what.")
