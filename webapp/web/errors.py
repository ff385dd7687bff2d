"""Errors: one page and one JSON shape for everything that is refused or not found."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Callable

from flask import Flask, Response, current_app, g, make_response, render_template, request
from sqlalchemy.exc import DataError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from werkzeug.exceptions import HTTPException, MethodNotAllowed, TooManyRequests
from werkzeug.wrappers import Response as AnyResponse

from webapp.dumps.budget import BadDump
from webapp.refusals import Refusal
from webapp.store import files
from webapp.store.files import StoreUnreachable
from webapp.web.answers import otlp_refusal, wants_partial
from webapp.web.api.operation import refused as json_refusal

Answer = tuple[str | Response, int]
_READ_ONLY = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_READONLY_DIRECTORY, sqlite3.SQLITE_CANTOPEN)


def init_app(app: Flask) -> None:
    handlers: dict[type[Exception], Callable[..., Answer | AnyResponse]] = {
        Refusal: in_its_words,
        HTTPException: on_http,
        OperationalError: on_busy,
        PoolTimeout: on_no_connection,
        BadDump: on_damaged,
        StoreUnreachable: on_store_away,
        OSError: on_no_write,
        OverflowError: on_too_large,
        DataError: on_too_large,
        Exception: on_bug,
    }
    for kind, handler in handlers.items():
        app.register_error_handler(kind, handler)


def answer(status: int, code: str, message: str, at: str | None = None) -> Answer:
    """The JSON error under `/api/`, the error page elsewhere."""
    if request.path.startswith("/api/"):
        return json_refusal(code, message, at, status)
    if request.path.startswith("/v1/"):
        return otlp_refusal(status, message), status
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
    body, status = answer(status, name, error.description or error.name)
    response = make_response(body, status)
    if isinstance(error, MethodNotAllowed) and error.valid_methods:
        response.headers["Allow"] = ", ".join(sorted(error.valid_methods))
    if isinstance(error, TooManyRequests):
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def in_its_words(error: Refusal) -> Answer:
    return answer(error.status, error.code, str(error))


def on_busy(error: OperationalError) -> Answer:
    """The database did not answer in time: SQLite has one writer at a time, and a large dump takes long."""
    if files.is_full(error):
        return answer(507, files.DISK_FULL, files.WORDS_WHEN_FULL)
    current_app.logger.warning("database: %s", error.orig)
    if getattr(error.orig, "sqlite_errorcode", None) in _READ_ONLY:
        return answer(507, "read_only", "The database cannot be written: see its permissions. Nothing was changed.")
    if not isinstance(error.orig, sqlite3.Error):
        return answer(503, "busy", "The database does not answer; the server's log says why. Nothing was changed.")
    return answer(503, "busy", "The database is busy, perhaps with a large log. Nothing was changed; try again soon.")


def on_no_connection(error: PoolTimeout) -> Answer:
    """All connections that this process may open are in use, for as long as a request waits for one."""
    current_app.logger.warning("all connections to the database are in use: see FENCEPOST_POOL")
    return answer(503, "busy", "All connections to the database are in use. Nothing was changed; try again soon.")


def on_no_write(error: OSError) -> Answer:
    """A file of ours cannot be written or read: a full disk, or a folder that is not ours to write in."""
    if files.is_full(error):
        return answer(507, files.DISK_FULL, files.WORDS_WHEN_FULL)
    current_app.logger.error("%s %s: %s", request.method, request.path, error)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return answer(507, "read_only", "The data folder cannot be written: see its permissions. Nothing was stored.")
    return answer(503, "no_file", f"A file of the data folder cannot be used: {error.strerror or error}.")


def on_store_away(error: StoreUnreachable) -> Answer:
    """What the store answered may name its address and its keys."""
    current_app.logger.error("%s", error)
    return answer(503, "store_unreachable", "The file store cannot be reached; the server's log says why.")


def on_damaged(error: BadDump) -> Answer:
    """A kept file does not hold any more what was put into it."""
    return answer(422, "damaged", f"The stored file is damaged: {error.reason} ({error.at}).")


def on_too_large(error: Exception) -> Answer:
    """A number that no column holds, or a text that the database does not take."""
    return answer(400, "bad_request", "A number in the request is too large or not a number.")


def on_bug(error: Exception) -> Answer:
    """A bug of ours: the log gets the traceback, the reader gets words."""
    about = (request.method, request.path, g.request_id)
    current_app.logger.exception("unhandled: %s %s, request %s", *about, exc_info=error)
    return answer(500, "internal_error", f"Something broke on our side. The server's log says what, at {g.request_id}.")
